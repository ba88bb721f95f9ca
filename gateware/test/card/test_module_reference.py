# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The I2C master of card/module.py against an I2C memory of others, cocotbext-i2c's I2cMemory."""

import json
import os
import subprocess
from pathlib import Path

from litex.gen import LiteXModule
from migen import Signal
from migen.fhdl import verilog

from gateware.card.module import Module
from sim.differential.environment import alone, interpreter
from tools.testing.csr_model import CsrBench
from tools.testing.repository import ROOT
from tools.testing.seeds import SHIFT

SIDE = Path(__file__).with_name("i2c_memory_side.py")
CLOCK = 4e6  # Hz, so low that a phase of a symbol has three cycles
SECONDS = 600


class Bench(LiteXModule):
    """The block with its registers on a CSR bus, and the wires of an I2C bus of two devices."""

    def __init__(self):
        dut = Module(CLOCK, select_seconds=5e-6)
        self.bench = CsrBench(dut)
        self.slave_sda, self.slave_scl = Signal(reset=1), Signal(reset=1)
        self.sda, self.scl = Signal(), Signal()
        pins = dut.pins
        self.comb += [
            self.sda.eq(~pins.sda_low & self.slave_sda),
            self.scl.eq(~pins.scl_low & self.slave_scl),
            pins.sda.eq(self.sda),
            pins.scl.eq(self.scl),
            pins.int_n.eq(1),
        ]


def written(folder):
    """Write the bench's Verilog. Return its path, and the registers' addresses by name."""
    bench = Bench()
    csr = bench.bench.csr
    names = {"adr": csr.adr, "we": csr.we, "re": csr.re, "dat_w": csr.dat_w, "dat_r": csr.dat_r}
    names |= {name: getattr(bench, name) for name in ("slave_sda", "slave_scl", "sda", "scl")}
    for name, signal in names.items():
        signal.name_override = name
    text = verilog.convert(bench, ios=set(names.values()), name="i2c_bench").main_source
    path = folder / "i2c_bench.v"
    path.write_text(text)
    return path, {name: words[0] for name, words in bench.bench.addresses.items()}


def test_a_memory_of_others_holds_what_was_written(tmp_path):
    """cocotbext-i2c's memory has what the block wrote, and the block reads what the memory has."""
    with alone():
        python = interpreter()
    verilog_file, registers = written(tmp_path)
    environment = dict(
        os.environ,
        LANEBOX_REGISTERS=json.dumps(registers),
        LANEBOX_SEED=str(SHIFT),
        PYTHONPATH=str(SIDE.parent),
    )
    environment.pop("PYTEST_CURRENT_TEST", None)  # cocotb's runner refuses to run inside pytest
    done = subprocess.run(
        [python, SIDE, verilog_file, tmp_path],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    print(done.stdout[-2000:])
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
