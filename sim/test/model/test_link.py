# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that the time of TLPs on the wire, for every link generation and width, agrees with numbers
of independent sources."""

import pytest

from sim.errors import BoardFailed
from sim.rows import limits
from sim.test.board.board_client import (
    C2H_GENERATE,
    CAP_EXPRESS,
    H2C_CHECK,
    HIGH_MEMORY,
    pattern,
    slices,
)
from sim.test.card.test_board_rates import bytes_per_cycle, run_c2h
from sim.test.model.model_probe import run

WIDTHS = [1, 2, 4, 8]
GENERATIONS = [1, 2, 3]

# Nanoseconds of one TLP on the wire in cocotbext-pcie 0.2.16, as {(type, payload in bytes):
# {generation: [x1, x2, x4, x8]}}. They are (header + payload + 8 bytes) * 8 bits / (lanes * rate),
# with the rates 2.5e9 * 8/10, 5e9 * 8/10 and 8e9 * 128/130 bits a second (core/port.py, tlp.py).
COCOTBEXT = {
    ("write", 4): {
        1: [112, 56, 28, 14],
        2: [56, 28, 14, 7],
        3: [28.4375, 14.21875, 7.109375, 3.5546875],
    },
    ("write", 256): {
        1: [1120, 560, 280, 140],
        2: [560, 280, 140, 70],
        3: [284.375, 142.1875, 71.09375, 35.546875],
    },
    ("read", 0): {1: [96, 48, 24, 12], 2: [48, 24, 12, 6], 3: [24.375, 12.1875, 6.09375, 3.046875]},
    ("completion", 64): {
        1: [336, 168, 84, 42],
        2: [168, 84, 42, 21],
        3: [85.3125, 42.65625, 21.328125, 10.6640625],
    },
    ("completion", 512): {
        1: [2128, 1064, 532, 266],
        2: [1064, 532, 266, 133],
        3: [540.3125, 270.15625, 135.078125, 67.5390625],
    },
}

# Base specification 3.1, tables 3-7 to 3-9, has these acknowledge latency limits in symbol times,
# as {generation: {width: [for MPS 128, 256, 512]}}. Two other sources agree: Gen1's rows are the
# table `ack_lat` of Linux' cxgb3 driver (t3_hw.c, config_pcie), and cocotbext-pcie computes all
# limits by the formula in test_the_acknowledge_limit_is_that_of_others().
ACKNOWLEDGE = {
    1: {1: [237, 416, 559], 2: [128, 217, 289], 4: [73, 118, 154], 8: [67, 107, 86]},
    2: {1: [288, 467, 610], 2: [179, 268, 340], 4: [124, 169, 205], 8: [118, 158, 137]},
    3: {1: [333, 512, 655], 2: [224, 313, 385], 4: [169, 214, 250], 8: [163, 203, 182]},
}
# share of the time that skip ordered sets take, by generation (base specification 4.2.7)
SKIP = {1: 4 / 1538, 2: 4 / 1538, 3: 16 / (370 * 16)}
RAW_PER_LANE = {1: 0.25, 2: 0.5, 3: 128 / 130}  # raw rate of one lane in GB/s, by generation

each_rate = pytest.mark.parametrize("generation", GENERATIONS)
each_width = pytest.mark.parametrize("width", WIDTHS)


# cocotbext-pcie 0.2.16 (core/port.py, get_update_factor and get_max_update_latency) uses these
# factors for the link widths, for an MPS of up to 256 bytes. Above that its factor is 1.0.
COCOTBEXT_FACTOR = {1: 1.4, 2: 1.4, 4: 1.4, 8: 2.5}
# bytes that cocotbext-pcie's formula for the acknowledge latency adds to MPS
COCOTBEXT_OVERHEAD = 28

# Internal delay of a receiver in symbol times, by generation (base specification, tables 3-7 to
# 3-9).
INTERNAL_DELAY = {1: 19, 2: 70, 3: 115}


def link(kind, payload, mps, generation, width):
    """Saturate one direction of the link model. Returns (payload rate in GB/s, time of one TLP on
    the wire in ns, time that a replay adds in ns)."""
    seen = run([f"link {kind} {payload} {mps} 0 {generation} {width}"])
    return seen.rates[0], seen.wire_ps[0] / 1000, seen.replay_ps[0] / 1000


@each_rate
@each_width
@pytest.mark.parametrize("kind, payload", COCOTBEXT)
def test_serialisation_is_that_of_another_model(kind, payload, generation, width):
    """In the model, a TLP of each kind takes as long on the wire as in cocotbext-pcie, within 1.5
    ps."""
    wanted = COCOTBEXT[kind, payload][generation][WIDTHS.index(width)]
    assert link(kind, payload, 512, generation, width)[1] == pytest.approx(wanted, abs=0.0015)


@each_rate
@each_width
@pytest.mark.parametrize("mps", [128, 256, 512])
def test_dllps_and_skips_take_their_share(generation, width, mps):
    """A saturated link loses the time of two 8-byte DLLPs per acknowledge latency limit, and that
    of skip ordered sets."""
    limit = ACKNOWLEDGE[generation][width][[128, 256, 512].index(mps)]
    tax = 2 * 8 / width / limit + SKIP[generation]
    raw = RAW_PER_LANE[generation] * width
    wanted = raw * (1 - tax) * mps / (mps + limits.WRITE_OVERHEAD)
    assert link("write", mps, mps, generation, width)[0] == pytest.approx(wanted, rel=0.001)


@each_rate
@each_width
@pytest.mark.parametrize("mps", [128, 256, 512])
def test_the_acknowledge_limit_is_that_of_others(generation, width, mps):
    """The model's acknowledge latency limit, in whole symbol times, is that of the base
    specification, of Linux and of cocotbext-pcie."""
    [limit_ps] = run([f"link write {mps} {mps} 0 {generation} {width}"]).limit_ps
    symbols = limit_ps / 1000 * RAW_PER_LANE[generation]
    limit = ACKNOWLEDGE[generation][width][[128, 256, 512].index(mps)]
    assert symbols == pytest.approx(limit, abs=0.01)
    factor = COCOTBEXT_FACTOR[width] if mps <= 256 else 1.0
    wanted = (mps + COCOTBEXT_OVERHEAD) * factor / width + INTERNAL_DELAY[generation]
    assert limit == int(wanted)


@each_rate
@each_width
def test_a_replay_takes_a_nak_and_the_tlp_again(generation, width):
    """A TLP with a wrong LCRC arrives later by the receiver's internal delay, a NAK of 8 bytes, and
    its own time on the wire."""
    _, once, more = link("write", 256, 256, generation, width)
    symbol = 1 / RAW_PER_LANE[generation]  # ns for one symbol on a lane
    assert more == pytest.approx(once + (INTERNAL_DELAY[generation] + 8 / width) * symbol, abs=0.01)


def test_a_replayed_completion_is_only_late(start_board):
    """After a completion with a wrong LCRC every byte arrives. The completions have one gap in
    time, that of the replay."""
    total = 16384
    with start_board(log=True) as board:
        card = board.card(mps=512)
        card.memory(HIGH_MEMORY, total).data[:] = pattern(total)
        card.write("pattern_control", H2C_CHECK)
        card.program("h2c", slices(HIGH_MEMORY, total, 4096))
        # The fault counts TLPs to the card. It is planted after the writes to the descriptor table,
        # so that the 20th TLP from then on is a completion.
        board.command("fault replay-down:20")
        card.start("h2c")
        assert card.h2c_check(total // 32) == 0
        assert board.stats()["faults"] == 1
        card.stop()
    seen = board.tlps().on("RC", "CplD")
    gaps = sorted(after.ns - before.ns for before, after in zip(seen, seen[1:]))
    assert len(seen) == total // 512
    assert gaps[-1] > 180 > gaps[-2]


def test_a_replayed_request_is_only_late(start_board):
    """After a write of the card with a wrong LCRC every byte in host memory is right, and one fault
    is counted."""
    total = 16384
    with start_board("--fault", "replay-up:9") as board:
        card = board.card(mps=256)
        memory = card.memory(HIGH_MEMORY, total)
        card.write("pattern_control", C2H_GENERATE)
        card.program("c2h", slices(HIGH_MEMORY, total, 4096))
        card.start("c2h")
        card.wait_data(memory, pattern(total))
        assert board.stats()["faults"] == 1


@pytest.mark.parametrize(
    "generation, width, lnksta", [(1, 1, 0x1011), (2, 4, 0x1042), (3, 8, 0x1083)]
)
def test_software_and_gateware_see_the_link(start_board, generation, width, lnksta):
    """--link-gen and --link-width show in Link Status, and on the pins for speed and width that
    LitePCIe's register copies."""
    with start_board("--link-gen", generation, "--link-width", width) as board:
        card = board.card()
        express = card.capabilities()[CAP_EXPRESS]
        assert card.config_read(express + 0x12, 2) == lnksta
        status = card.read("pcie_phy_link_status")
        assert status >> 4 & 3 == generation - 1, "cfg_current_speed"
        assert 1 << (status >> 6 & 7) == width, "cfg_negotiated_width"


def test_writes_run_at_the_trained_rate(start_board):
    """c2h on a Gen1 x4 link runs at the link's rate, a seventh of what the RQ interface could
    carry."""
    with start_board("--link-gen", 1, "--link-width", 4) as board:
        measured = bytes_per_cycle(run_c2h(board, board.card(mps=256)), "rq") / limits.CYCLE_NS
    # The counters count data that enters the transmit buffer, so up to 2 KiB of the 1 MiB have not
    # left.
    wire = 1.0 * (1 - 2 * 2 / 118 - SKIP[1]) * 256 / 280
    assert measured == pytest.approx(wire, rel=0.01)


def test_the_link_trains_down_while_data_moves(start_board):
    """After `set link-width 1` during DMA all data arrives, later writes go at the lower rate, and
    Link Status shows x1."""
    total = 1 << 20
    with start_board(log=True) as board:
        card = board.card(mps=256)
        memory = card.memory(HIGH_MEMORY, total)
        card.write("pattern_control", C2H_GENERATE)
        card.program("c2h", slices(HIGH_MEMORY, total, 8192))
        card.start("c2h")
        board.set("link-width", 1)
        assert card.config_read(card.capabilities()[CAP_EXPRESS] + 0x12, 2) == 0x1013
        card.wait_data(memory, pattern(total))
    writes = board.tlps().on("RQ", "MWr")
    late = writes[-len(writes) // 8 :]
    rate = sum(4 * t.dwords for t in late[1:]) / (late[-1].ns - late[0].ns)
    assert rate < 1.0


def test_the_link_options_are_checked(start_board):
    """`set link-width` and `set link-gen` with a value that does not exist are refused with the
    list of those that do."""
    with start_board() as board:
        with pytest.raises(BoardFailed, match="link-width 3: must be one of 1, 2, 4, 8"):
            board.set("link-width", 3)
        with pytest.raises(BoardFailed, match="link-gen 4: must be one of 1, 2, 3"):
            board.set("link-gen", 4)
