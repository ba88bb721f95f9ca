# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What every test may rely on, however the tests were started."""

import signal

import pytest

# What belongs together when tests run side by side (`make test`): what writes the user's results
# or runs a processor's worth of Java each. Else a file's tests stay together, with their fixtures.
RESULTS = "results"
FIRST = (RESULTS, "test_spinal_suites.py")  # the longest begin first

# A shell starts background jobs with SIGINT ignored, and children inherit that: tests which
# interrupt a program would then prove nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption(
        "--fresh",
        action="store_true",
        help="run what passed before with the same inputs (the ScalaTest suites) all the same",
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that ran beside others may record its own `duration`, for --durations to show."""
    report = (yield).get_result()
    if report.when == "call":
        report.duration = dict(item.user_properties).get("duration", report.duration)


def group(item):
    """The name of the tests that this one never runs beside."""
    return RESULTS if "results_kept" in item.fixturenames else item.path.name


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Groups for pytest-xdist's `--dist loadgroup`, which hands them out in this order."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group(item)))
    rank = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: rank.get(group(item), len(rank)))
