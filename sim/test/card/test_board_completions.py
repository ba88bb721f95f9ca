# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How the host's root complex splits the completions of a read by the card: by MPS, by the read
completion boundary (RCB), and with which byte counts."""

import pytest

from sim.test.board.board_client import (
    CAP_EXPRESS,
    H2C_CHECK,
    HIGH_MEMORY,
    LINK_CONTROL,
    pattern,
    slices,
)

TOTAL = 16 * 1024


def completions(start_board, *options, mps=256, mrrs=512, before=None):
    """Run h2c over TOTAL bytes of the pattern on a new board. `before` is called with the
    enumerated card. Returns the TLP log."""
    # The card has the Lanebox endpoint. Many 64-byte completions are too many for stock LitePCIe
    # (test_stock_defects.py).
    with start_board(*options, log=True) as board:
        card = board.card(mps=mps, mrrs=mrrs)
        if before:
            before(card)
        memory = card.memory(HIGH_MEMORY, TOTAL)
        memory.data[:] = pattern(TOTAL)
        card.write("pattern_control", H2C_CHECK)
        card.program("h2c", slices(HIGH_MEMORY, TOTAL, 4096))
        card.start("h2c")
        assert card.h2c_check(TOTAL // 32) == 0
        card.stop()
    return board.tlps()


def answered(log):
    """Return [(read, [its completions]), ...] from a TLP log, in the order of the reads."""
    open_reads, result = {}, []
    for tlp in log.tlps:
        if tlp.kind == "MRd" and tlp.interface == "RQ":
            open_reads[tlp.tag] = (tlp, [])
            result.append(open_reads[tlp.tag])
        elif tlp.interface == "RC":
            open_reads[tlp.tag][1].append(tlp)
    return result


@pytest.mark.parametrize(
    "size,mps,rcb,expected",
    [
        (0, 128, 64, 128),
        (0, 256, 64, 256),
        (0, 512, 64, 512),
        (64, 256, 64, 64),
        (128, 512, 64, 128),
        (256, 512, 64, 256),
        (512, 256, 64, 256),
        (512, 512, 64, 512),
        (64, 256, 128, 128),
        (256, 256, 128, 256),
    ],
)
def test_completions_are_split_where_asked(start_board, size, mps, rcb, expected):
    """Each completion has the largest size that --completion-size, MPS and RCB together allow, and
    the right byte count and lower address."""
    options = ["--completion-size", size, "--rcb", rcb]
    log = completions(start_board, *options, mps=mps)
    reads = answered(log)
    assert len(reads) == TOTAL // 512
    for read, parts in reads:
        assert [4 * part.dwords for part in parts] == [expected] * (512 // expected)
        left, address = 512, read.address
        for part in parts:
            assert (part.byte_count, part.address, part.status) == (left, address & 0xFFF, 0)
            left -= 4 * part.dwords
            address += 4 * part.dwords


@pytest.mark.parametrize("mrrs", [128, 256, 512])
def test_no_read_is_larger_than_mrrs(start_board, mrrs):
    """All reads of the card in a large transfer have exactly the size of MRRS in Device Control."""
    log = completions(start_board, mrrs=mrrs)
    assert {4 * t.dwords for t in log.on("RQ", "MRd")} == {mrrs}


def test_link_control_rules_the_boundary(start_board):
    """If the host writes RCB 128 into Link Control, the root complex splits completions at 128
    bytes instead of 64."""

    def set_rcb(card):
        control = card.capabilities()[CAP_EXPRESS] + LINK_CONTROL
        card.config_write(control, 8, 2)

    log = completions(start_board, "--completion-size", 64, before=set_rcb)
    assert {4 * t.dwords for t in log.on("RC")} == {128}


def test_device_control_rules_not_what_is_advertised(start_board):
    """The MPS in Device Control limits the size of completions, even if Device Capabilities
    advertise a larger MPS."""
    log = completions(start_board, "--mps", 512, mps=128)
    assert max(4 * t.dwords for t in log.on("RC")) == 128
