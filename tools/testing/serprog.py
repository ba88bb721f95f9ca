# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A programmer for flashrom: its serprog protocol (version 1) over TCP, for SPI flashes.

`transfer(out, count)` makes one SPI transfer and returns `count` bytes.
"""

import socket
import threading

ACK, NAK = b"\x06", b"\x15"
SPI = 8  # the bit of SPI in the answer to Q_BUSTYPE
LONGEST = 256  # bytes of data in one transfer, so that a page buffer holds them


class Serprog:
    """Serves one flashrom at a time on a local port: `with Serprog(transfer) as server:`."""

    def __init__(self, transfer):
        self.transfer = transfer
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.failure = None

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(timeout=10)
        if self.failure:
            raise self.failure

    def serve(self):
        """Serve connections until the listener is closed."""
        try:
            while True:
                try:
                    connection, _ = self.listener.accept()
                except OSError:
                    return
                with connection, connection.makefile("rwb") as stream:
                    while code := stream.read(1):
                        stream.write(self.answer(code[0], stream))
                        stream.flush()
        except Exception as failure:
            self.failure = failure

    def answer(self, code, stream):
        """Return the answer to one command, whose parameters are read from `stream`."""
        commands = {
            0x00: lambda: ACK,
            0x01: lambda: ACK + (1).to_bytes(2, "little"),
            0x02: lambda: ACK + sum(1 << known for known in commands).to_bytes(32, "little"),
            0x03: lambda: ACK + b"lanebox".ljust(16, b"\0"),
            0x04: lambda: ACK + (0xFFFF).to_bytes(2, "little"),
            0x05: lambda: ACK + bytes([SPI]),
            0x08: lambda: ACK + (LONGEST + 8).to_bytes(3, "little"),
            0x10: lambda: NAK + ACK,
            0x11: lambda: ACK + LONGEST.to_bytes(3, "little"),
            0x12: lambda: ACK if stream.read(1)[0] == SPI else NAK,
            0x13: lambda: self.operate(stream),
            0x14: lambda: ACK + stream.read(4),
            0x15: lambda: ACK if stream.read(1) else NAK,
        }
        return commands.get(code, lambda: NAK)()

    def operate(self, stream):
        """Make the SPI transfer that flashrom asks for. Return ACK and the bytes read."""
        sent, taken = (int.from_bytes(stream.read(3), "little") for _ in range(2))
        return ACK + self.transfer(stream.read(sent), taken)
