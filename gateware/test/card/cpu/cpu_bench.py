# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The management CPU with its firmware, Verilated, beside the registers that the firmware uses.

The rest of the card is left out: cages and sensors have their registers alone, the host has a
Wishbone bus, and the temperature is an input.
"""

import ctypes
import hashlib
import shutil
import struct
import subprocess
import weakref
from functools import cache
from pathlib import Path

from litex.build.generic_platform import Pins, Subsignal
from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from litex.soc.interconnect.csr import CSRStorage
from migen import ClockDomain

from gateware import numbers
from gateware.card.cpu import image, layout
from gateware.card.cpu.core import core_verilog
from gateware.card.cpu.management import add_management
from gateware.card.module import Module
from gateware.mmio.registers import RegisterBridgeSoC
from gateware.observe.device_time import DeviceTime
from tools.synthesis.stock import make_platform
from tools.testing.flash_model import CARD, FOLDER, compile_library
from tools.testing.mailbox import Mailbox
from tools.verilog.litex_verilog import simulation_verilog

HERE = Path(__file__).parent
TOP = "cpu_bench"
CLOCK = numbers.SYS_CLK_FREQ
PINS = [
    ("clock", 0, Subsignal("clk", Pins(1)), Subsignal("rst", Pins(1))),
    ("inputs", 0, Subsignal("hot", Pins(1))),
    ("state", 0, Subsignal("busy", Pins(1)), Subsignal("irq", Pins(1))),
    (
        "host",
        0,
        Subsignal("adr", Pins(32)),
        Subsignal("stb", Pins(1)),
        Subsignal("we", Pins(1)),
        Subsignal("dat_w", Pins(32)),
        Subsignal("dat_r", Pins(32)),
        Subsignal("ack", Pins(1)),
    ),
]


class Sensors(LiteXModule):
    """Stand-in for the card's sensors: their output for the CPU."""

    def __init__(self, hot):
        self.over_temperature = hot
        self._clear = CSRStorage(5)


class CpuSoC(RegisterBridgeSoC):
    """A SoC with the management CPU, a host's bus, and some registers."""

    csr_map = numbers.CSR_LOCATIONS
    mem_map = {**RegisterBridgeSoC.mem_map, "csr": numbers.CSR_BASE}
    mmio = True

    def __init__(self, platform, firmware):
        RegisterBridgeSoC.__init__(
            self, platform, CLOCK, bus_timeout=numbers.BUS_TIMEOUT, ident_version=False, ident="b"
        )
        clock, inputs = platform.request("clock"), platform.request("inputs")
        self.state, pins = platform.request("state"), platform.request("host")
        self.cd_sys = ClockDomain()
        self.comb += [self.cd_sys.clk.eq(clock.clk), self.cd_sys.rst.eq(clock.rst)]
        host = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.bus.add_master(name="host", master=host)
        self.comb += [
            host.adr.eq(pins.adr),
            host.cyc.eq(pins.stb),
            host.stb.eq(pins.stb),
            host.we.eq(pins.we),
            host.sel.eq(0xF),
            host.dat_w.eq(pins.dat_w),
            pins.dat_r.eq(host.dat_r),
            pins.ack.eq(host.ack | host.err),
        ]
        self.sensors = Sensors(inputs.hot)
        self.module0, self.module1 = Module(CLOCK), Module(CLOCK)
        self.busy = 0
        self.device_time = DeviceTime(with_csr=False)
        add_management(self, firmware)
        self.comb += self.state.busy.eq(self.busy)

    def add_interrupts(self, causes):
        (irq,) = causes.values()
        self.comb += self.state.irq.eq(irq)


def write_verilog(folder, firmware):
    """Write Verilog and memory contents of the bench to `folder`. Return the SoC."""
    platform = make_platform()
    platform.add_extension(PINS)
    soc = CpuSoC(platform, firmware)
    soc.finalize()
    with simulation_verilog():
        verilog = platform.get_verilog(soc, name=TOP)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{TOP}.v").write_text(verilog.main_source)
    for name, content in verilog.data_files.items():
        # Absolute, since the library runs in any folder.
        (folder / name).write_text(content)
        text = (folder / f"{TOP}.v").read_text().replace(f'"{name}"', f'"{folder / name}"')
        (folder / f"{TOP}.v").write_text(text)
    return soc


@cache
def build():
    """Return the library of the bench, the SoC's registers by name, its image, and the header from
    which the image was compiled."""
    firmware = image.Firmware(image.DEFAULT)
    staging = FOLDER / "cpu-staging"
    shutil.rmtree(staging, ignore_errors=True)
    soc = write_verilog(staging, firmware)
    parts = [staging / f"{TOP}.v", CARD / "bufgce_div.sv", core_verilog()]
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in [*parts, *staging.glob("*.init")]))
    folder = FOLDER / f"cpu-{digest.hexdigest()[:16]}"
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        write_verilog(folder, firmware)
        command = ["verilator", "--cc", "-O3", "-Wno-fatal", "-Wno-lint", "-Wno-style"]
        command += ["--x-initial", "unique", "--top-module", TOP, "--Mdir", str(folder)]
        parts[0] = folder / f"{TOP}.v"
        subprocess.run([*command, *map(str, parts)], check=True, capture_output=True)
        (folder / "done").touch()
    root = subprocess.run(
        ["verilator", "--getenv", "VERILATOR_ROOT"], capture_output=True, text=True
    ).stdout.strip()
    include = Path(root or "/usr/share/verilator") / "include"
    runtime = [include / "verilated.cpp"]
    runtime += [path for path in [include / "verilated_threads.cpp"] if path.exists()]
    sources = [HERE / "cpu_bench.cpp", *sorted(folder.glob("*.cpp")), *runtime]
    flags = [f"-I{folder}", f"-I{include}", f"-I{include}/vltstd", "-pthread"]
    code = ctypes.CDLL(str(compile_library("cpu", sources, flags)))
    word, count, bench = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
    for name, result, *arguments in (
        ("new", bench),
        ("delete", None, bench),
        ("reset", None, bench),
        ("run", None, bench, count),
        ("settle", count, bench, count),
        ("read", word, bench, word),
        ("write", None, bench, word, word),
        ("inputs", None, bench, word),
        ("count", count, bench, word),
    ):
        function = getattr(code, f"cpu_{name}")
        function.restype, function.argtypes = result, arguments
    words = image.make_image(soc, firmware)
    registers = {name: at - layout.PORTAL_BASE for name, at in image._registers(soc)}
    header = image.c_header(soc, firmware)
    return code, registers, struct.pack(f"<{len(words)}I", *words), header


class CpuBench(Mailbox):
    """The management CPU on the bench. `image` is the firmware image that it starts with, compiled
    with the text `header` as card_numbers.h.
    """

    def __init__(self):
        self.code, self.registers, self.image, self.header = build()
        self.handle = self.code.cpu_new()
        self.values = 0
        # At the end of the program nothing is deleted: Verilator's library may have ended before.
        weakref.finalize(self, self.code.cpu_delete, self.handle).atexit = False

    def read(self, name):
        return self.code.cpu_read(self.handle, self.registers[f"CARD_{name}"])

    def write(self, name, value):
        self.code.cpu_write(self.handle, self.registers[f"CARD_{name}"], value)

    def peek(self, address):
        return self.code.cpu_read(self.handle, address)

    def poke(self, address, value):
        self.code.cpu_write(self.handle, address, value & 0xFFFFFFFF)

    def run(self, cycles):
        self.code.cpu_run(self.handle, cycles)

    def reset(self):
        self.code.cpu_reset(self.handle)

    def settle(self, most=3_000_000):
        """Let time pass until the CPU is no longer busy. Return how many cycles of the user clock
        this took.
        """
        took = self.code.cpu_settle(self.handle, most)
        assert took < most, f"the CPU is still awake after {most} cycles: {self.status()}"
        return took

    def busy_cycles(self):
        return self.code.cpu_count(self.handle, 1)

    def rings(self):
        return self.code.cpu_count(self.handle, 2)

    def inputs(self, hot=False):
        self.code.cpu_inputs(self.handle, hot)
