# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Build or run the cocotb simulation; executed by the environment's own Python.

    cocotb_simulate.py build DIRECTORY SOURCE...
    cocotb_simulate.py test DIRECTORY RUN_DIRECTORY

The run directory has the memory images; the test module's parameters are in the environment.
"""

import os
import sys
from pathlib import Path

try:
    from cocotb_tools.runner import get_runner  # cocotb 2 has get_runner() in this module.
except ImportError:
    from cocotb.runner import get_runner  # cocotb 1.9 has get_runner() in this module.

TOP, MODULE = "lanebox", "sim.differential.cocotb_card"
FLAGS = [
    "-O3",
    "-Wno-fatal",
    "-Wno-WIDTH",
    "-Wno-lint",
    "-Wno-style",
    "--no-timing",
    "--noassert",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
]


def main() -> int:
    """Build or run the cocotb simulation, as the command line says. Return the exit status."""
    action, directory, *rest = sys.argv[1:]
    if action == "build":
        get_runner("verilator").build(
            sources=rest,
            hdl_toplevel=TOP,
            build_dir=directory,
            build_args=FLAGS,
            timescale=("1ns", "1ps"),
        )
    else:
        test(get_runner("verilator"), directory, Path(rest[0]))
    return 0


def test(runner, directory: str, run_directory: Path) -> None:
    """Run the cocotb test on the simulation that was built in `directory`."""
    # cocotb's runner hands this process' sys.path to the simulation.
    sys.path[0] = os.environ["LANEBOX_ROOT"]
    runner.test(
        hdl_toplevel=TOP,
        hdl_toplevel_lang="verilog",
        test_module=MODULE,
        build_dir=directory,
        test_dir=run_directory,
        results_xml=str(run_directory / "results.xml"),
    )


if __name__ == "__main__":
    sys.exit(main())
