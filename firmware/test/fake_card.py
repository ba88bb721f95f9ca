# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A card in Python for the firmware, which runs on the host: registers, mailbox, events."""

import ctypes
import subprocess
from types import SimpleNamespace

from gateware import numbers
from gateware.card.cpu import image, layout
from gateware.card.module import Module
from tools.testing.repository import ROOT

CLOCK = 250e6
HERE = ROOT / "firmware" / "test"
FLAGS = [
    "-std=c11",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-shared",
    "-fPIC",
    "-g",
    "-Dmain=firmware_main",
]


def small_soc(cages=2):
    """Return what image.py needs of a SoC: registers with their places, and the clock."""
    blocks = {f"module{n}": Module(CLOCK).get_csrs() for n in range(cages)}
    regions = {
        name: SimpleNamespace(obj=csrs, busword=32, origin=numbers.CSR_LOCATIONS[name] * 0x800)
        for name, csrs in blocks.items()
    }
    return SimpleNamespace(csr=SimpleNamespace(regions=regions), sys_clk_freq=CLOCK)


def build(folder, cages=2):
    """Compile the firmware for this machine. Return the library and its numbers by name."""
    firmware = image.Firmware(image.DEFAULT)
    soc = small_soc(cages)
    header = image.c_header(soc, firmware)
    (folder / "card_numbers.h").write_text(header)
    sources = [path for path in firmware.sources() if path.suffix == ".c"]
    out = folder / f"firmware{cages}.so"
    more = [f"-I{folder}", f"-I{image.DEFAULT}", "-DFIRMWARE_TEST", HERE / "harness.c"]
    subprocess.run(["gcc", *FLAGS, *more, *sources, "-o", out], check=True)
    values = {name.upper(): value for name, value in image.header_values(soc, firmware).items()}
    return out, values


class FakeCard:
    """The card around the firmware. `at` has the numbers of its header, as attributes.

    `events` are set by a test, and `step` runs the firmware from its start until it has slept as
    often as `sleeps` has functions; each function is called at its sleep, and may change the card.
    """

    def __init__(self, library, values):
        self.at = SimpleNamespace(**values)
        self.memory = bytearray(layout.MEMORY_BYTES)
        self.registers = {}
        self.events = 0
        self.rings = self.heartbeats = 0
        self.writes = []
        self._sleeps = []
        self._library = ctypes.CDLL(str(library))
        read = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_int)
        write = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_int)
        self._kept = read(self._read), write(self._write)
        self._library.harness_set(*self._kept)

    def step(self, *sleeps):
        self._sleeps = list(sleeps)
        self._library.harness_run()

    def _read(self, address, size):
        if address < layout.MEMORY_BYTES:
            return int.from_bytes(self.memory[address : address + size], "little")
        if address == self.at.OWN_EVENTS:
            return self.events
        return self.registers.get(address, 0)

    def _write(self, address, value, size):
        if address < layout.MEMORY_BYTES:
            self.memory[address : address + size] = value.to_bytes(size, "little")
            return 0
        self.writes.append((address, value))
        if address == self.at.OWN_EVENTS:
            self.events &= ~value
        elif address == self.at.OWN_DOORBELL:
            self.rings += 1
        elif address == self.at.OWN_HEARTBEAT:
            self.heartbeats += 1
        elif address == self.at.OWN_SLEEP:
            return self._sleep()
        else:
            self.registers[address] = value
        return 0

    def _sleep(self):
        if not self._sleeps:
            return 1
        self._sleeps.pop(0)()
        return 0

    # Mailbox, from the host's side ------------------------------------------------------------

    def word(self, name):
        return self._read(layout.MAILBOX_BASE + layout.MAILBOX[name], 4)

    def set_word(self, name, value):
        self._write(layout.MAILBOX_BASE + layout.MAILBOX[name], value & 0xFFFFFFFF, 4)

    def type(self, text):
        """Put text into the ring to the firmware, and ring."""
        place, size = layout.RINGS["in"]
        head = self.word("in_head")
        for byte in text.encode():
            self.memory[layout.MAILBOX_BASE + place + head % size] = byte
            head = (head + 1) & 0xFFFFFFFF
        self.set_word("in_head", head)
        self.events |= self.at.EVENT_DOORBELL

    def printed(self):
        """Take what the firmware has printed, and ring."""
        text, tail = self.ring("out", self.word("out_tail"), self.word("out_head"))
        self.set_word("out_tail", tail)
        self.events |= self.at.EVENT_DOORBELL
        return text

    def log(self):
        head = self.word("log_head")
        return self.ring("log", max(head - layout.RINGS["log"][1], 0), head)[0]

    def ring(self, name, tail, head):
        place, size = layout.RINGS[name]
        count = (head - tail) & 0xFFFFFFFF
        raw = [self.memory[layout.MAILBOX_BASE + place + (tail + n) % size] for n in range(count)]
        return bytes(raw).decode("ascii"), head
