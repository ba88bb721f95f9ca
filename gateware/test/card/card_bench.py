# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Flash engine and reboot with their registers, Verilated, at the board's models of the flash.

The rest of the card is left out, so a whole update takes a fraction of a second.
"""

import ctypes
import hashlib
import shutil
import subprocess
import weakref
from functools import cache
from pathlib import Path

from litex.gen import LiteXModule
from migen import Signal
from migen.fhdl.verilog import convert

from gateware import numbers
from gateware.card.commands import ERASE_SECTOR, PROGRAM, READ
from gateware.card.flash import Flash
from gateware.card.reboot import Reboot
from sim.board.build import include_flags
from tools.testing.csr_model import CsrBench
from tools.testing.flash_model import CARD, FOLDER, IDCODE, SOURCES, Chip, compile_library, declare

HERE = Path(__file__).parent
APPLICATION = numbers.FLASH_LAYOUT["application"]
PAGE, SECTOR = 256, 1 << 16
# An image begins with this word; what is before it is skipped.
SYNC = numbers.BITSTREAM_SYNC.to_bytes(4, "big")
TICK_NS = numbers.TICK_NS


class Services(LiteXModule):
    def __init__(self):
        self.flash = Flash()
        self.reboot = Reboot()
        self.link, self.alive = Signal(name="link"), Signal(name="alive")
        self.comb += [
            self.reboot.hold.eq(self.flash.busy),
            self.reboot.link.eq(self.link),
            self.reboot.alive.eq(self.alive),
        ]


def _verilog():
    """Return the Verilog of the bench, and {register name: address}."""
    services = Services()
    bench = CsrBench(services)
    bus = bench.csr
    ios = {bus.adr, bus.we, bus.re, bus.dat_w, bus.dat_r, services.link, services.alive}
    text = convert(bench, ios=ios, name="card_bench")
    return str(text), {name: span[0] for name, span in bench.addresses.items()}


@cache
def build():
    """Return the shared library that simulates the bench, and {register name: address}."""
    text, addresses = _verilog()
    for name in ("adr", "we", "re", "dat_w", "dat_r"):
        assert f"csr_{name}" in text, f"the bus's port is not called csr_{name}"
    prefix = "Vlanebox"  # as of the board, whose DPI header card_pins.cpp includes
    digest = hashlib.sha256((prefix + text + (CARD / "configuration.sv").read_text()).encode())
    folder = FOLDER / f"bench-{digest.hexdigest()[:16]}"
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "card_bench.v").write_text(text)
        command = ["verilator", "--cc", "-O3", "-Wno-fatal", "-Wno-lint", "-Wno-style"]
        command += ["--top-module", "card_bench", "--prefix", prefix, "--Mdir", str(folder)]
        sources = [folder / "card_bench.v", CARD / "configuration.sv"]
        subprocess.run([*command, *map(str, sources)], check=True, capture_output=True)
        (folder / "done").touch()
    root = subprocess.run(
        ["verilator", "--getenv", "VERILATOR_ROOT"], capture_output=True, text=True
    ).stdout.strip()
    include = Path(root or "/usr/share/verilator") / "include"
    made = sorted(folder.glob("*.cpp"))
    runtime = [include / name for name in ("verilated.cpp", "verilated_dpi.cpp")]
    runtime += [path for path in [include / "verilated_threads.cpp"] if path.exists()]
    sources = [*SOURCES, CARD / "card_pins.cpp", HERE / "card_bench.cpp", *made, *runtime]
    flags = [*include_flags(), f"-I{folder}", f"-I{include}", f"-I{include}/vltstd", "-pthread"]
    code = declare(ctypes.CDLL(str(compile_library("bench", sources, flags))))
    number, bench = ctypes.c_uint64, ctypes.c_void_p
    for name, result, *arguments in (
        ("new", bench, number, number, ctypes.c_uint32),
        ("delete", None, bench),
        ("chip", bench, bench),
        ("copy", bench, bench),
        ("run", None, bench, number),
        ("reset", None, bench),
        ("cycles", number, bench),
        ("write", None, bench, ctypes.c_uint32, ctypes.c_uint32),
        ("read", ctypes.c_uint32, bench, ctypes.c_uint32),
        ("reboot", ctypes.c_int, bench, ctypes.POINTER(ctypes.c_int64)),
        ("power_on", ctypes.c_uint32, bench),
        ("icap_broken", number, bench),
        ("watching", ctypes.c_int, bench),
        ("inputs", None, bench, ctypes.c_int, ctypes.c_int),
    ):
        function = getattr(code, f"bench_{name}")
        function.restype, function.argtypes = result, arguments
    return code, addresses


class CardBench:
    """The card services at a flash whose busy times are divided by `divisor`.

    `accesses` counts reads and writes of registers.
    """

    def __init__(self, divisor=1000, seed=1, settle=True):
        self.code, self.addresses = build()
        self.handle = self.code.bench_new(divisor, seed, IDCODE)
        self.chip = Chip(self.code, self.code.bench_chip(self.handle), owned=False)
        self.accesses = 0
        # At the end of the program nothing is deleted: Verilator's library may have ended before.
        weakref.finalize(self, self.code.bench_delete, self.handle).atexit = False
        if settle:
            self.wait()

    @property
    def nanoseconds(self):
        return self.code.bench_cycles(self.handle) * TICK_NS

    def write(self, name, value):
        self.accesses += 1
        self.code.bench_write(self.handle, self.addresses[name], value)

    def read(self, name):
        self.accesses += 1
        return self.code.bench_read(self.handle, self.addresses[name])

    def run(self, cycles):
        self.code.bench_run(self.handle, cycles)

    def reset(self):
        """Reset the logic, as PERST# does. The flash goes on with its command."""
        self.code.bench_reset(self.handle)

    def status(self):
        """Return (whether a command runs, whether the golden image is unlocked, number of the last
        refusal, the flash's status register)."""
        word = self.read("flash_status")
        return word & 1, word >> 1 & 1, word >> 4 & 7, word >> 8 & 0xFF

    def wait(self, cycles=200, most=10**9):
        """Let time pass until no command runs. `cycles` pass between two reads of the status.

        Fail if a command still runs after `most` cycles.
        """
        for _ in range(most // cycles):
            if not self.status()[0]:
                return
            self.run(cycles)
        raise AssertionError(f"the engine is still busy after {most} cycles")

    def start(self, opcode, address=None, length=None):
        if address is not None:
            self.write("flash_address", address)
        if length is not None:
            self.write("flash_length", length)
        self.write("flash_command", opcode)

    def command(self, opcode, address=None, length=None, cycles=200):
        """Carry out a command of the flash by the flash engine. Return the number of the engine's
        refusal, 0 if it was sent.
        """
        self.start(opcode, address, length)
        self.wait(cycles)
        return self.status()[2]

    def load_page(self, data):
        """Write a page's bytes, a multiple of 4, to the page buffer of the flash engine."""
        for at in range(0, len(data), 4):
            self.write("flash_page_data", int.from_bytes(data[at : at + 4], "little"))

    def page(self, length=PAGE):
        """Return the first bytes of the flash engine's page buffer."""
        self.write("flash_page_index", 0)
        words = [self.read("flash_page_data") for _ in range(-(-length // 4))]
        return b"".join(word.to_bytes(4, "little") for word in words)[:length]

    def update(self, image, each=lambda: None):
        """Write a bitstream to the flash as software does.

        First the old image's synchronisation word is overwritten, and the sectors are erased. Then
        all pages are programmed without the new image's synchronisation word, and at last that
        word. So no half-written image can start.

        The function `each` is called again and again while a command runs.
        """
        old = self.chip.contents(APPLICATION, PAGE).find(SYNC)
        if old >= 0:
            self.program(APPLICATION + old, bytes(len(SYNC)), each)
        for at in range(0, len(image), SECTOR):
            self.watched(ERASE_SECTOR, APPLICATION + at, each)
        sync = image.index(SYNC)
        blank = image[:sync] + b"\xff" * len(SYNC) + image[sync + len(SYNC) :]
        for at in range(0, len(image), PAGE):
            self.program(APPLICATION + at, blank[at : at + PAGE].ljust(PAGE, b"\xff"), each)
        self.program(APPLICATION + sync, SYNC, each)

    def program(self, address, data, each):
        """Program bytes inside one page of the flash."""
        self.load_page(data)
        self.write("flash_length", len(data))
        self.watched(PROGRAM, address, each)

    def watched(self, opcode, address, each):
        self.start(opcode, address)
        assert self.status()[2] == 0, f"command {opcode:#04x} was refused"
        while self.status()[0]:
            each()
            self.run(50)

    def crc(self, address, length):
        """Return the CRC-32 that the flash engine finds over `length` bytes of the flash from
        `address` on.
        """
        assert self.command(READ, address, length) == 0
        return self.read("flash_crc")

    def copy(self):
        """Return a flash model with the present contents and state of this bench's flash."""
        return Chip(self.code, self.code.bench_copy(self.handle))

    def rebooted(self):
        """Return whether software has asked for a reboot, and the flash address of the image that
        then started (-1: none).
        """
        address = ctypes.c_int64()
        asked = self.code.bench_reboot(self.handle, ctypes.byref(address))
        return bool(asked), address.value
