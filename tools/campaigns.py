# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Which longer tests (`make soak` runs all of them) a change asks for; prints them, or runs them.

A campaign is a group of test files, of which the tests marked soak are run. A table says for each
folder of the repository which campaigns test it. Changes are counted since the commit that the
variable CI_BASE names, else since the newest commit that is more than four hours older than HEAD.
Without such a commit every campaign is asked for.

`--minutes N` bounds a run. A campaign is left out if it would end too late by the minutes that the
table states for it; the campaigns left out are named at the end. They run in the table's order.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIM_TESTS, UNIT_TESTS = "sim/test", "test"
AGE = 4 * 3600  # seconds between HEAD and the commit that it is compared with


@dataclass(frozen=True)
class Campaign:
    """Test files whose soak tests belong together, and the minutes they need on two idle cores.

    The minutes are estimates; a run prints how long each campaign took, to correct them by.
    """

    minutes: float
    folder: str
    names: tuple[str, ...]

    def files(self) -> list[str]:
        """The test files, relative to the root of the repository; a name may be a pattern."""
        found = [path for name in self.names for path in (ROOT / self.folder).glob(name + ".py")]
        return sorted(str(path.relative_to(ROOT)) for path in found)


CAMPAIGNS = {
    "driver": Campaign(12, SIM_TESTS, ("test_guest_driver_*", "test_live_guest")),
    "library": Campaign(9, SIM_TESTS, ("test_user_*",)),
    "kernels": Campaign(0.2, SIM_TESTS, ("test_guest_built",)),  # skipped without SOAK=kernels
    "models": Campaign(6, SIM_TESTS, ("test_differential",)),
    "faults": Campaign(1.5, SIM_TESTS, ("test_fault_campaign",)),
    "hosts": Campaign(1, SIM_TESTS, ("test_root_campaign",)),
    "sockets": Campaign(2, SIM_TESTS, ("test_board_fuzz",)),
    "endpoints": Campaign(4, SIM_TESTS, ("test_comp*", "test_endpoint_msix", "test_front_ends")),
    "utility": Campaign(3, SIM_TESTS, ("test_util_*",)),
    "stock": Campaign(2, SIM_TESTS, ("test_sim_guest",)),
    "cost": Campaign(4, SIM_TESTS, ("test_host", "test_guest_fio")),
    "rows": Campaign(1, SIM_TESTS, ("test_streams",)),
    "python": Campaign(1.5, SIM_TESTS, ("test_python_host", "test_guest_example")),
    "readme": Campaign(6, SIM_TESTS, ("test_readme",)),
    "hour": Campaign(5, SIM_TESTS, ("test_first_hour", "test_check")),
    "long": Campaign(90, SIM_TESTS, ("test_long_runs",)),  # CI leaves it out, and says so
    "proofs": Campaign(3, UNIT_TESTS, ("test_formal",)),
    "netlist": Campaign(5, UNIT_TESTS, ("test_synthesis", "test_silicon", "test_ku5p_probe")),
    "programming": Campaign(2, UNIT_TESTS, ("test_flash", "test_programming")),
}

GATEWARE = ("faults", "hosts", "models", "endpoints", "driver", "proofs", "netlist", "stock")
BOARD = ("hosts", "faults", "sockets", "models", "endpoints", "driver", "stock")
GUEST = ("driver", "library", "utility", "stock", "cost", "kernels", "python")
NOTHING_LONGER = ()
TESTS = None  # for a file of tests: the campaigns that it, or a test importing it, belongs to

# A changed file belongs to the row with the longest path that the file's path begins with.
TABLE = {
    ".ci": NOTHING_LONGER,
    ".clang-format": NOTHING_LONGER,
    ".gitignore": NOTHING_LONGER,
    "CHANGELOG.md": NOTHING_LONGER,
    "LICENSE": NOTHING_LONGER,
    "Makefile": ("readme",),
    "README.md": ("readme",),
    "conftest.py": NOTHING_LONGER,
    "pyproject.toml": NOTHING_LONGER,
    "setup.py": ("python",),
    "examples": ("hour",),
    "examples/scale": NOTHING_LONGER,
    "examples/spinal_scale": NOTHING_LONGER,
    "examples/spinal_whiten": ("hour",),
    "examples/whiten": ("hour",),
    "gateware": GATEWARE,
    "gateware/dma": GATEWARE,
    "gateware/jtag": ("programming", "netlist"),
    "gateware/mmio": GATEWARE,
    "gateware/pcie": GATEWARE,
    "gateware/phy": GATEWARE,
    "gateware/spinal": GATEWARE,
    "gateware/synthesis": ("netlist", "proofs"),
    "gateware/user": ("library", "endpoints", "netlist"),
    "sim": ("readme", "cost", "stock", "rows"),
    "sim/board": BOARD,
    "sim/block": ("hour",),
    "sim/differential": ("models",),
    "sim/guest": GUEST,
    "sim/report": NOTHING_LONGER,
    "sim/test": TESTS,
    "sim/trace": NOTHING_LONGER,
    "software": NOTHING_LONGER,
    "software/examples": NOTHING_LONGER,
    "software/kernel": ("driver", "kernels", "library", "utility", "stock", "cost", "long"),
    "software/python": ("python",),
    "software/user": ("library", "utility", "python", "driver", "cost"),
    "software/user/litepcie_util": ("utility",),
    "software/user/man": ("utility",),
    "targets": ("programming", "netlist", "endpoints"),
    "test": TESTS,
    "test/formal": ("proofs",),
    "tools": NOTHING_LONGER,
}


# What changed -------------------------------------------------------------------------------------


def git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def aged(log: str) -> str | None:
    """The newest commit more than AGE older than HEAD; None if there is none.

    `log`: lines "hash seconds", the first of which is HEAD.
    """
    commits = [line.split() for line in log.splitlines()]
    latest = int(commits[0][1]) - AGE
    older = [(int(when), name) for name, when in commits if int(when) < latest]
    return max(older)[1] if older else None


def base() -> tuple[str | None, str]:
    """The commit that HEAD is compared with, and a text that says why. None: all has changed."""
    named = os.environ.get("CI_BASE")
    if named:
        try:
            return git("rev-parse", "--verify", "--quiet", f"{named}^{{commit}}").strip(), (
                f"since {named}, which CI_BASE names"
            )
        except subprocess.CalledProcessError:
            return None, f"everything: CI_BASE names {named}, which is no commit here"
    commit = aged(git("log", "--format=%H %ct"))
    if commit is None:
        return None, "everything: no commit is more than four hours older than HEAD"
    return commit, f"since {commit[:10]}, the newest commit more than four hours older than HEAD"


def changed(commit: str | None) -> list[str]:
    """The files that differ between `commit` and HEAD; all tracked files if it is None."""
    if commit is None:
        return git("ls-files").splitlines()
    return git("diff", "--name-only", "--no-renames", commit, "HEAD").splitlines()


# What that asks for -------------------------------------------------------------------------------


def row(file: str) -> str:
    """The path of the table's row that a file belongs to; KeyError if there is none."""
    parts = Path(file).parts
    for length in range(len(parts), 0, -1):
        path = "/".join(parts[:length])
        if path in TABLE:
            return path
    raise KeyError(f"{file}: tools/campaigns.py has no row for it")


def importers(file: str) -> set[str]:
    """A file among the tests, and all tests that import or name it, directly or indirectly."""
    path = ROOT / file
    sources = {test: test.read_text() for test in path.parent.glob("*.py")}
    reached, new = set(), {path}
    while new:
        reached |= new
        words = [
            rf"^\s*(?:from|import) {each.stem}\b" if each.suffix == ".py" else re.escape(each.name)
            for each in new
        ]
        pattern = re.compile("|".join(words), re.MULTILINE)
        new = {test for test, text in sources.items() if pattern.search(text)} - reached
    return {str(each.relative_to(ROOT)) for each in reached}


def asked_for(file: str) -> list[str]:
    """The campaigns that a change of this file asks for."""
    names = TABLE[row(file)]
    if names is not TESTS:
        return list(names)
    reached = importers(file)
    return [name for name, campaign in CAMPAIGNS.items() if reached.intersection(campaign.files())]


def choose(files: list[str]) -> dict[str, list[str]]:
    """The campaigns for these files, in CAMPAIGNS' order, each with the rows that ask for it."""
    reasons: dict[str, list[str]] = {}
    for file in files:
        for name in asked_for(file):
            place = file if TABLE[row(file)] is TESTS else row(file)
            if place not in reasons.setdefault(name, []):
                reasons[name].append(place)
    return {name: reasons[name] for name in CAMPAIGNS if name in reasons}


# Command line -------------------------------------------------------------------------------------


def plan(commit: str | None, words: str) -> dict[str, list[str]]:
    """Choose the campaigns, and print each with its minutes and the rows that ask for it."""
    chosen = choose(changed(commit))
    print(f"changed: {words}")
    for name, places in chosen.items():
        more = f" and {len(places) - 3} more" if len(places) > 3 else ""
        why = ", ".join(places[:3]) + more
        print(f"  {name:12} {CAMPAIGNS[name].minutes:4g} min  for {why}")
    if not chosen:
        print("  no campaign: nothing that changed asks for one")
    return chosen


def carry_out(names: list[str], minutes: float) -> int:
    """Run the campaigns that fit into `minutes`, one after the other; 0 if all that ran passed."""
    started, left_out, failed = time.monotonic(), [], []
    for name in names:
        spent = (time.monotonic() - started) / 60
        if spent + CAMPAIGNS[name].minutes > minutes:
            left_out.append(name)
            continue
        print(f"campaign {name}, stated {CAMPAIGNS[name].minutes:g} min:", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-m", "soak", "--durations=3"]
        begun = time.monotonic()
        status = subprocess.run([*command, *CAMPAIGNS[name].files()], cwd=ROOT).returncode
        print(f"campaign {name} took {(time.monotonic() - begun) / 60:.1f} min", flush=True)
        if status:
            failed.append(name)
    if left_out:
        print(f"left out, they do not fit into {minutes:g} min: {', '.join(left_out)}")
    print(f"campaigns: {len(names) - len(left_out)} run, {len(left_out)} left out, "
          f"failed: {', '.join(failed) or 'none'}")  # fmt: skip
    return 1 if failed else 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python3 tools/campaigns.py", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--run", action="store_true", help="run them, not only say which and why")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="the time there is")
    options = parser.parse_args(argv)
    chosen = plan(*base())
    return carry_out(list(chosen), options.minutes) if options.run else 0


if __name__ == "__main__":
    sys.exit(main())
