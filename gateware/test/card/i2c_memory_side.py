# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A test that runs in cocotb: cocotbext-i2c's I2cMemory is the module in the cage of
card/module.py.

test_module_reference.py runs this file as a program of cocotb's own environment, which verilates
and runs the simulation:

    i2c_memory_side.py VERILOG FOLDER

The simulation then imports this file as a module. It prints its seed, which is LANEBOX_SEED.
"""

import json
import os
import random
import sys
from pathlib import Path

TOP = "i2c_bench"
TRANSFERS = 12


def build_and_run(verilog, folder):
    """Verilate the bench and run the tests of this file in the folder."""
    try:
        from cocotb_tools.runner import get_runner  # cocotb 2 has get_runner() in this module.
    except ImportError:
        from cocotb.runner import get_runner  # cocotb 1.9 has get_runner() in this module.
    runner = get_runner("verilator")
    runner.build(
        sources=[verilog],
        hdl_toplevel=TOP,
        build_dir=folder / "build",
        build_args=["-Wno-fatal", "-Wno-lint", "-Wno-style", "-O3"],
        timescale=("1ns", "1ps"),
    )
    results = runner.test(
        hdl_toplevel=TOP,
        hdl_toplevel_lang="verilog",
        test_module=Path(__file__).stem,
        build_dir=folder / "build",
        test_dir=folder,
        results_xml=str(folder / "results.xml"),
    )
    text = Path(results).read_text()
    sys.exit(0 if "<testcase" in text and "<failure" not in text and "<error" not in text else 1)


if __name__ == "__main__":
    build_and_run(Path(sys.argv[1]), Path(sys.argv[2]))

import cocotb  # noqa: E402 -- only the simulation has this package in a state to be used.
from cocotb.clock import Clock  # noqa: E402
from cocotb.triggers import RisingEdge  # noqa: E402
from cocotbext.i2c import I2cMemory  # noqa: E402

REGISTERS = json.loads(os.environ.get("LANEBOX_REGISTERS", "{}"))


class Host:
    """The host, which accesses registers of the I2C block by name."""

    def __init__(self, dut):
        self.dut = dut

    async def write(self, name, value):
        self.dut.adr.value, self.dut.dat_w.value, self.dut.we.value = REGISTERS[name], value, 1
        await RisingEdge(self.dut.sys_clk)
        self.dut.we.value = 0
        await RisingEdge(self.dut.sys_clk)

    async def read(self, name):
        self.dut.adr.value, self.dut.re.value = REGISTERS[name], 1
        await RisingEdge(self.dut.sys_clk)
        self.dut.re.value = 0
        for _ in range(2):
            await RisingEdge(self.dut.sys_clk)
        return int(self.dut.dat_r.value)

    async def end(self):
        while (status := await self.read("status")) & 1:
            for _ in range(50):
                await RisingEdge(self.dut.sys_clk)
        return status >> 4 & 7, status >> 8 & 0xFF


@cocotb.test()
async def the_memory_holds_what_was_written(dut):
    """Random writes and reads of 1 to 32 bytes: the memory has what was written, and the block
    reads what the memory has.
    """
    seed = int(os.environ.get("LANEBOX_SEED", "0"))
    print("seed", seed)
    rng = random.Random(seed)
    for name in ("adr", "dat_w", "we", "re", "sys_rst"):
        getattr(dut, name).value = 0
    dut.slave_sda.value, dut.slave_scl.value = 1, 1
    cocotb.start_soon(Clock(dut.sys_clk, 250, "ns").start())
    memory = I2cMemory(
        sda=dut.sda, sda_o=dut.slave_sda, scl=dut.scl, scl_o=dut.slave_scl, addr=0x50, size=256
    )
    host, model = Host(dut), bytearray(rng.randbytes(256))
    memory.write_mem(0, bytes(model))
    for _ in range(20):
        await RisingEdge(dut.sys_clk)
    for _ in range(TRANSFERS):
        offset, length = rng.randrange(0, 96), rng.randrange(1, 33)
        await host.write("buffer_place", 0)
        if rng.random() < 0.5:
            data = rng.randbytes(length)
            for byte in data:
                await host.write("buffer_write", byte)
            model[offset : offset + length] = data
            await host.write("write", offset | length << 8)
            assert await host.end() == (0, length)
            assert memory.read_mem(0, 256) == bytes(model)
        else:
            await host.write("read", offset | length << 8)
            assert await host.end() == (0, length)
            await host.write("buffer_place", 0)
            found = [await host.read("buffer_read") for _ in range(length)]
            assert bytes(found) == bytes(model[offset : offset + length])
