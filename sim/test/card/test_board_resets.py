# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Function level reset (FLR), hot reset and link down of the simulated hard block: what the card
and the host see of them.

The card is the bench card (bench_card.sv). It acknowledges an FLR when the test tells it to, and
counts resets at its pins.
"""

import errno
import time

import pytest

from sim.test.board.bench_card import (
    ACK_FLR,
    ACK_POWER,
    BUSY,
    COMPLETIONS,
    CONTROL,
    DEVICE_CONTROL,
    DEVICE_CONTROL_2,
    INITIATE_FLR,
    MEMORY0,
    RC_COUNT,
    RESETS,
    SEND_CC,
    SEND_RQ,
    SILENT,
    SLOW_FLR,
    request,
)
from sim.test.board.board_client import BUS_MASTER, COMMAND, HIGH_MEMORY, MEMORY_SPACE, wait_until

ONES = 0xFFFF_FFFF
EXPRESS_OFFER = 1 << 28  # bit of Device Capabilities that offers a function level reset


def initiate(card):
    card.config_write(DEVICE_CONTROL, card.config_read(DEVICE_CONTROL, 2) | INITIATE_FLR, 2)


def test_flr_resets_what_the_specification_says(bench):
    """An FLR resets COMMAND, BARs and MRRS. It keeps MPS, RCB and AER's masks (base specification
    6.6.2)."""
    with bench("--flr", "--rcb", "128", "--mrrs", "512") as (_, card):
        assert card.config_read(0x74) & EXPRESS_OFFER
        card.enumerate(mps=256, mrrs=128)
        # AER's mask bit for poisoned TLPs, which a function level reset (FLR) keeps
        card.config_write(0x108, 1 << 12)
        card.config_write(DEVICE_CONTROL_2, 5, 2)  # the completion timeout, which an FLR resets
        initiate(card)
        assert card.config_read(COMMAND, 2) == 0 and card.config_read(0x10) == 0
        assert card.config_read(DEVICE_CONTROL, 2) >> 5 & 7 == 1, "MPS must stay 256"
        assert card.config_read(DEVICE_CONTROL, 2) >> 12 & 7 == 2, "MRRS must be 512 again"
        assert card.config_read(DEVICE_CONTROL, 2) & INITIATE_FLR == 0, (
            "Initiate FLR must read as 0"
        )
        assert card.config_read(0x80, 2) & 8, "RCB must stay 128"
        assert card.config_read(0x108) == 1 << 12
        assert card.config_read(DEVICE_CONTROL_2, 2) == 0
        card.enumerate()
        assert card.seen()[0] == 1 and card.read(RESETS) == 0, "an FLR must not drive user_reset"


def test_without_the_option_flr_is_not_offered(bench):
    """Without the option --flr, Device Capabilities do not offer an FLR, and writing Initiate FLR
    does nothing."""
    with bench() as (_, card):
        assert card.config_read(0x74) & EXPRESS_OFFER == 0
        initiate(card)
        assert card.config_read(COMMAND, 2) == MEMORY_SPACE | BUS_MASTER
        assert card.seen()[0] == 0


def test_reads_of_the_host_end_with_ones(bench):
    """Host reads of a BAR that are in flight when the host starts an FLR end at once, as all
    ones."""
    with bench("--flr") as (board, card):
        card.write(CONTROL, ACK_FLR | SILENT)
        # The answer to this configuration read proves that the board has received the write.
        card.config_read(0)
        # At this pace the 50 us of the host's completion timeout last longer than the test.
        board.command("set pace 20000")
        numbers = [card.client.send_read(0, MEMORY0 + 4 * i, 4) for i in range(5)]
        initiate(card)
        assert [card.client.reply(n)[16:] for n in numbers] == [b"\xff" * 4] * 5
        assert board.stats()["completion_timeouts"] == 0
        board.command("set pace 0")
        card.enumerate()
        card.write(MEMORY0, 0x1234)
        assert card.read(MEMORY0) == 0x1234


def test_completions_of_old_reads_are_dropped(bench):
    """If a read by the card is in flight at an FLR, its completion never arrives. The read's tag
    can be used again after the FLR."""
    with bench("--flr", "--read-latency", "100000", log=True) as (_, card):
        card.memory(HIGH_MEMORY, 4096)
        card.send_read(HIGH_MEMORY, 4, tag=3)
        card.read(RC_COUNT)
        initiate(card)
        card.enumerate()
        card.write(CONTROL, ACK_FLR | BUSY)
        # The accesses take more than 0.2 ms of device time, twice the latency of the host's memory.
        for _ in range(400):
            card.read(RC_COUNT)
        assert card.read(RC_COUNT) == 0
        # The card had tag 3 in use before the FLR. After the FLR tag 3 must be free again.
        card.send_read(HIGH_MEMORY, 1, tag=3)
        assert card.completions(4)[2] & 0xFF == 3


def test_writes_from_before_the_reset_arrive(bench):
    """Posted writes that the card sent before an FLR still arrive in host memory."""
    with bench("--flr", "--write-stall", "100:400000") as (board, card):
        memory = card.memory(HIGH_MEMORY, 4096)
        # At this pace the first stall of the host, with the card's writes behind it, lasts for
        # seconds.
        board.command("set pace 20000")
        for i in range(3):
            card.send_write(HIGH_MEMORY + 4 * i, [0x100 + i])
        wait_until(lambda: board.stats()["rq"]["tlps"] == 3, "the writes at the pins")
        initiate(card)
        assert memory.data[8:12] == bytes(4), "the last write must still be on its way"
        board.command("set pace 0")
        expected = b"".join((0x100 + i).to_bytes(4, "little") for i in range(3))
        wait_until(lambda: memory.data[:12] == expected, "the writes in memory")


PACKETS = {
    SEND_RQ: [*request(HIGH_MEMORY, 1, write=True), 0xDEAD],
    SEND_CC: [4 << 16, 1 | 0xA0 << 16, 0, 0xDEAD],
}


@pytest.mark.parametrize("interface", PACKETS)
def test_what_the_card_sends_during_the_reset_is_lost(bench, interface):
    """A packet that the card sends between the start of an FLR and the card's acknowledgement is
    dropped, and breaks no rule."""
    with bench("--flr") as (board, card):
        memory = card.memory(HIGH_MEMORY, 4096)
        card.write(CONTROL, ACK_FLR | SLOW_FLR)
        card.prepare(PACKETS[interface])
        card.read(CONTROL)
        control = card.config_read(DEVICE_CONTROL, 2) | INITIATE_FLR
        card.later(1000, interface, len(PACKETS[interface]))
        card.config_write(DEVICE_CONTROL, control, 2)
        card.enumerate()
        card.send_write(HIGH_MEMORY + 4, [0xBEEF])
        wait_until(lambda: memory.data[4:6] == b"\xef\xbe", "the write after the reset")
        assert memory.data[:4] == bytes(4)
        sent = board.stats()["rq" if interface == SEND_RQ else "cc"]["beats"]
        assert sent >= 2 and board.stats()["violations"] == {}


def test_bus_mastering_after_the_reset_breaks_a_rule(bench):
    """An FLR clears bus master. If the card sends a write after it, it breaks the rule
    `bus-master-off`."""
    with bench("--flr", "--rules", "warn", violations=["bus-master-off"]) as (board, card):
        initiate(card)
        card.enumerate(command=MEMORY_SPACE)
        card.send_write(HIGH_MEMORY, [1])
        wait_until(lambda: board.stats()["violations"], "the breach")


def test_a_device_reset_is_a_function_level_reset(bench):
    """The vfio-user message DEVICE_RESET makes an FLR if the card offers it. Otherwise it resets
    the card as at power on."""
    with bench("--flr") as (_, card):
        card.client.reset()
        assert card.config_read(COMMAND, 2) == 0
        card.enumerate()
        assert card.seen()[0] == 1 and card.read(RESETS) == 0
    with bench() as (_, card):
        card.client.reset()
        card.enumerate()
        assert card.seen()[0] == 0 and card.read(RESETS) == 1


def test_a_reset_that_is_not_acknowledged_is_an_error(bench):
    """If the card does not acknowledge an FLR, the board ends the FLR after 100 ms of device time.
    The client gets ETIMEDOUT, the log names the rule, and the card is reset as at power on."""
    with bench("--flr", "--rules", "warn", violations=["flr-timeout"]) as (board, card):
        card.write(CONTROL, 0)
        card.read(CONTROL)
        before = board.stats()["cycles"]
        card.client.socket.settimeout(120)
        with pytest.raises(OSError) as error:
            card.client.reset()
        assert error.value.errno == errno.ETIMEDOUT
        assert 25e6 <= board.stats()["cycles"] - before < 25.1e6
        card.enumerate()
        assert card.read(RESETS) == 1, "the card must have been reset as at power on"
    assert "did not end its function level reset within 100 ms" in board.output


def test_stock_acknowledges_without_stopping(start_stock):
    """LitePCIe's wrapper of the hard block acknowledges an FLR at once, without resetting the
    gateware: its registers keep their values."""
    with start_stock("--flr") as board:
        card = board.card()
        card.write("ctrl_scratch", 0x1234)
        card.client.reset()
        assert card.config_read(COMMAND, 2) == 0
        card.enumerate()
        assert card.read("ctrl_scratch") == 0x1234


def test_a_hot_reset_holds_the_card_in_reset(bench):
    """During a hot reset user_reset is asserted and no TLP passes. After it the card starts as
    after power on."""
    with bench(log=True) as (board, card):
        before = board.stats()["cycles"]
        board.command("fault hot-reset:200000")
        assert card.config_read(0) == 0x9038_10EE, "the read must wait for the end of the reset"
        assert board.stats()["cycles"] - before >= 200_000 // 4
        assert card.config_read(COMMAND, 2) == 0
        card.enumerate()
        assert card.seen() == (0, 1, 0) and card.read(RESETS) == 1
        assert card.pins()["link_up"] == 1
    assert len(board.tlps().tlps) == 6


def test_a_hot_reset_lasts_a_millisecond_unless_told(bench):
    """A hot reset without a duration lasts 1 ms of device time, the shortest time that the base
    specification allows."""
    with bench() as (board, card):
        before = board.stats()["cycles"]
        board.command("fault hot-reset")
        card.config_read(0)
        assert 250_000 <= board.stats()["cycles"] - before < 260_000


def test_error_bits_survive_a_hot_reset(bench):
    """A hot reset keeps AER's masks, which are sticky. Only a loss of power clears them."""
    with bench() as (board, card):
        card.config_write(0x108, 1 << 14)
        board.command("fault hot-reset:1000")
        assert card.config_read(0x108) == 1 << 14
        board.command("fault remove")
        board.command("fault insert")
        assert card.config_read(0x108) == 0


def test_the_card_is_in_reset_while_the_link_is_down(bench):
    """While the link is down the card is in reset, once for the whole time. When the link is up
    again, the card's registers have their reset values."""
    with bench("--pace", "2000000") as (board, card):
        card.write(CONTROL, BUSY | ACK_FLR | ACK_POWER)
        card.read(CONTROL)
        # The link is down for 1,000,000 ns of device time, which take 125 ms of wall time at this
        # pace.
        board.command("fault link-down:1000000")
        assert card.config_read(0) == ONES
        wait_until(lambda: card.config_read(0) != ONES, "the link")
        card.enumerate()
        assert card.read(RESETS) == 1
        assert card.read(CONTROL) == ACK_FLR | ACK_POWER, "CONTROL must have its reset value"
        assert card.seen()[1] == 0, "a link that goes down is no hot reset"


def test_a_card_that_was_pulled_out_sleeps(bench):
    """While the card is removed from its slot, no device time passes. When it is inserted again, it
    starts as after power on."""
    with bench() as (board, card):
        board.command("fault remove")
        card.config_read(0)
        before = board.stats()["cycles"]
        time.sleep(0.1)
        assert board.stats()["cycles"] - before < 1000
        board.command("fault insert")
        wait_until(lambda: card.config_read(0) != ONES, "the card")
        card.enumerate()
        card.write(MEMORY0, 7)
        assert card.read(MEMORY0) == 7
        assert card.read(COMPLETIONS) is not None
