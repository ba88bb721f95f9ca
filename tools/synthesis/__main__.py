# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Area and depth of one SpinalHDL component by itself, or of any Verilog.

python -m tools.synthesis Completer ports=2 windows=...   generated with these parameters
python -m tools.synthesis --top NAME FILE...              Verilog as it is

Ports count as beginnings and ends of paths. Results stay in build/synthesis/<name>.
"""

import argparse
import sys
from pathlib import Path

from tools.synthesis import report
from tools.synthesis.yosys import Design, find_yosys
from tools.verilog.spinal_build import BUILD, generate
from tools.words import pair


def parse_arguments():
    """Parse the command line and return its options."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.synthesis",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--top", metavar="NAME", help="the words are Verilog files; their top")
    parser.add_argument(
        "--blocks", nargs="*", default=[], metavar="MODULE", help="modules to be told by themselves"
    )
    parser.add_argument("--paths", type=int, default=8, metavar="N", help="how many (default: 8)")
    parser.add_argument("words", nargs="+", help="a component and its parameters, or files")
    return parser.parse_args()


def repeated(words):
    """Return `name=value` words as a dictionary of parameters, each with a list of its values."""
    parameters = {}
    for word in words:
        name, value = pair(word)
        parameters.setdefault(name, []).append(value)
    return parameters


def make_design(arguments):
    """Return the design that the command line names: a SpinalHDL component, or a Verilog module."""
    if arguments.top:
        return Design(arguments.top, arguments.words, blocks=arguments.blocks, pads=False)
    component, *words = arguments.words
    verilog = generate(component, **repeated(words))
    data = sorted(verilog.parent.glob("*.bin"))
    return Design(verilog.stem, [verilog, *data], blocks=arguments.blocks, pads=False)


def main():
    """Synthesise the design and print its table. Return 1 if the report has problems.

    If the synthesis fails, the program ends with a sentence.
    """
    arguments = parse_arguments()
    try:
        design = make_design(arguments)
        result = report.analyse(design, Path(BUILD) / "synthesis" / design.top, find_yosys())
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"python -m tools.synthesis: {error}")
    print(report.table(result, count=arguments.paths))
    return int(bool(result.problems))


if __name__ == "__main__":
    sys.exit(main())
