# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Clients of the board's vfio-user socket that send wrong messages, disconnect during work, or
connect while another is served.

The board must refuse what is wrong, go on running, and serve the next client.
"""

import contextlib
import errno
import os
import random
import signal
import socket
import struct
import time

import pytest

from gateware import numbers
from sim.clients.vfio import (
    ACCESS,
    BAR0,
    CONFIG,
    DEVICE_INFO,
    DMA_MAP,
    DMA_UNMAP,
    HEADER,
    IRQ_INFO,
    LAYOUTS,
    MSI,
    REGION_INFO,
    REGION_READ,
    REGION_WRITE,
    REGION_WRITE_MULTI,
    SET_IRQS,
    VERSION,
)
from sim.test.board.board_client import C2H_GENERATE, COMMAND, H2C_CHECK, HIGH_MEMORY, wait_until
from tools.testing.seeds import each_seed

BAR0_BYTES = numbers.BAR0_SIZE
BAR2, BAR2_BYTES = 2, numbers.BAR2_SIZE
SCRATCH_AT_RESET = 0x12345678
# seconds after which the board disconnects a client that has sent only half a message
CUT_OFF_SECONDS = 5


def refused(client, command, body=b""):
    with pytest.raises(OSError) as refusal:
        client.call(command, body)
    return refusal.value.errno


def well(board):
    """Fail unless the board serves a new client whose card is in its reset state; returns that
    Card."""
    card = board.card()
    assert card.read("ctrl_scratch") == SCRATCH_AT_RESET
    return card


# What the board says about itself --------------------------------------------------------------


def test_the_device_describes_itself(start_board):
    """Over vfio-user the board describes a PCI device with reset, two BARs, configuration space and
    one MSI vector."""
    with start_board() as board:
        client = board.connect()
        assert client.device_info() == (3, 9, 5)
        sizes = {index: client.region_info(index)[1] for index in range(9)}
        assert {index: size for index, size in sizes.items() if size} == {
            BAR0: BAR0_BYTES,
            BAR2: BAR2_BYTES,
            CONFIG: 4096,
        }
        assert [client.irq_count(index) for index in range(5)] == [0, 1, 0, 0, 0]
        assert client.capabilities["write_multiple"] is True


# Accesses to the card's regions ----------------------------------------------------------------


@pytest.mark.parametrize(
    "region,offset,count",
    [
        (BAR0, BAR0_BYTES, 4),
        (BAR0, BAR0_BYTES - 4, 8),
        (BAR0, 1 << 63, 4),
        (BAR0, (1 << 64) - 4, 4),
        (BAR0, 0, 0),
        (BAR0, 0, 4097),
        (BAR2, BAR2_BYTES, 4),
        (3, 0, 4),
        (BAR0, 0, 0xFFFF_FFFF),
        (CONFIG, 4096, 4),
        (CONFIG, 4094, 4),
        (1, 0, 4),
        (8, 0, 4),
        (0xFFFF_FFFF, 0, 4),
    ],
)
def test_an_access_outside_is_refused(start_board, region, offset, count):
    """A read or write that goes beyond its region, or has no or too many bytes, is refused with
    EINVAL. It makes no TLP."""
    access = ACCESS.pack(offset, region, count)
    with start_board(log=True) as board:
        card = board.card()
        assert refused(card.client, REGION_READ, access) == errno.EINVAL
        body = access + b"\xff" * min(count, 64)
        assert refused(card.client, REGION_WRITE, body) == errno.EINVAL
        entry = struct.pack("<Q", 1) + access + b"\xff" * 8
        card.client.call(REGION_WRITE_MULTI, entry)
        assert card.read("ctrl_scratch") == SCRATCH_AT_RESET
    assert len(board.tlps().on("CQ")) == 1


def test_good_writes_beside_bad_ones_are_done(start_board):
    """In a vfio-user message with several writes, those outside the BAR are left out and all others
    are carried out."""
    with start_board() as board:
        card = board.card()
        card.client.write_multi(
            [(4, b"\1\0\0\0"), (BAR0_BYTES, b"\2\0\0\0"), (0x10000, b"\3\0\0\0")]
        )
        assert (card.mmio_read(4), card.mmio_read(0x10000)) == (1, 3)


# Wrong vfio-user messages ----------------------------------------------------------------------


@pytest.mark.parametrize("command", [0, 6, 11, 12, 14, 16, 99, 0xFFFF])
def test_an_unknown_command_is_refused(start_board, command):
    """The board answers a vfio-user message with an unknown command by ENOTSUP, and the connection
    stays open."""
    with start_board() as board:
        client = board.connect()
        assert refused(client, command, bytes(32)) == errno.ENOTSUP
        assert client.device_info()


@pytest.mark.parametrize(
    "command,needed",
    [
        (DMA_MAP, 32),
        (DMA_UNMAP, 24),
        (REGION_INFO, 32),
        (IRQ_INFO, 16),
        (SET_IRQS, 20),
        (REGION_READ, 16),
        (REGION_WRITE, 16),
        (REGION_WRITE_MULTI, 8),
    ],
)
def test_a_short_message_is_refused(start_board, command, needed):
    """The board answers a message that is too short for its fields by EINVAL, and the connection
    stays open."""
    with start_board() as board:
        client = board.connect()
        for size in (0, 1, needed - 1):
            assert refused(client, command, bytes(size)) == errno.EINVAL
        assert client.device_info()


def test_a_write_without_its_data_is_refused(start_board):
    """A write message with fewer bytes of data than it announces is refused with EINVAL. No
    register of the card changes."""
    with start_board() as board:
        card = board.card()
        assert refused(card.client, REGION_WRITE, ACCESS.pack(4, BAR0, 4) + b"\0\0") == errno.EINVAL
        for count in (1, 2, 1 << 60, (1 << 64) - 1):
            assert (
                refused(card.client, REGION_WRITE_MULTI, struct.pack("<Q", count)) == errno.EINVAL
            )
        assert card.read("ctrl_scratch") == SCRATCH_AT_RESET


@pytest.mark.parametrize(
    "index,start,count",
    [(0, 0, 1), (1, 0, 2), (1, 1, 1), (2, 0, 1), (5, 0, 0), (1, 0xFFFF_FFFF, 1)],
)
def test_interrupts_that_do_not_exist_are_refused(start_board, index, start, count):
    """SET_IRQS is refused with EINVAL for every interrupt that the card does not have: it has only
    vector 0 of MSI."""
    with start_board() as board:
        body = LAYOUTS["irq_set"].pack(20, 0x24, index, start, count)
        assert refused(board.connect(), SET_IRQS, body) == errno.EINVAL


@pytest.mark.parametrize("index", [9, 0xFFFF_FFFF])
def test_regions_and_interrupts_beyond_the_last_are_refused(start_board, index):
    """A request for information about a region or interrupt that does not exist is refused with
    EINVAL."""
    with start_board() as board:
        client = board.connect()
        region = LAYOUTS["region_info"].pack(32, 0, index, 0, 0, 0)
        assert refused(client, REGION_INFO, region) == errno.EINVAL
        interrupt = LAYOUTS["irq_info"].pack(16, 0, index, 0)
        assert refused(client, IRQ_INFO, interrupt) == errno.EINVAL


@pytest.mark.parametrize("size", [0, 15, (16 << 20) + 1, 0xFFFF_FFFF])
def test_an_impossible_size_ends_the_connection(start_board, size):
    """A message header with an impossible size ends the connection, since the board cannot know
    where the next message begins. The next client is served."""
    with start_board() as board:
        client = board.connect()
        client.send(DEVICE_INFO, size=size)
        assert client.closed_within(3)
        well(board)


def test_another_major_version_is_refused(start_board):
    """A client with another major version of the protocol gets EINVAL. A version message that is
    too short to have a version ends the connection."""
    with start_board() as board:
        client = board.connect(greet=False)
        assert refused(client, VERSION, struct.pack("<HH", 1, 0) + b"{}\0") == errno.EINVAL
        # This VERSION message has a body of one byte, although a version takes four.
        client.send(VERSION, b"\0")
        assert client.closed_within(3)
        well(board)


@each_seed(20)
def test_garbage(start_board, seed):
    """After clients that sent random bytes, some of them behind a valid header, the board still
    serves a new client."""
    rng = random.Random(seed)
    with start_board("--rules", "off") as board:
        for _ in range(10):
            # The board may close the connection before the client has sent everything.
            with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(BrokenPipeError):
                client.connect(str(board.socket))
                for _ in range(rng.randrange(4)):
                    body = rng.randbytes(rng.choice([0, 4, 16, 24, 32, 200]))
                    size = HEADER.size + len(body) if rng.random() < 0.8 else rng.getrandbits(32)
                    command = rng.choice([rng.randrange(17), rng.getrandbits(16)])
                    flags = rng.choice([0, 0, 0x10, 1, 0x21, rng.getrandbits(32)])
                    client.sendall(HEADER.pack(rng.getrandbits(16), command, size, flags, 0) + body)
                client.sendall(rng.randbytes(rng.randrange(40)))
        assert board.stats()["mps"] == 128
        well(board)


def test_half_a_message_does_not_hold_the_board(start_board):
    """The board disconnects a client that stops inside a message, after a few seconds. Then it
    serves the next client."""
    with start_board() as board:
        client = board.connect()
        client.socket.sendall(HEADER.pack(1, DEVICE_INFO, 32, 0, 0))
        assert client.closed_within(2 * CUT_OFF_SECONDS)
        well(board)


# Clients that come and go ----------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["c2h", "h2c", "both"])
@each_seed(8)
def test_a_client_that_leaves_during_dma(start_board, direction, seed):
    """A client may disconnect at any moment of DMA. The next client finds the card in its reset
    state, and no TLP goes to unmapped memory."""
    rng = random.Random(seed)
    with start_board("--seed", seed, "--stall", rng.choice([0, 50])) as board:
        for _ in range(6):
            card = well(board)
            assert card.config_read(COMMAND, 2) & 4
            card.memory(HIGH_MEMORY, 1 << 20)
            for one in ("c2h", "h2c"):
                if direction in (one, "both"):
                    card.write("pattern_control", {"c2h": C2H_GENERATE, "h2c": H2C_CHECK}[one])
                    card.program(one, [(HIGH_MEMORY, 1 << 20)] * 8)
            card.write("pattern_control", C2H_GENERATE | H2C_CHECK)
            card.start(*(["c2h", "h2c"] if direction == "both" else [direction]))
            stream = {"c2h": "rq", "h2c": "rc", "both": "rc"}[direction]
            wait_until(lambda s=stream: board.stats()[s]["tlps"], "running DMA")
            time.sleep(rng.random() * 0.002)
            card.close()
            board._clients.remove(card)
            board.command("clear")
        stats = board.stats()
        assert stats["unmapped"] == 0


def test_the_next_client_finds_a_reset_card(start_board):
    """After a client has disconnected, the next client finds registers, configuration space,
    mappings and interrupts in their reset state."""
    with start_board() as board:
        card = board.card()
        card.write("ctrl_scratch", 1)
        card.memory(HIGH_MEMORY, 4096)
        card.enable_interrupts("c2h")
        card.close()
        board._clients.remove(card)
        client = board.connect()
        assert client.read(CONFIG, COMMAND, 2) == b"\0\0"
        assert client.read(CONFIG, 0x10, 4) == bytes(4)
        client.close()
        card = well(board)
        assert card.read("pcie_msi_enable") == 0
        assert card.read("pcie_dma0_writer_enable") & 1 == 0
        card.write("pattern_control", C2H_GENERATE)
        card.program("c2h", [(HIGH_MEMORY, 4096)])
        card.start("c2h")
        wait_until(lambda: board.stats()["unmapped"] == 16, "writes to a mapping that is gone")


def test_a_read_in_flight_when_the_client_leaves(start_board):
    """If a client disconnects before its read is answered, the board drops the answer. The next
    client does not get it."""
    with start_board("--mmio-rtt", 1_000_000) as board:
        for _ in range(5):
            card = board.card()
            for _ in range(8):
                card.client.send_read(BAR0, 4, 4)
            card.close()
            board._clients.remove(card)
        board.set("mmio-rtt", 700)
        card = well(board)
        assert card.client.device_info() == (3, 9, 5)


@pytest.mark.parametrize("command", [VERSION, DEVICE_INFO])
def test_a_second_client_is_refused_at_once(start_board, command):
    """While the board has a client, a second one gets EBUSY and is disconnected, and the first is
    served as before. Once the first has disconnected, a new client is served."""
    with start_board() as board:
        first = board.card()
        first.write("ctrl_scratch", 7)
        second = board.connect(greet=False)
        assert refused(second, command, bytes(16)) == errno.EBUSY
        assert second.closed_within(3)
        assert first.read("ctrl_scratch") == 7
        first.close()
        board._clients.remove(first)
        well(board)
    assert "was refused: the board has a client, process" in board.output


def test_of_two_callers_at_once_the_first_is_served(start_board):
    """If two clients have each sent a message before the board reads its sockets, the one that
    connected first is served. The other gets EBUSY."""
    with start_board() as board:
        callers = [board.connect(greet=False) for _ in range(2)]
        for _ in range(3):
            # The board accepts waiting connections when it carries out a control command, so after
            # these commands both clients are connected.
            board.command("stats")
        board.process.send_signal(signal.SIGSTOP)
        os.waitpid(board.process.pid, os.WUNTRACED)
        for caller in reversed(callers):
            caller.send(IRQ_INFO, LAYOUTS["irq_info"].pack(16, 0, MSI, 0))
        board.process.send_signal(signal.SIGCONT)
        assert LAYOUTS["irq_info"].unpack(callers[0].reply(1))[3] == 1
        with pytest.raises(OSError) as refusal:
            callers[1].reply(1)
        assert refusal.value.errno == errno.EBUSY
        assert callers[0].irq_count(MSI) == 1


def test_clients_one_after_the_other(start_board):
    """A client that connects right after another has disconnected is never refused, even while the
    board still carries out writes of the other."""
    with start_board() as board:
        for _ in range(50):
            client = board.connect()
            for _ in range(30):
                client.write(BAR0, 0x10000, bytes(4096), posted=True)
            client.close()
        well(board)
    assert "refused" not in board.output


def probe_of(board):
    """Return a client's connection to the board's socket on which the client sends nothing."""
    probe = socket.socket(socket.AF_UNIX)
    probe.setblocking(False)
    wait_until(lambda: probe.connect_ex(str(board.socket)) == 0, "a place in the board's queue")
    return probe


def test_a_probe_is_no_client(start_board):
    """A connection that sends no message (a probe of the socket) does not count as a client. It
    delays no client, and its end neither resets the card nor ends a board with --once."""
    with start_board("--once") as board:
        silent = [probe_of(board) for _ in range(20)]
        card = board.card()
        card.write("ctrl_scratch", 7)
        silent += [probe_of(board) for _ in range(20)]
        assert card.read("ctrl_scratch") == 7
        for probe in silent:
            probe.close()
        assert card.read("ctrl_scratch") == 7
    assert "refused" not in board.output


def test_reset_by_message(start_board):
    """The vfio-user message DEVICE_RESET resets the card's registers and configuration space. The
    client's mappings stay."""
    with start_board() as board:
        card = board.card()
        memory = card.memory(HIGH_MEMORY, 4096)
        card.write("ctrl_scratch", 1)
        card.client.reset()
        assert card.config_read(COMMAND, 2) == 0
        card.enumerate()
        assert card.read("ctrl_scratch") == SCRATCH_AT_RESET
        card.write("pattern_control", C2H_GENERATE)
        card.program("c2h", [(HIGH_MEMORY, 4096)])
        card.start("c2h")
        wait_until(lambda: any(memory.data[4:]), "DMA after the reset")


@each_seed(4)
def test_reset_during_dma(start_board, seed):
    """After a device reset during DMA, no TLP of the time before it breaks a rule, and the card can
    be used again."""
    rng = random.Random(seed)
    with start_board("--seed", seed) as board:
        card = board.card()
        card.memory(HIGH_MEMORY, 1 << 20)
        for _ in range(20):
            # The card's reads end after READ_TIMEOUT cycles without an answer, so that a reset
            # waits only briefly for them.
            card.give_up_reads()
            card.write("pattern_control", C2H_GENERATE | H2C_CHECK)
            for direction in ("c2h", "h2c"):
                card.program(direction, [(HIGH_MEMORY, 1 << 20)])
            card.start("c2h", "h2c")
            card.read("ctrl_scratch")
            time.sleep(rng.random() * 0.001)
            card.client.reset()
            card.enumerate()
            assert card.read("ctrl_scratch") == SCRATCH_AT_RESET
