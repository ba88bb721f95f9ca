# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of mmio/lanes.py, the memory of eight lanes of 32 bits behind the MMIO bridge."""

import importlib
import random
import re
import subprocess

import pytest
from migen import ClockDomain, Module

from gateware.mmio.lanes import LANES, LATENCY, PAGE, ROW_BYTES, LaneMemory
from tools.synthesis.yosys import find_yosys
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate

litex = importlib.import_module("litex.gen.fhdl.verilog")


def rows_of(rng, rows):
    """Choose a row for each of the eight lanes as the MMIO bridge does: the first lanes may use the
    next row.

    An unaligned access of 32 bytes spans two rows of the memory.
    """
    row, shift = rng.randrange(rows), rng.randrange(LANES)
    return [(row + (lane < shift)) % rows for lane in range(LANES)]


def at(rows, data):
    """Return 32 bytes: for each of the eight lanes, the four bytes that `data` has in the lane's
    row.
    """
    return b"".join(data[ROW_BYTES * row + 4 * lane :][:4] for lane, row in enumerate(rows))


@pytest.mark.parametrize("kind", LATENCY)
@each_seed(2)
def test_every_read_brings_what_was_written(kind, seed):
    """LaneMemory's reads return the newest data, with a random masked write near them in each
    cycle.
    """
    rng = random.Random(seed)
    size = 2 * PAGE if kind == "ultra" else PAGE
    image = None if kind == "ultra" else [rng.getrandbits(32) for _ in range(size // 4 - 5)]
    dut = LaneMemory(size, image, kind)
    model = bytearray(b"".join(word.to_bytes(4, "little") for word in image or []))
    model = model.ljust(size, b"\0")

    def traffic():
        due = []
        for _ in range(800):
            # The test uses only six rows of the lane memory, so that reads and writes often meet in
            # a row.
            rows = rows_of(rng, 6)
            enable = rng.random() < 0.8
            yield dut.read_enable.eq(enable)
            for signal, row in zip(dut.read_rows, rows):
                yield signal.eq(row)
            due.append(at(rows, model) if enable else None)
            rows, data, mask = rows_of(rng, 6), rng.randbytes(ROW_BYTES), rng.getrandbits(ROW_BYTES)
            mask = mask if dut.writable and rng.random() < 0.7 else 0
            for signal, row in zip(dut.write_rows, rows):
                yield signal.eq(row)
            yield dut.write_data.eq(int.from_bytes(data, "little"))
            yield dut.write_mask.eq(mask)
            for n in range(ROW_BYTES):
                if mask >> n & 1:
                    model[ROW_BYTES * rows[n // 4] + n] = data[n]
            yield
            # The row addresses were set one cycle ago, so the memory sees them from this cycle on.
            if len(due) > dut.latency and due[-1 - dut.latency] is not None:
                got = (yield dut.read_data).to_bytes(ROW_BYTES, "little")
                assert got == due[-1 - dut.latency]

    simulate(dut, [traffic()])


@pytest.mark.parametrize(
    "arguments, rule",
    [
        (dict(size=PAGE, kind="flash"), "must be one of block, rom, ultra"),
        (dict(size=3 * PAGE), "power of two"),
        (dict(size=PAGE // 2), "at least a page"),
        (dict(size=PAGE, kind="rom"), "without an image"),
        (dict(size=PAGE, kind="ultra", image=[1]), "cannot be initialised"),
        (dict(size=PAGE, image=[0] * (PAGE // 4 + 1)), "has room for 1024"),
    ],
)
def test_what_cannot_be_built_says_why(arguments, rule):
    """LaneMemory refuses a size, kind or image that cannot be built, with a sentence that names the
    rule.
    """
    with pytest.raises(ValueError, match=rule):
        LaneMemory(**arguments)


class Top(Module):
    """A LaneMemory as the top module of a synthesis, with its ports as pins."""

    def __init__(self, *arguments):
        self.submodules.memory = memory = LaneMemory(*arguments)
        self.clock_domains.cd_sys = ClockDomain()
        self.ios = {
            *memory.write_rows,
            *memory.read_rows,
            memory.write_data,
            memory.write_mask,
            memory.read_enable,
            memory.read_data,
            self.cd_sys.clk,
            self.cd_sys.rst,
        }


@pytest.mark.parametrize(
    "arguments, cells",
    [
        ((0x80000, None, "ultra"), {"URAM288": 16}),
        ((PAGE, [1, 2, 3], "block"), {"RAMB18E2": 8}),
    ],
)
def test_the_arrays_become_the_rams_that_were_meant(arguments, cells, tmp_path, monkeypatch):
    """Yosys maps each LaneMemory to the RAM cells that were meant, and to no other RAM.

    512 KiB take 16 UltraRAMs, and a memory of 4 KiB takes 8 half block RAMs.
    """
    top = Top(*arguments)
    # LiteX writes the memories' initial contents to the current folder, beside the Verilog.
    monkeypatch.chdir(tmp_path)
    litex.convert(top, top.ios, name="top").write("top.v")
    # Synthesis stops after it has mapped the memories, since the later steps take most of the time.
    script = (
        "read_verilog top.v; synth_xilinx -family xcup -uram -top top -flatten -run :fine; "
        "tee -o stat.txt stat"
    )
    subprocess.run([find_yosys().program, "-q", "-p", script], cwd=tmp_path, check=True)
    text = (tmp_path / "stat.txt").read_text()
    lines = re.findall(r"(\d+) +(?:\S+ +)?((?:URAM|RAM)\w+)", text)
    found = {kind: int(count) for count, kind in lines}
    assert found == cells


def test_the_bridge_is_told_what_there_is():
    """The MMIO bridge gets a LaneMemory's parameters as text, and a pin for each of its signals."""
    memory = LaneMemory(PAGE, [0], "rom")
    assert memory.parameter("identity") == "identity,4096,1,ro"
    assert LaneMemory(0x80000, kind="ultra").parameter("uram") == "uram,524288,3,rw"
    pins = memory.pins("identity")
    assert len(pins) == 2 * LANES + 4
    assert pins["o_memory_identity_readRows_7"] is memory.read_rows[7]
    assert pins["i_memory_identity_readData"] is memory.read_data
