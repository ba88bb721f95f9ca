# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Build or run the cocotb simulation of a block; executed by cocotb's own Python.

    simulate.py build DIRECTORY SOURCE...
    simulate.py test DIRECTORY RUN_DIRECTORY TEST_FILE...

If $LANEBOX_WAVES is set, the simulation is able to trace, and a test writes RUN_DIRECTORY/dump.fst.
"""

import os
import sys
from pathlib import Path

try:
    from cocotb_tools.runner import get_runner  # cocotb 2 has get_runner() in this module.
except ImportError:
    from cocotb.runner import get_runner  # cocotb 1.9 has get_runner() in this module.

ROOT = Path(__file__).resolve().parents[2]
TOP = "block"
FLAGS = [
    "-Wno-fatal",
    "-Wno-lint",
    "-Wno-style",
    "-Wwarn-WIDTH",
    "--no-timing",
    "--noassert",
    "--x-assign",
    "unique",
    "--x-initial",
    "unique",
]
WAVES = "LANEBOX_WAVES" in os.environ
TRACE = ["--trace-fst", "--trace-structs"] if WAVES else []


def build(directory: str, *sources: str) -> None:
    """Verilate the block's Verilog sources into the folder `directory`."""
    get_runner("verilator").build(
        sources=sources,
        hdl_toplevel=TOP,
        build_dir=directory,
        build_args=[*FLAGS, *TRACE],
        timescale=("1ns", "1ps"),
        waves=WAVES,
    )


def test(directory: str, run_directory: str, *files: str) -> None:
    """Run the cocotb tests in `files` on the simulation that was built in `directory`."""
    folders = dict.fromkeys(str(Path(file).parent) for file in files)
    # cocotb's runner hands this process' sys.path to the simulation.
    sys.path[:1] = [str(ROOT), *folders]
    get_runner("verilator").test(
        hdl_toplevel=TOP,
        hdl_toplevel_lang="verilog",
        build_dir=directory,
        test_module=[Path(file).stem for file in files],
        test_dir=run_directory,
        results_xml=str(Path(run_directory, "results.xml")),
        waves=WAVES,
    )


if __name__ == "__main__":
    {"build": build, "test": test}[sys.argv[1]](*sys.argv[2:])
