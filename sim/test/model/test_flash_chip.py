# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The flash of the simulated card by its pins: commands, times, and what a loss of power leaves.

flashrom, a program for real flashes, uses the same model in tools/testing/test/test_serprog.py.
"""

import random

import pytest

from gateware import numbers
from tools.testing.flash_model import new_chip
from tools.testing.seeds import each_seed

MICROSECOND = 1000
HALF = 10  # half a period of SCK in ns
REST = 50  # ns for which CS# must be high between two transfers
# Opcodes in the data sheet of MT25QU256 that no test sends as a number.
DATA_SHEET = {
    "READ_FAST_SHORT": 0x0B,
    "ERASE_4K_SHORT": 0x20,
    "CLEAR_FLAGS": 0x50,
    "ERASE_32K_SHORT": 0x52,
    "DISCOVER": 0x5A,
    "ERASE_ALL": 0x60,
    "READ_VOLATILE": 0x85,
    "IDENTIFY_TOO": 0x9E,
    "WAKE": 0xAB,
    "READ_NONVOLATILE": 0xB5,
    "READ_EXTENDED": 0xC8,
}


class Master:
    """The master on the pins of the simulated flash. It makes transfers in SPI mode 0, and counts
    the time in ns."""

    def __init__(self, **options):
        self.chip = new_chip(**{"divisor": 1, **options})
        self.now = 0

    def pins(self, cs_n, sck, mosi):
        self.now += HALF
        return self.chip.pins(cs_n, sck, mosi, self.now)

    def transfer(self, out, count=0):
        """Send the bytes `out` to the flash, then return `count` bytes that the flash sends."""
        self.pins(0, 0, 0)
        taken = []
        for byte in [*out, *[0] * count]:
            value = 0
            for bit in range(7, -1, -1):
                value = value << 1 | self.pins(0, 0, byte >> bit & 1)
                self.pins(0, 1, byte >> bit & 1)
            taken.append(value)
        self.pins(0, 0, 0)
        self.pins(1, 0, 0)
        self.now += REST - HALF
        return bytes(taken[len(out) :])

    def status(self):
        return self.transfer([0x05], 1)[0]

    def change(self, out, wait=True):
        """Send write enable and then a program or erase command to the flash. Return how long the
        flash is busy, in ns."""
        self.transfer([0x06])
        self.transfer(out)
        began = self.now
        while wait and self.status() & 1:
            self.now += MICROSECOND
        return self.now - began


def test_transfers_need_a_rest():
    """If CS# is high for less than 50 ns between two transfers, the flash model adds a sentence to
    `broken`, since a real flash might not see the second transfer.
    """
    master = Master()
    master.transfer([0x9F], 3)
    master.transfer([0x9F], 3)
    assert master.chip.broken == []
    master.now -= HALF
    master.transfer([0x9F], 3)
    assert master.chip.broken == ["CS# was high for less than 50 ns"]


def place(opcode, address, size=4):
    return [opcode, *address.to_bytes(size, "big")]


def test_identification_and_status():
    """The model of an MT25QU256 has the identification 20 BB 19. Status and flag status say that
    it is ready, and status shows write enable.
    """
    master = Master()
    assert master.transfer([0x9F], 3) == bytes([0x20, 0xBB, 0x19])
    assert master.status() == 0 and master.transfer([0x70], 2) == b"\x80\x80"
    master.transfer([0x06])
    assert master.status() == 2
    master.transfer([0x04])
    assert master.status() == 0 and master.chip.broken == []


@each_seed(4)
def test_a_program_clears_bits_and_wraps_in_its_page(seed):
    """A page program of the flash model only clears bits. Data that runs over the page's end wraps
    to the page's beginning. Of more than 256 bytes the last 256 count."""
    rng, master = random.Random(seed), Master(divisor=1000)
    expected = bytearray(b"\xff" * 512)
    for _ in range(10):
        address = rng.randrange(512)
        data = rng.randbytes(rng.choice([1, 20, 256, 300]))
        master.change([*place(0x12, address), *data])
        page, written = address & ~255, {}
        for n, value in enumerate(data):
            written[page + (address + n) % 256] = value
        for at, value in written.items():
            expected[at] &= value
    assert master.transfer(place(0x13, 0), 512) == expected
    assert master.transfer([*place(0x0C, 100), 0], 20) == expected[100:120]
    # A read on two lines sends four bits of each byte on the line that transfer() samples.
    bits = [value >> bit & 1 for value in expected[100:120] for bit in (7, 5, 3, 1)]
    half = master.transfer([*place(0x3C, 100), 0], 10)
    assert [value >> bit & 1 for value in half for bit in range(7, -1, -1)] == bits


@pytest.mark.parametrize("name", DATA_SHEET)
def test_an_opcode_is_that_of_the_data_sheet(name):
    """The opcodes in gateware/numbers.py, which flash model, card and programs share, are those of
    the flash's data sheet."""
    assert getattr(numbers, f"FLASH_OPCODE_{name}") == DATA_SHEET[name]


@pytest.mark.parametrize(
    "opcode, size, microseconds",
    [(0x21, 1 << 12, 50_000), (0x5C, 1 << 15, 100_000), (0xDC, 1 << 16, 150_000)],
)
def test_an_erase_takes_its_typical_time(opcode, size, microseconds):
    """An erase command of the flash model sets all bytes of the block around its address to ones,
    in the data sheet's typical time."""
    master = Master(divisor=100)
    address = 3 << 16
    master.chip.load(address - 1, bytes(size + 2))
    took = master.change(place(opcode, address + size // 2))
    assert master.chip.contents(address - 1, size + 2) == b"\0" + b"\xff" * size + b"\0"
    assert microseconds / 100 <= took / MICROSECOND < microseconds / 100 * 1.1 + 5


def test_a_page_takes_its_typical_time():
    """A page program of the flash model takes 120 us, the typical time of a real flash."""
    assert 120 <= Master().change([*place(0x12, 0), 0]) / MICROSECOND < 130


@pytest.mark.parametrize("change", [[*place(0x12, 0), 0], place(0x21, 0), [0xC5, 0]])
def test_a_change_ends_write_enable(change):
    """Every program or erase command of the flash model needs a write enable of its own."""
    master = Master(divisor=10**6)
    master.change(change)
    assert master.status() == 0


def test_bulk_erase_takes_everything():
    """A bulk erase command sets all bits of the flash model to one."""
    master = Master(divisor=10**6)
    for address in (0, 1 << 24, (1 << 25) - 4):
        master.chip.load(address, bytes(4))
    master.change([0xC7])
    assert all(master.chip.contents(a, 4) == b"\xff" * 4 for a in (0, 1 << 24, (1 << 25) - 4))


def test_three_and_four_bytes_of_address():
    """A three-byte address reaches the first 16 MiB of the flash model, or the 16 MiB that its
    extended address register selects. In four-byte mode the same opcodes take four bytes of
    address. Address bits beyond the flash are ignored."""
    master = Master(divisor=1000)
    master.chip.load(1, b"low")
    master.chip.load((1 << 24) + 1, b"high")
    assert master.transfer(place(0x03, 1, 3), 3) == b"low"
    assert master.transfer(place(0x13, (1 << 25) + 1), 3) == b"low"
    master.transfer([0x06])
    master.transfer([0xC5, 1])
    assert master.transfer(place(0x03, 1, 3), 4) == b"high"
    master.transfer([0xB7])
    assert master.transfer(place(0x03, (1 << 24) + 1), 4) == b"high"
    master.transfer([0x66])
    master.transfer([0x99])
    assert master.transfer(place(0x03, 1, 3), 3) == b"low"


def test_misuse_is_written_down():
    """The flash model ignores a change without write enable, a command while it is busy, and an
    unknown opcode. It adds a sentence about each to `broken`.
    """
    master = Master()
    master.transfer([*place(0x12, 0), 0])
    master.change([*place(0x12, 0), 0], wait=False)
    master.transfer([0x06])
    master.transfer([0x77])
    assert master.chip.broken == [
        "command 0x12 without write enable",
        "command 0x06 while busy",
        "command 0x77 is unknown",
    ]


@each_seed(8)
def test_a_lost_program_is_a_part_of_it(seed):
    """If the flash model loses power in a page program, each bit of the page is the old one, or
    cleared as the program asked. Other pages are whole. The later the loss, the more bits are
    cleared."""
    done = []
    for part in (0.1, 0.9):
        master = Master(seed=seed + 1)
        master.chip.load(0, b"\xf0" * 768)
        master.change([*place(0x12, 256), *[0x0F] * 256], wait=False)
        master.chip.lose_power(master.now + int(part * 120 * MICROSECOND))
        page = master.chip.contents(256, 256)
        assert all(value & 0x0F == 0 for value in page)
        assert master.chip.contents(0, 256) == master.chip.contents(512, 256) == b"\xf0" * 256
        done.append(sum(4 - value.bit_count() for value in page))
        assert master.status() == 0
    assert 0 < done[0] < done[1] < 1024


@each_seed(8)
def test_a_lost_erase_is_a_part_of_it(seed):
    """If the flash model loses power in an erase, the sector that was being erased may hold
    anything, and all other sectors are whole."""
    for part in (0.1, 0.5, 0.95):
        master = Master(seed=seed + 1)
        master.chip.load(0, b"\x55" * 3 * 4096)
        master.change(place(0x21, 4096), wait=False)
        master.chip.lose_power(master.now + int(part * 50_000 * MICROSECOND))
        sector = master.chip.contents(4096, 4096)
        assert sector not in (b"\x55" * 4096, b"\xff" * 4096)
        assert master.chip.contents(0, 4096) == master.chip.contents(8192, 4096) == b"\x55" * 4096


def test_a_file_has_what_the_flash_holds(tmp_path):
    """If the flash model has a file, it begins with the file's contents, and writes each change to
    the file when the change is finished."""
    path = tmp_path / "flash.bin"
    path.write_bytes(b"begun")
    master = Master(divisor=1000)
    master.chip.keep_in(path)
    assert master.transfer(place(0x13, 0), 6) == b"begun\xff"
    master.change([*place(0x12, 1 << 24), *b"more"])
    raw = path.read_bytes()
    assert len(raw) == 1 << 25 and raw[:6] == b"begun\xff" and raw[1 << 24 :][:5] == b"more\xff"
