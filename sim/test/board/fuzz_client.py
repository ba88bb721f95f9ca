# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Clients that send random messages to the board, and a check of the board after each client.

After each client the board must still answer. It must have as many file descriptors open as before,
and must have unmapped all files of the client. The board is built with sanitizers, whose first
finding ends the board with an error status.
"""

from __future__ import annotations

import os
import random
import select
import socket
import struct
from pathlib import Path

from sim.board.process import BoardFailed
from sim.clients.vfio import DEVICE_INFO, FLAG_REPLY, HEADER, VERSION, VfioClient
from sim.test.board.fuzz_messages import Descriptors, Message, Messages

HANG = 20  # seconds after which a board that neither takes nor sends a byte counts as hung
# message number of a client's last request; its answer proves that all earlier ones were served
LAST = 0x8000
BATCH = 16  # random vfio-user messages that are sent in one write to the board's socket
GREETING = struct.pack("<HH", 0, 1) + b'{"capabilities":{"max_data_xfer_size":1048576}}\0'

# Lines that the fuzz test sends to the board's control socket. Some of them are no commands.
CONTROL = [
    "stats",
    "clear",
    "set stall 0",
    "set stall 50",
    "set reorder off",
    "set split random",
    "set completion-size 64",
    "set completion-size 3",
    "set read-latency 100",
    "set write-stall x",
    "set mmio-rtt -1",
    "set link-gen 1",
    "set link-width 9",
    "set link-width 8",
    "set",
    "set set",
    "fault ur",
    "fault flip-c2h:2",
    "fault rust",
    "fault hot-reset:1000",
    "fault link-down:1000",
    "fault remove",
    "fault insert",
    "fault",
    "peer read bar0 0x4000 64 2 1",
    "peer write bar2 0 8",
    "peer write bar2 0x100 128 3 2 10",
    "peer read bar7 0 1 1 1",
    "",
    " ",
    "\t",
    "qui",
    '"\\',
    "x" * 5000,
]


class Hang(AssertionError):
    """Raised if for HANG seconds the board takes no byte, sends none and does not close the
    connection."""


class FuzzClient:
    """One vfio-user connection that sends random messages. Once the board has closed the
    connection, send() does nothing."""

    def __init__(self, path, rng: random.Random, messages: Messages):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(HANG)
        self.socket.connect(str(path))
        self.socket.setblocking(False)
        self.rng = rng
        self.messages = messages
        self.open = True
        self._answered = set()  # message numbers of the requests that the board has answered
        self._received = b""

    def send(self, data: bytes, fds=()) -> None:
        """Send all of `data` with the file descriptors `fds`, and receive the board's replies
        meanwhile.

        If nobody received the replies, they would fill the socket's buffer and block the board.
        """
        while data and self.open:
            readable, writable, _ = select.select([self.socket], [self.socket], [], HANG)
            if not readable and not writable:
                raise Hang(f"the board took no message for {HANG} s")
            try:
                if readable:
                    self._receive()
                if writable and self.open:
                    sent = socket.send_fds(self.socket, [data], fds)
                    data, fds = data[sent:], ()
            except BlockingIOError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                self.open = False

    def drain(self) -> None:
        """Wait until the board has served all messages of this client, by waiting for the answer to
        one more."""
        self._answered.clear()
        self.send(HEADER.pack(LAST, DEVICE_INFO, HEADER.size, 0, 0))
        while self.open and LAST not in self._answered:
            if not select.select([self.socket], [], [], HANG)[0]:
                raise Hang(f"the board answered no request for {HANG} s")
            self._receive()

    def _receive(self) -> None:
        try:
            more = self.socket.recv(1 << 18)
        except ConnectionResetError:
            more = b""
        self.open = bool(more)
        self._received += more
        while len(self._received) >= HEADER.size:
            number, _, size, flags, _ = HEADER.unpack_from(self._received)
            assert size >= HEADER.size, f"the board sent a message of {size} bytes"
            if len(self._received) < size:
                return
            body, self._received = self._received[HEADER.size : size], self._received[size:]
            if flags & 0xF == FLAG_REPLY:
                self._answered.add(number)
            else:
                self._answer(number, body)

    def _answer(self, number: int, body: bytes) -> None:
        """In four cases of five, answer the board's request `number`, a read of client memory, with
        some data."""
        if self.rng.random() < 0.8:
            sample = self.rng.choice([bytes(64), b"\x55" * 64, self.rng.randbytes(64)])
            [reply] = self.messages.reply(number, body + sample)
            self.socket.setblocking(True)
            self.socket.sendall(reply.data)
            self.socket.setblocking(False)


class Fuzz:
    """Runs random clients against one board, one after the other.

    `seed` and the number of a client determine everything that the client does.
    """

    def __init__(self, board, seed: int):
        self.board = board
        self.seed = seed
        self.clients = self.sent = 0
        self.at_rest = self._resources()

    def run(self, messages: int) -> None:
        """Run clients until they have sent `messages` messages. If a check fails, the error names
        the seed and the number of the client."""
        with Descriptors() as descriptors:
            while self.sent < messages:
                try:
                    self._client(descriptors)
                    self.check()
                except (AssertionError, OSError, BoardFailed) as error:
                    raise AssertionError(
                        f"seed {self.seed}, client {self.clients} (after {self.sent} messages): "
                        f"{error!r}\n{self.board.gone() or 'the board still runs'}\n"
                        f"{self.board.log.read_text(errors='replace')[-6000:]}"
                    ) from error
                self.clients += 1

    def _client(self, descriptors: Descriptors) -> None:
        name = f"{self.seed}/{self.clients}"
        rng = random.Random(f"{name}/client")
        messages = Messages(name, descriptors)
        client = FuzzClient(self.board.socket, random.Random(f"{name}/answers"), messages)
        try:
            if rng.random() < 0.9:
                client.send(HEADER.pack(0, VERSION, HEADER.size + len(GREETING), 0, 0) + GREETING)
            if rng.random() < 0.8:
                self._send_all(client, messages.prepare())
            left = rng.choice([1, 10, 100, 500, 1000])
            while left > 0 and client.open:
                left -= self._batch(client, messages)
                if rng.random() < 0.02:
                    self._command(rng)
                if rng.random() < 0.02:
                    self._caller(rng, messages)
            if rng.random() < 0.7:
                client.drain()
            if rng.random() < 0.3:
                client.send(messages.torn())
        finally:
            client.socket.close()
            # A random control command may have removed the card from its slot. It is inserted
            # again.
            self.board.command("fault insert")

    def _batch(self, client: FuzzClient, messages: Messages) -> int:
        batch = []
        while len(batch) < BATCH:
            batch += messages.next()
        self._send_all(client, batch)
        return len(batch)

    def _send_all(self, client: FuzzClient, batch: list[Message]) -> None:
        """Send the messages of `batch`: those without file descriptors together in one write to the
        socket, each of the others in its own.

        File descriptors arrive with the first byte of a write, so a message with descriptors must
        not share its write with others.
        """
        together = b""
        for message in batch:
            if message.fds:
                client.send(together)
                client.send(message.data, message.fds)
                together = b""
            else:
                together += message.data
        client.send(together)
        self.sent += len(batch) if client.open else 0

    def _command(self, rng: random.Random) -> None:
        """Send a random line to the board's control socket. The board must answer it with a
        line."""
        line = rng.choice(CONTROL)
        if rng.random() < 0.2:
            line = "".join(chr(rng.randrange(1, 256)) for _ in range(rng.randrange(40)))
            line = line.replace("\n", " ")
        try:
            self.board.command(line)
        except BoardFailed as refusal:
            if "refused" not in str(refusal):
                raise

    def _caller(self, rng: random.Random, messages: Messages) -> None:
        """Open a second connection to the board's socket while the client is connected, and close
        it again. In most cases it first sends part of a handshake."""
        with socket.socket(socket.AF_UNIX) as caller:
            caller.settimeout(HANG)
            caller.connect(str(self.board.socket))
            if rng.random() < 0.7:
                for message in messages.version():
                    caller.sendall(message.data[: rng.choice([1, 15, 16, 100])])

    def check(self) -> None:
        """Fail unless the board serves a new client and has released all descriptors and mappings
        of earlier clients."""
        client = VfioClient(self.board.socket)
        try:
            assert client.device_info() == (3, 9, 5)
        finally:
            client.close()
        now = self._resources()
        assert now == self.at_rest, f"(descriptors, mappings) {now}, not {self.at_rest}"

    def _resources(self) -> tuple[int, int]:
        """Return (open file descriptors, mappings of clients' files) of the board, counted while
        one new client is connected."""
        client = VfioClient(self.board.socket)
        try:
            client.device_info()
            return descriptors_of(self.board), mappings_of(self.board)
        finally:
            client.close()


def descriptors_of(board) -> int:
    return len(os.listdir(f"/proc/{board.process.pid}/fd"))


def mappings_of(board) -> int:
    """Return how often a memfd is mapped into the board's memory. Only files of clients are
    memfds."""
    return Path(f"/proc/{board.process.pid}/maps").read_text().count("/memfd:")
