# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of --read-latency of the simulated host: the values drawn, the order of answers, what is
refused."""

from collections import Counter

import pytest

from sim.test.board.board_process import run_board
from sim.test.link.root_probe import run

READS = 400
FIXED = 600
# The largest lateness of an answer in ns. An answer waits for the next clock edge, and for DLLPs or
# a skip ordered set before it.
SLACK = 16


def reads(*settings, count=READS, seed=1, gap=400, tags=32):
    """Let the card read one dword of host memory `count` times, once every `gap` ns."""
    commands = [f"seed {seed}", *settings]
    for i in range(count):
        commands += [f"mrd {0x1000 + 4 * i:x} 1 {i % tags}", f"run {gap}"]
    commands.append("run 40000")
    return run(*commands)


def latencies(seen, gap=400, tags=32):
    """Return the latency of each read in ns, in order: from leaving the card's pins to the arrival
    of the answer's last byte at the hard block."""
    turn, found = Counter(), {}
    for c in seen.completions:
        index = c.tag + tags * turn[c.tag]
        turn[c.tag] += 1
        found[index] = c.ns - gap * index
    return [found[i] for i in sorted(found)]


def test_a_fixed_latency_is_the_same_for_every_read():
    """With --read-latency 600 the host answers each of the card's reads after 600 ns, plus clock
    and link."""
    values = latencies(reads(f"latency {FIXED}"))
    assert len(values) == READS
    assert all(FIXED <= v <= FIXED + SLACK for v in values)


def test_a_uniform_latency_fills_its_range():
    """With `uniform:300:900` every latency is from 300 to 900 ns, and about a third of them in each
    third of that range."""
    values = latencies(reads("latency uniform:300:900"))
    assert all(300 <= v <= 900 + SLACK for v in values)
    thirds = Counter(min((v - 300) // 200, 2) for v in values)
    assert all(READS / 3 * 0.75 < thirds[i] < READS / 3 * 1.25 for i in range(3)), thirds


def test_a_histogram_is_drawn_by_its_weights(tmp_path):
    """With `file:PATH` each latency of the file comes as often as its weight says. Comments and
    blank lines in the file are ignored."""
    path = tmp_path / "latencies"
    path.write_text("# ns weight\n\n400 3\n800 1   # rarely\n")
    values = latencies(reads(f"latency file:{path}", gap=500), gap=500)
    slow = sum(v >= 800 for v in values)
    assert all(400 <= v <= 400 + SLACK or 800 <= v <= 800 + SLACK for v in values)
    assert READS / 4 * 0.7 < slow < READS / 4 * 1.3


def test_the_iommu_misses_now_and_then():
    """With --iommu-miss 10:5000 about a tenth of the reads takes 5 us longer, and the others take
    no longer than without the option."""
    values = latencies(reads(f"latency {FIXED}", "miss 10:5000", tags=64), tags=64)
    misses = sum(v >= FIXED + 5000 for v in values)
    assert all(0 <= v - FIXED <= SLACK or 0 <= v - FIXED - 5000 <= SLACK for v in values)
    assert 0.05 * READS < misses < 0.17 * READS


@pytest.mark.parametrize("setting", ["latency uniform:100:5000", "miss 20:3000"])
def test_the_same_seed_repeats_and_another_does_not(setting):
    """Random latencies of the host repeat with the same seed, and differ with another seed."""
    first = reads(setting, seed=5).completions
    assert reads(setting, seed=5).completions == first
    assert reads(setting, seed=6).completions != first


def order(seen):
    return [c.tag for c in seen.completions]


def many_reads(*settings):
    """Return the completions of 32 reads of 512 bytes, all asked at once, each split into pieces of
    64 bytes."""
    asked = [f"mrd {0x1000 * (tag + 1):x} 128 {tag}" for tag in range(32)]
    return run("seed 3", "size 64", *settings, *asked, "run 40000")


def test_reads_overtake_each_other_and_stay_in_order_by_themselves():
    """With random latencies the completions of different tags interleave. Those of the same tag
    stay in order: their byte count falls from piece to piece."""
    seen = many_reads("latency uniform:100:2000")
    assert order(seen) != sorted(order(seen))
    assert len({tuple(order(seen)[i : i + 2]) for i in range(40)}) > 20, (
        "the completions do not interleave"
    )
    for tag in range(32):
        assert [c.byte_count for c in seen.of(tag)] == list(range(512, 0, -64))
        assert [c.done for c in seen.of(tag)] == [False] * 7 + [True]
        assert b"".join(c.data for c in seen.of(tag)) == bytes(i & 0xFF for i in range(512))


def test_with_reorder_off_reads_are_answered_as_they_were_asked():
    """With --reorder off no answer overtakes that of an earlier read, however long each latency
    is."""
    seen = many_reads("latency uniform:100:2000", "miss 20:3000", "reorder 0")
    assert order(seen) == [tag for tag in range(32) for _ in range(8)]


def test_a_fixed_latency_keeps_the_order():
    """With a fixed latency the host's answers come in the order of the card's reads."""
    assert order(many_reads("latency 600")) == [tag for tag in range(32) for _ in range(8)]


@pytest.mark.parametrize(
    "spec,rule",
    [
        ("-5", "must be a number from 0 to 1000000000"),
        ("uniform:900:300", "LOW not above HIGH"),
        ("uniform:300", "uniform:LOW:HIGH"),
        ("gauss:600", "file:PATH"),
        ("file:/nowhere", "cannot read the latencies in /nowhere"),
    ],
)
def test_a_bad_latency_is_named_with_its_rule(executable, tmp_path, spec, rule):
    """A board with a bad --read-latency does not start: status 2, and the error has option, value
    and rule."""
    socket = tmp_path / "board.sock"
    status, _, error = run_board(executable, "--socket", socket, "--read-latency", spec)
    assert status == 2 and f"--read-latency {spec}" in error and rule in error


@pytest.mark.parametrize(
    "text,rule",
    [
        ("400 1\n500\n", "line 2: '500' must be nanoseconds (0 to 1000000000) and a weight"),
        ("400 0\n", "line 1: '400 0'"),
        ("# nothing\n\n", "has no line with a latency and a weight"),
        ("1 1\n\nfast 3\n", "line 3: 'fast 3'"),
        ("1 1 1\n", "line 1: '1 1 1'"),
    ],
)
def test_a_bad_file_is_named_with_line_and_rule(tmp_path, text, rule):
    """An error in a file of read latencies is reported with the file, the line and the rule."""
    path = tmp_path / "latencies"
    path.write_text(text)
    error = run(f"latency file:{path}", refused=True)
    assert str(path) in error and rule in error


@pytest.mark.parametrize(
    "option,value,rule",
    [
        ("--iommu-miss", "101:5", "PERCENT:NS with at most 100 percent and 1000000 ns"),
        ("--iommu-miss", "5", "PERCENT:NS"),
        ("--write-stall", "1:500001", "500000 ns"),
        ("--write-stall", "x:5", "PERCENT:NS"),
        ("--reorder", "perhaps", "must be on or off"),
        ("--split", "page", "must be one of size, rcb, mps, random"),
    ],
)
def test_a_bad_setting_of_the_host_is_named_with_its_rule(
    executable, tmp_path, option, value, rule
):
    """A board with a bad value of --iommu-miss, --write-stall, --reorder or --split does not start:
    status 2, and the error has option, value and rule."""
    socket = tmp_path / "board.sock"
    status, _, error = run_board(executable, "--socket", socket, option, value)
    assert status == 2 and f"{option} {value}" in error and rule in error
