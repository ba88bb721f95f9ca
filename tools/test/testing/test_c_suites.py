# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of tools/testing/c_suites.py, whose table HELD names a test for each C source of
software/.
"""

import subprocess

import pytest

from tools.testing.c_suites import HELD, driver_programs, problems, slow, sources
from tools.testing.repository import ROOT


def listed():
    """Return the C sources of the repository that need a test."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sources(name for name in names.splitlines() if (ROOT / name).is_file())


def text(name):
    """Return the text of a file of the repository, or None if there is none of this name."""
    return (ROOT / name).read_text() if (ROOT / name).is_file() else None


def test_every_c_source_is_held_by_a_test_that_is_there():
    """The table HELD has a test for each C source of software/. Each test and source that HELD
    names exists.
    """
    assert problems(listed(), text, HELD) == []


def test_the_driver_s_sources_are_held_by_the_programs_that_include_them():
    """If a program of software/kernel/test includes a source of the driver, the test that HELD
    names for the source starts that program.
    """
    folder = ROOT / "software/kernel/test"
    files = [path for path in folder.rglob("*.c") if len(path.relative_to(folder).parts) <= 2]
    programs = driver_programs({str(path.relative_to(ROOT)): path.read_text() for path in files})
    assert programs["software/kernel/capture/capture_node.c"] == {"node"}
    assert programs["software/kernel/dma/held.c"] == {"progress", "sync"}
    assert slow(programs, text, HELD) == []


def test_c_sources_of_each_part_are_found_and_tests_are_not():
    """sources() finds C sources of driver, library, tools, examples and manual, and no test
    program.
    """
    found = listed()
    assert {
        "software/kernel/file/chrdev.c",
        "software/liblitepcie/vfio/type1.c",
        "software/liblitepcie/man/examples/keep.c",
        "software/tools/litepcie_util/mmio/mmio_ways.c",
        "software/examples/request.c",
    } <= set(found)
    assert not [name for name in found if "/test/" in name]


# The rules, with made-up files --------------------------------------------------------------------

ONE = "software/kernel/one.c"
TESTS = {"test_one.py": "def test_it(guest):\n    pass\n"}
HELD_ONE = {"test_one.py": {"test_it": "kernel/one"}}


def test_a_guest_does_not_hold_what_a_program_runs_in_seconds():
    """If a program includes a source of the driver, and the file of tests in the source's entry
    does not start the program, slow() returns a sentence that names both.
    """
    programs = driver_programs({"software/kernel/test/few/few.c": '#include "../../one.c"\n'})
    assert programs == {ONE: {"few"}}
    (sentence,) = slow(programs, TESTS.get, HELD_ONE)
    assert sentence.startswith(f"{ONE} runs in seconds in the program few: test_one.py does not")
    assert slow(programs, {"test_one.py": 'program("few")'}.get, HELD_ONE) == []


def test_a_source_with_a_test_is_no_problem():
    """problems() returns nothing for a C source whose entry in HELD names a test that exists."""
    assert problems([ONE], TESTS.get, HELD_ONE) == []


@pytest.mark.parametrize(
    "names, held, problem",
    [
        ([ONE, "software/kernel/two.c"], HELD_ONE, "software/kernel/two.c is held by no test"),
        ([], HELD_ONE, "software/kernel/one.c has an entry, but there is no such source"),
        ([ONE], {**HELD_ONE, "test_gone.py": {}}, "test_gone.py has entries, but there is no such"),
        ([ONE], {"test_one.py": {"test_i": "kernel/one"}}, "test_one.py has no test test_i, which"),
        ([ONE], {"test_one.py": {"test_it": "kernel/one kernel/one"}}, "one.c has 2 entries"),
        (
            [ONE],
            {"test_one.py": {"test_it": "kernel/one"}, "test_two.py": {"test_it": ""}},
            "test_two.py: test_it has an entry without a source",
        ),
    ],
)
def test_what_is_not_right_is_one_sentence(names, held, problem):
    """problems() names a source without a test, and an entry of the table with a wrong name."""
    (said,) = problems(names, {**TESTS, "test_two.py": TESTS["test_one.py"]}.get, held)
    assert problem in said
