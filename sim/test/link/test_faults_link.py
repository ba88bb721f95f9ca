# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of faults of the whole card: hot reset, link down, surprise removal, Device Control
rewritten."""

import pytest

from sim.test.board.board_client import (
    BAR0_ADDRESS,
    BAR0_REGISTER,
    BUS_MASTER,
    C2H_GENERATE,
    CAP_EXPRESS,
    COMMAND,
    DEVICE_CAPABILITIES,
    DEVICE_CONTROL,
    HIGH_MEMORY,
    MEMORY_SPACE,
    pattern,
    slices,
    wait_until,
)

TOTAL = 64 * 1024
ONES = 0xFFFF_FFFF
IDENTIFIERS = 0x9038_10EE
RELAXED = 0x10


def start_c2h(card, size=TOTAL):
    memory = card.memory(HIGH_MEMORY, size)
    card.write("pattern_control", C2H_GENERATE)
    card.program("c2h", slices(HIGH_MEMORY, size, 4096))
    card.start("c2h")
    return memory


def works(card):
    """Enumerate the card and move data by c2h; fail if the data is wrong. The client may have
    mapped memory before."""
    card.enumerate()
    card.client.unmap(HIGH_MEMORY, TOTAL)
    card.wait_data(start_c2h(card), pattern(TOTAL))


def leave(board, card):
    card.close()
    board._clients.remove(card)


def test_a_hot_reset_under_traffic(start_board):
    """After a hot reset during DMA the BARs and the Command register are zero and BAR reads give
    all ones. After a new enumeration DMA works."""
    with start_board("--fault", "lose-msi:1") as board:
        card = board.card()
        start_c2h(card)
        board.command("fault hot-reset")
        assert card.config_read(0) == IDENTIFIERS
        assert card.config_read(BAR0_REGISTER) == 0 and card.config_read(COMMAND, 2) == 0
        assert card.mmio_read(card.address("ctrl_scratch")) == ONES
        works(card)


def test_the_link_goes_and_comes_back(start_board):
    """While the link is down, reads of configuration space and BAR give all ones and writes are
    dropped. When it is back, the BARs are zero, and after a new enumeration DMA works."""
    with start_board("--pace", "1000000") as board:
        card = board.card()
        start_c2h(card)
        # The link is down for 2 ms of device time, which take half a second of wall time at this
        # pace.
        board.command("fault link-down:2000000")
        assert card.config_read(0) == ONES
        assert card.mmio_read(card.address("ctrl_scratch")) == ONES
        # This write to BAR0 in configuration space is dropped, since the link is down.
        card.config_write(BAR0_REGISTER, BAR0_ADDRESS)
        wait_until(lambda: card.config_read(0) == IDENTIFIERS, "the link")
        assert card.config_read(BAR0_REGISTER) == 0
        works(card)


def test_a_card_that_is_pulled_out(start_board):
    """After a surprise removal, configuration space and BAR read as all ones and DMA stops. A reset
    does not bring the card back. The board process stays alive and takes a new client."""
    with start_board() as board:
        card = board.card()
        memory = start_c2h(card)
        board.command("fault remove")
        seen = memory.data[:]
        for offset in (0, COMMAND, 0x34, 0xFFC):
            assert card.config_read(offset) == ONES
        assert card.config_read(0, 1) == 0xFF
        assert card.mmio_read(card.address("ctrl_scratch")) == ONES
        assert card.mmio_read(0x10000, 8) == (1 << 64) - 1
        card.write("ctrl_scratch", 1)
        stats = board.stats()
        assert memory.data[:] == seen
        card.client.reset()
        assert card.config_read(0) == ONES and board.stats()["cq"] == stats["cq"]
        leave(board, card)
        assert board.connect().read(7, 0, 4) == b"\xff" * 4


def test_a_card_that_is_put_back(start_board):
    """After the faults `remove` and `insert` (the card leaves its slot and is put back) the next
    client enumerates the card, and DMA works."""
    with start_board() as board:
        card = board.card()
        start_c2h(card)
        board.command("fault remove")
        leave(board, card)
        board.command("fault insert")
        works(board.card())


def test_a_card_that_is_put_back_at_once(start_board):
    """An idle card that is removed and put back at once works. Its gateware sees the link go down,
    although no device time passes between the two faults."""
    with start_board() as board:
        card = board.card()
        cycles = board.stats()["cycles"]
        board.command("fault remove")
        assert board.stats()["cycles"] == cycles
        board.command("fault insert")
        works(card)
        card.write("ctrl_scratch", 1)
        assert card.read("ctrl_scratch") == 1
        assert board.stats()["completion_timeouts"] == 0


def test_reads_in_flight_end_with_ones(start_board):
    """A BAR read of the host that waits for its answer when the card is removed ends at once, with
    all ones, and not by the completion timeout."""
    with start_board("--mmio-rtt", "1000000", "--pace", "20000") as board:
        card = board.card()
        number = card.client.send_read(0, card.address("ctrl_scratch"), 4)
        wait_until(lambda: board.stats()["mmio_reads"] == 1, "the read")
        board.command("fault remove")
        board.command("set pace 0")
        assert card.client.reply(number)[16:] == b"\xff" * 4
        assert board.stats()["completion_timeouts"] == 0


def test_a_peer_loses_its_reads_with_the_card(start_board):
    """When the card is removed, all reads that another PCIe device has in flight to it end as
    errors."""
    with start_board() as board:
        board.card()
        board.command("peer read 0x10000 4 100000000 32")
        board.command("fault remove")
        counts = board.stats()["peer"]
        assert not counts["busy"] and counts["completed"] + counts["errors"] <= counts["issued"]


def test_a_script_resets_in_the_middle(start_board, tmp_path):
    """`tlp 30 hot-reset` in a fault script resets the card in the middle of DMA, after its 30th
    TLP."""
    path = tmp_path / "faults"
    path.write_text("tlp 30 hot-reset\n")
    with start_board("--faults", path, log=True) as board:
        card = board.card()
        start_c2h(card)
        wait_until(lambda: board.stats()["faults"] == 1, "the reset")
        assert card.config_read(COMMAND, 2) == 0
    assert 30 <= len(board.tlps().on("RQ")) <= 32


@pytest.mark.parametrize("mps,code", [(128, 0), (512, 2)])
def test_device_control_rewritten_while_running(start_board, tmp_path, mps, code):
    """When the host writes another MPS into Device Control while c2h runs, the card's later writes
    have the new size, and every byte in host memory is right."""
    path = tmp_path / "faults"
    path.write_text(f"tlp 30 devctl {RELAXED | code << 5 | 2 << 12:#x}\n")
    with start_board("--faults", path, "--rules", "warn", log=True, violations=None) as board:
        card = board.card(mps=256)
        card.wait_data(start_c2h(card), pattern(TOTAL))
        control = card.capabilities()[CAP_EXPRESS] + DEVICE_CONTROL
        assert card.config_read(control, 2) >> 5 & 7 == code
        broken = board.stats()["violations"]
    sizes = [4 * t.dwords for t in board.tlps().on("RQ", "MWr")]
    print(f"MPS 256 to {mps}: {sizes.count(256)} writes of 256, rules broken: {broken}")
    assert sizes[:20] == [256] * 20 and sizes[-20:] == [mps] * 20


# Two requests at most may already be on their way to the pins in the cycle in which the host clears
# Bus Master Enable. On silicon the hard block refuses them.
UNDER_WAY = 2


def test_bus_master_cleared_while_running(start_board):
    """After Bus Master Enable is cleared, the card starts no further request. Once it is set again,
    c2h goes on until the card has sent at least as many TLPs as all its data needs. The data is
    not compared.
    """
    total = 1 << 20
    with start_board("--rules", "warn", "--pace", "400000", violations=None) as board:
        card = board.card()
        start_c2h(card, total)
        board.command("fault command:2")
        wait_until(lambda: card.config_read(COMMAND, 2) == MEMORY_SPACE, "bus master off")
        end = board.stats()["cycles"] + 2000
        wait_until(lambda: board.stats()["cycles"] > end, "2000 cycles")
        requests = board.stats()["rq"]["tlps"]
        end = board.stats()["cycles"] + 2000
        wait_until(lambda: board.stats()["cycles"] > end, "2000 cycles more")
        assert board.stats()["rq"]["tlps"] == requests < total // 256
        assert board.stats()["violations"].get("bus-master-off", 0) <= UNDER_WAY
        card.config_write(COMMAND, MEMORY_SPACE | BUS_MASTER, 2)
        board.command("set pace 0")
        wait_until(lambda: board.stats()["rq"]["tlps"] >= total // 256, "the rest")


def test_stock_goes_on_without_bus_master(start_stock):
    """Stock LitePCIe goes on with DMA after Bus Master Enable is cleared, which breaks a rule of
    the model. After a reset the next client can use the card."""
    with start_stock("--rules", "warn", "--pace", "400000", violations=None) as board:
        card = board.card()
        start_c2h(card, 1 << 20)
        board.command("fault command:2")
        board.command("set pace 0")
        wait_until(lambda: board.stats()["violations"].get("bus-master-off", 0) > 0, "the breach")
        card.client.reset()
        leave(board, card)
        works(board.card())


def test_a_function_level_reset_is_not_offered(start_stock):
    """Device Capabilities do not advertise function level reset, so writing Initiate FLR changes
    nothing."""
    with start_stock() as board:
        card = board.card()
        express = card.capabilities()[CAP_EXPRESS]
        assert not card.config_read(express + DEVICE_CAPABILITIES) >> 28 & 1
        before = card.config_read(express + DEVICE_CONTROL, 2)
        card.write("ctrl_scratch", 0x1234)
        card.config_write(express + DEVICE_CONTROL, before | 1 << 15, 2)
        assert card.config_read(express + DEVICE_CONTROL, 2) == before
        assert card.read("ctrl_scratch") == 0x1234
