# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Clients that send random messages to the board's sockets. The board is built with
AddressSanitizer and UBSan.

The gateware is the small bench card (bench_card.sv), so the board builds in a minute and spends its
time on messages. The vfio-user server, root complex and hard block are the same as in every other
board.
"""

import contextlib
import errno
import functools
import os
import time

import pytest

from sim.clients.vfio import (
    IRQ_ACTION_TRIGGER,
    IRQ_DATA_NONE,
    LAYOUTS,
    READABLE,
    SET_IRQS,
    VfioClient,
)
from sim.test.board.bench_card import BenchCard, build_bench
from sim.test.board.board_client import BUS_MASTER, COMMAND, HIGH_MEMORY, MEMORY_SPACE, wait_until
from sim.test.board.fuzz_client import Fuzz, descriptors_of, mappings_of
from sim.test.board.fuzz_messages import PAGE, PENDING, TABLE, VECTORS, full_eventfd, full_pipe
from tools.testing.seeds import each_seed

# The board's options do not have --flr. With it, a card that does not acknowledge a function level
# reset would hold the board for 100 ms of device time. With sanitizers that takes longer than HANG,
# so a test would report a board that hangs.
OPTIONS = (
    "--rules",
    "off",
    "--mmio-rtt",
    0,
    "--read-latency",
    0,
    "--link-rate",
    "off",
    "--bar2",
    "64K",
    "--msix",
    f"{VECTORS}:2:{TABLE:#x}:{PENDING:#x}",
)


@pytest.fixture
def sanitized(boards_of):
    """Return a function that starts a board with sanitizers, whose first finding ends the board. It
    takes more of the board's options."""
    start = boards_of(build_bench(sanitize=True), {})
    return functools.partial(start, *OPTIONS, violations=None)


@pytest.fixture
def board(sanitized):
    """A running board with sanitizers. After the test the board must serve a new client, and must
    have released all descriptors and mappings of the test's clients."""
    with sanitized() as board:
        fuzz = Fuzz(board, 0)
        yield board
        fuzz.check()


@pytest.fixture
def card(board):
    """A BenchCard on the fixture `board`: the card is enumerated, with memory space and bus master
    enabled."""
    card = BenchCard(board.socket)
    with contextlib.closing(card):
        yield card


@contextlib.contextmanager
def closing(*fds):
    yield fds
    for fd in fds:
        os.close(fd)


def refused(call, *arguments, **options):
    """Make a vfio-user request that the board must refuse; returns the errno of the board's
    answer."""
    with pytest.raises(OSError) as refusal:
        call(*arguments, **options)
    return refusal.value.errno


def said(board):
    return board.log.read_text(errors="replace")


def test_the_board_has_sanitizers():
    """The program of the board has the functions of both sanitizers. Without them the tests of this
    file would prove little."""
    program = build_bench(sanitize=True).read_bytes()
    assert b"__asan_report" in program and b"__ubsan_handle" in program


# Findings: errors that random clients found
# --------------------------------------------------------
# The tests of this part each make one mistake of a client that once ended the board, blocked it or
# made it leak. They run before the tests with random clients, which make the same mistakes, so that
# a failure is reported under the clearer name.


@pytest.mark.parametrize("left", [0, PAGE])
@pytest.mark.parametrize("direction", ["c2h", "h2c"])
def test_a_file_that_is_truncated_under_dma(board, card, direction, left):
    """DMA to pages that the client has truncated from its mapped file is refused like DMA to
    unmapped memory. The log says so once, with the address range and the file's sizes. DMA still
    reaches the pages that are left."""
    memory = card.memory(HIGH_MEMORY, 16 * PAGE)
    os.ftruncate(memory.fd, left)
    for page in (1, 2):
        if direction == "c2h":
            card.send_write(HIGH_MEMORY + page * PAGE, [1, 2, 3, 4], last_be=0xF)
        else:
            card.send_read(HIGH_MEMORY + page * PAGE, 4)
    wait_until(lambda: board.stats()["unmapped"] == 2, "two refusals")
    if left:
        card.send_write(HIGH_MEMORY, [0x600D], last_be=0)
        wait_until(
            lambda: os.pread(memory.fd, 4, 0) == b"\x0d\x60\0\0", "a write to the rest of the file"
        )
    assert said(board).count("has lost pages") == 1
    assert f"the window of 64 KiB at bus address 0x{HIGH_MEMORY:x}" in said(board)
    assert f"of its file's 64 KiB only {left >> 10} KiB are left" in said(board)


def test_files_that_are_mapped_and_unmapped(board, card):
    """The board unmaps a client's file when the last range that uses it is unmapped. If a DMA_MAP
    is refused, its file does not stay mapped."""
    for _ in range(100):
        with closing(os.memfd_create("lanebox-fuzz")) as [fd]:
            os.ftruncate(fd, 4 * PAGE)
            card.client.map(HIGH_MEMORY, PAGE, fd)
            card.client.map(HIGH_MEMORY + PAGE, PAGE, fd, PAGE)
            assert mappings_of(board) == 1
            card.client.unmap(HIGH_MEMORY, PAGE)
            assert mappings_of(board) == 1, "the file must stay mapped for the second range"
            card.client.unmap(HIGH_MEMORY + PAGE, PAGE)
            assert mappings_of(board) == 0
            assert refused(card.client.map, HIGH_MEMORY, 8 * PAGE, fd) == errno.EINVAL
            assert mappings_of(board) == 0, "the refused range left its file mapped"


@pytest.mark.parametrize("kind", ["MSI", "MSI-X"])
def test_an_interrupt_is_no_pipe(board, card, kind):
    """If a client gives a file descriptor other than an eventfd for an interrupt, the board refuses
    it and logs the reason. The board never writes to it, since a full pipe would block the board
    for ever."""
    index = {"MSI": 1, "MSI-X": 2}[kind]
    before = descriptors_of(board)
    with closing(*full_pipe()) as ends:
        assert refused(card.client.set_eventfd, ends[1], index) == errno.EINVAL
        trigger(card, index)
        assert card.client.device_info() == (3, 9, 5)
        # The board may have closed a descriptor of its start meanwhile.
        assert descriptors_of(board) <= before
    assert "a descriptor that is no eventfd for an interrupt, which was refused" in said(board)


@pytest.mark.parametrize("index", [1, 2])
def test_an_eventfd_that_is_full(board, card, index):
    """If the eventfd of an interrupt is at its maximum, the board does not block. The interrupt is
    merged with those already counted in the eventfd."""
    with closing(full_eventfd()) as [fd]:
        card.client.set_eventfd(fd, index)
        trigger(card, index)
        assert card.client.device_info() == (3, 9, 5)
        assert os.eventfd_read(fd) == (1 << 64) - 2
        trigger(card, index)
        assert os.eventfd_read(fd) == 1


def trigger(card, index):
    """Make the board raise the first vector of MSI (index 1) or MSI-X (index 2), by the message
    SET_IRQS."""
    flags = IRQ_DATA_NONE | IRQ_ACTION_TRIGGER
    card.client.call(SET_IRQS, LAYOUTS["irq_set"].pack(20, flags, index, 0, 1))


@pytest.mark.parametrize("flags", [IRQ_ACTION_TRIGGER, IRQ_ACTION_TRIGGER | 2, 37])
def test_interrupts_of_no_kind_or_of_two(board, card, flags):
    """SET_IRQS must announce exactly one kind of data, eventfds or none, else the board answers
    EINVAL. With fewer file descriptors than vectors the board once read beyond the last
    descriptor."""
    body = LAYOUTS["irq_set"].pack(20, flags, 2, 0, VECTORS)
    with closing(os.eventfd(0)) as fds:
        assert refused(card.client.call, SET_IRQS, body, fds) == errno.EINVAL


@pytest.mark.parametrize("master", [True, False])
@pytest.mark.parametrize("size", [PAGE, 0])
def test_writable_memory_without_a_descriptor(board, card, master, size):
    """The board refuses each DMA_MAP of writable memory without a file descriptor. The log says
    what to do instead, and has at most 21 lines however often a client repeats the message."""
    card.config_write(COMMAND, MEMORY_SPACE | (BUS_MASTER if master else 0), 2)
    for _ in range(100):
        assert refused(card.client.map, HIGH_MEMORY, size) == errno.EINVAL
    card.config_write(COMMAND, MEMORY_SPACE | BUS_MASTER, 2)
    card.client.map(HIGH_MEMORY, PAGE, flags=READABLE)
    assert card.read(0) == 0x0BEC4A4D
    assert f"{size >> 10} KiB of writable memory without a descriptor" in said(board)
    assert len(said(board).splitlines()) <= 21, "a client can fill the log"


def test_a_second_client_is_told_at_once(board, card):
    """While the board has a client, a second client gets EBUSY at once and is disconnected. The log
    has the process IDs of both clients. The first client is served as before."""
    started = time.monotonic()
    second = VfioClient(board.socket, greet=False)
    with contextlib.closing(second):
        assert refused(second.greet) == errno.EBUSY
        assert time.monotonic() - started < 5
        assert second.closed_within(5)
    assert f"process {os.getpid()} was refused: the board has a client, process" in said(board)
    assert card.read(0) == 0x0BEC4A4D


# Random clients --------------------------------------------------------------------------------


@each_seed(4)
def test_random_clients(sanitized, seed):
    """After 25,000 random messages the board still runs and answers. It has released all file
    descriptors and mappings of its clients."""
    with sanitized("--seed", seed) as board:
        Fuzz(board, seed).run(25_000)


@pytest.mark.soak
@each_seed(10)
def test_random_clients_for_long(sanitized, seed):
    """After 100,000 random messages the board still runs and answers. It has released all file
    descriptors and mappings of its clients."""
    with sanitized("--seed", seed) as board:
        Fuzz(board, 1000 + seed).run(100_000)
