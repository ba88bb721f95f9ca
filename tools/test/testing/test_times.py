# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""tools/testing/times.py: where the time of a run went."""

import pytest

from tools.testing import times


def report(nodeid, when, seconds):
    return pytest.TestReport(nodeid, ("", None, ""), {}, "passed", None, when, duration=seconds)


def test_the_three_phases_of_all_tests_of_a_file_are_added():
    """A file's time is the sum over its tests of setup, call and teardown. The slowest is first."""
    reports = [
        report("a/test_one.py::test_x", "setup", 10.0),
        report("a/test_one.py::test_x", "call", 2.0),
        report("a/test_two.py::test_x[b::c]", "call", 30.0),
        report("a/test_one.py::test_y", "teardown", 1.0),
    ]
    assert times.by_file(reports) == [(30.0, "a/test_two.py"), (13.0, "a/test_one.py")]


def test_files_that_took_little_are_in_the_sum_only():
    """A file that took less than 10 seconds has no line of its own, but is in the sum."""
    reports = [report("test_one.py::t", "call", 12.4), report("test_two.py::t", "call", 9.9)]
    assert times.lines(reports) == ["     12 s  test_one.py", "     22 s  all 2 files"]


def test_a_quick_run_has_no_table():
    """If no file took long, nothing is printed, not even the sum."""
    assert times.lines([report("test_one.py::t", "call", 1.0)]) == []


def test_the_table_has_a_bound():
    """Of many slow files only the slowest SHOWN ones have a line, and the sum follows."""
    reports = [report(f"test_{index}.py::t", "call", 20.0 + index) for index in range(40)]
    table = times.lines(reports)
    assert len(table) == times.SHOWN + 1
    assert table[0].endswith("test_39.py")
