# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bench of a cocotb test of user logic: it drives the slot's streams, registers, interrupt.

`send()` and `receive()` handle packets as bytes. In each cycle the bench offers a beat, and is
ready for one, with probability `flow`. The test fails if a beat that the logic has offered changes
or goes away before it is taken. The bench works with cocotb 1.9 and 2.

The word PYTEST_DONT_REWRITE stops pytest from rewriting this module's assertions. Otherwise pytest
would add the text of a failed condition to the message."""

from __future__ import annotations

import difflib
import os
import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge

BEAT = 32  # bytes of a beat of the user slot's streams
PERIOD_NS = 4
SILENCE = 20_000  # receive() gives up after this many cycles without a beat from the logic.
ENDLESS = 1 << 20  # receive() gives up after this many bytes of one packet.
SECOND_BENCH = (
    "this test has a bench already, and its clock and streams run. A test has one Bench, and "
    "calls reset() once. To change the stalls, set bench.flow; for logic that is fresh from "
    "reset, write a second test"
)
FIELDS = ("data", "last", "bytes", "error")


class Bench:
    """The bench of one test. `dut` is the module `block` that sim/block/verilog.py makes.

    `flow` is the probability, from 0 to 1, that a beat is offered, or taken, in a cycle. `seed` is
    the seed of everything random, by default $LANEBOX_SEED. receive() fails after `endless` bytes
    without `last`; a test with longer packets must set more.

    A test may have only one bench, because the streams of two would drive the same ports. A second
    one raises RuntimeError."""

    # The task that drives the streams of the block under test. It ends when its test ends.
    _streams = None

    def __init__(self, dut, flow: float = 0.5, seed: int | None = None, endless: int = ENDLESS):
        self._alone()
        self.seed = int(os.environ.get("LANEBOX_SEED", "0")) if seed is None else seed
        self.dut, self.flow, self.endless = dut, flow, endless
        self.random = random.Random(self.seed)
        self.cycle = self.interrupts = self.quiet = 0
        # The cycle in which the logic took its first beat, and the one in which it gave its last
        # beat.
        self.first_beat = self.last_beat = 0
        self.errors = 0  # number of packets that the logic sent with `error` set
        # Beats that wait to be sent to the logic, as (data, last, bytes).
        self._waiting: deque[tuple[int, int, int]] = deque()
        self._packet, self._received = bytearray(), []
        self._offered = None
        self._sink_valid = False

    def __repr__(self) -> str:
        return "bench"  # With this name pytest explains a failure by `where 0 = bench.interrupts`.

    # Functions that a test calls ------------------------------------------------------------------

    async def reset(self) -> None:
        """Start the clock, reset the logic, and start the streams. Call it once in a test."""
        self._alone()
        self.dut._log.info("seed %d; LANEBOX_SEED=... repeats or varies it", self.seed)
        for name, port in vars_of(self.dut):
            if name.startswith(("sink_", "user_")) and not name.endswith(("_ready", "_value")):
                port.value = 0
        self.dut.source_ready.value = 0
        self.dut.reset.value = 1
        cocotb.start_soon(Clock(self.dut.clk, PERIOD_NS, "ns").start())
        for _ in range(3):
            await FallingEdge(self.dut.clk)
        self.dut.reset.value = 0
        Bench._streams = cocotb.start_soon(self._run())
        await self.cycles(1)

    async def cycles(self, count: int) -> None:
        """Wait for `count` rising edges of the clock."""
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    def random_packet(self, longest: int) -> bytes:
        """Return a packet of 1 to `longest` random bytes."""
        length = self.random.randint(1, longest)
        return self.random.getrandbits(8 * length).to_bytes(length, "little")

    def send(self, *packets: bytes) -> None:
        """Queue packets for the logic's stream `sink`. The bench sends them one after the other."""
        for packet in packets:
            for start in range(0, len(packet), BEAT):
                part = packet[start : start + BEAT]
                last = start + BEAT >= len(packet)
                count = len(part) % BEAT if last else 0
                self._waiting.append((int.from_bytes(part, "little"), last, count))

    async def receive(self, count: int) -> list[bytes]:
        """Wait for the next `count` packets of the logic's stream `source`, and return them.

        Raises AssertionError if no beat has moved for SILENCE cycles, or if a packet has grown to
        `endless` bytes."""
        self.quiet = 0
        while len(self._received) < count:
            assert self.quiet < SILENCE, self._hangs(count)
            assert len(self._packet) < self.endless, self._never_ends(count)
            await RisingEdge(self.dut.clk)
        taken, self._received = self._received[:count], self._received[count:]
        return taken

    async def write(self, register: str, value: int) -> None:
        """Write the logic's register `user_REGISTER` as software does.

        Raises ValueError if the logic has no such register."""
        _check_register(register)
        await FallingEdge(self.dut.clk)
        strobe = getattr(self.dut, f"user_{register}_write")
        getattr(self.dut, f"user_{register}_data").value = value
        # The words of a register wider than 32 bits are written from the upper one to the lower
        # one.
        for word in reversed(range(len(strobe))):
            strobe.value = 1 << word
            await FallingEdge(self.dut.clk)
        strobe.value = 0
        await RisingEdge(self.dut.clk)

    async def read(self, register: str) -> int:
        """Read the logic's register `user_REGISTER` as software does, and return its value.

        Raises ValueError if the logic has no such register."""
        _check_register(register)
        await FallingEdge(self.dut.clk)
        strobe = getattr(self.dut, f"user_{register}_read")
        strobe.value = (1 << len(strobe)) - 1
        await ReadOnly()
        value = int(getattr(self.dut, f"user_{register}_value").value)
        await FallingEdge(self.dut.clk)
        strobe.value = 0
        await RisingEdge(self.dut.clk)
        return value

    def _alone(self) -> None:
        """Raise RuntimeError if another bench's streams run already in this test."""
        if Bench._streams is not None and not Bench._streams.done():
            raise RuntimeError(SECOND_BENCH)

    # Tasks that run beside a test -----------------------------------------------------------------

    async def _run(self) -> None:
        """Drive and sample the logic's ports in each cycle.

        Inputs are driven on the falling edge of the clock. The values that the logic will see at
        the rising edge are sampled before that edge."""
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            self._drive()
            await ReadOnly()
            seen = self._look()
            await RisingEdge(dut.clk)
            self._note(*seen)

    def _drive(self) -> None:
        dut = self.dut
        if not self._sink_valid and self._waiting and self.random.random() < self.flow:
            data, last, count = self._waiting[0]
            dut.sink_data.value, dut.sink_last.value = data, int(last)
            dut.sink_bytes.value = count
            self._sink_valid = True
        dut.sink_valid.value = int(self._sink_valid)
        dut.source_ready.value = int(self.random.random() < self.flow)

    def _look(self) -> tuple:
        dut = self.dut
        taken = self._sink_valid and bool(dut.sink_ready.value)
        offered = None
        if dut.source_valid.value:
            offered = tuple(int(getattr(dut, f"source_{field}").value) for field in FIELDS)
        return taken, offered, bool(dut.source_ready.value), bool(dut.irq.value)

    def _note(self, taken: bool, offered: tuple | None, ready: bool, irq: bool) -> None:
        self.cycle += 1
        self.quiet += 1
        self.interrupts += irq
        if taken:
            self._waiting.popleft()
            self._sink_valid = False
            self.first_beat = self.first_beat or self.cycle
            self.quiet = 0
        if self._offered is not None:
            assert offered is not None, (
                f"cycle {self.cycle}: source.valid fell before source.ready came. A beat that is "
                "offered must stay until it is taken"
            )
            assert offered == self._offered, (
                f"cycle {self.cycle}: a beat changed while it waited for source.ready, from "
                f"{self._shown(self._offered)} to {self._shown(offered)}. It must stay as it is"
            )
        self._offered = None if ready else offered
        if offered is not None and ready:
            self._take(*offered)

    def _take(self, data: int, last: int, count: int, error: int) -> None:
        self.last_beat, self.quiet = self.cycle, 0
        used = count if last and count else BEAT
        self._packet += data.to_bytes(BEAT, "little")[:used]
        if last:
            self._received.append(bytes(self._packet))
            self._packet = bytearray()
            self.errors += error

    def _shown(self, beat: tuple) -> str:
        return ", ".join(f"{field} {value:#x}" for field, value in zip(FIELDS, beat))

    def _hangs(self, count: int) -> str:
        """Return the message for a test in which no beat moves any more.

        The message says which side waits for what."""
        where = []
        if self._sink_valid:
            where.append("sink.ready is low, and a beat waits")
        if self._waiting and not self._sink_valid:
            where.append(f"{len(self._waiting)} beats wait")
        if self._offered is None:
            where.append("source.valid is low")
        if self._packet:
            where.append(f"{len(self._packet)} bytes came without `last`")
        return (
            f"{len(self._received)} of {count} packets came, and for {SILENCE} cycles no beat has "
            f"moved: {'; '.join(where)}"
        )

    def _never_ends(self, count: int) -> str:
        """Return the message for a test in which beats come without end, and none has `last`."""
        repeated = self._packet[-BEAT:] == self._packet[-2 * BEAT : -BEAT]
        look = (
            "The last two beats are the same: is source.ready connected? In a cycle in which "
            "source.valid and source.ready are high, the logic must go on to its next beat"
            if repeated
            else "Is source.last connected? It must be high in the last beat of each packet"
        )
        return (
            f"{len(self._received)} of {count} packets came, and then {len(self._packet)} bytes "
            f"without `last`. {look}. Bench(dut, endless=...) allows longer packets"
        )


def vars_of(dut):
    """Return the ports of the block as pairs (name, cocotb's handle of the port)."""
    return [(name, getattr(dut, name)) for name in _ports()]


def _ports() -> list[str]:
    return os.environ["LANEBOX_PORTS"].split()


def _check_register(name: str) -> None:
    """Raise ValueError, whose text has the nearest name, if the logic has no register `name`."""
    names = [
        port.removeprefix("user_").removesuffix("_value")
        for port in _ports()
        if port.startswith("user_") and port.endswith("_value")
    ]
    if name in names:
        return
    near = difflib.get_close_matches(name, names, 1)
    has = f"the nearest is {near[0]!r}" if near else f"it has {', '.join(names) or 'none'}"
    raise ValueError(f"the logic has no register {name!r}; {has}")
