# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Settings that hold for every test, however pytest was started."""

import signal

import pytest

from tools import recall
from tools.testing import times

pytest_plugins = ["tools.testing.fixtures"]

# Groups of tests. `make test` runs tests side by side, but never two of one group. Tests that write
# the user's results are one group. Every other group is one file, so that its fixtures are made
# once.
RESULTS = "results"
# groups and files that take longest, so they begin first
FIRST = (RESULTS, "test_spinal_suites.py")
RECALLED = ("recalled", True)  # a property of a report: this test was not run
STAMP = pytest.StashKey()

# A shell starts background jobs with SIGINT ignored, and children inherit that. A test that
# interrupts a program would then prove nothing, so SIGINT is restored here.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption(
        "--fresh", action="store_true", help="run tests also where they passed with the same inputs"
    )


def stamp_of(item):
    """Return the file that says that this test passed, or None for a test that always runs."""
    if item.get_closest_marker("soak") or not isinstance(item, pytest.Function):
        return None
    is_model = item.get_closest_marker("model") is not None
    return recall.stamp(item.path, item.name, is_model)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Report a test that passed with the same inputs as passed, without running it."""
    place = item.stash[STAMP] = stamp_of(item)
    if not place or item.config.getoption("fresh") or not recall.has_passed(place):
        return None
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for when in ("setup", "call", "teardown"):
        report = pytest.TestReport(
            item.nodeid, item.location, {}, "passed", None, when, user_properties=[RECALLED]
        )
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    # The fixtures of a finished module end here, as they would after a test that was run.
    item.session._setupstate.teardown_exact(nextitem)
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Note that a test passed. Show a test's own `duration` if it recorded one.

    The wall time of a test that ran beside others would also count their work.
    """
    report = (yield).get_result()
    if report.when == "call":
        report.duration = dict(item.user_properties).get("duration", report.duration)
    place = item.stash.get(STAMP, None)
    if place and (report.when == "call" or not report.passed):
        recall.note(place, report.passed and not hasattr(report, "wasxfail"))


def pytest_terminal_summary(terminalreporter):
    """Say which files took the time, and how many tests were not run because they had passed."""
    found = [report for kind in terminalreporter.stats.values() for report in kind]
    table = times.lines(each for each in found if isinstance(each, pytest.TestReport))
    if table:
        terminalreporter.section("slowest files")
    for line in table:
        terminalreporter.write_line(line)
    passed = terminalreporter.stats.get("passed", [])
    count = sum(RECALLED in map(tuple, report.user_properties) for report in passed)
    if count:
        terminalreporter.write_line(
            f"{count} of {len(passed)} passed before with the same inputs, and were not run again "
            "(PYTEST_OPTIONS=--fresh runs them)"
        )


def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        recall.forget()


def group(item):
    """Return the name of the item's group: two tests of one group never run at the same time."""
    return RESULTS if "results_kept" in item.fixturenames else item.path.name


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark each test with its group for pytest-xdist's `--dist loadgroup`, FIRST groups first.

    pytest-xdist hands the groups out in the order of the items.
    """
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group(item)))
    rank = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: rank.get(group(item), len(rank)))
