# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A stand-in for the board process: a vfio-user server with the commands that the software's tests
need.

The card of the server is a CardStandin. Server and card have faults that a test may switch on.
"""

import json
import mmap
import os
import select
import socket
import struct
import threading
import time

from software.test.card_standin import (
    BAR0,
    BAR0_SIZE,
    CONFIG,
    CONFIG_SIZE,
    FAULTS,
    CardStandin,
    Registers,
)
from tools import c_header

WIRE = c_header.read(c_header.VFIO_USER)
COMMANDS = {
    name.removeprefix("CMD_"): number
    for name, number in WIRE.numbers.items()
    if name.startswith("CMD_")
}
VERSION, DMA_MAP, DMA_UNMAP = (COMMANDS[n] for n in ("VERSION", "DMA_MAP", "DMA_UNMAP"))
GET_INFO, GET_REGION_INFO = COMMANDS["GET_INFO"], COMMANDS["GET_REGION_INFO"]
SET_IRQS, DEVICE_RESET = COMMANDS["SET_IRQS"], COMMANDS["DEVICE_RESET"]
DMA_READ, DMA_WRITE = COMMANDS["DMA_READ"], COMMANDS["DMA_WRITE"]
REGION_READ, REGION_WRITE = COMMANDS["REGION_READ"], COMMANDS["REGION_WRITE"]
REGION_WRITE_MULTI = COMMANDS["REGION_WRITE_MULTI"]
REPLY, NO_REPLY = WIRE.numbers["TYPE_REPLY"], WIRE.numbers["FLAG_NO_REPLY"]
ERROR = WIRE.numbers["FLAG_ERROR"]
# layout of a vfio-user message header: id, command, size, flags, error
HEADER = WIRE.layouts["header"]
# layout of a vfio-user message about a region access: offset, region, count
ACCESS = WIRE.layouts["region_access"]
ENOTSUP = 95

SERVER_FAULTS = {
    "leave_after": None,  # number of moved DMA buffers after which the board closes the connection
    # number of a vfio-user command (such as 9, REGION_READ) that the board never answers
    "silent": None,
    "slow": 0,  # seconds that the board takes to answer a vfio-user read
    # bytes that the board sends as the answer to the client's first message; the board then closes
    # the connection
    "garbage": None,
    # bytes that follow the header of the board's answer to VERSION, instead of version 0.0
    "version": None,
    # True: the board once reads a page of host memory by a DMA_READ message, when the client has
    # mapped memory and made the card bus master. "behind": the board also sends such a request
    # together with each answer to a read of loop_status, and asserts that the client answers the
    # request before its next message. "short": the board sends a DMA_WRITE message for a page
    # without the bytes of the page. "beyond": the last half of the page that the board reads lies
    # behind the end of the memory.
    "ask_memory": False,
    # False: the board does not support the vfio-user command REGION_WRITE_MULTI
    "write_multi": True,
    # True: each answer of the board has another message number than the client's request
    "wrong_id": False,
    # seconds by which the DMA's first interrupt is late; interrupt number n is late by n times as
    # much
    "late_msi": 0,
    # True: the card keeps its registers when a vfio-user client leaves, as a real card does
    "keep_state": False,
}


class Left(Exception):
    """The vfio-user client has closed the connection, or the stand-in closes it."""


class Standin:
    """A stand-in for the board process, which serves one client after another in a thread.

    It serves until the end of the `with` block. The faults are those of the card (FAULTS) and of
    the server (SERVER_FAULTS). A test may change self.fault while the thread runs.
    """

    def __init__(self, path, csr_json, **faults):
        self.fault = {**FAULTS, **SERVER_FAULTS}
        unknown = set(faults) - set(self.fault)
        assert not unknown, f"no such fault: {unknown}"
        self.fault.update(faults)
        self.registers = Registers(csr_json)
        # words that the card's memory0 has at power-on, as a dict from the offset in BAR0 to the
        # word
        self.preset = {}
        self.card = None
        self.asked = None  # data of the client's answer to the request of the fault ask_memory
        self.error = None  # error number in the header of that answer; 0: no error
        self.requested = False  # True: the request of the fault ask_memory was sent after a write
        # True while the client owes an answer to the board's own request; no other message may
        # come before that answer
        self.due = False
        self.msi = -1
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(1)
        self.stop_read, self.stop_write = os.pipe()
        self.failure = None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        os.write(self.stop_write, b"x")
        self.thread.join(20)
        self.listener.close()
        os.close(self.stop_read)
        os.close(self.stop_write)
        assert not self.thread.is_alive(), "the stand-in does not stop"
        if self.failure:
            raise self.failure

    # For the tests ------------------------------------------------------------------------------

    def preset_memory0(self, words):
        """Set the words that the card's memory0 has at power-on, from its first word on."""
        self.preset = {self.registers.memory0 + 4 * n: word for n, word in enumerate(words)}

    def memory0(self, count):
        return [self.card.word.get(self.registers.memory0 + 4 * n, 0) for n in range(count)]

    def scratch(self):
        return self.card.on("ctrl_scratch")

    def quiet(self):
        """Return whether DMA, loopback, interrupts, pattern and bus mastering are all off."""
        names = [
            "pcie_dma0_reader_enable",
            "pcie_dma0_writer_enable",
            "pcie_dma0_loopback_enable",
            "pcie_msi_enable",
            "pattern_control",
        ]
        return not any(self.card.on(name) for name in names) and not self.card.bus_master()

    # The server's loop --------------------------------------------------------------------------

    def _run(self):
        try:
            while self._wait(self.listener, None) != "stop":
                self.client, _ = self.listener.accept()
                try:
                    self._serve()
                except (Left, ConnectionError):
                    pass
                finally:
                    self._forget()
        # an error in the server's thread is kept, and __exit__ raises it again in the test's thread
        except Exception as error:
            self.failure = error

    def _wait(self, sock, timeout):
        """Wait for data on a socket, or for the end of the stand-in.

        Returns "stop" at the end of the stand-in, "ready" if the socket has data, or None if
        neither came within `timeout` seconds.
        """
        ready = select.select([self.stop_read, sock], [], [], timeout)[0]
        return "stop" if self.stop_read in ready else "ready" if ready else None

    def _serve(self):
        if self.card is None or not self.fault["keep_state"]:
            self.card = CardStandin(self.registers, self.fault, self.preset)
        self.card.plug(self._interrupt)
        while True:
            event = self._wait(self.client, 0 if self.card.can_work() else None)
            if event == "stop" or self.card.buffers == self.fault["leave_after"]:
                raise Left
            if event == "ready":
                self._serve_message()
            else:
                self.card.work()

    def _interrupt(self):
        if self.fault["late_msi"]:
            late = self.fault["late_msi"] * self.card.interrupts
            threading.Timer(late, self._signal).start()
        else:
            self._signal()

    def _signal(self):
        if self.msi >= 0:  # -1: the client has given no eventfd for the card's MSI
            os.write(self.msi, struct.pack("<Q", 1))

    def _forget(self):
        self.client.close()
        for memory in self.card.memory.values():
            memory.close()
        if self.msi >= 0:
            os.close(self.msi)
        self.msi = -1

    # Messages of the protocol -------------------------------------------------------------------

    def _receive(self, count):
        data, fds = b"", []
        while len(data) < count:
            part, more, _, _ = socket.recv_fds(self.client, count - len(data), 4)
            if not part:
                raise Left
            data += part
            fds += more
        return data, fds

    def _serve_message(self):
        head, fds = self._receive(HEADER.size)
        number, command, size, flags, error = HEADER.unpack(head)
        body, more = self._receive(size - HEADER.size) if size > HEADER.size else (b"", [])
        if flags & REPLY:
            assert bool(flags & ERROR) == bool(error), f"an answer with error {error}: {flags:#x}"
            self.asked, self.error, self.due = body[16:], error, False
            return
        assert not self.due, f"command {command} before the answer to what was asked"
        if self.fault["garbage"] is not None:
            self.client.sendall(self.fault["garbage"])
            raise Left
        if command == self.fault["silent"]:
            return
        answer = self._handle(command, body, fds + more)
        if not flags & NO_REPLY:
            result = (0, 0) if answer is not None else (ERROR, ENOTSUP)
            body = answer or b""
            self.client.sendall(
                HEADER.pack(
                    number ^ self.fault["wrong_id"],
                    command,
                    HEADER.size + len(body),
                    REPLY | result[0],
                    result[1],
                )
                + body
                + self._behind(command, body)
            )

    def _handle(self, command, body, fds):
        """Handle a request of the vfio-user client.

        Return the body of the reply, or None for an error.
        """
        if command == VERSION:
            if self.fault["version"] is not None:
                return self.fault["version"]
            multi = json.dumps({"capabilities": {"write_multiple": self.fault["write_multi"]}})
            return struct.pack("<HH", 0, 0) + multi.encode() + b"\0"
        if command == GET_INFO:
            return struct.pack("<IIII", 16, 2, 9, 5)
        if command == GET_REGION_INFO:
            index = struct.unpack_from("<I", body, 8)[0]
            size = {BAR0: BAR0_SIZE, CONFIG: CONFIG_SIZE}.get(index, 0)
            return struct.pack("<IIIIQQ", 32, 3, index, 0, size, 0)
        if command == DMA_MAP:
            _, _, _, iova, size = struct.unpack("<IIQQQ", body)
            self.card.memory[iova] = mmap.mmap(fds[0], size)
            os.close(fds[0])
            return b""
        if command == DMA_UNMAP:
            self.card.memory.pop(struct.unpack_from("<IIQ", body)[2]).close()
            return body
        if command == DEVICE_RESET:
            before, self.card = self.card, CardStandin(self.registers, self.fault, self.preset)
            self.card.plug(self._interrupt)
            self.card.memory = before.memory
            return b""
        if command == SET_IRQS:
            if self.msi >= 0:
                os.close(self.msi)
            self.msi = fds[0] if fds else -1
            return b""
        return self._access(command, body)

    def _access(self, command, body):
        if command == REGION_READ:
            time.sleep(self.fault["slow"])
            return body + self.card.read(*ACCESS.unpack(body))
        if command == REGION_WRITE:
            assert len(body) == ACCESS.size + ACCESS.unpack_from(body)[2], "a write's length"
            self._write(body)
            return body[: ACCESS.size]
        if command == REGION_WRITE_MULTI and self.fault["write_multi"]:
            for at in range(8, 8 + 24 * struct.unpack_from("<Q", body)[0], 24):
                self._write(body[at : at + 24])
            return b""
        return None

    def _write(self, body):
        offset, region, count = ACCESS.unpack_from(body)
        self.card.write(offset, region, body[ACCESS.size : ACCESS.size + count])
        wanted = self.fault["ask_memory"] and not self.requested
        if wanted and self.card.memory and self.card.bus_master():
            self.requested = True
            self.client.sendall(self._request())

    def _request(self):
        """Return a DMA_READ message for the first 4096 bytes of the client's memory.

        With the fault ask_memory "short" it is a DMA_WRITE message without data. With "beyond" the
        last 2048 bytes that it asks for lie behind the end of the memory.
        """
        command = DMA_WRITE if self.fault["ask_memory"] == "short" else DMA_READ
        address = min(self.card.memory)
        if self.fault["ask_memory"] == "beyond":
            address += len(self.card.memory[address]) - 2048
        request = struct.pack("<QQ", address, 4096)
        return HEADER.pack(0xFFFF, command, HEADER.size + len(request), 0, 0) + request

    def _behind(self, command, body):
        """Return the board's own request that is sent together with an answer, or nothing.

        With the fault ask_memory "behind", an answer to a read of loop_status gets such a request.
        """
        status = [
            self.registers.address[f"pcie_dma0_{side}_table_loop_status"]
            for side in ("reader", "writer")
        ]
        if self.fault["ask_memory"] != "behind" or command != REGION_READ:
            return b""
        offset, region, _ = ACCESS.unpack_from(body)
        self.due = region == BAR0 and offset in status
        return self._request() if self.due else b""
