# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Finds what each memory of a design became, and whether that was meant.

A memory may become block RAM, UltraRAM, LUTRAM, registers or logic.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tools.synthesis import primitives

# The kind of memory that each value of (* ram_style *) asks for, from the manual of Vivado's
# synthesis (UG901).
ULTRA = "ultra"
STYLES = {"block": "bram", ULTRA: "uram", "distributed": "lutram", "registers": "registers"}

# A writable memory of up to this many bits may become registers: a LUTRAM would not be smaller.
FEW_BITS = 128


@dataclass
class Memory:
    """A memory of the design: its path, the width of a word in bits, and the number of words."""

    path: str
    width: int
    size: int
    style: str  # the value of the memory's attribute ram_style; "" if it has none
    writable: bool
    initialised: bool
    became: dict  # How many primitives the memory became in the netlist, by kind of primitive.

    @property
    def bits(self):
        """Return the memory's size in bits."""
        return self.width * self.size

    @property
    def kind(self):
        """Return what the memory became: bram, uram, lutram or registers.

        A memory that is never written may also become "logic".
        """
        for kind, names in (
            ("uram", primitives.URAM),
            ("bram", primitives.BRAM36),
            ("lutram", primitives.LUTRAM_LUTS),
        ):
            if any(name in names for name in self.became):
                return kind
        return "registers" if self.writable else "logic"

    @property
    def problem(self):
        """Return a sentence if the memory did not become what was meant, otherwise None."""
        what = f"{self.path} ({self.size} x {self.width} bit)"
        if self.style == ULTRA and self.initialised:
            return f"{what}: UltraRAM has no initial contents, and this memory has some"
        if self.style and self.kind not in ("logic", STYLES.get(self.style, self.kind)):
            return f"{what}: (* ram_style = {self.style!r} *) became {self.kind}"
        if self.kind == "registers" and self.bits > FEW_BITS:
            return f"{what}: became registers; its ports fit no RAM of this family"
        return None


def _number(text):
    return int(text, 2)


def _instances(modules, blocks, top):
    """Return the instance paths of each module that is not flattened: the top and the counted
    blocks.
    """
    paths = {top: [""]}
    open_ = [top]
    while open_:
        module = open_.pop()
        for name, cell in modules.get(module, {"cells": {}})["cells"].items():
            if cell["type"] in blocks:
                found = [f"{path}{name}." for path in paths[module]]
                paths.setdefault(cell["type"], []).extend(found)
                open_.append(cell["type"])
    return paths


def _load(filename):
    return json.loads(Path(filename).read_text())["modules"]


def block_paths(folder, blocks, top):
    """Return the instance path of each block, without a dot at the end of the path."""
    paths = _instances(_load(Path(folder) / "memories.json"), blocks, top)
    return [path[:-1] for module in blocks for path in paths.get(module, [])]


def memories(folder, blocks, top, netlist):
    """Return every memory of the design as its source has it, with what it became in `netlist`."""
    modules = _load(Path(folder) / "memories.json")
    leftover = _load(Path(folder) / "leftover.json")
    found = []
    for module, paths in _instances(modules, blocks, top).items():
        for name, cell in modules.get(module, {"cells": {}})["cells"].items():
            if cell["type"] != "$mem_v2":
                continue
            parameters = cell["parameters"]
            left = name in leftover.get(module, {"cells": {}})["cells"]
            for path in paths:
                found.append(
                    Memory(
                        path=path + name,
                        width=_number(parameters["WIDTH"]),
                        size=_number(parameters["SIZE"]),
                        style=_style(cell["attributes"]),
                        writable=_number(parameters["WR_PORTS"]) > 0,
                        initialised=set(parameters["INIT"]) & {"0", "1"} != set(),
                        became={} if left else _primitives(netlist, path + name),
                    )
                )
    return found


def _style(attributes):
    wish = attributes.get("ram_style", attributes.get("ramstyle", ""))
    return wish.strip().lower() if isinstance(wish, str) else ""


def _primitives(netlist, path):
    """Return how many primitives of each kind the memory at `path` became.

    Yosys' memory_libmap names its cells <memory>.<copy>.<part>. Where a part has a primitive for
    each bit, as in single-port LUTRAM, the names have further words.
    """
    name = re.compile(re.escape(path) + r"(\.\d+)+(\.|$)")
    return dict(Counter(cell.kind for cell in netlist.cells if name.match(cell.name)))
