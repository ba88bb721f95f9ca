# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The virtio console on a whole card: a driver without a guest sets it up by the capability table,
and gets back every byte that it sends."""

import random

import pytest

from gateware import numbers
from sim.clients.virtio import (
    MAGIC,
    QUEUE_NOTIFY,
    QUEUE_READY,
    QUEUE_SEL,
    RECEIVE,
    STATUS,
    TRANSMIT,
)
from sim.test.board.board_builds import build_executable, build_gateware, register_map
from sim.test.board.board_client import wait_until
from sim.test.conftest import started_boards
from sim.test.virtio.virtio_driver import (
    BUFFER_BYTES,
    CONFIG,
    DEVICE_ID,
    DROPPED,
    NEEDS_RESET,
    NEXT,
    QUEUE_NUM_MAX,
    REASON,
    VERSION,
    Console,
    find,
)
from tools.testing.scala_values import elements
from tools.testing.seeds import SHIFT

# The code in the register Reason for a chain with more descriptors than the queue.
ENDLESS = elements("virtio/vocabulary/Violation.scala")["endless"]
# The first byte and the size of each aligned access of 1 or 2 bytes to a dword.
PARTS = [(at, count) for count in (1, 2) for at in range(0, 4, count)]
# Dwords of BAR0 outside all windows: the first one and the last one behind the pages of the virtio
# devices, and one in front of them.
HOLES = (
    numbers.VIRTIO_BASE + numbers.VIRTIO_DEVICES * numbers.VIRTIO_SIZE,
    numbers.CAPABILITY_BASE - 4,
    numbers.VIRTIO_BASE - 4,
)


@pytest.fixture
def start_virtio(tmp_path):
    """Return a function that starts boards, as the fixture start_board does, with gateware that has
    the virtio console."""
    yield from started_boards(build_executable(virtio=True), register_map(virtio=True), tmp_path)


def test_the_capability_table_leads_to_the_page_of_a_console(start_virtio):
    """The capability table has the offset of the virtio console's register page in BAR0. The
    registers there have the console's identity, and as many queues of the size that the table
    gives."""
    with start_virtio() as board:
        console = Console(board.card())
        device = console.device
        assert device.offset == numbers.VIRTIO_BASE
        identity = [console.read(offset) for offset in (MAGIC, VERSION, DEVICE_ID)]
        assert identity == [numbers.VIRTIO_MAGIC, 2, device.device] and device.device == 3
        for queue in range(device.queues + 1):
            console.write(QUEUE_SEL, queue)
            most = device.queue_size if queue < device.queues else 0
            assert console.read(QUEUE_NUM_MAX) == most
        # The host may read the configuration byte by byte: 80 columns and 25 rows.
        page = device.offset + CONFIG
        assert [console.card.mmio_read(page + n, 1) for n in range(4)] == [80, 0, 25, 0]


@pytest.mark.parametrize("events", [False, True])
@pytest.mark.parametrize("options", [(), ("--stall", 30, "--read-latency", 2000)])
def test_a_driver_gets_back_every_byte_it_sends(start_virtio, options, events):
    """Bytes come back in order, in chains of all sizes. The driver waits for MSIs and does not poll
    the queues."""
    source = random.Random(SHIFT + 1)
    sizes = [1, 3, 4, 31, 32, 33, BUFFER_BYTES - 1, BUFFER_BYTES]
    sizes += [source.randint(1, BUFFER_BYTES) for _ in range(120)]
    sent = bytearray()
    with start_virtio(*options, "--seed", SHIFT + 1) as board:
        console = Console(board.card(), events=events)
        for size in sizes:
            data = source.randbytes(size)
            sent += data
            console.send(data)
        while len(console.received) < len(sent):
            console.wait()
        assert console.received == sent
        assert board.stats()["unmapped"] == 0


def test_a_chain_without_end_stops_the_device_until_it_is_reset(start_virtio):
    """A chain of descriptors without end makes the device set NEEDS_RESET and use no further
    buffer. After a reset the console works as before."""
    with start_virtio() as board:
        console = Console(board.card())
        console.send(b"before")
        while len(console.received) < 6:
            console.wait()
        queue = console.queues[TRANSMIT]
        queue.describe(10, queue.buffer(10), 16, NEXT, 11)
        queue.describe(11, queue.buffer(11), 16, NEXT, 10)
        queue.offer(10)
        console.notify(queue)
        wait_until(lambda: console.read(STATUS) & NEEDS_RESET, "NEEDS_RESET")
        assert console.read(REASON) == ENDLESS
        console.card.wait_interrupt()
        before = [bytes(queue.memory.data) for queue in console.queues]
        console.notify(queue)
        console.notify(console.queues[RECEIVE])
        assert console.read(STATUS) & NEEDS_RESET
        assert [bytes(queue.memory.data) for queue in console.queues] == before
        console.reset()
        console.start()
        console.send(b"after the reset")
        while len(console.received) < 15:
            console.wait()
        assert console.received == b"after the reset"
        assert board.stats()["unmapped"] == 0


def test_after_a_reset_is_answered_host_memory_is_left_alone(start_virtio):
    """When the register Status reads 0 after a reset, the device no longer changes the memory of
    the queues, so the driver may free that memory."""
    with start_virtio("--stall", 20, "--seed", SHIFT + 1) as board:
        console = Console(board.card())
        for _ in range(10):
            for _ in range(20):
                console.send(bytes(BUFFER_BYTES))
                console.collect()
            console.reset()
            for queue in console.queues:
                queue.memory.data[:] = b"\x5a" * len(queue.memory.data)
            assert console.read(STATUS) == 0
            for queue in console.queues:
                assert set(bytes(queue.memory.data)) == {0x5A}
            console.start()
        assert board.stats()["unmapped"] == 0


def echo(console, data):
    """Send bytes through the console, and wait until they are back."""
    before = len(console.received)
    console.send(data)
    while len(console.received) < before + len(data):
        console.wait()
    assert console.received[before:] == data


def test_parts_of_registers_are_read_and_never_written(start_virtio):
    """Each byte and each half of a register of the page reads as in the whole dword. A write of 1
    or 2 bytes is refused and counted, even one that would reset the device as a whole dword."""
    with start_virtio() as board:
        console = Console(board.card())
        card, page = console.card, console.device.offset
        echo(console, b"before")
        for offset in (MAGIC, VERSION, DEVICE_ID, STATUS, DROPPED, CONFIG):
            whole = console.read(offset)
            for at, count in PARTS:
                part = whole >> 8 * at & (1 << 8 * count) - 1
                assert card.mmio_read(page + offset + at, count) == part, (hex(offset), at, count)
        console.write(QUEUE_SEL, TRANSMIT)
        status, refused = console.read(STATUS), card.read("mmio_writes_refused")
        registers = (STATUS, QUEUE_READY, QUEUE_SEL, QUEUE_NOTIFY, MAGIC, DROPPED)
        for offset in registers:
            for at, count in PARTS:
                card.mmio_write(page + offset + at, 0, count)
        assert card.read("mmio_writes_refused") == refused + len(registers) * len(PARTS)
        assert console.read(STATUS) == status and console.read(QUEUE_READY) == 1
        assert console.read(QUEUE_NUM_MAX) == console.device.queue_size
        echo(console, b"after the writes")
        assert console.read(STATUS) == status


def test_accesses_beside_the_pages_end_and_the_device_goes_on(start_virtio):
    """A read of 1, 2 or 4 bytes outside all windows of BAR0 is an Unsupported Request, which gives
    all ones. A write there is dropped. Both are counted, none waits, and the console goes on."""
    with start_virtio() as board:
        console = Console(board.card())
        card = console.card
        accesses = [(hole + at, count) for hole in HOLES for at, count in [*PARTS, (0, 4)]]
        for address, count in accesses:
            card.mmio_write(address, 0x5A, count)
            assert card.mmio_read(address, count) == (1 << 8 * count) - 1, (hex(address), count)
            echo(console, b"on")
        assert card.read("pcie_endpoint_host_unsupported") == len(accesses)
        assert card.read("pcie_endpoint_host_dropped") == len(accesses)
        assert board.stats()["completion_timeouts"] == 0
        assert console.read(STATUS) & NEEDS_RESET == 0


def test_a_build_without_virtio_has_nothing_of_it(start_board):
    """In a build without --virtio neither the Verilog nor the capability table has a virtio
    device."""
    build = build_gateware()
    assert "Virtio" not in (build / "gateware" / "sources.txt").read_text()
    assert "virtio" not in (build / "gateware" / "lanebox.v").read_text().lower()
    with start_board() as board, pytest.raises(StopIteration):
        find(board.card())
