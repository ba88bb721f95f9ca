# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of tools/testing/wireshark.py: the tests that read recordings by Wireshark's programs and
by tcpdump pass with those of each release of Debian, whatever release this machine has.
"""

import shutil
import subprocess
import sys

import pytest

from sim.test.util.capture_tool import run
from tools.testing import wireshark
from tools.testing.repository import ROOT

SECONDS = 3600  # of wall time for the tests of one release
VERSIONS = {"12": "4.0", "13": "4.4"}  # the version of Wireshark that a release of Debian has
READERS = (
    "gateware/test/capture/test_capture_file.py",
    "sim/test/card/test_board_capture.py",
    "sim/test/python/test_python_capture.py",
    "sim/test/trace/test_trace_tshark.py",
    "sim/test/util/test_capture_extcap.py",
    "sim/test/util/test_capture_folders.py",
    "sim/test/util/test_capture_newest.py",
    "sim/test/util/test_capture_play.py",
    "sim/test/util/test_capture_queues.py",
    "sim/test/util/test_capture_record.py",
    "software/test/capture/test_capture_find.py",
)


@pytest.mark.soak
@pytest.mark.guest
@pytest.mark.spinal
@pytest.mark.parametrize("release", wireshark.RELEASES)
def test_each_wireshark_reads_the_recordings(release):
    """Every test of READERS passes with Wireshark and tcpdump of this release of Debian, and none
    is skipped."""
    environment = wireshark.environment(release)
    found = shutil.which("tshark", path=environment["PATH"])
    assert f"Wireshark) {VERSIONS[release]}." in run(found, "--version").decode()
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--fresh", "-m", "not soak"]
    done = subprocess.run(
        [*command, *READERS],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert "skipped" not in done.stdout.splitlines()[-1], done.stdout[-1000:]
