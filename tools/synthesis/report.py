# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Makes the report of a synthesis: primitives by block, deepest paths by clock, problems.

A problem is a sentence about something that is never intended: a latch, a net without a driver, a
memory that became something else. Rows have the fields of those in build/results.json.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.synthesis import memories
from tools.synthesis.depth import Timing
from tools.synthesis.netlist import Netlist, latches, usage
from tools.synthesis.yosys import findings, synthesise

SCHEMA = 1
PATHS = 10  # This many paths of each clock are written to report.json.

# Limits in LUT levels at 250 MHz. Levels are counted as for known designs with 9 and 12 levels that
# run at this frequency on this family.
DEEP = 8  # A path with more LUT levels than this should be looked at.
TOO_DEEP = 10  # A build that has a path with more LUT levels than this is refused.

# The number of LUTs, RAMB36 and URAM288 of each part (DS922).
PARTS = {
    "xcku5p": {"lut": 216960, "bram": 480, "uram": 64},
    "xcku3p": {"lut": 162720, "bram": 360, "uram": 48},
}


@dataclass
class Report:
    """The result of a synthesis: primitives by block, paths by clock, and problems."""

    yosys: str
    blocks: dict  # Usage by instance path. The path "" has the cells that are in no block.
    paths: dict  # the paths of each clock, the deepest first
    histogram: dict  # for each clock a dictionary {LUT levels: number of path ends}
    memories: list
    problems: list

    def total(self, what, blocks=None):
        """Return the sum of one field of Usage over all blocks, or over the blocks in `blocks`."""
        return sum(
            getattr(used, what)
            for block, used in self.blocks.items()
            if blocks is None or block in blocks
        )

    def deepest(self, clock=None, blocks=None):
        """Return the deepest path of `clock` that begins or ends in `blocks`.

        `clock` None means any clock, and `blocks` None any block. Returns None if no path is found.
        """
        inside = tuple(f"{block}." for block in blocks) if blocks is not None else ("",)
        found = [
            path
            for name, paths in self.paths.items()
            if clock in (None, name)
            for path in paths
            if path.start.startswith(inside) or path.end.startswith(inside)
        ]
        return max(found, key=lambda path: path.levels, default=None)


def analyse(design, folder, yosys):
    """Synthesise `design` in `folder`, unless that was done before, and return the report."""
    folder = Path(folder)
    synthesise(design, folder, yosys)
    netlist = Netlist.load(folder / "flat.json", design.top)
    paths, histogram = Timing(netlist).paths()
    inferred = memories.memories(folder, design.blocks, design.top, netlist)
    return Report(
        yosys=yosys.version,
        blocks=usage(netlist, memories.block_paths(folder, design.blocks, design.top)),
        paths=paths,
        histogram=histogram,
        memories=inferred,
        problems=[
            *(f"{name}: a latch" for name in latches(netlist)),
            *findings(folder),
            *(memory.problem for memory in inferred if memory.problem),
        ],
    )


# Rows ---------------------------------------------------------------------------------------------


def row(id, value, unit, limit, binds, share=False, **more):
    """Return a row as in results.json.

    `ratio` is limit / value; with `share` it is value / limit.
    """
    ratio = (value / limit if share else limit / value) if value and limit else None
    return {
        "id": id,
        "value": value,
        "unit": unit,
        "limit": limit,
        "binds": binds,
        "ratio": ratio,
        **more,
    }


def depth_row(id, path, **more):
    """Return a row with the LUT levels of a path and the names of its two ends."""
    return row(
        id,
        path.levels,
        "levels",
        DEEP,
        "250 MHz",
        conditions={"from": path.start, "to": path.end, "clock": path.clock},
        **more,
    )


def part_rows(report, part, clocks):
    """Return the rows of a whole design: area/{lut,bram,uram} of the part, and depth/<name> by
    clock.

    `clocks` maps each clock that gets a row to its short name.
    """
    used = {
        "lut": report.total("lut") + report.total("lutram"),
        "bram": report.total("bram"),
        "uram": report.total("uram"),
    }
    rows = [
        row(f"area/{what}", value, what.upper(), PARTS[part][what], part, share=True)
        for what, value in used.items()
    ]
    for clock, name in clocks.items():
        path = report.deepest(clock)
        if path is not None:
            rows.append(depth_row(f"depth/{name}", path))
    return rows


def block_rows(report, name, budget, blocks=None, prefix=""):
    """Return the rows of some blocks: area/<name>/<field> and depth/<name>.

    `budget` has a limit for each field of Usage that gets a row; a limit may be None. The depth is
    that of all paths that begin or end in the blocks.
    """
    rows = [
        row(
            f"{prefix}area/{name}/{what}",
            report.total(what, blocks),
            what.upper(),
            limit,
            limit and "budget",
        )
        for what, limit in budget.items()
    ]
    return [*rows, depth_row(f"{prefix}depth/{name}", report.deepest(blocks=blocks))]


def compare(ours, peers):
    """Return `ours`, with `vs` set to ours / theirs in each row that `peers` has too.

    Two rows belong together if their ids are the same after the first slash.
    """
    values = {entry["id"].partition("/")[2]: entry["value"] for entry in peers}
    for entry in ours:
        if values.get(entry["id"]):
            entry["vs"] = entry["value"] / values[entry["id"]]
    return ours


# Output -------------------------------------------------------------------------------------------


def write(report, rows, filename):
    """Write report.json: the rows as in results.json, and all data from which they were made."""
    document = {
        "schema": SCHEMA,
        "results": rows,
        "problems": report.problems,
        "yosys": report.yosys,
        "blocks": {block or "(rest)": asdict(used) for block, used in report.blocks.items()},
        "paths": {
            clock: [asdict(path) for path in paths[:PATHS]] for clock, paths in report.paths.items()
        },
        "levels": report.histogram,
        "memories": [{**asdict(memory), "kind": memory.kind} for memory in report.memories],
    }
    Path(filename).parent.mkdir(parents=True, exist_ok=True)
    Path(filename).write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")


FIELDS = ("lut", "lutram", "ff", "carry", "bram", "uram", "dsp")


def _block_lines(report, totals):
    lines = [f"{'':28}" + "".join(f"{field.upper():>9}" for field in FIELDS)]
    for block, used in report.blocks.items():
        lines.append(
            f"{block or '(rest)':28}" + "".join(f"{getattr(used, field):>9g}" for field in FIELDS)
        )
    lines.append(f"{'all':28}" + "".join(f"{report.total(field):>9g}" for field in FIELDS))
    if totals:
        shares = {what: report.total(what) / total for what, total in totals.items()}
        shares["lut"] += report.total("lutram") / totals["lut"]
        lines.append(
            f"{'of the part':28}"
            + "".join(
                f"{shares[field]:>9.1%}" if field in shares else f"{'':9}" for field in FIELDS
            )
        )
    return lines


def _path_lines(report, count):
    lines = []
    for clock, paths in report.paths.items():
        if not paths or not paths[0].levels:
            continue
        lines += ["", f"deepest paths of {clock}, in LUT levels:"]
        for path in paths[:count]:
            more = f"  ({path.alike} alike)" if path.alike > 1 else ""
            lines.append(f"{path.levels:4}  {path.start} -> {path.end}{more}")
    return lines


def table(report, part=None, count=4):
    """Return the synthesis report for a terminal. Its share of LUTs includes LUTRAM."""
    lines = _block_lines(report, PARTS.get(part)) + _path_lines(report, count)
    if report.problems:
        lines += ["", "problems:", *(f"  {problem}" for problem in report.problems)]
    return "\n".join(lines)
