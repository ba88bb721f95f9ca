# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A stand-in for the process of a simulated board (here: the board): a vfio-user server with the
commands that the software's tests need.

The card of the server is a CardStandin. A test may switch on faults of the server and of the card.
"""

import json
import mmap
import os
import select
import socket
import struct
import threading
import time

from software.test.standin.card_standin import (
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
# layout of the beginning of the messages REGION_READ and REGION_WRITE: offset, region, count
ACCESS = WIRE.layouts["region_access"]
# layout of the beginning of the messages DMA_READ and DMA_WRITE: address, count
MEMORY_ACCESS = WIRE.layouts["memory_access"]
# layouts of the answers to GET_INFO and GET_REGION_INFO
DEVICE_INFO, REGION_INFO = WIRE.layouts["device_info"], WIRE.layouts["region_info"]
DEVICE_IS_PCI = WIRE.numbers["DEVICE_IS_PCI"]
REGION_COUNT, IRQ_COUNT = WIRE.numbers["REGION_COUNT"], WIRE.numbers["IRQ_COUNT"]
REGION_RIGHTS = WIRE.numbers["REGION_READABLE"] | WIRE.numbers["REGION_WRITABLE"]
ENOTSUP = 95

SERVER_FAULTS = {
    # The board closes the connection when it finds that the card has moved exactly this number of
    # DMA buffers for the client, h2c and c2h counted together.
    "leave_after": None,
    # number of a vfio-user command (such as 9, REGION_READ) that the board neither carries out nor
    # answers
    "silent": None,
    "slow": 0,  # seconds that the board sleeps before it answers a REGION_READ
    # Bytes that the board sends as the answer to the client's first message. The board then closes
    # the connection. None: the board answers as it should.
    "garbage": None,
    # bytes that follow the header of the board's answer to VERSION; None: version 0.0 and the
    # server's capabilities
    "version": None,
    # True: the board sends one DMA_READ message for 4096 bytes of host memory, at the first write
    # (to BAR0 or configuration space) after which memory is mapped and the card is bus master.
    # "behind": the board also sends such a DMA_READ together with each answer to a read of
    # loop_status, and asserts that the client answers the DMA_READ before its next message.
    # "short": the one message is a DMA_WRITE of 4096 bytes that lacks these bytes. "beyond": as
    # True, but the last 2048 of the 4096 bytes lie behind the end of the mapped memory.
    "ask_memory": False,
    # False: the board does not support the vfio-user command REGION_WRITE_MULTI
    "write_multi": True,
    # True: each answer of the board has another message number than the client's request
    "wrong_id": False,
    # seconds by which the DMA's first interrupt is late; the DMA's interrupt number n, counted from
    # 1, is late by n times as much
    "late_msi": 0,
    # True: the card keeps its registers and descriptor tables when a vfio-user client leaves, as a
    # real card does. False: each client finds a card after power-on.
    "keep_state": False,
}


class Left(Exception):
    """The connection ends: the vfio-user client has closed it, or the stand-in is to close it."""


class Standin:
    """A stand-in for the board process, which serves one client after another in a thread.

    The thread runs until the end of the `with` block. `faults` may have the keys of FAULTS (faults
    of the card) and of SERVER_FAULTS. A test may change self.fault while the thread runs.
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
        # data in the client's last answer to a DMA_READ or DMA_WRITE of the board (see ask_memory)
        self.asked = None
        # error number in the header of the answer whose data is in `asked`; 0: no error; None: no
        # answer has come yet
        self.error = None
        # True: the board has sent the one message of the fault ask_memory that follows a write
        self.requested = False
        # True while the client owes an answer to a DMA_READ that the board has sent together with
        # an answer (fault ask_memory "behind"). No other message may come before it.
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
        """Set the words that the card's memory memory0 has at power-on, from its first word on. A
        card that exists already keeps the words that it has.
        """
        self.preset = {self.registers.memory0 + 4 * n: word for n, word in enumerate(words)}

    def memory0(self, count):
        return [self.card.word.get(self.registers.memory0 + 4 * n, 0) for n in range(count)]

    def scratch(self):
        return self.card.on("ctrl_scratch")

    def quiet(self):
        """Return whether DMA, loopback, pattern, bus mastering and the enable bits of all interrupt
        causes are off.
        """
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
        # An error in the server's thread is kept, and __exit__ raises it again in the test's
        # thread. Left and ConnectionError only end the connection.
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
        if self.msi >= 0:  # self.msi is -1 if the client has given no eventfd for the card's MSI
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
            self.asked, self.error, self.due = body[MEMORY_ACCESS.size :], error, False
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
        """Carry out a request of the vfio-user client.

        Return the body of the reply, or None if the server does not support the command.
        """
        if command == VERSION:
            if self.fault["version"] is not None:
                return self.fault["version"]
            multi = json.dumps({"capabilities": {"write_multiple": self.fault["write_multi"]}})
            return struct.pack("<HH", 0, 0) + multi.encode() + b"\0"
        if command == GET_INFO:
            body = DEVICE_INFO.size, DEVICE_IS_PCI, REGION_COUNT, IRQ_COUNT
            return DEVICE_INFO.pack(*body)
        if command == GET_REGION_INFO:
            _, _, index, *_ = REGION_INFO.unpack(body)
            size = {BAR0: BAR0_SIZE, CONFIG: CONFIG_SIZE}.get(index, 0)
            return REGION_INFO.pack(REGION_INFO.size, REGION_RIGHTS, index, 0, size, 0)
        if command == DMA_MAP:
            _, _, _, iova, size = WIRE.layouts["dma_map"].unpack(body)
            self.card.memory[iova] = mmap.mmap(fds[0], size)
            os.close(fds[0])
            return b""
        if command == DMA_UNMAP:
            _, _, iova, _ = WIRE.layouts["dma_unmap"].unpack(body)
            self.card.memory.pop(iova).close()
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
            size, (count,) = WIRE.layouts["multi_write"].size, struct.unpack_from("<Q", body)
            for at in range(8, 8 + size * count, size):
                self._write(body[at : at + size])
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
        """Return a DMA_READ message for the first 4096 bytes of that memory of the client that has
        the lowest bus address.

        With the fault ask_memory "short" the message is a DMA_WRITE without data. With "beyond" it
        asks for the last 2048 bytes of the memory and for 2048 bytes behind the memory's end.
        """
        command = DMA_WRITE if self.fault["ask_memory"] == "short" else DMA_READ
        address = min(self.card.memory)
        if self.fault["ask_memory"] == "beyond":
            address += len(self.card.memory[address]) - 2048
        request = MEMORY_ACCESS.pack(address, 4096)
        return HEADER.pack(0xFFFF, command, HEADER.size + len(request), 0, 0) + request

    def _behind(self, command, body):
        """Return the bytes that the board sends directly behind an answer: b"" or a DMA_READ.

        With the fault ask_memory "behind", each answer to a read of loop_status of h2c or c2h is
        followed by a DMA_READ.
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
