# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of tools/testing/c_suites.py, which knows a test of each C source of software/."""

import pytest

from tools.testing import c_suites
from tools.testing.c_suites import HELD, driver_programs, own_test, problems, slow, sources
from tools.testing.repository import ROOT


def test_every_c_source_is_held_by_a_test_that_is_there():
    """Each C source of software/ has a test of its own name, or one that HELD names with a reason.
    Each test and source that HELD names exists.
    """
    assert problems(c_suites.files(), c_suites.text, HELD) == []


def test_the_software_has_as_many_lines_of_tests_as_it_must(capsys):
    """The list names each source, and ends with the lines of tests for each line of source. These
    are not less than the least.
    """
    assert c_suites.main() == 0
    printed = capsys.readouterr().out
    for source in sources(c_suites.files()):
        assert f"{source}: " in printed
    tests, lines = c_suites.lines(c_suites.files())
    assert f"{tests / lines:.2f} for each" in printed and tests >= c_suites.LEAST_TESTS * lines
    assert c_suites.lines(["software/kernel/dma/memory.h", "software/README.md"]) == (
        0,
        len((ROOT / "software/kernel/dma/memory.h").read_text().splitlines()),
    )


def test_the_driver_s_sources_are_held_by_the_programs_that_include_them():
    """If a program of software/kernel/test includes a source of the driver, the test that HELD
    names for the source starts that program.
    """
    folder = ROOT / "software/kernel/test"
    files = [path for path in folder.rglob("*.c") if len(path.relative_to(folder).parts) <= 2]
    programs = driver_programs({str(path.relative_to(ROOT)): path.read_text() for path in files})
    assert programs["software/kernel/capture/capture_node.c"] == {"node"}
    assert programs["software/kernel/dma/held.c"] == {"progress", "sync"}
    assert slow(programs, c_suites.text, HELD) == []


def test_c_sources_of_each_part_are_found_and_tests_are_not():
    """sources() finds C sources of driver, library, tools, examples and manual, and no test
    program.
    """
    found = sources(c_suites.files())
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
HELD_ONE = {"test_one.py": ("why", {"test_it": "kernel/one"})}


def test_a_guest_does_not_hold_what_a_program_runs_in_seconds():
    """If a program includes a source of the driver, and the file of tests in the source's entry
    does not start the program, slow() returns a sentence that names both.
    """
    programs = driver_programs({"software/kernel/test/few/few.c": '#include "../../one.c"\n'})
    assert programs == {ONE: {"few"}}
    (sentence,) = slow(programs, TESTS.get, HELD_ONE)
    assert sentence.startswith(f"{ONE} runs in seconds in the program few: test_one.py does not")
    assert slow(programs, {"test_one.py": 'program("few")'}.get, HELD_ONE) == []


@pytest.mark.parametrize(
    "source, test",
    [
        ("kernel/dma/ring.c", "software/kernel/test/ring.c"),
        ("kernel/dma/ring.c", "software/kernel/test/ring/ring.c"),
        ("kernel/dma/ring.c", "software/kernel/test/dma_ring.c"),
        ("kernel/dma/ring.c", "sim/test/driver/test_guest_driver_ring.py"),
        ("liblitepcie/vfio/group.c", "software/test/test_group.py"),
        ("tools/litepcie_util/host/cmd_list.c", "software/test/util/test_util_list.py"),
        ("tools/lanebox_capture/main.c", "software/test/capture/test_capture_main.py"),
        ("kernel/dma/ring.c", None),
        ("liblitepcie/man/examples/ring.c", None),
    ],
)
def test_a_test_of_the_source_s_name_is_found(source, test):
    """own_test() finds a program or a file of tests that has the source's name. It takes no test
    of another part, and none whose name only ends alike.
    """
    others = ["software/liblitepcie/test/ring.c", "software/kernel/test/node/node_ring.c"]
    others += ["gateware/test/test_group.py", "software/test/capture/test_capture_list.py"]
    others += ["software/test/util/test_util_main.py"]
    assert own_test(f"software/{source}", [*others, *([test] if test else [])]) == test


def test_a_source_with_a_test_is_no_problem():
    """problems() returns nothing for a C source whose entry in HELD names a test that exists, or
    with a program of its name that a test starts.
    """
    assert problems([ONE], TESTS.get, HELD_ONE) == []
    program, starter = "software/kernel/test/one.c", "sim/test/driver/test_two.py"
    started = {starter: 'program("one")'}
    assert problems([ONE, program, starter], started.get, {}) == []
    assert problems([ONE, program, starter], {}.get, {}) == [f"{program} is started by no test"]


@pytest.mark.parametrize(
    "names, held, problem",
    [
        ([ONE, "software/kernel/two.c"], HELD_ONE, "software/kernel/two.c is held by no test"),
        ([], HELD_ONE, "software/kernel/one.c has an entry, but there is no such source"),
        (
            [ONE, "software/kernel/test/one.c"],
            HELD_ONE,
            "one.c has a test of its own name, software/kernel/test/one.c: remove its entry",
        ),
        (
            [ONE],
            {**HELD_ONE, "test_gone.py": ("why", {})},
            "test_gone.py has entries, but there is no such",
        ),
        (
            [ONE],
            {"test_one.py": ("why", {"test_i": "kernel/one"})},
            "test_one.py has no test test_i, which",
        ),
        (
            [ONE],
            {"test_one.py": ("why", {"test_it": "kernel/one kernel/one"})},
            "one.c has 2 entries",
        ),
        (
            [ONE],
            {"test_one.py": ("", {"test_it": "kernel/one"})},
            "test_one.py has entries without a reason",
        ),
        (
            [ONE],
            {**HELD_ONE, "test_two.py": ("why", {"test_it": ""})},
            "test_two.py: test_it has an entry without a source",
        ),
    ],
)
def test_what_is_not_right_is_one_sentence(names, held, problem):
    """problems() names a source without a test, and an entry of the table with a wrong name."""
    (said,) = problems(names, {**TESTS, "test_two.py": TESTS["test_one.py"]}.get, held)
    assert problem in said
