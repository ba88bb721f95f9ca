# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of MSI-X of the simulated hard block (--msix): capability, pins, clients with and without
eventfds.

Table and pending bits belong to the gateware. In these tests both are in the bench card's memory,
and the test sends the messages that a card would send.
"""

import contextlib
import os
import select
import struct

import pytest

from gateware import numbers
from sim.clients.vfio import BAR0
from sim.test.board.bench_card import BAR2, HOLD_THEN, SEND_RQ, build_bench, request
from sim.test.board.board_client import BUS_MASTER, COMMAND, HIGH_MEMORY, MEMORY_SPACE, wait_until
from sim.test.board.board_process import run_board

VECTORS, TABLE, PENDING = 8, 0x8000, 0x9000
OPTION = ("--bar2", "64K", "--msix", f"{VECTORS}:2:{TABLE:#x}:{PENDING:#x}")
MSIX, CAP_MSIX = numbers.CONFIG_MSIX, 0x11
ENABLE, MASK_ALL = 1 << 15, 1 << 14
IRQ_MSIX = 2
MASKED = 1


def entry(card, vector, bar=BAR2, table=TABLE):
    """Return (address, data, vector control) of a vector in the MSI-X table."""
    words = [card.read(table + 16 * vector + 4 * i, bar=bar) for i in range(4)]
    return words[1] << 32 | words[0], words[2], words[3]


@contextlib.contextmanager
def eventfds(count):
    fds = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(count)]
    yield fds
    for fd in fds:
        os.close(fd)


def raised(fd, seconds=2.0):
    return os.eventfd_read(fd) if select.select([fd], [], [], seconds)[0] else 0


def listen(card, fds, start=0):
    """Send SET_IRQS as QEMU does, with the eventfds `fds` for the MSI-X vectors from `start` on."""
    flags = 4 | 32
    body = struct.pack("<IIIII", 20, flags, IRQ_MSIX, start, len(fds))
    card.client.call(8, body, fds)


def ignore(card, start, count):
    """Send SET_IRQS without eventfds, so that the client no longer listens to `count` MSI-X
    vectors."""
    card.client.set_eventfd(None, index=IRQ_MSIX, start=start, count=count)


def enable(card, control=ENABLE):
    card.config_write(MSIX + 2, control, 2)


def clear_table(card):
    card.client.write(BAR2, TABLE, bytes(16 * VECTORS))


def test_the_capability_says_where_table_and_pending_bits_are(bench):
    """The MSI-X capability comes after MSI in the card's capability list, and has the places of
    table and pending bits that the board's option --msix gives. The host can write only its enable
    bit and its function mask."""
    with bench(*OPTION) as (_, card):
        assert card.config_read(0x49, 1) == MSIX == 0x60 and card.config_read(MSIX + 1, 1) == 0x70
        assert card.config_read(MSIX, 1) == CAP_MSIX
        card.config_write(MSIX, 0x3FFF_FFFF)
        card.config_write(MSIX + 4, 0)
        card.config_write(MSIX + 8, 0)
        assert card.config_read(MSIX + 2, 2) == VECTORS - 1
        assert card.config_read(MSIX + 4) == TABLE | 2
        assert card.config_read(MSIX + 8) == PENDING | 2
        assert card.client.irq_count(IRQ_MSIX) == VECTORS


def test_without_the_option_there_is_none(bench):
    """Without --msix the capability list has no MSI-X, and the client is offered no MSI-X
    vector."""
    with bench() as (_, card):
        assert card.config_read(0x49, 1) == 0x70 and card.config_read(MSIX) == 0
        assert card.client.irq_count(IRQ_MSIX) == 0


def test_enable_and_mask_reach_the_pins(bench):
    """The pins cfg_interrupt_msix_enable and cfg_interrupt_msix_mask follow Message Control."""
    with bench(*OPTION) as (_, card):
        for control in (0, ENABLE, ENABLE | MASK_ALL, MASK_ALL, 0):
            enable(card, control)
            pins = card.pins()
            assert (pins["msix_enable"], pins["msix_mask"]) == (control >> 15, control >> 14 & 1)


def test_eventfds_make_the_board_program_the_table(bench):
    """For each vector with an eventfd, the board itself writes an address into the card's table and
    unmasks the vector. Each vector gets another address. When an eventfd is withdrawn, the board
    masks its vector.
    """
    with bench(*OPTION) as (_, card), eventfds(3) as fds:
        clear_table(card)
        listen(card, fds, start=2)
        entries = [entry(card, v) for v in range(VECTORS)]
        assert entries[:2] == entries[5:7] == [(0, 0, 0)] * 2
        used = entries[2:5]
        assert len({address for address, _, _ in used}) == 3
        assert all(address % 4 == 0 and control == 0 for address, _, control in used)
        ignore(card, 3, 1)
        assert [entry(card, v)[2] for v in (2, 3, 4)] == [0, MASKED, 0]


def test_a_message_raises_its_vector(bench):
    """A write by the card to a vector's address raises the vector's eventfd, and changes no
    memory."""
    with bench(*OPTION) as (board, card), eventfds(VECTORS) as fds:
        enable(card)
        listen(card, fds)
        for vector in (0, 5, 7, 5):
            address, data, _ = entry(card, vector)
            card.send_write(address, [data])
            assert raised(fds[vector]) == 1
        assert [raised(fd, 0) for fd in fds] == [0] * VECTORS
        assert board.stats()["msi"] == 4 and board.stats()["unmapped"] == 0


def test_a_message_comes_behind_the_data(bench):
    """A message is a posted write, so data that the card wrote before it is in host memory when the
    client wakes up."""
    with bench(*OPTION, "--write-stall", "100:20000") as (_, card), eventfds(1) as fds:
        memory = card.memory(HIGH_MEMORY, 4096)
        enable(card)
        listen(card, fds)
        address, data, _ = entry(card, 0)
        for i in range(20):
            card.send_write(HIGH_MEMORY, [i + 1])
            card.send_write(address, [data])
            assert raised(fds[0]) == 1
            assert memory.data[:4] == (i + 1).to_bytes(4, "little")


@pytest.mark.parametrize("control", [0, ENABLE | MASK_ALL])
def test_a_message_while_disabled_or_masked_breaks_a_rule(bench, control):
    """A message that the card sends while MSI-X is disabled or masked breaks the rule
    `msi-disabled`."""
    options = {"violations": ["msi-disabled"]}
    with bench(*OPTION, "--rules", "warn", **options) as (board, card), eventfds(1) as fds:
        enable(card)
        listen(card, fds)
        address, data, _ = entry(card, 0)
        enable(card, control)
        card.send_write(address, [data])
        wait_until(lambda: board.stats()["violations"], "the breach")


# For this number of cycles the bench card holds its message back before it begins on RQ. Message
# Control needs three more cycles to reach the card: one to the pins, two in registers of the card.
LAST_CYCLE, FIRST_TOO_LATE = 4 - 3, 5 - 3


@pytest.mark.parametrize("control", [0, ENABLE | MASK_ALL])
@pytest.mark.parametrize("held, broken", [(LAST_CYCLE, []), (FIRST_TOO_LATE, ["msi-disabled"])])
def test_a_message_may_be_shown_four_cycles_after_its_mask_came(bench, control, held, broken):
    """After MSI-X is disabled or masked, a message may still begin on RQ up to the fourth cycle.
    From the fifth on it breaks `msi-disabled`."""
    with bench(*OPTION, "--rules", "warn", violations=broken) as (board, card), eventfds(1) as fds:
        enable(card)
        listen(card, fds)
        address, data, _ = entry(card, 0)
        card.prepare([*request(address, 1, write=True), data])
        card.write(HOLD_THEN, held)
        card.later(1000, SEND_RQ, 5)
        enable(card, control)
        wait_until(lambda: board.stats()["msi"] == 1, "the message")


def test_a_message_between_two_sets_of_eventfds_waits(bench):
    """A message that comes while no eventfd is set is kept for the next set of eventfds. That
    matters since QEMU withdraws all eventfds before it sets more of them."""
    with bench(*OPTION) as (board, card), eventfds(2) as fds:
        enable(card)
        listen(card, fds[:1])
        address, data, _ = entry(card, 0)
        ignore(card, 0, 1)
        card.send_write(address, [data])
        wait_until(lambda: board.stats()["msi_lost"] == 1, "the message")
        listen(card, fds)
        assert raised(fds[0]) == 1 and raised(fds[1], 0) == 0
        assert board.stats()["unmapped"] == 0


def test_a_message_that_waited_comes_once(bench):
    """An MSI-X message that came without an eventfd is kept. It raises the eventfd that is set
    next, and no later one."""
    with bench(*OPTION) as (board, card), eventfds(1) as fds:
        enable(card)
        listen(card, fds)
        address, data, _ = entry(card, 0)
        ignore(card, 0, 1)
        card.send_write(address, [data])
        wait_until(lambda: board.stats()["msi_lost"] == 1, "the message")
        listen(card, fds)
        assert raised(fds[0]) == 1
        for _ in range(2):
            ignore(card, 0, 1)
            listen(card, fds)
        assert raised(fds[0], 0) == 0
        card.send_write(address, [data])
        assert raised(fds[0]) == 1


def test_a_plain_client_has_the_table_for_itself(bench):
    """If the client sets no eventfds, the board leaves the table to the client. Messages are then
    plain writes to its memory."""
    with bench(*OPTION) as (board, card):
        memory = card.memory(HIGH_MEMORY, 4096)
        enable(card)
        for i, word in enumerate((HIGH_MEMORY & 0xFFFF_FFFF, HIGH_MEMORY >> 32, 0xABCD, 0)):
            card.write(TABLE + 4 * i, word, bar=BAR2)
        address, data, _ = entry(card, 0)
        card.send_write(address, [data])
        wait_until(lambda: memory.data[:4] == (0xABCD).to_bytes(4, "little"), "the message")
        assert board.stats()["msi"] == 0


def test_the_table_is_programmed_again_when_memory_space_comes_back(bench):
    """Vectors whose eventfds are set while memory space is disabled are in the card's table as soon
    as it is enabled."""
    with bench(*OPTION) as (_, card), eventfds(1) as fds:
        clear_table(card)
        card.read(0)
        card.config_write(COMMAND, 0, 2)
        listen(card, fds)
        card.config_write(COMMAND, MEMORY_SPACE | BUS_MASTER, 2)
        enable(card)
        address, data, control = entry(card, 0)
        assert control == 0 and address
        card.send_write(address, [data])
        assert raised(fds[0]) == 1


def test_a_client_that_leaves_takes_its_vectors_with_it(bench):
    """When a client leaves, the board drops its eventfds: a reset by the next client raises nothing
    on them."""
    with bench(*OPTION) as (board, card), eventfds(1) as fds:
        listen(card, fds)
        assert entry(card, 0)[0]
        card.close()
        board._clients.remove(card)
        other = board.connect()
        assert other.irq_count(IRQ_MSIX) == VECTORS
        other.call(13)
        assert raised(fds[0], 0) == 0


def test_lose_msi_loses_messages_of_both_kinds(bench):
    """The board's fault lose-msi, which drops an MSI, drops an MSI-X message, too."""
    with bench(*OPTION) as (board, card), eventfds(1) as fds:
        enable(card)
        listen(card, fds)
        address, data, _ = entry(card, 0)
        board.command("fault lose-msi")
        card.send_write(address, [data])
        card.send_write(address, [data])
        wait_until(lambda: board.stats()["msi"] == 1, "the second message")
        assert board.stats()["faults"] == 1 and raised(fds[0]) == 1


def test_vectors_may_lie_in_bar0(bench):
    """The board's option --msix may put the MSI-X table and pending bits into BAR0."""
    options = ("--msix", "2:0:0x4000:0x5000")
    with bench(*options) as (_, card), eventfds(2) as fds:
        enable(card)
        listen(card, fds)
        address, data, _ = entry(card, 1, BAR0, 0x4000)
        card.send_write(address, [data])
        assert raised(fds[1]) == 1


@pytest.mark.parametrize(
    "option,rule",
    [
        ("0:0:0:0", "VECTORS:BAR:TABLE:PBA"),
        ("2049:0:0:0x8000", "1 to 2048"),
        ("1:1:0:0", "BAR 0 or 2"),
        ("1:0:4:0", "multiples of 8"),
        ("1:0:0", "VECTORS:BAR:TABLE:PBA"),
        ("1:0:0:8:9", "VECTORS:BAR:TABLE:PBA"),
        ("8:0:0x1fff8:0", "do not fit into BAR0"),
        ("1:2:0:8", "do not fit into BAR2"),
    ],
)
def test_an_option_that_cannot_be_is_refused(option, rule):
    """A wrong --msix ends the board with status 2 and the rule, before it tries to make a
    socket."""
    status, _, error = run_board(build_bench(), "--socket", "/nonexistent/b", "--msix", option)
    assert status == 2 and rule in error
