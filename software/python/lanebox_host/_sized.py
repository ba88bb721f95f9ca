# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The base class of the library's structures that say their size."""

from __future__ import annotations

import ctypes
from ctypes import Structure


class Sized(Structure):
    """A structure of the library whose first field, `struct_size`, is its own size."""

    def __init__(self, **fields: object) -> None:
        super().__init__(ctypes.sizeof(self), **fields)


def field_names(structure: Structure | type[Structure]) -> list[str]:
    """Return the names of a ctypes structure's fields, in the order of its declaration.

    The field `struct_size`, which says nothing about a card, is left out.
    """
    return [field[0] for field in structure._fields_ if field[0] != "struct_size"]
