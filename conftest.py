# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What every test may rely on, however the tests were started."""

import signal

import pytest

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
