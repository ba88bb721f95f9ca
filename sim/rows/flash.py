# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Row `card/flash/update`: what the flash engine adds to the flash's own times in an update.

256 KiB are erased, written page by page and verified by the card's CRC-32. The flash's times of
erasing and programming are divided by DIVISOR, which the row names; their rest is taken out of the
measured device time. The host's program decides how early it reads the status, and whether the
next page is there in time, so the row may differ a little from run to run. The limit is the time
that the bytes take on the flash's data lines: one to the flash, two back.
"""

from __future__ import annotations

import random
import time
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from gateware import numbers
from gateware.card.commands import ERASE_SECTOR, PROGRAM, READ_PAIRS, STATUS_BUSY
from sim.errors import TestFailed
from sim.rows import limits
from sim.rows.measure import Conditions
from sim.rows.peer import Bar
from sim.rows.results import Row, row

BYTES = 1 << 18
PAGE, SECTOR = 256, 1 << 16
# A page is loaded while the one before it is being programmed. With a larger divisor the flash
# would be done before that, and the loading would count as the engine's time, which it is not.
DIVISOR = 10
# Typical times of an MT25QU256, in ms (sim/board/card/flash_chip.cpp).
ERASE_MS, PROGRAM_MS = 150, 0.12
# A byte takes eight periods of SCK on the one line to the flash, and four on the two lines back. A
# period takes four cycles at 62.5 MHz.
CYCLES_OUT, CYCLES_IN = 32, 16
BUSY = 1 << STATUS_BUSY
# Seconds of wall time for a command. The longest reads 256 KiB, which are 4.2 million cycles.
SECONDS = 900
# Seconds of wall time before the first read of the status after a page. A read that comes too early
# costs an access and a microsecond of device time.
FIRST_LOOK = 0.02
LONGEST_NAP = 2.0  # the most seconds of wall time between two reads of the flash engine's status


class Engine:
    """The flash engine of a board. `accesses` counts accesses to its registers."""

    def __init__(self, bar: Bar):
        self.bar = bar
        self.accesses = 0

    def write(self, name: str, value: int) -> None:
        """Write one of the flash engine's registers."""
        self.accesses += 1
        self.bar.register(f"flash_{name}", value)

    def read(self, name: str) -> int:
        """Read one of the flash engine's registers, and return its value."""
        self.accesses += 1
        return self.bar.read_register(f"flash_{name}")

    def begin(self, opcode: int, address: int) -> None:
        """Let the engine send the command `opcode` to the flash. finish() waits for its end."""
        self.write("address", address)
        self.write("command", opcode)

    def finish(self) -> None:
        """Wait until the engine has carried out its command. TestFailed: it refused the command, or
        takes too long.
        """
        deadline, nap = time.monotonic() + SECONDS, FIRST_LOOK
        time.sleep(nap)
        while (status := self.read("status")) & BUSY:
            if time.monotonic() > deadline:
                raise TestFailed(f"a flash command was not done within {SECONDS} s")
            # On a busy machine a command takes longer. Device time stands still behind its end.
            nap = min(2 * nap, LONGEST_NAP)
            time.sleep(nap)
        if refusal := status >> 4 & 7:
            raise TestFailed(f"a flash command was refused ({refusal})")

    def command(self, opcode: int, address: int) -> None:
        """Send a command to the flash through the engine, and wait for its end."""
        self.begin(opcode, address)
        self.finish()

    def program(self, first: int, data: bytes) -> None:
        """Write whole pages of the flash. The next one is loaded while one is being programmed."""
        for offset in range(0, len(data), PAGE):
            for at in range(offset, offset + PAGE, 4):
                self.write("page_data", int.from_bytes(data[at : at + 4], "little"))
            if offset:
                self.finish()
            self.begin(PROGRAM, first + offset)
        self.finish()

    def now(self) -> int:
        """Return the card's device time in cycles."""
        low = self.bar.read_register("device_time_low")
        return self.bar.read_register("device_time_high") << 32 | low


def rows(
    board: Path, csr: Path, at: Conditions, size: int = BYTES, divisor: int = DIVISOR
) -> Iterator[Row]:
    """Measure an update of `size` bytes, whole pages, and yield its row."""
    data = random.Random(at.seed).randbytes(size)
    first = numbers.FLASH_LAYOUT["application"]
    with Bar(board, csr, at, ["--flash-speed", str(divisor)]) as bar:
        engine = Engine(bar)
        engine.write("length", PAGE)
        began = engine.now()
        for offset in range(0, size, SECTOR):
            engine.command(ERASE_SECTOR, first + offset)
        before = engine.accesses
        engine.program(first, data)
        accesses = engine.accesses - before
        engine.write("length", size)
        engine.command(READ_PAIRS, first)
        took = (engine.now() - began) * limits.CYCLE_NS / 1e6
        if engine.read("crc") != zlib.crc32(data):
            raise TestFailed(f"flash update of {size} bytes: the flash holds something else")
        violations = sum(bar.board.stats()["violations"].values())
    busy = (-(-size // SECTOR) * ERASE_MS + size // PAGE * PROGRAM_MS) / divisor
    yield row(
        "card/flash/update",
        took - busy,
        "ms",
        limits.Limit(size * (CYCLES_OUT + CYCLES_IN) * limits.CYCLE_NS / 1e6, "sck"),
        lower_is_better=True,
        violations=violations,
        bytes=size,
        conditions={
            **asdict(at),
            "flash_times_divided_by": divisor,
            "flash_typical_ms": busy * divisor,
            "accesses_per_page": accesses / (size // PAGE),
        },
    )
