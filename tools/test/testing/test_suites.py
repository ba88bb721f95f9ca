# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every source has a suite (a file of tests): the file of its own name, or one that the table
ELSEWHERE in suites.py names.
"""

from pathlib import Path

import pytest

from tools.testing import suites
from tools.testing.repository import ROOT
from tools.testing.suites import ELSEWHERE, REST, named_by, problems, sources

# The repository -----------------------------------------------------------------------------------


def is_file(name):
    return (ROOT / name).is_file()


def test_every_source_has_a_suite_and_every_entry_is_needed():
    """Each source of the repository has a suite, and each entry of the table ELSEWHERE is right and
    needed.
    """
    assert list(problems(sources(ROOT), is_file, ELSEWHERE)) == []


def test_the_sources_are_found():
    """sources() finds sources of each kind, and neither tests nor packages' __init__.py."""
    found = sources(ROOT)
    assert {
        "gateware/mmio/MmioBridge.scala",
        "gateware/dma/c2h.py",
        "sim/board/board.cpp",
        "sim/run.py",
        "targets/nets.py",
    } <= set(found)
    assert not [name for name in found if "/test/" in name or name.endswith("__init__.py")]


def test_a_scala_suite_reaches_its_source():
    """A suite in Scala names the source that it is said to test, directly or through others."""
    folder, wrong = ROOT / "gateware", []
    reached = {}
    for source, found in suites.suites(sources(ROOT), is_file, ELSEWHERE).items():
        for suite in found:
            if not suite.endswith(".scala"):
                continue
            if suite not in reached:
                reached[suite] = named_by(ROOT / suite, folder)
            if Path(source).stem not in reached[suite]:
                wrong.append(f"{suite} does not reach {source}")
    assert wrong == []


# The rules, with made-up files --------------------------------------------------------------------

LISTED = ["gateware/mmio/Foo.scala", "gateware/mmio/Bar.scala", "gateware/mmio/baz.py"]
TESTS = ["gateware/test/mmio/FooTest.scala", "gateware/test/mmio/test_baz.py"]


def said(elsewhere, listed=LISTED, tests=TESTS):
    return list(problems(listed, [*listed, *tests].__contains__, elsewhere))


@pytest.mark.parametrize(
    "entries", [{"Bar": "FooTest.scala"}, {REST: ("FooTest.scala", "Foo has a Bar.")}]
)
def test_an_entry_gives_a_source_its_suite(entries):
    """A source without a suite of its own name has the suite that ELSEWHERE names for it, or for
    its whole folder.
    """
    assert said({"gateware/mmio": entries}) == []
    found = suites.suites(LISTED, TESTS.__contains__, {"gateware/mmio": entries})
    assert found["gateware/mmio/Bar.scala"] == found["gateware/mmio/Foo.scala"] == [TESTS[0]]
    assert found["gateware/mmio/baz.py"] == [TESTS[1]]


def test_an_entry_may_give_a_source_several_suites():
    """A source has all suites that its entry in ELSEWHERE names, and each of them must exist."""
    entries = {"gateware/mmio": {"Bar": "FooTest.scala sim/test/test_bar.py"}}
    found = suites.suites(LISTED, TESTS.__contains__, entries)
    assert found["gateware/mmio/Bar.scala"] == [TESTS[0], "sim/test/test_bar.py"]
    assert said(entries) == ["gateware/mmio: the suite sim/test/test_bar.py of Bar is not there"]
    assert said(entries, tests=[*TESTS, "sim/test/test_bar.py"]) == []


def test_a_source_without_a_suite_is_named_with_the_file_to_write():
    """The sentence about a source without a suite names the file to write, and the table ELSEWHERE
    as the alternative.
    """
    assert said({}) == [
        "gateware/mmio/Bar.scala has no suite: write gateware/test/mmio/BarTest.scala, or name one "
        "in ELSEWHERE"
    ]


@pytest.mark.parametrize(
    "elsewhere, problem",
    [
        ({"Bar": "GoneTest.scala"}, "the suite GoneTest.scala of Bar is not there"),
        ({"Bar": "sim/test/test_gone.py"}, "the suite sim/test/test_gone.py of Bar is not there"),
        ({"Bar Foo": "FooTest.scala"}, "nothing needs the entry of Foo"),
        ({"Bar baz": "FooTest.scala"}, "nothing needs the entry of baz"),
        ({"Bar Old": "FooTest.scala"}, "nothing needs the entry of Old"),
        (
            {"Bar": "FooTest.scala", REST: ("FooTest.scala", "Foo has a Bar.")},
            "nothing needs the entry of *",
        ),
        ({REST: ("FooTest.scala", "")}, "one suite for the whole folder needs a reason"),
        (
            {
                REST: ("GoneTest.scala", "Why."),
            },
            "the suite GoneTest.scala of * is not there",
        ),
    ],
)
def test_an_entry_that_is_not_right_is_a_problem(elsewhere, problem):
    """An entry of ELSEWHERE is a problem if its suite does not exist, if nothing needs it, or if it
    lacks a reason.
    """
    assert said({"gateware/mmio": elsewhere}) == [f"gateware/mmio: {problem}"]


def test_an_entry_for_a_folder_that_is_gone_is_a_problem():
    """An entry of ELSEWHERE for a folder that no longer exists is a problem: nothing needs it."""
    entries = {"gateware/mmio": {"Bar": "FooTest.scala"}, "gateware/old": {"Fob": TESTS[0]}}
    assert said(entries) == ["gateware/old: nothing needs the entry of Fob"]


def test_a_scala_suite_for_a_folder_is_none_for_its_python():
    """An entry of ELSEWHERE that gives a folder a suite in Scala does not cover a Python source of
    the folder.
    """
    entries = {"gateware/mmio": {REST: ("FooTest.scala", "Foo has a Bar.")}}
    assert said(entries, tests=TESTS[:1]) == [
        "gateware/mmio/baz.py has no suite: write gateware/test/mmio/test_baz.py, or name one in "
        "ELSEWHERE"
    ]


@pytest.mark.parametrize("test", ["sim/test/board/test_one.py", "sim/test/board/test_board_one.py"])
@pytest.mark.parametrize("source", ["sim/board/one.py", "sim/board/one.cpp"])
def test_python_and_cpp_have_the_same_names_of_suites(source, test):
    """A suite in Python is called test_<source>.py. If another test has that name, it is called
    test_<folder>_<source>.py.
    """
    assert said({}, [source], [test]) == []
    assert said({}, [source], ["sim/test/rows/test_one.py"]) != []


def test_a_scala_file_is_reached_through_others_and_not_by_a_comment(tmp_path):
    """named_by() follows a name in the code of a named Scala file, whichever file defines it. A
    name in a comment does not count.
    """
    for name, text in {
        "FooTest": "class FooTest { Bench() } // Spare\n/* Spare\n Spare */",
        "Bench": "object Bench { new Inner }",
        "Parts": "class Inner",
        "Spare": "class Spare { Bench() }",
    }.items():
        (tmp_path / f"{name}.scala").write_text(text)
    assert named_by(tmp_path / "FooTest.scala", tmp_path) == {"FooTest", "Bench", "Parts"}
