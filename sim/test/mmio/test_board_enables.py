# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Byte enables of the host's writes to each kind of register and memory, compared with a model of
each byte.

Memories and the user's AXI4 bus take each byte that is enabled, and no other. Registers take whole
dwords only. If only some bytes of a register's dword are enabled, the register is not written and
the refusal is counted.
"""

import json
import random
from dataclasses import dataclass

import pytest

from gateware import numbers
from sim import artefacts
from sim.clients.vfio import BAR0
from sim.endpoints import DEFAULT
from sim.examples import AXI50
from sim.test.board.board_client import PREFIX
from tools.testing.seeds import each_seed

BAR2, BAR2_REGISTER, BAR2_ADDRESS = 2, 0x18, 0xF000_0000
REFUSED = "mmio_writes_refused"
# In the register mmio_error kind 7 stands for a refused access. Bit 3 is set if it was a write.
KIND_REFUSED, WRITE = 7, 1 << 3
LANES = 8  # dwords in a beat of the hard block's interfaces
ALL = 0xF  # all four byte enables of a dword

# {byte enables of a dword: (first byte, count) of the client's access that makes them}. The
# vfio-user client can access only contiguous bytes, so it can make only these. The faults wrong-be
# and hole-be make all other byte enables, by changing one of them.
RUNS = {
    ((1 << count) - 1) << first: (first, count)
    for first in range(4)
    for count in range(1, 5 - first)
}
FAULTS = {"wrong-be": lambda enables: enables ^ 8, "hole-be": lambda enables: enables & ~2}


def way_to(enables):
    """Return how to make these byte enables of a dword: (the fault to inject or None, (first byte,
    count) of the client's access)."""
    if enables in RUNS:
        return None, RUNS[enables]
    return next(
        (fault, place)
        for fault, change in FAULTS.items()
        for run, place in RUNS.items()
        if change(run) == enables
    )


@dataclass
class Place:
    """A place in a BAR that the host may write: `bytes` bytes at `offset`. `mask` has the writable
    bits of each dword."""

    bar: int
    offset: int
    bytes: int
    # True if the place holds registers. Their dwords are written as a whole or not at all.
    whole: bool = False
    mask: int = 0xFFFF_FFFF


def places(card):
    """Return {name: Place} with one place of each kind. Writing the registers among them has no
    side effects."""
    memories = [card.memories[f"memory{n}"]["base"] for n in range(2)]
    return {
        "scratch register": Place(BAR0, card.address("ctrl_scratch"), 4, whole=True),
        "user register": Place(BAR0, card.address("user_hold"), 4, whole=True, mask=1),
        "memory0": Place(BAR0, memories[0], 4096),
        "memory1": Place(BAR0, memories[1], 4096),
        "memory in BAR2": Place(BAR2, 0, 4096),
        "card memory": Place(BAR2, numbers.CARD_MEMORY_BASE, 4096),
        "user's AXI4": Place(BAR2, numbers.AXI_BASE, 4096),
    }


NAMES = [
    "scratch register",
    "user register",
    "memory0",
    "memory1",
    "memory in BAR2",
    "card memory",
    "user's AXI4",
]


class Model:
    """The bytes that `place` must hold, and how many writes of a dword the card must have refused
    there."""

    def __init__(self, card, place):
        self.card, self.place, self.refused = card, place, 0
        self.bytes = bytearray(card.client.read(place.bar, place.offset, place.bytes))

    def write(self, at, data, enables):
        """Write `data` to the model from byte `at` on, which begins a dword. `enables` has one bit
        for each byte of `data`."""
        for dword in range(0, len(data), 4):
            here = enables >> dword & ALL
            if self.place.whole and here not in (0, ALL):
                self.refused += 1
                continue
            for n in range(4):
                if here >> n & 1:
                    kept = self.place.mask >> 8 * n & 0xFF
                    self.bytes[at + dword + n] = data[dword + n] & kept

    def check(self, what):
        place = self.place
        seen = self.card.client.read(place.bar, place.offset, place.bytes)
        assert seen == self.bytes, f"{what}: {first_difference(seen, self.bytes)}"
        assert self.card.read(REFUSED) == self.refused, what


def first_difference(seen, right):
    at = next(n for n, (a, b) in enumerate(zip(seen, right)) if a != b)
    return f"byte {at:#x} is {seen[at]:#04x}, must be {right[at]:#04x}"


@pytest.fixture(scope="module")
def built():
    """Build gateware with a register and an AXI4 bus in its user slot, and the board with this
    gateware."""
    return artefacts.build(DEFAULT, AXI50)


@pytest.fixture
def started(built, boards_of):
    """Return a function that starts a board with this gateware. open_card() then enumerates its
    card and sets both BARs."""
    return boards_of(built.board, json.loads((built.gateware / "csr.json").read_text()))


def open_card(board):
    card = board.card(mps=128)
    card.config_write(BAR2_REGISTER, BAR2_ADDRESS)
    return card


# Byte enables of one dword ------------------------------------------------------------------------


def write_dword(board, card, place, at, data, enables):
    """Let the host write one dword with exactly these byte enables; returns the four bytes that the
    card sees.

    If a fault enables a byte, the byte is not part of the client's access and is sent as zero.
    """
    fault, (first, count) = way_to(enables)
    if fault:
        board.command(f"fault {fault}")
    run = data[first : first + count]
    card.client.write(place.bar, place.offset + at + first, run)
    return (bytes(first) + run).ljust(4, b"\0")


@pytest.mark.parametrize("name", NAMES)
@each_seed(1)
def test_every_enable_of_a_dword(started, name, seed):
    """Each of the 16 patterns of byte enables, at each dword of a beat, changes exactly the enabled
    bytes of a memory. A register refuses all patterns but 0 and 15, and counts the refusals.

    A client's access has contiguous bytes. The faults wrong-be and hole-be make the patterns that
    are not contiguous.
    """
    rng = random.Random(seed)
    with started(log=True) as board:
        card = open_card(board)
        place = places(card)[name]
        model, sent = Model(card, place), []
        for lane in range(min(LANES, place.bytes // 4)):
            for enables in range(16):
                at = 4 * lane
                data = write_dword(board, card, place, at, rng.randbytes(4), enables)
                model.write(at, data, enables)
                sent.append((enables, 0))
                model.check(f"{name}, dword {lane}, enables {enables:#x}, seed {seed}")
        assert model.refused == (14 if place.whole else 0)
        if place.whole:
            assert card.read("mmio_error") == KIND_REFUSED | WRITE
            assert card.read("mmio_error_address") == place.offset
        assert [card.read(f"mmio_writes_{other}") for other in ("dropped", "failed")] == [0, 0]
    assert [t.enables for t in board.tlps().on("CQ", "MWr")] == sent


# Byte enables of several dwords -------------------------------------------------------------------


def accesses(rng, size, often):
    """Yield (first byte, count) of accesses within `size` bytes: 8 and 16 bytes at each alignment,
    then `often` accesses of random size."""
    for count in (8, 16):
        for first in range(4):
            if first + count <= size:
                yield first, count
                yield size - count - first, count
    for _ in range(often):
        count = rng.randint(1, min(size, rng.choice([8, 24, 300])))
        yield rng.randrange(size - count + 1), count


@pytest.mark.parametrize("name", [name for name in NAMES if "register" not in name])
@each_seed(1)
def test_writes_of_any_length_to_a_memory(started, name, seed):
    """A host write of any length to a memory changes the bytes that it covers, and no other."""
    rng = random.Random(seed)
    with started() as board:
        card = open_card(board)
        model = Model(card, places(card)[name])
        place = model.place
        for first, count in accesses(rng, place.bytes, 60):
            data, start = rng.randbytes(count), first % 4
            card.client.write(place.bar, place.offset + first, data)
            model.write(first - start, fill(start, data), (1 << count) - 1 << start)
            model.check(f"{count} bytes at {first:#x} of {name}, seed {seed}")


def fill(start, data):
    """Return whole dwords that have `data` from byte `start` of the first dword on. All other bytes
    are zero."""
    return (bytes(start) + data).ljust(-(-(start + len(data)) // 4) * 4, b"\0")


# Offsets in bytes of the registers of the c2h channel: its enable register, the two dwords of a
# descriptor, the register whose write puts that descriptor into the table, and the end.
ENABLE, VALUE, TAKE, END = 0, 4, 12, 16
UPPER_VALUE = 0x03FF_FFFF  # the upper dword of a DMA descriptor in the card has 26 bits


@each_seed(1)
def test_writes_of_any_length_to_registers(started, seed):
    """A register that a host write covers wholly is written. A register that it covers in part is
    not written, and the refusal is counted.

    A whole write to the first register would start the DMA engine, one to the last would queue a
    descriptor. The accesses of this test cover both registers only in part, so neither may happen.
    """
    rng = random.Random(seed)
    with started() as board:
        card = open_card(board)
        base = card.address(f"{PREFIX['c2h']}_enable")
        value = Model(card, Place(BAR0, base + VALUE, TAKE - VALUE, whole=True))
        ends = 0
        for first, count in accesses(rng, END, 200):
            if first == ENABLE and count >= VALUE or first + count == END and first <= TAKE:
                # An access that covers the first or the last register wholly would start the
                # channel or load a descriptor. An access that covers both only in part takes its
                # place.
                first, count = ENABLE + 1, END - 2
            data, start = rng.randbytes(count), first % 4
            card.client.write(BAR0, base + first, data)
            ends += (first < VALUE) + (first + count > TAKE)
            dwords, enables = fill(start, data), (1 << count) - 1 << start
            for at in range(0, len(dwords), 4):
                place = first - start + at
                if VALUE <= place < TAKE:
                    value.place.mask = UPPER_VALUE if place == VALUE else 0xFFFF_FFFF
                    value.write(place - VALUE, dwords[at : at + 4], enables >> at & ALL)
            seen = card.client.read(BAR0, base + VALUE, TAKE - VALUE)
            what = f"{count} bytes at {first} of the table's registers, seed {seed}"
            assert seen == value.bytes, f"{what}: {first_difference(seen, value.bytes)}"
            assert card.read(REFUSED) == value.refused + ends, what
        assert ends > 50 and value.refused > 50
        assert card.read(f"{PREFIX['c2h']}_enable") & 1 == 0
        assert card.read(f"{PREFIX['c2h']}_table_level") == 0


def test_half_a_reset_resets_nothing(started):
    """A host write of one byte to the reset register is refused and resets nothing. Writes to a
    part of the scratch register are refused and do not change it."""
    with started() as board:
        card = open_card(board)
        card.write("ctrl_scratch", 0x1122_3344)
        reset = card.address("ctrl_reset")
        card.mmio_write(reset, 0xFF, 1)
        card.mmio_write(card.address("ctrl_scratch") + 1, 0xBB, 1)
        card.mmio_write(card.address("ctrl_scratch") + 2, 0xCCDD, 2)
        assert card.read("ctrl_scratch") == 0x1122_3344
        assert card.read(REFUSED) == 3
