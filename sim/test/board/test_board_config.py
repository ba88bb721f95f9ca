# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The configuration space of the simulated hard block, and what a write to its control registers
changes in the card."""

import pytest

from gateware import numbers
from sim.clients.vfio import CONFIG
from sim.test.board.board_client import (
    BAR0_REGISTER,
    CAP_EXPRESS,
    CAP_MSI,
    CAP_POWER,
    COMMAND,
    DEVICE_CAPABILITIES,
    DEVICE_CONTROL,
    LINK_CONTROL,
)

BAR0_BYTES = numbers.BAR0_SIZE
BAR2_BYTES = numbers.BAR2_SIZE


def test_identity(start_board):
    """The card has LitePCIe's vendor and device ID, the class of a memory controller, a type 0
    header and no INTx."""
    with start_board() as board:
        card = board.card()
        assert card.config_read(0x00) == 0x903810EE
        assert card.config_read(0x08) >> 8 == 0x058000
        assert card.config_read(0x0E, 1) == 0, "the header must be of type 0"
        assert card.config_read(0x3D, 1) == 0, "the card must have no INTx"


def test_capabilities(start_board):
    """The card's capability list has power management at 0x40, MSI at 0x48 and PCI Express at 0x70,
    as in the hard block on silicon."""
    with start_board() as board:
        assert board.card().capabilities() == {CAP_POWER: 0x40, CAP_MSI: 0x48, CAP_EXPRESS: 0x70}


def test_bar0_is_sized_by_writing_ones(start_board):
    """After all ones were written to a BAR, the BAR reads back as its size and kind. A BAR that
    does not exist reads as zero."""
    with start_board() as board:
        card = board.card()
        for register in range(0x10, 0x28, 4):
            card.config_write(register, 0xFFFF_FFFF)
        sizes = [card.config_read(register) for register in range(0x10, 0x28, 4)]
        # BAR2 written with all ones reads as its size, with 0xC (64-bit, prefetchable) in the low
        # bits.
        bar2 = 0x1_0000_0000 - BAR2_BYTES | 0xC
        assert sizes == [0x1_0000_0000 - BAR0_BYTES, 0, bar2, 0xFFFF_FFFF, 0, 0]


@pytest.mark.parametrize("base", [0x8000_0000, 0xFFFE_0000])
def test_bar0_may_lie_anywhere(start_board, base):
    """Whatever address the host writes into BAR0, its accesses carry that address and reach the
    same register of the card."""
    with start_board(log=True) as board:
        card = board.card()
        card.config_write(BAR0_REGISTER, base)
        assert card.mmio_read(0x4) == 0x12345678
    assert [t.address for t in board.tlps().on("CQ")] == [base + 4]


@pytest.mark.parametrize("mps", [128, 256, 512])
def test_device_capabilities_advertise_mps(start_board, mps):
    """Device Capabilities advertise the MPS of the option --mps. After reset, MPS in Device Control
    is 128 bytes whatever is advertised."""
    with start_board("--mps", mps) as board:
        client = board.connect()

        def word(offset):
            return int.from_bytes(client.read(CONFIG, 0x70 + offset, 2), "little")

        assert 128 << (word(DEVICE_CAPABILITIES) & 7) == mps
        assert 128 << (word(DEVICE_CONTROL) >> 5 & 7) == 128
        assert board.stats()["mps"] == 128


@pytest.mark.parametrize("mrrs", [128, 256, 512, 1024, 2048, 4096])
def test_mrrs_after_reset(start_board, mrrs):
    """After reset, MRRS in Device Control is that of the option --mrrs. The gateware reports 512
    bytes at most, since it makes no longer reads."""
    with start_board("--mrrs", mrrs) as board:
        card = board.card(mrrs=mrrs)
        assert board.stats()["mrrs"] == mrrs
        assert card.read("pcie_phy_max_request_size") == min(mrrs, 512)


def test_the_gateware_sees_device_control(start_board):
    """When the host changes MPS, MRRS, MSI enable or bus master enable, the gateware's registers
    show the new value at once."""
    with start_board() as board:
        for mps, mrrs in [(128, 512), (512, 128), (256, 256)]:
            for on in (True, False):
                card = board.card(mps=mps, mrrs=mrrs, msi=on, bus_master=on)
                names = ("max_payload_size", "max_request_size", "msi_enable", "bus_master_enable")
                seen = [card.read(f"pcie_phy_{name}") for name in names]
                assert seen == [mps, mrrs, on, on]
                card.set_msi(False)
                card.close()
                board._clients.remove(card)


def test_read_only_fields_stay(start_board):
    """If the host writes all ones to every register of configuration space, only those fields
    change that the base specification makes writable."""
    with start_board() as board:
        card = board.card()
        before = [card.config_read(offset) for offset in range(0, 0x1000, 4)]
        for offset in range(0, 0x1000, 4):
            # The power state at 0x44 is not written, since all ones would put the card into D3hot.
            if offset not in (COMMAND, 0x44, 0x48, 0x78, 0x80):
                card.config_write(offset, 0xFFFF_FFFF)
        after = [card.config_read(offset) for offset in range(0, 0x1000, 4)]
        changed = [4 * i for i, (a, b) in enumerate(zip(before, after)) if a != b]
        # The registers with writable fields are the BARs, MSI address and data, Device and Link
        # Control 2, and AER's masks and severity.
        assert changed == [0x10, 0x18, 0x1C, 0x4C, 0x50, 0x54, 0x98, 0xA0, 0x108, 0x10C, 0x114]


def test_nothing_where_silicon_has_nothing(start_board):
    """Where the hard block on silicon has no capability, every dword of configuration space reads
    as zero and ignores writes."""
    nothing = [(0xB0, 0x100), (0x13C, 0x1C0), (0x1E0, 0x1000)]
    with start_board() as board:
        client = board.connect()
        for first, end in nothing:
            for at in range(first, end, 4):
                client.write(CONFIG, at, b"\xff" * 4)
            assert client.read(CONFIG, first, end - first) == bytes(end - first)


@pytest.mark.parametrize("rcb,bit", [(64, 0), (128, 8)])
def test_rcb_in_link_control(start_board, rcb, bit):
    """After reset, the read completion boundary (RCB) in Link Control is that of the option
    --rcb."""
    with start_board("--rcb", rcb) as board:
        control = board.connect().read(CONFIG, 0x70 + LINK_CONTROL, 2)
        assert int.from_bytes(control, "little") & 8 == bit


def test_link_status(start_board):
    """The link is up at 8 GT/s on 8 lanes, both in Link Status and in the gateware's register."""
    with start_board() as board:
        card = board.card()
        assert card.config_read(0x82, 2) & 0x3FF == 0x083
        status = card.read("pcie_phy_link_status")
        assert status & 1, "the link is down"


def test_byte_and_word_accesses(start_board):
    """Configuration space takes accesses of 1, 2 and 4 bytes and of longer runs of bytes. A write
    changes only the bytes that it covers."""
    with start_board() as board:
        card = board.card()
        card.config_write(0x54, 0xAB, 1)
        card.config_write(0x55, 0xCD, 1)
        assert card.config_read(0x54, 2) == 0xCDAB
        assert card.client.read(CONFIG, 0, 64)[:4] == bytes.fromhex("ee103890")
