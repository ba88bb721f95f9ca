# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Say in which test files a run of pytest spent its time."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

SHOWN = 30
LEAST = 10.0  # seconds: a file below this is not worth a line


def by_file(reports: Iterable[pytest.TestReport]) -> list[tuple[float, str]]:
    """Return (seconds, file) for each file, slowest first.

    The seconds are those of the set-up, the call and the end of all tests of the file."""
    spent: dict[str, float] = {}
    for report in reports:
        file = report.nodeid.split("::")[0]
        spent[file] = spent.get(file, 0.0) + report.duration
    return sorted(((seconds, file) for file, seconds in spent.items()), reverse=True)


def lines(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Return a table of the SHOWN slowest files of at least LEAST seconds, and the sum of all."""
    files = by_file(reports)
    shown = [(seconds, file) for seconds, file in files[:SHOWN] if seconds >= LEAST]
    if not shown:
        return []
    rows = [f"{seconds:7.0f} s  {file}" for seconds, file in shown]
    return [*rows, f"{sum(seconds for seconds, _ in files):7.0f} s  all {len(files)} files"]
