# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""flashrom, a program for real flashes, identifies, writes and verifies the flash model: directly,
and through the flash engine.
"""

import random
import subprocess

import pytest

from gateware.card.commands import COMMANDS, Change, Data
from gateware.test.card.card_bench import APPLICATION, CardBench
from tools.needs import find_system_program
from tools.testing.flash_model import new_chip
from tools.testing.serprog import Serprog

SIZE = 1 << 25
REGION = 1 << 16
SECONDS = 300
LISTED = {command.opcode: command for command in COMMANDS}
NAMED = "MT25QU256|N25Q256.*1E"  # flashrom's names for flashes with the identification 20 BB 19


class Direct:
    """flashrom drives the flash model's own pins, one SPI transfer at a time."""

    def __init__(self):
        self.chip, self.now = new_chip(divisor=10**5), 0

    def transfer(self, out, count):
        taken, self.now = self.chip.transfer(self.now, out, count)
        self.now += 1000
        return taken


class Bridge:
    """Carries out each transfer of flashrom's as a command of the flash engine.

    flashrom waits for the flash by itself, and sends write enable by itself. The engine does both
    once more.
    """

    def __init__(self):
        self.bench = CardBench(divisor=10**5)
        self.chip = self.bench.chip
        self.refused = []

    def transfer(self, out, count):
        bench, command = self.bench, LISTED.get(out[0])
        head = 1 + (command.address + command.dummies if command else 0)
        address = int.from_bytes(out[1 : 1 + command.address], "big") if command else 0
        data = out[head:]
        if data:
            bench.load_page(data.ljust(-(-len(data) // 4) * 4, b"\xff"))
        length = len(data) if command and command.data == Data.WRITE else count
        if bench.command(out[0], address, length):
            self.refused.append(out[0])
            return b"\xff" * count
        return bench.page(count) if count else b""


def run(server, tmp_path, *options):
    layout = tmp_path / "layout"
    layout.write_text(f"{APPLICATION:08x}:{APPLICATION + REGION - 1:08x} application\n")
    program = find_system_program("flashrom")
    # Without flashrom the test fails: if it were skipped, nobody would notice that a program of
    # others no longer checks what writes to users' flashes.
    assert program, "flashrom is missing: `make setup` installs it (tools/needs.py)"
    command = [program, "-p", f"serprog:ip=127.0.0.1:{server.port}", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    return done.returncode, done.stdout + done.stderr


def chip_name(text):
    """Return the first name by which flashrom knows the flash that it has found."""
    found = [line.split('"')[1] for line in text.splitlines() if line.startswith("Found ")]
    return found[0] if found else None


@pytest.mark.parametrize("way", [Direct, Bridge])
def test_flashrom_identifies_writes_and_verifies(way, tmp_path):
    """flashrom finds the flash by its identification, writes 64 KiB at the application's address,
    and verifies them.
    """
    card = way()
    image = bytearray(b"\xff" * SIZE)
    image[APPLICATION : APPLICATION + REGION] = random.Random(1).randbytes(REGION)
    file = tmp_path / "image.bin"
    file.write_bytes(image)
    with Serprog(card.transfer) as server:
        _, text = run(server, tmp_path)
        name = chip_name(text)
        assert name, text
        layout = ["-l", tmp_path / "layout", "-i", "application", "-N"]
        status, text = run(server, tmp_path, "-c", name, *layout, "-w", file)
        assert status == 0 and "VERIFIED" in text, text
    assert card.chip.contents(APPLICATION, REGION) == image[APPLICATION:][:REGION]
    # Without a chip's name flashrom probes for the chips of all vendors, with opcodes of theirs.
    assert [line for line in card.chip.broken if "is unknown" not in line] == []
    if way is Bridge:
        changing = {opcode for opcode in LISTED if LISTED[opcode].change != Change.NONE}
        assert not changing & set(card.refused), card.refused
