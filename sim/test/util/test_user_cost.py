# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the cost of a buffer for a program in C: instructions in user space, system calls,
allocations, copies.

The same loop runs for two numbers of buffers. The difference is the cost of the buffers, including
waits and messages to the board. Costs are counted and not timed.
"""

import re
import subprocess

import pytest

from sim.endpoints import DEFAULT, ENDPOINTS
from sim.rows import limits
from software.test.software_build import build_unchecked

pytestmark = pytest.mark.soak

FEW, MANY = 512, 2560  # buffers that a short and a long run move: two and ten turns of the ring
# buffers that the program gives back together, and buffers per interrupt: a quarter of the ring
BATCH = 64
# Most instructions that the library may take for a buffer of 8 KiB, with one wait for a batch.
INSTRUCTIONS = 150
# Functions of the library that wait for the card.
WAITS = ("litepcie_wait_beyond", "litepcie_stream_drain")
# Most system calls for a batch of buffers: half a dozen, and more while waits on a slow board time
# out.
CALLS = 32
# Matches the line in which callgrind prints the sum of instructions.
COLLECTED = r"Collected : (\d+)"
VECTOR = 32  # bytes of the widest load instruction that valgrind supports


def run(board, direction, buffers, *prefix):
    """Run the program steady, which takes and gives back buffers; returns its report, and the
    output of the tool in `prefix`."""
    program = build_unchecked() / "test" / "steady"
    command = [*prefix, program, f"sim:{board.socket}", direction, str(buffers), str(BATCH)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(re.findall(r"(\w+) (\d+)", done.stdout)), done.stderr


def per_buffer(board, direction, pattern, *prefix):
    """Return by how much the number that `pattern` finds in the output of the counting tool
    (callgrind, for example) grows with each buffer that the program moves."""
    counts = []
    for buffers in (FEW, MANY):
        _, text = run(board, direction, buffers, *prefix)
        counts.append(int(re.search(pattern, text, re.MULTILINE).group(1).replace(",", "")))
    return (counts[1] - counts[0]) / (MANY - FEW)


def callgrind(profile, *functions):
    """Return the command prefix that counts the instructions inside the first of `functions`,
    without those inside the others. callgrind switches its count on or off where one of these
    functions is called and where it returns.
    """
    toggles = [f"--toggle-collect={name}" for name in functions]
    return ("valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", *toggles)


@pytest.mark.parametrize("direction", ["c2h", "h2c"])
def test_a_buffer_costs_few_instructions(start_board, tmp_path, direction):
    """A buffer of 8 KiB costs at most 150 instructions in user space, including its share of one
    wait for each batch. A copy with the widest loads would need more.

    The board decides how often the program waits, and a busy machine makes the board slow. So waits
    are counted apart, and a batch is charged with one wait of mean cost.
    """
    with start_board() as board:
        tool = callgrind(tmp_path / "awake", "main", *WAITS)
        awake = per_buffer(board, direction, COLLECTED, *tool)
        report, text = run(board, direction, MANY, *callgrind(tmp_path / "waits", WAITS[0]))
    wait = int(re.search(COLLECTED, text).group(1)) / int(report["waits"])
    cost = awake + wait / BATCH
    print(f"host/insn_per_buffer {direction}: {cost:.0f}, {awake:.0f} and a wait's {wait:.0f}")
    assert 0 < cost <= INSTRUCTIONS < 2 * 8192 / VECTOR


def test_no_buffer_allocates_memory(start_board):
    """Memory is allocated only when the card is opened and a stream started, and not for each
    buffer."""
    with start_board() as board:
        assert per_buffer(board, "c2h", r"total heap usage: ([\d,]+) allocs", "valgrind") == 0


@pytest.mark.parametrize("direction", ["c2h", "h2c"])
def test_system_calls_are_shared_by_a_batch(start_board, direction):
    """Only a wait or a full batch makes system calls; the library's other calls do not enter the
    kernel.

    The buffers of a batch therefore share one message, one sleep and one check of the card's count.
    """
    with start_board() as board:
        calls = per_buffer(
            board, direction, r"^\S+\s+\S+\s+(?:\S+\s+)?(\d+)\s+(?:\d+\s+)?total$", "strace", "-c"
        )
        report, _ = run(board, direction, MANY)
    print(f"host/syscalls_per_buffer {direction}: {calls:.2f}")
    assert 0 < calls < CALLS / BATCH
    assert int(report["batches"]) <= MANY / BATCH + 16


@pytest.mark.parametrize("direction, least", [("c2h", 0.99), ("h2c", 0.98)])
def test_the_ring_never_runs_dry(start_board, direction, least):
    """At MPS 512 the library's test program reaches the limit of link and pins with its stream. So
    the program never lets the DMA ring run empty."""
    ours = ENDPOINTS[DEFAULT]
    limit = {
        "c2h": limits.c2h(512, mps=512),
        "h2c": limits.h2c(512, 512, ours.tags, 512, rtt_ns=600, straddle=ours.straddle),
    }[direction].value
    with start_board() as board:
        report, _ = run(board, direction, MANY)
    reached = int(report["bytes"]) / (int(report["ticks"]) * limits.CYCLE_NS)
    print(f"{direction}: {reached:.2f} GB/s of {limit:.2f}")
    assert least <= reached / limit <= 1.01
