# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of tools/c_header.py: it reads numbers and layouts of a header as the C compiler does."""

import re
import subprocess

import pytest

from tools import c_header

PROTOCOL = c_header.VFIO_USER


def test_everything_is_as_the_compiler_has_it(tmp_path):
    """c_header.read() gives each number of the header, and the size of each structure, as a
    compiled C program prints them.
    """
    header = c_header.read(PROTOCOL)
    assert len(header.numbers) > 30 and len(header.layouts) == 10
    lines = [f'printf("{name} %lld\\n", (long long){name});' for name in header.numbers]
    sizes = [f'printf("{name} %zu\\n", sizeof(struct {name}));' for name in header.layouts]
    program = tmp_path / "print.c"
    body = "\n".join([*lines, *sizes])
    program.write_text(f'#include <stdio.h>\n#include "{PROTOCOL}"\nint main(void)\n{{{body}}}\n')
    subprocess.run(["cc", "-o", tmp_path / "print", program], check=True)
    said = subprocess.run([tmp_path / "print"], capture_output=True, text=True, check=True).stdout
    printed = {name: int(value) for name, value in map(str.split, said.splitlines())}
    sizes = {name: layout.size for name, layout in header.layouts.items()}
    assert printed == {**header.numbers, **sizes}


def test_no_member_is_overlooked():
    """c_header.read() finds every member of each enumeration in the C header."""
    text = re.sub(r"/\*.*?\*/", "", PROTOCOL.read_text(), flags=re.DOTALL)
    members = re.findall(r"^\t([A-Z]\w+)", text, re.MULTILINE)
    assert set(members) == set(c_header.read(PROTOCOL).numbers)


def test_a_field_of_another_kind_is_refused(tmp_path):
    """A field whose type c_header.py does not know is refused; the error names the structure and
    the line.
    """
    header = tmp_path / "odd.h"
    header.write_text("struct pair {\n\tuint32_t a;\n\tchar text[4];\n};\n")
    with pytest.raises(ValueError, match=r"struct pair: `char text\[4\];` is no fixed-width"):
        c_header.read(header)
