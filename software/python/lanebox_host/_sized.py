# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The base class of those structures of the library whose first field is their own size.

An unsigned field refuses a number that does not fit into it. ctypes itself would wrap such a
number: -1 in a field of 32 bits would become 4294967295.
"""

from __future__ import annotations

import ctypes
import operator
from ctypes import Structure
from typing import Any, ClassVar

_UNSIGNED = (ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64)


def unsigned(name: str, value: object, bits: int) -> int:
    """Return `value`, a whole number, as an int. `name` is the value's name in error messages.

    Raises TypeError if the value is no whole number, and ValueError if it is negative or has more
    than `bits` bits.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}: {value!r} is no whole number") from None
    if not 0 <= number < 1 << bits:
        raise ValueError(
            f"{name}: {number} does not fit into {bits} bits without a sign: it must be from 0 to "
            f"{(1 << bits) - 1}"
        )
    return number


class Sized(Structure):
    """A structure of the library whose first field, `struct_size`, is its own size.

    A field without a sign takes only whole numbers that fit into it, in the constructor and later.
    """

    _bits: ClassVar[dict[str, int]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # name of each field without a sign -> its width in bits
        cls._bits = {
            name: 8 * ctypes.sizeof(kind) for name, kind, *_ in cls._fields_ if kind in _UNSIGNED
        }

    def __init__(self, **fields: object) -> None:
        super().__init__(ctypes.sizeof(self), **fields)

    def __setattr__(self, name: str, value: Any) -> None:
        bits = self._bits.get(name)
        super().__setattr__(name, value if bits is None else unsigned(name, value, bits))


def field_names(structure: Structure | type[Structure]) -> list[str]:
    """Return the names of a ctypes structure's fields, in the order of its declaration.

    The fields `struct_size` and `reserved`, which have no value of a card, are left out.
    """
    return [field[0] for field in structure._fields_ if field[0] not in ("struct_size", "reserved")]
