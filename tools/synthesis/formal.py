# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Proves properties of modules of the generated Verilog, by Yosys' own SAT solver.

A property is SystemVerilog that is inserted before the module's `endmodule`, so it sees all signals
inside the module. It assumes what the surroundings do and asserts what the module does. The proof
is by induction over a few cycles, so it holds for all time after the reset. A proof is repeated
only if module, property or Yosys change.
"""

import hashlib
import re
import shutil
from pathlib import Path

from tools.synthesis.yosys import run_bounded

# A proof may take this many seconds of processor time. Most take a few, those with memories about
# thirty.
SECONDS = 400


class Refuted(RuntimeError):
    """Yosys found the property false, or could not prove it by induction.

    The message ends with Yosys' log.
    """


def bound(verilog, module, property):
    """Return the text of `module` alone from this Verilog, with the assertions of `property`
    inserted.
    """
    found = re.search(rf"^module {module} ?\(.*?^endmodule", verilog, re.MULTILINE | re.DOTALL)
    if not found:
        raise ValueError(f"there is no module {module} in this Verilog")
    return found.group(0).removesuffix("endmodule") + property + "endmodule\n"


def flatten(verilog, module, folder, yosys):
    """Return the text of `module` with all its instances inlined.

    Signal `a` of instance `b` becomes `\\b.a `.
    """
    work = Path(folder)
    work.mkdir(parents=True, exist_ok=True)
    (work / "whole.v").write_text(verilog)
    commands = [
        "read_verilog whole.v",
        f"hierarchy -top {module}",
        "proc",
        "flatten",
        "opt_clean",
        "write_verilog -noattr flat.v",
    ]
    run_bounded(yosys, ["-q", "-p", "; ".join(commands)], work, SECONDS).check_returncode()
    return (work / "flat.v").read_text()


def script(module, cycles):
    """Return the script by which Yosys proves the module's assertions by induction.

    The induction goes over `cycles` clock cycles.
    """
    return (
        "\n".join(
            [
                "read_verilog -sv -formal bound.sv",
                f"prep -top {module} -flatten",
                "memory_map",
                "async2sync",
                "chformal -lower",
                "opt -full",
                "sat -verify -tempinduct -prove-asserts -set-assumes -seq 1 "
                f"-maxsteps {cycles} {module}",
            ]
        )
        + "\n"
    )


def prove(verilog, module, property, cycles, folder, yosys):
    """Prove `property` of `module` in a folder below `folder`. Return True if it is proven now.

    Returns False if it was proven before. Raises Refuted if induction over this many `cycles` does
    not prove the property.
    """
    text = bound(verilog, module, property)
    commands = script(module, cycles)
    key = hashlib.sha256("\0".join([yosys.version, commands, text]).encode()).hexdigest()
    work = Path(folder) / f"{module}-{key[:12]}"
    if (work / "proven").exists():
        return False
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "bound.sv").write_text(text)
    (work / "proof.ys").write_text(commands)
    done = run_bounded(yosys, ["-q", "-l", "log", "proof.ys"], work, SECONDS)
    log = (work / "log").read_text() if (work / "log").exists() else done.stdout
    if done.returncode:
        end = "\n".join(log.splitlines()[-40:])
        raise Refuted(f"{module}: the property does not hold, see {work / 'log'}\n{end}")
    if "Induction step proven: SUCCESS!" not in log:
        raise RuntimeError(f"{module}: Yosys proved nothing, see {work / 'log'}")
    (work / "proven").write_text("")
    return True
