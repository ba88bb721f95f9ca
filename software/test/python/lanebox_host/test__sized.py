# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of lanebox_host/_sized.py: a number that does not fit into a field of the library is
refused, and not wrapped.
"""

import ctypes

import numpy as np
import pytest


@pytest.fixture
def sized(host):
    from lanebox_host import _sized

    return _sized


@pytest.mark.parametrize("value", [-1, 1 << 32, np.int64(-1)], ids=str)
def test_a_number_that_does_not_fit_is_refused(sized, value):
    """A number that does not fit into an unsigned field of 32 bits raises ValueError with the
    field's name, the number and the limits."""
    with pytest.raises(ValueError, match=rf"batch: {value} does .* be from 0 to 4294967295$"):
        sized.unsigned("batch", value, 32)


@pytest.mark.parametrize("value", [1.0, "1", None, b"1"], ids=repr)
def test_what_is_no_whole_number_is_refused(sized, value):
    """A value that is no whole number raises TypeError with the field's name and the value."""
    with pytest.raises(TypeError, match=f"batch: {value!r} is no whole number"):
        sized.unsigned("batch", value, 32)


@pytest.mark.parametrize("value", [0, (1 << 32) - 1, True, np.uint8(7)], ids=repr)
def test_a_number_that_fits_is_taken(sized, value):
    """Whole numbers of Python and of NumPy that fit are returned as an int."""
    found = sized.unsigned("batch", value, 32)
    assert found == value and type(found) is int


def test_each_field_has_its_own_width(sized):
    """A subclass of Sized checks the value of each unsigned field by the field's own width, in the
    constructor and when the field is set. An object of the subclass has the subclass's size in
    struct_size. Signed fields may be negative."""

    class Fields(sized.Sized):
        _fields_ = [
            ("struct_size", ctypes.c_size_t),
            ("short", ctypes.c_uint8),
            ("long", ctypes.c_uint64),
            ("signed", ctypes.c_int64),
            ("on", ctypes.c_bool),
        ]

    fields = Fields(short=255, long=(1 << 64) - 1, signed=-1, on=True)
    assert fields.struct_size == ctypes.sizeof(Fields)
    assert (fields.short, fields.long, fields.signed, fields.on) == (255, (1 << 64) - 1, -1, True)
    for name, value in (("short", 256), ("short", -1), ("long", 1 << 64), ("long", -1)):
        with pytest.raises(ValueError, match=f"{name}: {value} does not fit into"):
            Fields(**{name: value})
        with pytest.raises(ValueError, match=f"{name}: {value} does not fit into"):
            setattr(fields, name, value)
    assert fields.short == 255
    assert sized.field_names(Fields) == ["short", "long", "signed", "on"]


def test_every_structure_of_the_library_checks_its_fields(host):
    """Each unsigned field of each structure of _headers.py that has its size in struct_size refuses
    -1."""
    from lanebox_host import _headers
    from lanebox_host._sized import Sized

    checked = 0
    for structure in filter(lambda each: each is not Sized, vars(_headers).values()):
        if not (isinstance(structure, type) and issubclass(structure, Sized)):
            continue
        for name, kind in structure._fields_:
            if getattr(kind, "_type_", "") in ("B", "I", "L", "Q"):
                with pytest.raises(ValueError, match=f"{name}: -1 does not fit"):
                    setattr(structure(), name, -1)
                checked += 1
    assert checked > 80
