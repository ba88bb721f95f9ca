# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""liblitepcie through its C interface: the test programs of software/user/test, and what a library
must not do.
"""

import re
import subprocess

import pytest
from repository import ROOT
from software_build import TIMEOUT, build_software
from vfio_user_standin import Standin

LIBRARY = ROOT / "software" / "user" / "liblitepcie"


@pytest.fixture(scope="session")
def built():
    return build_software()


def _run(program, *arguments):
    result = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=TIMEOUT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_rings_hand_out_only_what_is_theirs(built):
    """software/user/test/rings.c: the rings over a back end of the test's own."""
    _run(built.out / "test" / "rings")


def test_a_program_moves_buffers_without_copies(built, tmp_path):
    """software/user/test/library.c: every call on a card that behaves, and a quiet end."""
    with Standin(tmp_path / "s", built.csr_json) as standin:
        _run(built.out / "test" / "library", f"sim:{tmp_path / 's'}")
        assert standin.quiet()


def test_the_library_never_prints_or_exits():
    """Output and the end of the program belong to its user."""
    calls = re.compile(r"\b(printf|fprintf|puts|perror|exit|abort|assert)\s*\(")
    for source in LIBRARY.glob("*.c"):
        assert not calls.search(source.read_text()), source.name


def test_the_library_exports_only_its_own_names(built):
    """One prefix, so that it fits into any program."""
    symbols = subprocess.run(["nm", "-g", "--defined-only", built.out / "liblitepcie.a"],
        capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^[0-9a-f]+ [TDBR] (\w+)$", symbols, re.MULTILINE)
    assert "litepcie_open" in names
    assert [name for name in names if not name.startswith("litepcie_")] == []


def test_register_numbers_stand_in_the_generated_headers_only(built):
    """No source of ours decides by the presence of a register, or writes down its address."""
    for source in (ROOT / "software").rglob("*.[ch]"):
        text = source.read_text()
        assert not re.search(r"^\s*#\s*if.*\bCSR_", text, re.MULTILINE), source.name
