# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test the command `disk` of lanebox-capture, which tries whether a disk can hold the rate of a
capture. It needs no card.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from software.test.software_build import build_unchecked, run_program


def disk(tool, *arguments, status=0):
    done = tool.run("disk", "--json", *arguments)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def test_a_rate_that_the_disk_holds_loses_nothing(tool, tmp_path):
    """At a low rate `disk` writes the bytes of all full MBUFs (parts of its ring) and loses none.
    No file is left in the folder.
    """
    report = disk(
        tool, "--rate", "8M", "--seconds", "1.5", "--ring", "32M", "--mbuf", "64K", tmp_path
    )
    assert report["lost_bytes"] == 0 and report["most_waiting_bytes"] <= 32 << 20
    assert 11 << 20 <= report["written_bytes"] <= 12 << 20
    assert report["asked_bytes_per_s"] == 8 << 20
    assert report["slowest_bytes_per_s"] <= 1.2 * (8 << 20)
    assert 0 <= report["slowest_at_s"] < 1.5
    assert 0 <= report["slowest_after_bytes"] <= report["written_bytes"]
    assert list(tmp_path.iterdir()) == []


def test_a_rate_that_no_disk_holds_is_told(tool, tmp_path):
    """If the disk is too slow for the rate, so that the ring of `disk` runs over, `disk` ends with
    status 1. The bytes written and the bytes lost are together about as many as the rate gives.
    """
    options = ("--rate", "8G", "--seconds", "0.05", "--ring", "64K", "--mbuf", "16K")
    report = disk(tool, *options, tmp_path, status=1)
    assert "does not hold 8.590 GB/s" in report["failures"][0]
    assert report["most_waiting_bytes"] == 64 << 10
    come = report["written_bytes"] + report["lost_bytes"]
    assert 0.5 * 0.05 * 8 * 2**30 < come < 1.01 * report["seconds"] * 8 * 2**30
    assert list(tmp_path.iterdir()) == []


def test_without_a_rate_the_disk_gets_what_it_takes(tool, tmp_path):
    """Without --rate `disk` writes as fast as the disk can, and ends with status 0. Its report then
    has null for the lost bytes."""
    report = disk(tool, "--seconds", "0.2", "--ring", "4M", "--mbuf", "256K", tmp_path)
    assert report["written_bytes"] > 0 and report["lost_bytes"] is None


@pytest.mark.parametrize("options", [[], ["--rate", "8M"]], ids=["as fast as it goes", "rate"])
def test_the_writes_have_their_times(tool, tmp_path, options):
    """The report of `disk` has the percentiles of the times of the writes, in order. None is longer
    than the trial. Without --rate some write is always under way, so all together take as long as
    the trial or longer, and the longest takes the mean of that or longer."""
    sizes = ("--ring", "4M", "--mbuf", "256K")
    report = disk(tool, *options, "--seconds", "0.3", *sizes, tmp_path)
    times = [report[f"write_{part}_s"] for part in ("p50", "p99", "p999", "worst")]
    assert 0 < times[0] and times == sorted(times) and times[-1] <= report["seconds"]
    mean = report["seconds"] / (report["written_bytes"] / (256 << 10))
    assert options or times[-1] >= 0.9 * mean
    # A trial of 0.3 s has no second that could be the slowest.
    assert (report["slowest_bytes_per_s"], report["slowest_at_s"]) == (None, None)
    text = tool.run("disk", *options, "--seconds", "0.1", *sizes, tmp_path).stdout
    assert re.search(r"^  writes +p50 [\d.]+ ms, p99 [\d.]+ ms, p99.9 .* worst", text, re.MULTILINE)


def test_what_is_measured_is_told():
    """The C test disk.c passes: each write is counted with its own time, also if more writes are
    under way than the ring has MBUFs (equal parts), the slowest second is the one with the fewest
    bytes, and the percentiles that are printed are those of their names.
    """
    run_program(build_unchecked("SANITIZE=1") / "test" / "disk")


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--rate", "1000G", "--seconds", "100000"], "choose a lower --rate or fewer --seconds"),
        (["none"], "none: No such file or directory"),
        (["file"], "file: it is no folder"),
        (["file/below"], "file/below: Not a directory"),
    ],
    ids=["room", "none", "file", "below"],
)
def test_a_folder_that_cannot_be_tried_is_refused(tool, tmp_path, arguments, sentence):
    """`disk` fails with a sentence before it writes anything if the disk has no room for the trial,
    or if its argument is no folder."""
    (tmp_path / "file").write_bytes(b"")
    *options, last = arguments
    place = tmp_path / last if not options else tmp_path
    report = disk(tool, *(arguments if options else []), place, status=1)
    assert sentence in report["failures"][0] and "written_bytes" not in report


@pytest.mark.parametrize("option, size", [("--ring", "96M"), ("--mbuf", "96K")])
def test_a_size_that_is_no_power_of_two_is_refused(tool, tmp_path, option, size):
    """--ring and --mbuf of `disk` must be powers of two, as those of `record` must. Another size is
    refused with a sentence that says so, and nothing is written."""
    done = tool.run("disk", option, size, tmp_path)
    assert done.returncode == 2 and f"{option} {size}: it must be a power of two" in done.stderr
    assert not list(tmp_path.iterdir())


def has_begun(process):
    """Return whether the trial of `disk` has begun to write: its file, which has no name any more,
    is larger than the header of 4096 bytes."""
    for link in Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if ".lanebox-disk" in os.readlink(link) and os.stat(link).st_size > 4096:
                return True
    return False


def test_ctrl_c_ends_a_trial_with_its_result(tool, tmp_path):
    """SIGINT ends a long trial of `disk` at once, with the result of the time until the signal."""
    command = [tool.program, "disk", "--json", "--rate", "1M", "--ring", "64K", "--mbuf", "4K"]
    running = subprocess.Popen([*command, "--seconds", "1000", tmp_path], stdout=-1, text=True)
    deadline = time.monotonic() + 60
    while not has_begun(running):
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    # The status of `disk` is 1 if its ring ran over, as when the machine stood still for a while.
    assert running.returncode in (0, 1)
    assert json.loads(out)["written_bytes"] > 0
    assert list(tmp_path.iterdir()) == []
