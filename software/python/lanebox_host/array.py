# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""NumPy arrays that lie in a DMA ring. After the end of their stream most uses raise ValueError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

# Attributes that Python, NumPy and this module read without a use of the array's data, for example
# to free the array or to find its class. So reading them raises nothing after the stream's end.
_HARMLESS = frozenset(
    ("__array_finalize__", "__array_priority__", "__class__", "__del__", "__dict__", "_lease")
)

# Methods of an array whose results may have memory of their own.
_RESULTS = (
    "argmax argmin argpartition argsort astype byteswap choose clip compress conj conjugate "
    "cumprod cumsum diagonal dot flatten mean nonzero ravel repeat reshape round searchsorted "
    "std take trace var"
).split()


class Lease:
    """The right to use the arrays in the ring of one stream, until end() is called. All these
    arrays have the same lease.
    """

    def __init__(self, way: str) -> None:
        self._way, self._ended = way, False

    def end(self) -> None:
        """End the lease, since its stream ends. RingArray says which uses of its arrays then raise
        ValueError.
        """
        self._ended = True

    def check(self) -> None:
        """Raise ValueError if the stream of this lease has ended."""
        if self._ended:
            raise ValueError(
                f"this array lies in a ring of {self._way} whose stream has ended: copy() data "
                "that is needed for longer, inside the `with` block"
            )


class RingArray(np.ndarray[Any, np.dtype[Any]]):
    """An array in a DMA ring. After the end of its stream, indexing it, its methods and attributes
    (but for some like __class__), computations with it and NumPy's functions of it raise
    ValueError.

    Slices and other views of the array raise ValueError in the same way. Results with memory of
    their own are plain NumPy arrays, whose use raises nothing: those of copy() and other methods,
    like astype() and flatten(), of indexing by a list or a mask, of computations, of NumPy's
    functions, and of the module `copy`.

    Python and NumPy reach an array's memory in some places without asking the array. So
    np.asarray(), np.array(), np.frombuffer(), memoryview(), bytes(), an assignment of the array to
    a slice of another one, and other libraries raise nothing after the stream's end. The memory
    stays valid as long as something refers to it.
    """

    _lease: Lease | None

    def __array_finalize__(self, source: object) -> None:
        """Give this array the lease of the array that it was made from, if that one has a lease. An
        array with memory of its own needs none.
        """
        self._lease = None
        if not self.flags.owndata:
            self._lease = getattr(source, "_lease", None)

    def __getattribute__(self, name: str) -> Any:
        if name not in _HARMLESS:
            _check(self)
        return super().__getattribute__(name)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Compute with plain NumPy arrays instead, so that the result is a plain array without a
        lease.
        """
        if "out" in options:
            options["out"] = tuple(_plain(array) for array in options["out"])
        return getattr(ufunc, method)(*(_plain(array) for array in inputs), **options)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        """Call a function of NumPy with plain arrays, so that its result has no lease."""
        inputs = tuple(_plain_deep(value) for value in inputs)
        return function(*inputs, **{name: _plain_deep(v) for name, v in options.items()})

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, (int, slice)):  # the usual case, which never makes a copy
            _check(self)
            return super().__getitem__(index)
        return _leased(_plain(self)[_plain_deep(index)], self)

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
        """Return a copy as a plain NumPy array, which may be used after the stream's end."""
        return np.array(_plain(self), order=order)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()


def lease(array: npt.NDArray[Any], term: Lease) -> RingArray:
    """Return a view of `array` that has the lease `term`.

    RingArray says which uses of the view raise ValueError after the end of the lease.
    """
    leased = array.view(RingArray)
    leased._lease = term
    return leased


def _method(name: str) -> Callable[..., Any]:
    """Return the method `name` of RingArray: it calls NumPy's with plain arrays, and gives the
    lease of the array to a result that shares its memory.
    """

    def method(self: RingArray, *inputs: Any, **options: Any) -> Any:
        inputs = tuple(_plain_deep(value) for value in inputs)
        options = {key: _plain_deep(value) for key, value in options.items()}
        return _leased(getattr(_plain(self), name)(*inputs, **options), self)

    method.__name__ = name
    method.__doc__ = getattr(np.ndarray, name).__doc__
    return method


for _name in _RESULTS:
    setattr(RingArray, _name, _method(_name))


def _owner(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array, among `array` and those that it is a view of, that is a view of none."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _leased(result: Any, array: RingArray) -> Any:
    """Return `result` with the lease of `array` if it is an array in the memory of `array`.
    Otherwise return `result` as it is.
    """
    term = array._lease
    if term is None or not isinstance(result, np.ndarray) or _owner(result) is not _owner(array):
        return result
    return lease(result, term)


def _check(array: RingArray) -> None:
    term = array.__dict__.get("_lease")
    if term is not None:
        term.check()


def _plain(value: Any) -> Any:
    """Check the lease of a RingArray and return it as a plain array. Return other values as is."""
    if not isinstance(value, RingArray):
        return value
    _check(value)
    return np.ndarray.view(value, np.ndarray)


def _plain_deep(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_plain_deep(part) for part in value)
    return _plain(value)
