# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Synthesises a board's gateware by Yosys, and writes the report."""

from tools.synthesis import report
from tools.synthesis.gateware import make_design, own_rows
from tools.synthesis.yosys import find_yosys


def synthesise(board, output):
    """Map the gateware in the folder `output`, write report.json there, and print its table.

    Return a list with a sentence for each problem.
    """
    found = report.analyse(make_design(output), output / "synthesis", find_yosys())
    clocks = {
        clock: "pcie" if clock.startswith(("pcie", "sys")) else clock
        for clock, paths in found.paths.items()
        if paths[0].levels
    }
    rows = [*report.part_rows(found, board.part, clocks), *own_rows(found)]
    report.write(found, rows, output / "report.json")
    print(report.table(found, board.part))
    wrong = list(found.problems)
    worst = found.deepest()
    if worst and worst.levels > report.TOO_DEEP:
        wrong.append(
            f"{worst.start} -> {worst.end}: {worst.levels} LUT levels, and "
            f"{report.TOO_DEEP} are the most at {board.clock / 1e6:.0f} MHz"
        )
    return wrong
