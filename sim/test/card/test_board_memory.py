# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Host memory for DMA: what is mapped is reached, and memory that cannot work is refused."""

import errno
import os
import random
import struct
import time

import pytest
from board_client import (
    BUS_MASTER,
    C2H_GENERATE,
    COMMAND,
    H2C_CHECK,
    HIGH_MEMORY,
    MEMORY_SPACE,
    assert_same,
    pattern,
    slices,
    wait_until,
)
from vfio_client import DMA_MAP, READABLE, UNMAP_ALL, WRITABLE

PAGE = 4096
MIB = 1 << 20


@pytest.fixture
def file():
    """A shared file of 64 KiB, as its descriptor."""
    fd = os.memfd_create("lanebox-test")
    os.ftruncate(fd, 16 * PAGE)
    yield fd
    os.close(fd)


def refused(call, *arguments, **options):
    """The errno with which the board refuses a request."""
    with pytest.raises(OSError) as refusal:
        call(*arguments, **options)
    return refusal.value.errno


def start_c2h(card, address=HIGH_MEMORY, count=PAGE):
    card.write("pattern_control", C2H_GENERATE)
    card.program("c2h", slices(address, count, PAGE))
    card.start("c2h")


def start_h2c(card, address=HIGH_MEMORY, count=PAGE):
    card.write("pattern_control", H2C_CHECK)
    card.program("h2c", slices(address, count, PAGE))
    card.start("h2c")


# Unmapped, not permitted -----------------------------------------------------------------------


def test_a_write_to_nowhere_is_dropped_and_counted(start_board):
    """Each TLP that writes to unmapped memory is counted; the next descriptor is executed."""
    with start_board() as board:
        card = board.card(mps=256)
        memory = card.memory(HIGH_MEMORY + PAGE, PAGE)
        start_c2h(card, HIGH_MEMORY, 2 * PAGE)
        card.wait_data(memory, pattern(PAGE, first=PAGE // 4))
        assert board.stats()["unmapped"] == PAGE // 256


def test_a_read_from_nowhere_is_an_unsupported_request(start_board):
    """A read of unmapped memory is answered by a completion without data, status UR."""
    with start_board(log=True) as board:
        card = board.card(mrrs=512)
        start_h2c(card, count=512)
        wait_until(lambda: board.stats()["unmapped"] == 1, "the refusal")
        wait_until(lambda: board.stats()["rc"]["tlps"] == 1, "its completion")
    log = board.tlps()
    [read], [answer] = log.on("RQ"), log.on("RC")
    assert (answer.kind, answer.status, answer.tag) == ("Cpl", 1, read.tag)
    assert (answer.dwords, answer.byte_count) == (0, 512)


def test_a_read_only_window_is_not_written(start_board):
    """DMA into a window that was mapped for reading leaves it as it was, and is counted."""
    with start_board() as board:
        card = board.card(mps=256)
        memory = card.memory(HIGH_MEMORY, PAGE, flags=READABLE)
        memory.data[:] = b"\x33" * PAGE
        start_c2h(card)
        wait_until(lambda: board.stats()["unmapped"] == PAGE // 256, "every TLP refused")
        assert memory.data[:] == b"\x33" * PAGE


def test_a_write_only_window_is_not_read(start_board):
    """A read of a window that was mapped for writing ends in Unsupported Request."""
    with start_board(log=True) as board:
        card = board.card()
        card.memory(HIGH_MEMORY, PAGE, flags=WRITABLE)
        start_h2c(card, count=512)
        wait_until(lambda: board.stats()["rc"]["tlps"] == 1, "the refusal")
    assert board.tlps().on("RC")[0].status == 1


def test_a_read_only_window_is_read(start_board):
    """h2c reads a window that was mapped for reading only."""
    with start_board() as board:
        card = board.card()
        card.memory(HIGH_MEMORY, PAGE, flags=READABLE).data[:] = pattern(PAGE)
        start_h2c(card)
        assert card.h2c_check(PAGE // 32) == 0


# Unmapping -------------------------------------------------------------------------------------


def test_unmapping_while_dma_runs(start_board):
    """Once DMA_UNMAP is answered not a byte changes any more; the board and its registers go on."""
    with start_board() as board:
        card = board.card()
        memory = card.memory(HIGH_MEMORY, MIB)
        card.write("pattern_control", C2H_GENERATE)
        card.program("c2h", [(HIGH_MEMORY, MIB)] * 256)
        card.start("c2h")
        wait_until(lambda: board.stats()["rq"]["tlps"] > 100, "running DMA")
        card.client.unmap(HIGH_MEMORY, MIB)
        last = memory.data[:]
        wait_until(lambda: board.stats()["unmapped"] > 100, "writes into nowhere")
        assert_same(memory.data[:], last)
        card.stop()
        assert card.read("ctrl_scratch") == 0x12345678


def test_mapped_again_is_reached_again(start_board, file):
    """An address that was unmapped can be mapped to other memory, and DMA then reaches that."""
    with start_board() as board:
        card = board.card()
        first = card.memory(HIGH_MEMORY, PAGE)
        start_c2h(card)
        card.wait_data(first, pattern(PAGE))
        card.stop()
        card.client.unmap(HIGH_MEMORY, PAGE)
        first.data[:] = bytes(PAGE)
        second = card.memory(HIGH_MEMORY, PAGE)
        start_c2h(card)
        card.wait_data(second, pattern(PAGE))
        assert first.data[:] == bytes(PAGE)


@pytest.mark.parametrize("whole", [True, False])
def test_unmap_covers_many_windows(start_board, file, whole):
    """One DMA_UNMAP removes every window inside its range, or with UNMAP_ALL every window."""
    with start_board() as board:
        client = board.connect()
        for page in range(16):
            client.map(HIGH_MEMORY + page * PAGE, PAGE, file, page * PAGE)
        client.unmap(*((0, 0, UNMAP_ALL) if whole else (HIGH_MEMORY, 16 * PAGE)))
        client.map(HIGH_MEMORY, 16 * PAGE, file)  # fails if one was left


def client_of_windows(board, file, count):
    """A client with `count` windows of a page each in one file, with gaps between them."""
    client = board.connect()
    requests = []
    for i in range(count):
        body = struct.pack("<IIQQQ", 32, READABLE | WRITABLE, 0, HIGH_MEMORY + 2 * i * PAGE, PAGE)
        requests.append(client.send(DMA_MAP, body, [file]))
        if len(requests) == 64:
            for number in requests:
                client.reply(number)
            requests = []
    for number in requests:
        client.reply(number)
    return client


def test_unmapping_does_not_look_at_every_window(start_board, file):
    """The cost of a DMA_UNMAP is the same among 40,000 windows as among 400, within a factor of 4.

    The CPU time is a few milliseconds, and other programs lengthen it, so the least of a few
    measurements counts.
    """

    def cost(count):
        with start_board() as board:
            client = client_of_windows(board, file, count)
            before = board.cpu_seconds()
            for i in range(0, count, count // 200):
                client.unmap(HIGH_MEMORY + 2 * i * PAGE, PAGE)
            return board.cpu_seconds() - before

    cpu = {}
    for _ in range(5):
        for count in (400, 40_000):
            cpu[count] = min(cost(count), cpu.get(count, 1.0))
        if cpu[40_000] < 4 * cpu[400]:
            return
    pytest.fail(f"CPU seconds of 200 DMA_UNMAPs: {cpu}")


# Mappings that are refused ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "start,pages",
    [(4, 4), (0, 16), (5, 1), (3, 2), (7, 2), (0, 5), (4, 5)],
    ids=["same", "around", "inside", "over its start", "over its end", "up to its start", "longer"],
)
def test_windows_do_not_overlap(start_board, file, start, pages):
    """A window over pages 4 to 7 excludes every window that shares a page with it."""
    with start_board() as board:
        client = board.connect()
        client.map(HIGH_MEMORY + 4 * PAGE, 4 * PAGE, file)
        address = HIGH_MEMORY + start * PAGE
        assert refused(client.map, address, pages * PAGE, file) == errno.EEXIST
        client.map(HIGH_MEMORY, 4 * PAGE, file)  # neighbours are accepted
        client.map(HIGH_MEMORY + 8 * PAGE, 4 * PAGE, file)


@pytest.mark.parametrize(
    "address,size,offset",
    [
        (HIGH_MEMORY, 17 * PAGE, 0),
        (HIGH_MEMORY, PAGE, 16 * PAGE),
        (HIGH_MEMORY, 16 * PAGE, PAGE),
        (HIGH_MEMORY, PAGE, 1 << 63),
        (HIGH_MEMORY, 0, 0),
        ((1 << 64) - PAGE, 2 * PAGE, 0),
    ],
    ids=["too long", "behind the end", "over the end", "far away", "empty", "around the top"],
)
def test_a_window_lies_inside_its_file(start_board, file, address, size, offset):
    """A window that its file does not cover is refused, and can then be mapped rightly."""
    with start_board() as board:
        client = board.connect()
        assert refused(client.map, address, size, file, offset) == errno.EINVAL
        client.map(HIGH_MEMORY, 16 * PAGE, file)


def test_what_cannot_be_mapped_is_refused(start_board):
    """A descriptor that is no memory (a pipe) is refused, and the client goes on."""
    with start_board() as board:
        client = board.connect()
        ends = os.pipe()
        assert refused(client.map, HIGH_MEMORY, PAGE, ends[0]) in (errno.ENODEV, errno.EINVAL)
        for end in ends:
            os.close(end)
        assert client.device_info()


def test_a_file_may_grow(start_board):
    """A client may extend its file and map more of it; the first window stays valid."""
    data = random.Random(3).randbytes(PAGE)
    with start_board() as board:
        card = board.card()
        first = card.memory(HIGH_MEMORY, PAGE)
        os.ftruncate(first.fd, 4 * PAGE)
        card.client.map(2 * HIGH_MEMORY, PAGE, first.fd, 3 * PAGE)
        os.pwrite(first.fd, data, 3 * PAGE)
        card.write("pcie_dma0_loopback_enable", 1)
        card.program("h2c", [(2 * HIGH_MEMORY, PAGE)])
        card.program("c2h", [(HIGH_MEMORY, PAGE)])
        card.start("c2h", "h2c")
        card.wait_data(first, data)


# Memory that DMA cannot reach ------------------------------------------------------------------

NO_DESCRIPTOR = "of writable memory without a descriptor"
PRIVATE_COPY = "the client's memory is a private copy"


@pytest.mark.parametrize("master_first", [True, False])
def test_writable_memory_without_a_descriptor(start_board, master_first):
    """Writable memory without a descriptor is refused, with the remedy; the client goes on."""
    with start_board() as board:
        card = board.card(bus_master=master_first)
        assert refused(card.client.map, HIGH_MEMORY, 64 * MIB) == errno.EINVAL
        card.config_write(COMMAND, MEMORY_SPACE | BUS_MASTER, 2)
        assert card.read("ctrl_scratch") == 0x12345678
    assert f"65536 KiB {NO_DESCRIPTOR}" in board.output
    assert "memory-backend-memfd,share=on" in board.output


def test_a_read_only_window_may_lack_a_descriptor(start_board):
    """A window for reading needs no descriptor: ROMs have none, and DMA does not write there."""
    with start_board() as board:
        card = board.card()
        card.client.map(0xF000_0000, 64 * 1024, flags=READABLE)
        assert card.read("ctrl_scratch") == 0x12345678


def filled(size=4 * MIB):
    return random.Random(4).randbytes(PAGE) * (size // PAGE)


def with_memory(board, memory_of):
    """A client that answers DMA_READ with `memory_of`, 4 MiB of random data, no bus master."""
    card = board.card(memory_of=memory_of, bus_master=False)
    card.memory(HIGH_MEMORY, 4 * MIB).data[:] = filled()
    return card


def test_a_private_copy_is_found(start_board):
    """A client whose own memory differs from the descriptor's (share=off) is disconnected with the
    reason; the next one is served."""
    other = bytes(byte ^ 0xFF for byte in filled())

    def copy_of(address, count):
        return other[address - HIGH_MEMORY :][:count]

    with start_board() as board:
        card = with_memory(board, copy_of)
        card.config_write(COMMAND, MEMORY_SPACE | BUS_MASTER, 2)
        assert card.client.closed_within(5), "the board did not notice"
        assert board.card().read("ctrl_scratch") == 0x12345678
    assert PRIVATE_COPY in board.output and "share=on" in board.output


def test_shared_memory_is_not_taken_for_a_copy(start_board):
    """A client whose own memory agrees with the descriptor's is asked a few times, then no more."""
    with start_board() as board:
        data = filled()
        card = with_memory(board, lambda address, count: data[address - HIGH_MEMORY :][:count])
        card.config_write(COMMAND, MEMORY_SPACE | BUS_MASTER, 2)
        card.client.serve_for(0.1)
        assert 4 <= card.client.asked < 256
        start_h2c(card)
        card.h2c_check(PAGE // 32)


def test_empty_memory_is_not_taken_for_a_copy(start_board):
    """A client whose own memory is still empty is not refused: a guest just started looks so."""
    with start_board() as board:
        card = board.card(memory_of=lambda address, count: bytes(count), bus_master=False)
        card.memory(HIGH_MEMORY, 4 * MIB).data[:] = filled()
        card.config_write(COMMAND, MEMORY_SPACE | BUS_MASTER, 2)
        card.client.serve_for(0.1)
        assert card.client.asked > 100 and card.read("ctrl_scratch") == 0x12345678


def test_a_client_that_cannot_be_asked_is_not_asked(start_board):
    """Without max_data_xfer_size in its capabilities a client gets no request from the board."""
    with start_board() as board:
        card = board.card(bus_master=False)
        card.memory(HIGH_MEMORY, 4 * MIB).data[:] = filled()
        card.config_write(COMMAND, MEMORY_SPACE | BUS_MASTER, 2)
        time.sleep(0.05)
        card.client.serve_for(0)  # fails on a request by the board
        assert card.client.asked == 0
