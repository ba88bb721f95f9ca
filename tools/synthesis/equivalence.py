# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Proves that two files of Verilog describe the same hardware, module by module.

    python -m tools.synthesis.equivalence BEFORE.v AFTER.v [OLD=NEW ...] [--pass-over MODULE ...]

Use it after a change that gives the sources another shape and must leave the hardware as it was.
`OLD=NEW` says that the signal or instance OLD of BEFORE is called NEW in AFTER.

The two top modules are a pair. Two instances with the same name, one in each module of a pair, make
their modules a pair as well. In each module, registers, memories and instances are taken out:
what they drive becomes an input, and what drives them becomes an output. Combinational logic is
left. Yosys' SAT solver then proves for each output of AFTER that it equals the output of BEFORE
with the same name, for all values of the inputs. Registers are matched bit by bit, by name or by
the logic in front of them. Their reset is part of that logic, so the two modules do the same in
every cycle after a reset.

BEFORE may have a register, an output or an instance that AFTER has not. It is listed as gone. The
proof then shows that nothing that is left depends on it. An undefined constant counts as 0 on both
sides.
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

from tools.synthesis.cut import REGISTER, Cones, Cut, cut, data_of, register_bits, substitute
from tools.synthesis.yosys import find_yosys, run_bounded
from tools.words import pair

# A proof may take this many seconds of processor time. A module of 256 bits takes a few.
SECONDS = 600
# Matches registers that have no name in SpinalHDL, which numbers such signals.
NUMBERED = re.compile(rf"{REGISTER}_zz_\d+\[\d+\]")
READ = "read_verilog {name}.v; hierarchy -auto-top; proc; opt_expr; memory_collect; dffunmap; "
READ += "opt_expr -full; opt_clean; setundef -zero; write_json {name}.json"
PROVE = "read_json before.json; read_json after.json; "
PROVE += "miter -equiv -flatten -make_outcmp before after miter; hierarchy -top miter; simplemap; "
PROVE += "opt -full; sat -verify -prove trigger 0 -show-outputs miter"
# Matches a line of the solver's counterexample that names an output which differs between the two
# sides.
DIFFERS = re.compile(r"^ *\\cmp_o(\d+) +0 ", re.MULTILINE)
SHOWN = 8


class Different(RuntimeError):
    """Raised if the hardware differs, or if its parts cannot be matched.

    The message names the module.
    """


def run(yosys, commands, folder):
    """Run Yosys commands in `folder`. Return the exit status and the output.

    Without Yosys' option -q the output has the solver's counterexample.
    """
    done = run_bounded(yosys, ["-p", commands], folder, SECONDS)
    return done.returncode, done.stdout


def read(verilog, name, folder, yosys):
    """Read a Verilog file with Yosys.

    Returns the netlists of its modules, and the top module's name.
    """
    (Path(folder) / f"{name}.v").write_text(Path(verilog).read_text())
    status, log = run(yosys, READ.format(name=name), folder)
    if status:
        raise Different(f"{verilog}: Yosys cannot read it:\n{log}")
    modules = json.loads((Path(folder) / f"{name}.json").read_text())["modules"]
    top = next(each for each, module in modules.items() if module["attributes"].get("top"))
    return modules, top


def as_module(part, inputs, outputs):
    """Return a netlist of `part` for Yosys, as a module with numbered ports.

    The ports i0, i1 ... are the bits named in `inputs`, and o0, o1 ... those named in `outputs`. A
    name that `part` lacks becomes an input that drives nothing. A net with several names among the
    inputs is one input: the first name drives it.
    """
    spare = max((bit for bit in all_bits(part) if isinstance(bit, int)), default=1) + 1
    ports, taken = {}, set()
    for number, name in enumerate(inputs):
        bit = part.inputs.get(name)
        if bit is None or bit in taken:
            bit, spare = spare, spare + 1
        taken.add(bit)
        ports[f"i{number}"] = {"direction": "input", "bits": [bit]}
    for number, name in enumerate(outputs):
        ports[f"o{number}"] = {"direction": "output", "bits": [part.outputs[name]]}
    return {"attributes": {}, "ports": ports, "cells": part.cells, "netnames": {}}


def all_bits(part):
    """Yield all nets of this part of a netlist, some of them more than once."""
    yield from part.inputs.values()
    yield from part.outputs.values()
    for cell in part.cells.values():
        for bits in cell["connections"].values():
            yield from bits


def by_names(before, after):
    """Return pairs (net after, net before) of registers that share a name given in the sources.

    A name of a port is used only if no other name is shared: SpinalHDL also gives such names to
    stages of queues.
    """
    pairs = {}
    for bit, names in register_bits(after).items():
        shared = [n for n in names if n in before.inputs and not NUMBERED.fullmatch(n)]
        if shared:
            best = min(shared, key=lambda name: name.startswith(f"{REGISTER}io_"))
            pairs[bit] = before.inputs[best]
    return pairs


def by_logic(before, after, pairs):
    """Return `pairs` with added pairs of registers whose data is the same function of paired nets.

    This function only finds candidates: the solver proves each pair, however it was found.
    """
    plain = {name: name for name in after.inputs if not name.startswith(REGISTER)}
    old, new = Cones(before), Cones(after)
    old.learn({before.inputs[name]: name for name in plain if name in before.inputs})
    new.learn({after.inputs[name]: name for name in plain})
    old_bits, new_bits = register_bits(before), register_bits(after)
    while True:
        old.learn({theirs: f"pair {theirs}" for theirs in pairs.values()})
        new.learn({ours: f"pair {theirs}" for ours, theirs in pairs.items()})
        free = {}
        for bit, names in old_bits.items():
            if bit not in pairs.values():
                free.setdefault(old.digest(data_of(before, names)), bit)
        found = {}
        for bit, names in new_bits.items():
            digest = new.digest(data_of(after, names))
            if bit not in pairs and digest and digest in free:
                found[bit] = free.pop(digest)
        if not found:
            return pairs
        pairs.update(found)


def merge_copies(after, pairs):
    """Merge registers of `after` that are copies of the same register of `before`.

    The data of each copy is still proven, so that the copies are equal in every cycle.
    """
    first, same = {}, {}
    for ours, theirs in pairs.items():
        same[ours] = first.setdefault(theirs, ours)
    substitute(after, same)


def renamed_registers(before, chosen, pairs):
    """Return `before` with the names that its registers have in `after`, and without other names.

    `chosen` has the name of the net of each register of `after`. Copies have one net each.
    """
    part = Cut(before.cells, shapes=before.shapes, children=before.children)
    for name, bit in before.inputs.items():
        if not name.startswith(REGISTER):
            part.inputs[name] = bit
    for name, bit in before.outputs.items():
        if not name.startswith(REGISTER):
            part.outputs[name] = bit
    partners = {}
    for ours, theirs in pairs.items():
        partners.setdefault(theirs, []).append(chosen[ours])
    for bit, names in register_bits(before).items():
        for name in partners.get(bit, [f"{REGISTER}gone {names[0]}"]):
            part.inputs[name], part.outputs[name] = bit, data_of(before, names)
    return part


def inputs_of(before, after, registers):
    """Return the names of the inputs of the miter, the circuit that compares both sides.

    The matched registers and the inputs of `after` come first. Inputs that only `before` has
    follow. An input that only one side has may have any value.
    """
    plain = [each for each in after.inputs if not each.startswith(REGISTER)]
    first = sorted([*registers, *plain])
    held = {before.inputs[each] for each in first if each in before.inputs}
    rest = sorted(each for each in before.inputs if before.inputs[each] not in held)
    return first + rest


def compare(name, before, after, folder, yosys):
    """Prove that one pair of modules is equal.

    Returns how many bits were proven, and the names that only `before` has. Raises Different.
    """
    pairs = by_logic(before, after, by_names(before, after))
    for bit, names in register_bits(after).items():
        if bit not in pairs:
            raise Different(f"{name}: {names[0]} has no counterpart before the change")
    chosen = {bit: names[0] for bit, names in register_bits(after).items()}
    merge_copies(after, pairs)
    before = renamed_registers(before, chosen, pairs)
    registers = list(chosen.values())
    others = [each for each in after.outputs if not each.startswith(REGISTER)]
    outputs = sorted([*others, *registers])
    for each in outputs:
        if each not in before.outputs:
            raise Different(f"{name}: {each} did not exist before the change")
    for label, shape in after.shapes.items():
        if before.shapes.get(label) != shape:
            raise Different(f"{name}: {label} has another shape than before the change")
    inputs = inputs_of(before, after, registers)
    for side, part in (("before", before), ("after", after)):
        module = as_module(part, inputs, outputs)
        text = json.dumps({"modules": {side: module}})
        (Path(folder) / f"{side}.json").write_text(text)
    status, log = run(yosys, PROVE, folder)
    if status:
        differ = [outputs[int(number)] for number in DIFFERS.findall(log)]
        if not differ:
            raise RuntimeError(f"{name}: Yosys gave up:\n" + "\n".join(log.splitlines()[-30:]))
        more = f" and {len(differ) - SHOWN} more" if len(differ) > SHOWN else ""
        raise Different(f"{name}: the logic differs: {', '.join(differ[:SHOWN])}{more}")
    gone = {each.rpartition("[")[0] for each in before.outputs.keys() - after.outputs.keys()}
    return len(outputs), sorted(each.replace(f"{REGISTER}gone ", "") for each in gone)


def prove(before, after, renamed, yosys, tell=lambda line: None, passed_over=()):
    """Prove all pairs of modules of two files equal.

    Modules in `passed_over`, by their names in the second file, are left out. `tell` gets a line
    for each pair. Returns the number of proven bits by pair. Raises Different.
    """
    with tempfile.TemporaryDirectory() as folder:
        old, old_top = read(before, "before", folder, yosys)
        new, new_top = read(after, "after", folder, yosys)
        waiting, done = [(old_top, new_top)], {}
        while waiting:
            pair = waiting.pop(0)
            if pair in done:
                continue
            if pair[1] in passed_over:
                done[pair] = 0
                tell(f"{pair[1]}: not proven, as you asked")
                continue
            old_part = cut(old[pair[0]], old, renamed)
            new_part = cut(new[pair[1]], new, {})
            done[pair], gone = compare(pair[1], old_part, new_part, folder, yosys)
            tell(f"{pair[1]}: {done[pair]} bits are the same" + said(gone))
            for name, child in new_part.children.items():
                if name not in old_part.children:
                    raise Different(f"{pair[1]}: instance {name} did not exist before the change")
                waiting.append((old_part.children[name], child))
    return done


def said(gone):
    """Return the end of a sentence that names what only the old module has, or "" if there is
    nothing.
    """
    return f"; gone: {', '.join(gone)}" if gone else ""


def main():
    """Prove two files equal, as the command line says. Return 0 if all modules are proven."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.synthesis.equivalence",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("before", type=Path, help="Verilog of before the change")
    parser.add_argument("after", type=Path, help="Verilog of after it, with the same top module")
    parser.add_argument("names", nargs="*", metavar="OLD=NEW", help="a name that has changed")
    parser.add_argument(
        "--pass-over", nargs="*", default=[], metavar="MODULE", help="modules that may differ"
    )
    arguments = parser.parse_args()
    try:
        renamed = dict(map(pair, arguments.names))
        over = arguments.pass_over
        prove(arguments.before, arguments.after, renamed, find_yosys(), print, over)
    except ValueError:
        sys.exit("python -m tools.synthesis.equivalence: a changed name is written OLD=NEW")
    except (Different, RuntimeError, OSError) as error:
        sys.exit(f"python -m tools.synthesis.equivalence: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
