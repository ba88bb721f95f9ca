# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Simulate a design of bringup/jtag/ with Verilator, behind the JTAG state machine of
jtag_part.py.
"""

import ctypes
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
TCK, TDI, CAPTURE, SHIFT, UPDATE, MISO, CFGMCLK = (1 << bit for bit in range(7))
SELECTED, CLOCKS = 8, 16
CS_N, SCK, MOSI = 1, 2, 4
TDO = 4


def build(verilog, module, ports, folder):
    """Build a shared library that simulates `module` of a Verilog file, and return its path.

    `ports` are the connections of the module in jtag_bench.sv, as Verilog text.
    """
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            "verilator",
            "--cc",
            "-O3",
            "--top-module",
            "jtag_bench",
            "-Wno-fatal",
            "-Wno-lint",
            "-Wno-style",
            f"-DDESIGN={module}",
            f"-DPORTS={ports}",
            "--Mdir",
            folder,
            HERE / "jtag_bench.sv",
            verilog,
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    root = (
        subprocess.run(
            ["verilator", "--getenv", "VERILATOR_ROOT"], check=True, capture_output=True, text=True
        ).stdout.strip()
        or "/usr/share/verilator"
    )
    include = Path(root) / "include"
    # The command line does not contain the temporary folder of this run, so ccache finds the result
    # of an earlier run.
    compile = [
        "ccache",
        "g++",
        "-std=c++17",
        "-O1",
        "-fPIC",
        "-I.",
        f"-I{include}",
        f"-I{include}/vltstd",
        "-c",
    ]
    sources = [
        *(path.name for path in sorted(folder.glob("*.cpp"))),
        include / "verilated.cpp",
        HERE / "jtag_bench.cpp",
    ]
    sources += [path for path in (include / "verilated_threads.cpp",) if path.exists()]
    objects = [f"{Path(source).stem}.o" for source in sources]
    for source, target in zip(sources, objects):
        subprocess.run([*compile, source, "-o", target], check=True, cwd=folder)
    subprocess.run(
        ["g++", "-shared", "-pthread", "-o", "bench.so", *objects], check=True, cwd=folder
    )
    return folder / "bench.so"


class Bench:
    """Simulation of a design in the fabric of a part. A Bench is the `user` of a `Tap` in
    jtag_part.py.

    `flash` is a model of the flash at the part's SPI pins. `board` is a model of what surrounds the
    design's other pins. Before each cycle of the configuration clock, `board.cycle()` gets the pins
    that the design drives and their levels. It returns the levels of all pins, and for each counted
    clock the number of its rising edges in this cycle.
    """

    # The model makes this many cycles of the part's configuration clock CFGMCLK in one cycle of
    # TCK.
    CYCLES = 4

    def __init__(self, library, flash=None, board=None):
        self.code = ctypes.CDLL(str(library))
        self.code.bench_new.restype = ctypes.c_void_p
        for name, results in (
            ("step", ctypes.c_uint32),
            ("driven", ctypes.c_uint64),
            ("levels", ctypes.c_uint64),
        ):
            getattr(self.code, f"bench_{name}").restype = results
        self.step = self.code.bench_step
        self.handle = ctypes.c_void_p(self.code.bench_new())
        self.flash = flash
        self.board = board
        self.inputs = 0
        self.outputs = 0
        self.set(0)

    def set(self, inputs, mask=~0):
        """Set the design's inputs that are in `mask`, then let the flash change its answer
        (MISO).
        """
        self.inputs = self.inputs & ~mask | inputs & mask
        self.outputs = self.step(self.handle, self.inputs)
        if self.flash is not None:
            answer = (
                MISO
                if self.flash.pins(self.outputs & CS_N, self.outputs & SCK, self.outputs & MOSI)
                else 0
            )
            if answer != self.inputs & MISO:
                self.inputs ^= MISO
                self.outputs = self.step(self.handle, self.inputs)

    STATES = {"CaptureDR": CAPTURE, "ShiftDR": SHIFT, "UpdateDR": UPDATE}
    WAYS = TCK | TDI | CAPTURE | SHIFT | UPDATE | 15 << SELECTED

    def rise(self, chain, state, following, tdi):
        """Make a rising edge of TCK, at which the TAP goes from `state` to `following`.

        `chain` is the number n of the selected instruction USERn, or 0. `tdi` is the level of TDI.
        """
        selected = 1 << SELECTED + chain - 1 if chain else 0
        data = TDI if tdi else 0
        self.set(self.STATES.get(state, 0) | data | selected, self.WAYS)
        self.set(self.STATES.get(state, 0) | data | selected | TCK, self.WAYS)
        self.set(self.STATES.get(following, 0) | data | selected | TCK, self.WAYS)

    def fall(self, tdi):
        self.set(TDI if tdi else 0, TCK | TDI)
        if self.board is not None:
            for _ in range(self.CYCLES):
                self.cycle()

    def cycle(self):
        """Simulate one cycle of the part's configuration clock CFGMCLK, with the levels and clock
        edges that the model of the board gives.
        """
        pins, rises = self.board.cycle(*self.driven())
        self.code.bench_pins(self.handle, ctypes.c_uint64(pins))
        for half in range(max(rises, default=0)):
            mask = sum(1 << CLOCKS + n for n, count in enumerate(rises) if half < count)
            self.set(mask, mask)
            self.set(0, mask)
        self.set(CFGMCLK, CFGMCLK)
        self.set(0, CFGMCLK)

    def tdo(self, chain):
        return self.outputs >> TDO + chain - 1 & 1

    def driven(self):
        """Return two masks, a bit for each pin: the pins that the design drives, and their
        levels.
        """
        return self.code.bench_driven(self.handle), self.code.bench_levels(self.handle)
