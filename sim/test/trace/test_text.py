# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the text trace that the board writes, and of the one that sim.trace makes from
pcapng."""

import subprocess
import sys
from collections import defaultdict

import pytest

from sim.test.board.board_builds import ROOT
from sim.test.board.tlp_log import TlpLog
from sim.test.trace.trace_run import recording


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Return the text traces of two equal runs as TlpLog: the one that the board wrote as text, and
    the one that sim.trace made from pcapng."""
    path = tmp_path_factory.mktemp("trace") / "converted.txt"
    command = [sys.executable, "-m", "sim.trace", recording().path, "--text", "-o", path]
    subprocess.run(command, check=True, cwd=ROOT)
    return [TlpLog(recording("txt").path), TlpLog(path)]


def sequences(log):
    """Return the TLPs on each interface by kind, in order, as far as two runs must agree.

    Times are left out, since they depend on the host. Of a completion's address only seven bits are
    kept, as on the wire.
    """
    found = defaultdict(list)
    for t in log.tlps:
        address = t.address & 0x7F if t.kind.startswith("Cpl") else t.address
        found[t.interface, t.kind].append(
            (address, t.dwords, t.tag, t.enables, t.byte_count, t.status)
        )
    return found


def test_both_ways_to_a_text_agree(logs):
    """The text log that the board writes and the one made from pcapng have the same line for each
    TLP of the run."""
    board, converter = map(sequences, logs)
    assert len(board) == 8 and sum(map(len, board.values())) > 120
    assert board == converter


@pytest.mark.parametrize("which", [0, 1], ids=["board", "converter"])
def test_latency_of_every_completion(logs, which):
    """In a text trace each completion on RC or CC has the time since the request with its tag as
    its latency. Other TLPs have no latency."""
    requests, checked = {}, 0
    for t in logs[which].tlps:
        side = t.interface in ("CQ", "CC")
        if t.kind == "MRd":
            requests[side, t.tag] = t.ns
        if t.interface in ("CC", "RC"):
            assert t.latency == t.ns - requests[side, t.tag] > 0
            checked += 1
        else:
            assert t.latency is None
    assert checked == 34


@pytest.mark.parametrize("which", [0, 1], ids=["board", "converter"])
def test_the_least_latency_is_the_hosts(logs, which):
    """The least latency of a completion on RC is --read-latency, 600 ns by default, within one
    clock cycle."""
    latencies = [t.latency for t in logs[which].on("RC")]
    assert 600 <= min(latencies) <= 604


def test_a_window_of_time(logs, tmp_path):
    """With --from and --to the text that sim.trace writes has only the TLPs between these times."""
    middle = logs[1].tlps[len(logs[1].tlps) // 2].ns
    command = [sys.executable, "-m", "sim.trace", recording().path, "--text"]
    result = subprocess.run(
        [*command, "--from", f"{middle:.0f}", "--to", f"{middle + 200:.0f}"],
        check=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    expected = [t.ns for t in logs[1].tlps if middle <= t.ns <= middle + 200]
    assert [float(line.split()[0]) for line in result.stdout.splitlines()] == expected


def test_make_sim_says_what_to_do_with_a_trace(results_kept):
    """`make sim VM=0 TLP_LOG=FILE` writes the trace of TLPs to FILE, and prints commands that read
    the trace. The printed commands work."""
    path = "build/tests/trace/sim.pcapng"
    (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "sim.run", "--vm", "0", "--tlp-log", path]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    hint = result.stdout.splitlines()[-1]
    assert f"wireshark -X lua_script:sim/trace/lanebox_tlp.lua {path}" in hint
    reader = hint.removeprefix("TLPs: ").partition(" (")[0]
    result = subprocess.run(reader, shell=True, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0 and "reads by the card: 65,536" in result.stdout, result.stderr
    (ROOT / path).unlink()
