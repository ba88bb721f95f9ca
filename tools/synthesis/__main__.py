# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Area and depth of one SpinalHDL component by itself, or of any Verilog.

python -m lanebox.synthesis Completer ports=2 windows=...   generated with these parameters
python -m lanebox.synthesis --top NAME FILE...              Verilog as it is

Ports count as beginnings and ends of paths. Results stay in build/synthesis/<name>.
"""

import argparse
import sys
from pathlib import Path

from lanebox.spinal_build import BUILD, generate
from lanebox.synthesis import report
from lanebox.synthesis.yosys import Design, find_yosys


def parse_arguments():
    parser = argparse.ArgumentParser(prog="python -m lanebox.synthesis", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--top", metavar="NAME", help="the words are Verilog files; their top")
    parser.add_argument("--blocks", nargs="*", default=[], metavar="MODULE",
        help="modules to be told by themselves")
    parser.add_argument("--paths", type=int, default=8, metavar="N", help="how many (default: 8)")
    parser.add_argument("words", nargs="+", help="a component and its parameters, or files")
    return parser.parse_args()

def repeated(words):
    """`name=value` words as parameters. A name that comes several times has a list of its values.
    """
    parameters = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"{word} is not name=value")
        parameters.setdefault(name, []).append(value)
    return parameters

def make_design(arguments):
    if arguments.top:
        return Design(arguments.top, arguments.words, blocks=arguments.blocks, pads=False)
    component, *words = arguments.words
    verilog = generate(component, **repeated(words))
    data    = sorted(verilog.parent.glob("*.bin"))
    return Design(component, [verilog, *data], blocks=arguments.blocks, pads=False)

def main():
    arguments = parse_arguments()
    try:
        design = make_design(arguments)
        result = report.analyse(design, Path(BUILD)/"synthesis"/design.top, find_yosys())
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"python -m lanebox.synthesis: {error}")
    print(report.table(result, count=arguments.paths))
    return int(bool(result.problems))

if __name__ == "__main__":
    sys.exit(main())
