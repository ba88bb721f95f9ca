# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""DMA to the memory of a client: DMA reaches the memory that the client has mapped, and no other.

The board refuses a mapping that it could not carry out. It disconnects a client whose own memory is
only a private copy of the memory that it has mapped.
"""

import errno
import os
import random
import struct
import time

import pytest

from sim.clients.vfio import DMA_MAP, READABLE, UNMAP_ALL, WRITABLE
from sim.test.board.board_client import (
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
from tools.testing.seeds import SHIFT, each_seed

PAGE = 4096
MIB = 1 << 20


@pytest.fixture
def file():
    """Return a file descriptor of a shared memory file of 64 KiB, which is closed after the
    test."""
    fd = os.memfd_create("lanebox-test")
    os.ftruncate(fd, 16 * PAGE)
    yield fd
    os.close(fd)


def refused(call, *arguments, **options):
    """Make a request that the board must refuse, and return the errno of its answer."""
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


# DMA to memory that is unmapped or not permitted -----------------------------------------------


def test_a_write_to_nowhere_is_dropped_and_counted(start_board):
    """The board drops and counts each TLP by which the card writes to unmapped memory. The next
    descriptor is carried out."""
    with start_board() as board:
        card = board.card(mps=256)
        memory = card.memory(HIGH_MEMORY + PAGE, PAGE)
        start_c2h(card, HIGH_MEMORY, 2 * PAGE)
        card.wait_data(memory, pattern(PAGE, first=PAGE // 4))
        assert board.stats()["unmapped"] == PAGE // 256


def test_a_read_from_nowhere_is_an_unsupported_request(start_board):
    """If the card reads unmapped memory, the root complex answers by one completion without data,
    with status Unsupported Request."""
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
    """Memory that the client has mapped for reading only is not changed by DMA writes. The board
    counts these writes as unmapped."""
    with start_board() as board:
        card = board.card(mps=256)
        memory = card.memory(HIGH_MEMORY, PAGE, flags=READABLE)
        memory.data[:] = b"\x33" * PAGE
        start_c2h(card)
        wait_until(lambda: board.stats()["unmapped"] == PAGE // 256, "every TLP refused")
        assert memory.data[:] == b"\x33" * PAGE


def test_a_write_only_window_is_not_read(start_board):
    """If DMA reads memory that the client has mapped for writing only, the read ends in Unsupported
    Request."""
    with start_board(log=True) as board:
        card = board.card()
        card.memory(HIGH_MEMORY, PAGE, flags=WRITABLE)
        start_h2c(card, count=512)
        wait_until(lambda: board.stats()["rc"]["tlps"] == 1, "the refusal")
    assert board.tlps().on("RC")[0].status == 1


def test_a_read_only_window_is_read(start_board):
    """h2c reads memory that the client has mapped for reading only."""
    with start_board() as board:
        card = board.card()
        card.memory(HIGH_MEMORY, PAGE, flags=READABLE).data[:] = pattern(PAGE)
        start_h2c(card)
        assert card.h2c_check(PAGE // 32) == 0


# Unmapping memory during DMA -------------------------------------------------------------------


def test_unmapping_while_dma_runs(start_board):
    """Once the board has answered DMA_UNMAP, DMA changes no byte of that memory any more. Board and
    registers work on."""
    with start_board() as board:
        card = board.card()
        memory = card.memory(HIGH_MEMORY, MIB)
        card.write("pattern_control", C2H_GENERATE)
        card.program("c2h", [(HIGH_MEMORY, MIB)] * 256)
        card.start("c2h")
        wait_until(lambda: board.stats()["rq"]["tlps"] > 100, "running DMA")
        card.client.unmap(HIGH_MEMORY, MIB)
        last = memory.data[:]
        wait_until(lambda: board.stats()["unmapped"] > 100, "writes to unmapped memory")
        assert_same(memory.data[:], last)
        card.stop()
        assert card.read("ctrl_scratch") == 0x12345678


def test_mapped_again_is_reached_again(start_board, file):
    """A bus address that was unmapped can be mapped to other memory. DMA to the address then
    reaches that memory only."""
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
    """One DMA_UNMAP removes all mappings inside its range. With the flag UNMAP_ALL it removes all
    mappings of the client."""
    with start_board() as board:
        client = board.connect()
        for page in range(16):
            client.map(HIGH_MEMORY + page * PAGE, PAGE, file, page * PAGE)
        client.unmap(*((0, 0, UNMAP_ALL) if whole else (HIGH_MEMORY, 16 * PAGE)))
        # This DMA_MAP of all addresses would fail if DMA_UNMAP had left a mapping there.
        client.map(HIGH_MEMORY, 16 * PAGE, file)


def client_of_windows(board, file, count):
    """Return a client with `count` mappings of one page each, all of the same file, with gaps
    between their addresses."""
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
    """A DMA_UNMAP costs about the same CPU time among 40,000 mappings as among 400: less than four
    times as much.

    That CPU time is a few milliseconds, and other programs on the machine lengthen it. So the
    shortest of several measurements counts.
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
    """While pages 4 to 7 are mapped, a mapping that shares a page with them is refused. Mappings
    directly below and above them are accepted."""
    with start_board() as board:
        client = board.connect()
        client.map(HIGH_MEMORY + 4 * PAGE, 4 * PAGE, file)
        address = HIGH_MEMORY + start * PAGE
        assert refused(client.map, address, pages * PAGE, file) == errno.EEXIST
        # The board accepts mappings directly below and directly above pages that are already
        # mapped.
        client.map(HIGH_MEMORY, 4 * PAGE, file)
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
    """A mapping that goes beyond its file, or beyond 64-bit addresses, is refused with EINVAL. The
    same addresses can then be mapped correctly."""
    with start_board() as board:
        client = board.connect()
        assert refused(client.map, address, size, file, offset) == errno.EINVAL
        client.map(HIGH_MEMORY, 16 * PAGE, file)


def test_what_cannot_be_mapped_is_refused(start_board):
    """If a client gives a pipe for DMA_MAP, which is no memory, the board refuses it. The client is
    served on."""
    with start_board() as board:
        client = board.connect()
        ends = os.pipe()
        assert refused(client.map, HIGH_MEMORY, PAGE, ends[0]) in (errno.ENODEV, errno.EINVAL)
        for end in ends:
            os.close(end)
        assert client.device_info()


@each_seed(1)
def test_a_file_may_grow(start_board, seed):
    """A client may extend its file and map the new part. Its mapping of the first part stays
    valid."""
    data = random.Random(seed).randbytes(PAGE)
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
    """If a client maps writable memory without a file descriptor, the board refuses it, and the log
    says how to share memory. The client is served on."""
    with start_board() as board:
        card = board.card(bus_master=master_first)
        assert refused(card.client.map, HIGH_MEMORY, 64 * MIB) == errno.EINVAL
        card.config_write(COMMAND, MEMORY_SPACE | BUS_MASTER, 2)
        assert card.read("ctrl_scratch") == 0x12345678
    assert f"65536 KiB {NO_DESCRIPTOR}" in board.output
    assert "memory-backend-memfd,share=on" in board.output


def test_a_client_that_repeats_a_mistake_does_not_fill_the_log(start_board):
    """The log has at most twenty sentences about a client, and then one that there are no more. The
    next client has twenty of its own."""
    with start_board() as board:
        for mistakes in (30, 3):
            client = board.connect()
            for _ in range(mistakes):
                assert refused(client.map, HIGH_MEMORY, 64 * MIB) == errno.EINVAL
            client.close()
    assert board.output.count(NO_DESCRIPTOR) == 20 + 3
    assert board.output.count("nothing more is said about this client") == 1


def test_a_read_only_window_may_lack_a_descriptor(start_board):
    """A client may map memory for reading only without a file descriptor: a guest's ROMs have none,
    and DMA does not write there."""
    with start_board() as board:
        card = board.card()
        card.client.map(0xF000_0000, 64 * 1024, flags=READABLE)
        assert card.read("ctrl_scratch") == 0x12345678


def filled(size=4 * MIB):
    """One random page, repeated. Each call returns the same bytes, so a test can compare."""
    print(f"seed {SHIFT}")
    return random.Random(SHIFT).randbytes(PAGE) * (size // PAGE)


def with_memory(board, memory_of):
    """Connect a client without bus master, with 4 MiB of random data mapped. The client answers
    DMA_READ by the function `memory_of`. Returns its Card."""
    card = board.card(memory_of=memory_of, bus_master=False)
    card.memory(HIGH_MEMORY, 4 * MIB).data[:] = filled()
    return card


def test_a_private_copy_is_found(start_board):
    """If the memory with which a client answers DMA_READ differs from its mapped file (as with
    QEMU's share=off), the board disconnects the client and logs the reason. The next client is
    served."""
    other = bytes(byte ^ 0xFF for byte in filled())

    def copy_of(address, count):
        return other[address - HIGH_MEMORY :][:count]

    with start_board() as board:
        card = with_memory(board, copy_of)
        card.config_write(COMMAND, MEMORY_SPACE | BUS_MASTER, 2)
        assert card.client.closed_within(5), "the board did not find the private copy"
        assert board.card().read("ctrl_scratch") == 0x12345678
    assert PRIVATE_COPY in board.output and "share=on" in board.output


def test_shared_memory_is_not_taken_for_a_copy(start_board):
    """If a client's answers to DMA_READ agree with its mapped file, the board sends it a few
    DMA_READs, then no more, and serves it."""
    with start_board() as board:
        data = filled()
        card = with_memory(board, lambda address, count: data[address - HIGH_MEMORY :][:count])
        card.config_write(COMMAND, MEMORY_SPACE | BUS_MASTER, 2)
        card.client.serve_for(0.1)
        assert 4 <= card.client.asked < 256
        start_h2c(card)
        card.h2c_check(PAGE // 32)


def test_empty_memory_is_not_taken_for_a_copy(start_board):
    """A client that answers DMA_READ by zeros only is not refused, since a guest that has just
    started answers so."""
    with start_board() as board:
        card = board.card(memory_of=lambda address, count: bytes(count), bus_master=False)
        card.memory(HIGH_MEMORY, 4 * MIB).data[:] = filled()
        card.config_write(COMMAND, MEMORY_SPACE | BUS_MASTER, 2)
        card.client.serve_for(0.1)
        assert card.client.asked > 100 and card.read("ctrl_scratch") == 0x12345678


def test_a_client_that_cannot_be_asked_is_not_asked(start_board):
    """The board sends no DMA_READ to a client that has no max_data_xfer_size among its
    capabilities."""
    with start_board() as board:
        card = board.card(bus_master=False)
        card.memory(HIGH_MEMORY, 4 * MIB).data[:] = filled()
        card.config_write(COMMAND, MEMORY_SPACE | BUS_MASTER, 2)
        time.sleep(0.05)
        # The client takes in all messages that the board has sent, and counts DMA_READs in `asked`.
        card.client.serve_for(0)
        assert card.client.asked == 0
