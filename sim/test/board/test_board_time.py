# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Device time, the board's simulated time: what it measures, and that it runs only while the board
has work.

A board without work simulates no cycles and uses no processor time.
"""

import select
import time

import pytest

from gateware import numbers
from sim.clients.vfio import BAR0
from sim.test.board.board_client import C2H_GENERATE, HIGH_MEMORY, pattern
from tools.testing.seeds import SHIFT

TICK_NS = numbers.TICK_NS
MOST_OVERHEAD = 24  # ticks of 4 ns that gateware and link may add, both ways, to a host read


def read_ticks(card, count=9, pause=0.0):
    """Read the device time register `count` times; returns the median number of ticks of 4 ns
    between two reads.

    Now and then a DLLP or a skip ordered set delays a TLP by a tick or two, which a median does not
    show. `pause` is the wall time between two reads, in seconds.
    """
    times = []
    for _ in range(count):
        times.append(card.device_time())
        time.sleep(pause)
    steps = sorted(b - a for a, b in zip(times, times[1:]))
    return steps[len(steps) // 2]


def test_a_read_takes_the_hosts_share_and_the_gateways(start_board):
    """For every --mmio-rtt, two back-to-back register reads are exactly --mmio-rtt plus a constant
    apart. The constant is what gateware and link need."""
    with start_board() as board:
        card = board.card()
        overhead = {}
        # round-trip times in ns; half of each is a whole number of ticks of 4 ns
        for rtt in (0, 400, 704, 1000, 20_000):
            board.set("mmio-rtt", rtt)
            overhead[rtt] = read_ticks(card) - rtt // TICK_NS
        assert len(set(overhead.values())) == 1, overhead
        assert 2 < overhead[0] < MOST_OVERHEAD, overhead


def test_the_option_and_the_command_set_the_same_time(start_board):
    """The option --mmio-rtt and the control command `set mmio-rtt` set the same round trip time of
    a host read."""
    with start_board("--mmio-rtt", 2000) as board:
        card = board.card()
        by_option = read_ticks(card)
        board.set("mmio-rtt", 704)
        assert by_option - read_ticks(card) == (2000 - 704) // TICK_NS


def test_a_slow_host_does_not_lengthen_a_read(start_board):
    """Wall time that the client lets pass between two reads is not counted as device time."""
    with start_board() as board:
        card = board.card()
        assert read_ticks(card, pause=0.02) == read_ticks(card)


@pytest.mark.parametrize("stock", [False, True], ids=["lanebox", "litepcie"])
def test_time_runs_while_posted_writes_wait(stock, start_board, start_stock):
    """The last write of a long burst of posted writes takes effect although the client sends
    nothing after it.

    The gateware's register bus takes much longer for the burst than the hard block's pins, where
    nothing moves meanwhile. Device time must run on until the bus is done.
    """
    with start_stock("--rules", "warn") if stock else start_board() as board:
        card = board.card()
        memory = card.memory(HIGH_MEMORY, 4096)
        card.write("pattern_control", C2H_GENERATE)
        card.program("c2h", [(HIGH_MEMORY, 4096)])
        scratch = (card.address("ctrl_scratch"), bytes(4))
        start = (card.address("pcie_dma0_writer_enable"), (1).to_bytes(4, "little"))
        card.client.write_multi([*[scratch] * 500, start])
        card.wait_data(memory, pattern(4096))


def test_time_stands_still_while_idle(start_board):
    """The board simulates no cycle while it has no work. This holds with a client and without,
    before DMA and after it."""
    with start_board() as board:

        def idle_cycles():
            # Before the count begins, work of the board that is still under way must end.
            time.sleep(0.05)
            before = board.stats()["cycles"]
            time.sleep(0.2)
            return board.stats()["cycles"] - before

        assert idle_cycles() == 0
        card = board.card()
        card.write("ctrl_scratch", 1)
        assert idle_cycles() == 0
        memory = card.memory(HIGH_MEMORY, 8192)
        card.write("pattern_control", 1)
        card.program("c2h", [(HIGH_MEMORY, 8192)])
        card.start("c2h")
        card.wait_data(memory, pattern(8192))
        assert idle_cycles() > 0, "a started channel counts as work even without descriptors"
        card.stop()
        assert idle_cycles() == 0


def test_stepped_time_passes_only_by_steps(start_board):
    """After the command `step` device time passes only by such commands, by exactly their cycles,
    whether the card has work or not. A read of the client waits for them. `resume` ends that."""
    with start_board() as board:
        card = board.card()
        before = board.command("step 0")["cycles"]
        number = card.client.send_read(BAR0, card.address("ctrl_scratch"), 4)
        time.sleep(0.05)
        assert board.stats()["cycles"] == before
        assert not select.select([card.client.socket], [], [], 0)[0]
        assert board.command("step 1000")["cycles"] == before + 1000
        assert card.client.reply(number)
        card.client.send_read(BAR0, card.address("ctrl_scratch"), 4)
        board.command("resume")
        card.read("ctrl_scratch")
        assert board.stats()["cycles"] > before + 1000


def test_idle_costs_no_processor_time(start_board):
    """An idle board with a client connected uses less than 1 % of a processor core."""
    with start_board() as board:
        board.card().read("ctrl_scratch")
        time.sleep(0.05)
        before = board.cpu_seconds()
        time.sleep(2)
        assert board.cpu_seconds() - before < 0.02


@pytest.mark.parametrize("latency", [100, 200, 600, 2000, 10_000])
def test_read_latency_is_from_last_rq_beat_to_first_rc_beat(start_board, latency):
    """For a lone read by the card, the first beat of the completion appears on RC --read-latency ns
    after the last beat of the request on RQ."""
    with start_board("--read-latency", latency, log=True) as board:
        card = board.card()
        card.memory(HIGH_MEMORY, 4096)
        card.write("pattern_control", 2)
        card.program("h2c", [(HIGH_MEMORY, 64)])
        card.start("h2c")
        card.h2c_check(2)
    log = board.tlps()
    [request], [completion] = log.on("RQ", "MRd"), log.on("RC", "CplD")
    late = completion.ns - request.ns - latency
    assert 0 <= late <= 2 * TICK_NS, f"{late} ns more than asked for"


def test_no_completion_comes_before_its_request_can_have_arrived(start_board):
    """With --read-latency 0 a completion still comes as late as request and completion need to
    cross the link."""
    with start_board("--read-latency", 0, log=True) as board:
        card = board.card()
        card.memory(HIGH_MEMORY, 4096)
        card.write("pattern_control", 2)
        card.program("h2c", [(HIGH_MEMORY, 512)])
        card.start("h2c")
        card.h2c_check(16)
    log = board.tlps()
    [request], first = log.on("RQ", "MRd"), log.on("RC", "CplD")[0]
    wire_ns = (24 + 20 + first.dwords * 4) / 7.877
    assert wire_ns <= first.ns - request.ns <= wire_ns + 4 * TICK_NS


def test_reads_repeat_to_the_nanosecond(start_board):
    """Two runs with the same --seed and the same host reads have the same TLP log, to the
    nanosecond. Wall time has no influence on it."""

    def run(seed):
        with start_board("--seed", seed, "--stall", 30, log=True) as board:
            card = board.card()
            for i in range(100):
                card.mmio_read(0x10000 + 4 * i)
        return board.tlps().tlps

    first = run(SHIFT)
    assert len(first) == 200
    assert run(SHIFT) == first
    assert run(SHIFT + 1) != first
