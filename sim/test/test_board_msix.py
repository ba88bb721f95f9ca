# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""MSI-X by option: the capability, the pins, and the two ways in which a client may use it.

The table and the pending bits are the gateware's; here they are the bench card's memory, and the
test sends the messages that a card would send.
"""

import contextlib
import os
import select
import struct

import pytest
from bench_card import BAR2, build_bench
from board_client import BUS_MASTER, COMMAND, HIGH_MEMORY, MEMORY_SPACE, wait_until
from board_process import run_board
from vfio_client import BAR0

VECTORS, TABLE, PENDING = 8, 0x8000, 0x9000
OPTION = ("--bar2", "64K", "--msix", f"{VECTORS}:2:{TABLE:#x}:{PENDING:#x}")
MSIX, CAP_MSIX = 0x60, 0x11
ENABLE, MASK_ALL = 1 << 15, 1 << 14
IRQ_MSIX = 2
MASKED = 1


def entry(card, vector, bar=BAR2, table=TABLE):
    """Address, data and vector control, as they stand in the table."""
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
    """SET_IRQS as QEMU sends it: a descriptor for each vector."""
    flags = 4 | 32
    body = struct.pack("<IIIII", 20, flags, IRQ_MSIX, start, len(fds))
    card.client.call(8, body, fds)


def ignore(card, start, count):
    """The same without descriptors: nobody listens to these any more."""
    card.client.set_eventfd(None, index=IRQ_MSIX, start=start, count=count)


def enable(card, control=ENABLE):
    card.config_write(MSIX + 2, control, 2)


def clear_table(card):
    card.client.write(BAR2, TABLE, bytes(16 * VECTORS))


def test_the_capability_says_where_table_and_pending_bits_are(bench):
    """Behind MSI in the list, with so many vectors; only enable and mask can be written."""
    with bench(*OPTION) as (_, card):
        assert card.config_read(0x49, 1) == MSIX and card.config_read(MSIX + 1, 1) == 0x70
        assert card.config_read(MSIX, 1) == CAP_MSIX
        card.config_write(MSIX, 0x3FFF_FFFF)
        card.config_write(MSIX + 4, 0)
        card.config_write(MSIX + 8, 0)
        assert card.config_read(MSIX + 2, 2) == VECTORS - 1
        assert card.config_read(MSIX + 4) == TABLE | 2
        assert card.config_read(MSIX + 8) == PENDING | 2
        assert card.client.irq_count(IRQ_MSIX) == VECTORS


def test_without_the_option_there_is_none(bench):
    """MSI is followed by PCI Express, and the client is offered no vector."""
    with bench() as (_, card):
        assert card.config_read(0x49, 1) == 0x70 and card.config_read(MSIX) == 0
        assert card.client.irq_count(IRQ_MSIX) == 0


def test_enable_and_mask_reach_the_pins(bench):
    """cfg_interrupt_msix_enable and _mask follow Message Control."""
    with bench(*OPTION) as (_, card):
        for control in (0, ENABLE, ENABLE | MASK_ALL, MASK_ALL, 0):
            enable(card, control)
            pins = card.pins()
            assert (pins["msix_enable"], pins["msix_mask"]) == (control >> 15, control >> 14 & 1)


def test_eventfds_make_the_board_program_the_table(bench):
    """Each vector that the client listens to has an address of its own and is not masked."""
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
    """The card's write to an entry's address is that vector's eventfd, and reaches no memory."""
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
    """It is a posted write: what the card wrote before is in memory when the client wakes up."""
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
    """A card that sends it all the same is found."""
    options = {"violations": ["msi-disabled"]}
    with bench(*OPTION, "--rules", "warn", **options) as (board, card), eventfds(1) as fds:
        enable(card)
        listen(card, fds)
        address, data, _ = entry(card, 0)
        enable(card, control)
        card.send_write(address, [data])
        wait_until(lambda: board.stats()["violations"], "the breach")


def test_a_message_between_two_sets_of_eventfds_waits(bench):
    """QEMU takes all vectors back before it hands in a larger set; what comes then is kept."""
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
    """The first set of eventfds after it gets it; further sets raise nothing by themselves."""
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
    """Without eventfds the board never touches the table; messages are writes to its memory."""
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
    """Vectors that were asked for while the card had no address work as soon as it has one."""
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
    """The next one finds a table that nobody has programmed for it."""
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
    """The fault strikes at an MSI-X message as it does at an MSI."""
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
    """The table's BAR is part of the option."""
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
    """Exit status 2 and the rule, before the board tries to make its socket: here it could not."""
    status, _, error = run_board(build_bench(), "--socket", "/nonexistent/b", "--msix", option)
    assert status == 2 and rule in error
