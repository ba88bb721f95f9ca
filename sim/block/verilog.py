# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Verilog of user logic by itself, as a module `block` that cocotb can drive.

Its ports are `clk`, `reset`, `sink_*`, `source_*`, `irq` and `busy`. Each register has ports for
software's accesses: `user_NAME_data` (written value), `user_NAME_write` and `user_NAME_read`
(strobes, a bit for each 32-bit word), and `user_NAME_value`. An AXI4 bus of the logic gets none."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from litex.gen import LiteXContext, LiteXModule
from litex.soc.interconnect.csr import CSR
from migen import Cat, ClockDomain, Signal

from gateware.user.slot import check_built, find_occupant, make_occupant
from tools.verilog.litex_verilog import simulation_verilog

TOP = "block"
WORD = 32  # bits of a word on the bus of the registers (CSR bus)


class Region:
    """Stands for LiteX's register region in check_built() of the user slot.

    It has only the attribute that check_built() reads."""

    def __init__(self, registers):
        self.obj = registers


class Block(LiteXModule):
    """The user logic as a top module.

    It has ports in place of the slot's streams and of software's register accesses."""

    def __init__(self, occupant):
        self.occupant = occupant
        self.cd_sys = ClockDomain("sys")
        self.ports = {}

        # # #

        self.comb += [
            self.cd_sys.clk.eq(self.port("clk", 1)),
            self.cd_sys.rst.eq(self.port("reset", 1)),
            self.port("irq", 1).eq(occupant.irq),
            self.port("busy", 1).eq(occupant.busy),
        ]
        for name in ("sink", "source"):
            self.add_stream(name, getattr(occupant, name))
        for register in occupant.get_csrs():
            self.add_register(register)

    def port(self, name, width):
        """Return a new signal of `width` bits that becomes a port of the Verilog module, called
        `name`."""
        self.ports[name] = Signal(width, name_override=name)
        return self.ports[name]

    def add_stream(self, name, stream):
        """Add the ports of a stream.

        They are inputs for `sink` and outputs for `source`; `ready` has the opposite direction."""
        fields = {
            "valid": stream.valid,
            "ready": stream.ready,
            "last": stream.last,
            **{field[0]: getattr(stream, field[0]) for field in stream.description.payload_layout},
        }
        for field, signal in fields.items():
            port = self.port(f"{name}_{field}", len(signal))
            driven = (name == "sink") != (field == "ready")
            self.comb += signal.eq(port) if driven else port.eq(signal)

    def add_register(self, register):
        """Add the ports of a register, which is split into 32-bit words as LiteX's CSR bank does
        it."""
        if isinstance(register, CSR):
            words = [register]
        else:
            register.finalize(WORD, "big")
            words = register.get_simple_csrs()
            self.submodules += register
        words = words[::-1]
        data, value = (
            self.port(f"user_{register.name}_{end}", register.size) for end in ("data", "value")
        )
        write, read = (
            self.port(f"user_{register.name}_{end}", len(words)) for end in ("write", "read")
        )
        self.comb += [
            Cat(*[word.r for word in words]).eq(data),
            Cat(*[word.re for word in words]).eq(write),
            Cat(*[word.we for word in words]).eq(read),
            value.eq(Cat(*[word.w for word in words])),
        ]


def write(user: str, folder: Path) -> None:
    """Write block.v, its memories' contents, sources.txt and ports.txt into `folder`.

    `user` is MODULE:CLASS or FILE:CLASS of the logic. sources.txt lists the Verilog files,
    ports.txt the names of the ports."""
    platform = importlib.import_module("targets.sim_platform").Platform()
    occupant = make_occupant(find_occupant(user), platform)
    registers = occupant.get_csrs()
    block = Block(occupant)
    LiteXContext.top = block
    with simulation_verilog():
        converted = platform.get_verilog(block, ios=set(block.ports.values()), name=TOP)
    check_built(occupant, {"user": Region(registers)} if registers else {})
    folder.mkdir(parents=True, exist_ok=True)
    lines = converted.main_source.splitlines(keepends=True)
    # LiteX writes a date into the Verilog's comments, so the comments are left out.
    undated = [line for line in lines if not line.startswith("//")]
    (folder / f"{TOP}.v").write_text("".join(undated))
    for name, content in converted.data_files.items():
        (folder / name).write_text(content)
    sources = [str(folder / f"{TOP}.v"), *(source[0] for source in platform.sources)]
    (folder / "sources.txt").write_text("\n".join(sources) + "\n")
    (folder / "ports.txt").write_text("\n".join(block.ports) + "\n")


def main() -> None:
    """Write the Verilog of a user's logic, with plain ports, to the folder that the command line
    names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("user", metavar="MODULE:CLASS")
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    try:
        write(args.user, args.folder)
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
