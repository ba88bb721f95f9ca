# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Prints or runs the longer tests that a change asks for. (`make soak` runs all longer tests.)

A campaign is a group of test files; of these the tests marked soak are run. A table says for each
folder of the repository which campaigns test it. Changes are counted since the commit that the
variable CI_BASE names, else since the newest commit that is more than four hours older than HEAD.
Without such a commit every campaign is asked for.

`--minutes N` bounds a run. A campaign is left out if it would end too late by the minutes that the
table states for it. The campaigns left out are named at the end. All others run in the order of the
table.
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
HELPERS = ROOT / "tools" / "testing"  # the folder of helpers that tests of several folders import
AGE = 4 * 3600  # HEAD is compared with a commit that is at least this many seconds older.


def test_files(pattern: str) -> list[Path]:
    """Return the files in the folders of tests, like sim/test, whose names match the pattern."""
    folders = [folder for folder in sorted(ROOT.glob("*/test")) if folder.parent.name != "build"]
    return [path for folder in (*folders, HELPERS) for path in sorted(folder.rglob(pattern))]


@dataclass(frozen=True)
class Campaign:
    """Test files whose soak tests are run together, and the minutes they need on two idle cores.

    The minutes are estimates. A run prints how long each campaign took, so that they can be
    corrected.
    """

    minutes: float
    names: tuple[str, ...]

    def files(self) -> list[str]:
        """Return the campaign's test files, relative to the repository's root.

        An entry of `names` may be a pattern.
        """
        found = [file for name in self.names for file in test_files(name + ".py")]
        return sorted(str(path.relative_to(ROOT)) for path in found)


CAMPAIGNS = {
    "driver": Campaign(12, ("test_guest_driver_*", "test_live_guest")),
    "library": Campaign(9, ("test_user_*",)),
    "calls": Campaign(1, ("test_software_library",)),
    "planted": Campaign(7, ("test_planted_faults",)),
    # The tests of this campaign are skipped unless SOAK is `kernels` or `full`.
    "kernels": Campaign(0.2, ("test_guest_built",)),
    "models": Campaign(6, ("test_differential",)),
    "faults": Campaign(1.5, ("test_fault_campaign",)),
    "commands": Campaign(10, ("test_commands_campaign",)),
    "hosts": Campaign(1, ("test_root_campaign",)),
    "sockets": Campaign(2, ("test_board_fuzz",)),
    "endpoints": Campaign(4, ("test_comp*", "test_endpoint_msix", "test_front_ends")),
    "utility": Campaign(3, ("test_util_*",)),
    "stock": Campaign(2, ("test_sim_guest",)),
    "cost": Campaign(4, ("test_host", "test_fio")),
    "rows": Campaign(1, ("test_streams",)),
    "captures": Campaign(6, ("test_capture_play", "test_sensor_example")),
    "python": Campaign(1.5, ("test_python_host", "test_guest_example")),
    "readme": Campaign(6, ("test_readme",)),
    "hour": Campaign(5, ("test_first_hour", "test_check")),
    # CI leaves this campaign out, since it takes three hours, and says so.
    "long": Campaign(180, ("test_long_*",)),
    "proofs": Campaign(6, ("test_formal",)),
    "netlist": Campaign(11, ("test_synthesis", "test_silicon", "test_ku5p_probe")),
    "programming": Campaign(2, ("test_flash", "test_programming")),
    "power": Campaign(1.5, ("test_power", "test_board_flash", "test_guest_card")),
    "virtio": Campaign(
        41,
        (
            "test_guest_virtio*",
            "test_guest_net",
            "test_guest_packed",
            "test_virtio*",
            "test_wire_passt",
        ),
    ),
    "capture": Campaign(
        45,
        ("test_capture_campaign", "test_capture_line", "test_capture_both", "test_capture_host"),
    ),
    "mistakes": Campaign(30, ("test_capture_faults",)),
    "wiresharks": Campaign(12, ("test_wireshark",)),
}

GATEWARE = ("faults", "hosts", "models", "endpoints", "driver", "proofs", "netlist", "stock")
BOARD = ("hosts", "faults", "sockets", "models", "endpoints", "driver", "stock")
GUEST = ("driver", "library", "utility", "stock", "cost", "kernels", "python")
NOTHING_LONGER = ()
# With TESTS as its row, a file of tests asks for the campaigns that it, or a test importing it,
# belongs to.
TESTS = None

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
    "examples/list_sum": NOTHING_LONGER,
    "examples/scale": NOTHING_LONGER,
    "examples/sensor": NOTHING_LONGER,
    "examples/spinal_scale": NOTHING_LONGER,
    "examples/spinal_whiten": ("hour",),
    "examples/test": TESTS,
    "examples/whiten": ("hour",),
    "bringup": ("programming", "netlist"),
    "bringup/jtag": ("programming", "netlist"),
    "bringup/test": TESTS,
    "firmware": ("power",),
    "firmware/test": TESTS,
    "gateware": GATEWARE,
    # Only builds with --capture, --card or --virtio have these blocks.
    "gateware/capture": ("capture", "mistakes", "wiresharks"),
    "gateware/capture/player": ("captures", "mistakes"),
    "gateware/capture/queues": ("mistakes",),
    "gateware/card": ("power",),
    "gateware/port": ("virtio",),
    "gateware/virtio": ("virtio",),
    "gateware/completer": GATEWARE,
    "gateware/endpoint": GATEWARE,
    "gateware/interrupt": GATEWARE,
    "gateware/project": GATEWARE,
    "gateware/requester": GATEWARE,
    "gateware/test": TESTS,
    "gateware/test/formal": ("proofs",),
    "gateware/vocabulary": GATEWARE,
    "gateware/dma": GATEWARE,
    "gateware/mmio": GATEWARE,
    "gateware/observe": GATEWARE,
    "gateware/phy": GATEWARE,
    "gateware/user": ("library", "endpoints", "netlist", "commands"),
    "sim": ("readme", "cost", "stock", "rows"),
    "sim/board": BOARD,
    "sim/block": ("hour",),
    "sim/clients": ("sockets", "rows", "hour"),
    "sim/clients/line": ("virtio",),
    "sim/differential": ("models",),
    "sim/guest": GUEST,
    "sim/report": NOTHING_LONGER,
    "sim/rows": ("readme", "cost", "stock", "rows"),
    "sim/rows/capture": ("readme", "cost", "stock", "rows", "capture"),
    "sim/rows/virtio": ("readme", "cost", "stock", "rows", "virtio"),
    "sim/test": TESTS,
    "sim/trace": NOTHING_LONGER,
    "software": NOTHING_LONGER,
    "software/examples": NOTHING_LONGER,
    "software/Makefile": ("library", "utility", "python", "driver", "cost"),
    "software/kernel": (
        "driver",
        "planted",
        "kernels",
        "library",
        "utility",
        "stock",
        "cost",
        "long",
    ),
    "software/kernel/virtio": ("driver", "planted", "virtio"),
    "software/liblitepcie": ("library", "calls", "planted", "utility", "python", "driver", "cost"),
    "software/liblitepcie/man": ("utility",),
    "software/python": ("python",),
    "software/test": TESTS,
    "software/tools": ("planted", "utility"),
    "software/tools/lanebox_capture": ("planted", "capture", "captures", "wiresharks"),
    "software/uapi": ("driver", "kernels", "library", "utility", "stock", "cost", "long"),
    "targets": ("programming", "netlist", "endpoints"),
    "targets/test": TESTS,
    "tools": NOTHING_LONGER,
    "tools/synthesis": ("netlist", "proofs"),
    "tools/test": TESTS,
    "tools/testing": TESTS,
    "tools/vivado": ("programming", "netlist"),
    "tools/verilog": GATEWARE,
}


# What changed -------------------------------------------------------------------------------------


def git(*arguments: str) -> str:
    """Return what a git command prints. Raises CalledProcessError if git fails."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def aged(log: str) -> str | None:
    """Return the newest commit that is more than AGE seconds older than HEAD.

    Returns None if no commit is so old. `log` has lines "hash seconds", the first of which is HEAD.
    """
    commits = [line.split() for line in log.splitlines()]
    latest = int(commits[0][1]) - AGE
    older = [(int(when), name) for name, when in commits if int(when) < latest]
    return max(older)[1] if older else None


def base() -> tuple[str | None, str]:
    """Return the commit with which HEAD is compared, and a text that says why.

    None instead of a commit means that every file counts as changed.
    """
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


def is_known(file: str) -> bool:
    """Return whether a row of TABLE covers the file."""
    try:
        return bool(row(file))
    except KeyError:
        return False


def changed(commit: str | None) -> list[str]:
    """Return the files that differ between `commit` and HEAD.

    If `commit` is None, these are all tracked files. A file that was moved counts at both places.
    Its old folder may no longer have a row in the table. Then the old place is left out, and the
    new place asks for the campaigns.
    """
    if commit is None:
        return git("ls-files").splitlines()
    files = git("diff", "--name-only", "--no-renames", commit, "HEAD").splitlines()
    return [file for file in files if is_known(file) or (ROOT / file).exists()]


# What that asks for -------------------------------------------------------------------------------


def row(file: str) -> str:
    """Return the path of the table's row that a file belongs to.

    Raises KeyError if no row covers the file.
    """
    parts = Path(file).parts
    for length in range(len(parts), 0, -1):
        path = "/".join(parts[:length])
        if path in TABLE:
            return path
    raise KeyError(f"{file}: tools/campaigns.py has no row for it")


def importers(file: str) -> set[str]:
    """Return a test file or helper, and all tests that import it or name it, also indirectly."""
    path = ROOT / file
    sources = {test: test.read_text() for test in test_files("*.py")}
    reached, new = set(), {path}
    while new:
        reached |= new
        words = [
            rf"^\s*(?:from|import) (?:[\w.]+\.)?{each.stem}\b"
            if each.suffix == ".py"
            else re.escape(each.name)
            for each in new
        ]
        pattern = re.compile("|".join(words), re.MULTILINE)
        new = {test for test, text in sources.items() if pattern.search(text)} - reached
    return {str(each.relative_to(ROOT)) for each in reached}


def asked_for(file: str) -> list[str]:
    """Return the names of the campaigns that a change of this file asks for."""
    names = TABLE[row(file)]
    if names is not TESTS:
        return list(names)
    reached = importers(file)
    return [name for name, campaign in CAMPAIGNS.items() if reached.intersection(campaign.files())]


def choose(files: list[str]) -> dict[str, list[str]]:
    """Return the campaigns that these changed files ask for, each with the rows of TABLE that ask
    for it.
    """
    reasons: dict[str, list[str]] = {}
    for file in files:
        for name in asked_for(file):
            place = file if TABLE[row(file)] is TESTS else row(file)
            if place not in reasons.setdefault(name, []):
                reasons[name].append(place)
    return {name: reasons[name] for name in CAMPAIGNS if name in reasons}


# Command line -------------------------------------------------------------------------------------


def plan(commit: str | None, words: str) -> dict[str, list[str]]:
    """Choose the campaigns, and print each with its minutes and the rows that ask for it.

    `words` says since when changes count. Returns the campaigns with their rows.
    """
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
    """Run the campaigns that fit into `minutes`, one after the other.

    Returns 0 if all of them passed, otherwise 1.
    """
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
    print(
        f"campaigns: {len(names) - len(left_out)} run, {len(left_out)} left out, "
        f"failed: {', '.join(failed) or 'none'}"
    )
    return 1 if failed else 0


def main(argv: list[str] | None = None) -> int:
    """Print, and with --run carry out, the campaigns that the changes ask for.

    Returns the exit status.
    """
    parser = argparse.ArgumentParser(
        prog="python3 tools/campaigns.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", action="store_true", help="run them, not only say which and why")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="the time there is")
    options = parser.parse_args(argv)
    chosen = plan(*base())
    return carry_out(list(chosen), options.minutes) if options.run else 0


if __name__ == "__main__":
    sys.exit(main())
