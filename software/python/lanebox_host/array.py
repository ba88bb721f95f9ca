# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""NumPy arrays that lie in a DMA ring, and raise once their stream has ended."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# Attributes that Python and NumPy read of an array without a look at its data. An array that has
# ended still has them, so that it can be freed and its class be found.
_HARMLESS = frozenset(
    ("__array_finalize__", "__array_priority__", "__class__", "__del__", "__dict__", "_lease")
)


class Lease:
    """How long the arrays of a stream may be used: until the stream ends."""

    def __init__(self, way: str) -> None:
        self._way, self._ended = way, False

    def end(self) -> None:
        """Let each array of the stream raise from now on."""
        self._ended = True

    def check(self) -> None:
        """Raise ValueError if the stream has ended."""
        if self._ended:
            raise ValueError(
                f"this array lies in a ring of {self._way} whose stream has ended: copy() data "
                "that is needed for longer, inside the `with` block"
            )


class RingArray(np.ndarray[Any, np.dtype[Any]]):
    """An array in a DMA ring. Each use of it after the end of its stream raises ValueError.

    So does each use of a slice or another view of it. Results of computations and copies are plain
    arrays, which stay. A program that has taken the raw memory (a memoryview, or an array of
    another library) gets no exception: the memory stays valid as long as somebody refers to it.
    """

    _lease: Lease | None

    def __array_finalize__(self, source: object) -> None:
        """Let a view share the lease of the array that it was made from."""
        self._lease = getattr(source, "_lease", None)

    def __getattribute__(self, name: str) -> Any:
        if name not in _HARMLESS:
            _check(self)
        return super().__getattribute__(name)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Compute with plain arrays, so that the result is one."""
        if "out" in options:
            options["out"] = tuple(_plain(array) for array in options["out"])
        return getattr(ufunc, method)(*(_plain(array) for array in inputs), **options)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        """Call a function of NumPy with plain arrays, so that the result is one."""
        inputs = tuple(_plain_deep(value) for value in inputs)
        return function(*inputs, **{name: _plain_deep(v) for name, v in options.items()})

    def __getitem__(self, index: Any) -> Any:
        _check(self)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _check(self)
        super().__setitem__(index, value)

    def __len__(self) -> int:
        _check(self)
        return super().__len__()

    def __iter__(self) -> Any:
        _check(self)
        return super().__iter__()

    def __contains__(self, value: object) -> bool:
        _check(self)
        return super().__contains__(value)

    def __repr__(self) -> str:
        return repr(_plain(self))

    def __str__(self) -> str:
        return str(_plain(self))

    def copy(self, order: Any = "C") -> Any:
        """Return a copy as a plain array, which stays after the stream."""
        return np.array(_plain(self), order=order)


def lease(array: npt.NDArray[Any], term: Lease) -> RingArray:
    """Return `array` as one that raises when `term` has ended."""
    leased = array.view(RingArray)
    leased._lease = term
    return leased


def _check(array: RingArray) -> None:
    term = array.__dict__.get("_lease")
    if term is not None:
        term.check()


def _plain(value: Any) -> Any:
    """Return a RingArray as a plain array, after a check of its lease; other values as they are."""
    if not isinstance(value, RingArray):
        return value
    _check(value)
    return np.ndarray.view(value, np.ndarray)


def _plain_deep(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_plain_deep(part) for part in value)
    return _plain(value)
