# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util after Ctrl-C: long commands end soon, and unmeasured rows have no value."""

import json
import signal
import time

import pytest

# number of seconds in which a command must end after Ctrl-C
SOON = 5
MARKS = [0xA5A50000 + n for n in range(1024)]


def interrupt(util, device, *arguments, after=1.0):
    """Start a command of litepcie_util with --json, and send it SIGINT after `after` seconds.

    Returns the exit status, the report and the lines of standard error.
    """
    process = util.start("-d", device, "--json", *arguments)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    text, errors = process.communicate(timeout=60)
    assert time.monotonic() - began < SOON
    return process.returncode, json.loads(text), errors.splitlines()


@pytest.mark.parametrize(
    "arguments",
    [
        ["mmio_bench", "--count", "1000000"],
        ["mmio_bench", "--all", "--count", "1000000"],
        ["dma_bench", "--size", "64G"],
        ["dump", "0", "128K"],
    ],
    ids=" ".join,
)
def test_ctrl_c_ends_a_long_command(util, card, device, arguments):
    """Ctrl-C ends a long command within SOON seconds, with status 1 and one sentence. The card's
    memory then has the same data as before the command.
    """
    with card(slow=0.0005) as standin:
        standin.preset_memory0(MARKS)
        status, report, errors = interrupt(util, device, *arguments)
        assert standin.memory0(len(MARKS)) == MARKS
    assert status == 1 and report["ok"] is False
    assert len(errors) == len(report["failures"]) == 1 and "interrupted" in errors[0]


def test_what_was_not_measured_has_no_value(util, card, device):
    """After Ctrl-C mmio_bench has no value in the row that it was measuring and in later rows.

    The interrupted run may take less than half as long as the first run, and so end before Ctrl-C.
    The test then repeats the run with an earlier Ctrl-C.
    """
    arguments = ("mmio_bench", "--target", "scratch", "--count", "1500")
    with card():
        began = time.monotonic()
        assert util.run("-d", device, *arguments).returncode == 0
        after, report = (time.monotonic() - began) / 2, {"ok": True}
        while report["ok"]:
            _, report, _ = interrupt(util, device, *arguments, after=after)
            after /= 2
    rows = [row["value"] for row in report["rows"]]
    assert None in rows and all(value is None or value > 0 for value in rows)
    assert {row["reason"] for row in report["rows"] if row["value"] is None} >= {"not measured"}
