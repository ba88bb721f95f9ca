# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs formatters and linters over what git tracks, and checks house rules that no linter knows.

`python -m tools.lint --fix` corrects what a program can correct. Exit status 1: something is left.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from tools import commits
from tools.verilog import spinal_build

ROOT = Path(__file__).resolve().parents[1]
C_SUFFIXES = {".cpp", ".hpp"}
HEADED_SUFFIXES = {".py", ".c", ".h", ".cpp", ".hpp", ".sv", ".v", ".scala", ".sh"}
HEADER = ("This file is part of Lanebox.", "Copyright (c)", "SPDX-License-Identifier:")
HEADER_WITHIN = 5  # The licence header must be in this many first lines. A #! may come before it.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def main() -> int:
    """Run all linters and formatters. Return 1 if one of them found something, otherwise 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fix", action="store_true", help="rewrite what can be mended")
    fix = parser.parse_args().fix
    files = tracked()
    failed = [check_headers(files), check_words(files), bool(commits.main([]))]
    failed.append(run(["ruff", "check", *(["--fix"] if fix else []), "."]))
    failed.append(run(["ruff", "format", *([] if fix else ["--diff", "--quiet"]), "."]))
    failed.append(run(["mypy", "--no-error-summary"]))
    style = [] if fix else ["--dry-run", "--Werror"]
    sources = [str(p) for p in files if p.suffix in C_SUFFIXES]
    failed.append(bool(sources) and run(["clang-format", "-i", *style, *sources]))
    failed.append(check_scala([p for p in files if p.suffix == ".scala"], fix))
    return int(any(failed))


def tracked() -> list[Path]:
    """Return the files that git tracks, or would add: new ones that are not ignored."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = (Path(line) for line in listing.stdout.splitlines())
    return [path for path in paths if (ROOT / path).is_file()]


def run(command: list[str]) -> bool:
    """Run a program of .venv in the repository's root. Return True if the program failed."""
    tool = Path(sys.executable).with_name(command[0])
    return subprocess.run([tool, *command[1:]], cwd=ROOT).returncode != 0


def check_scala(files: list[Path], fix: bool) -> bool:
    """Check that the Scala sources are as scalafmt writes them. With `fix`, rewrite them.

    Returns True if scalafmt found something that it has not rewritten.
    """
    try:
        command = spinal_build.formatter()
    except RuntimeError as error:
        print(f"scalafmt: {error}")
        return True
    mode = [] if fix else ["--test"]
    command += [*mode, *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stdout + done.stderr).splitlines()
        print("\n".join(line for line in lines if line and not line.startswith("Looking for")))
    return done.returncode != 0


def check_headers(files: list[Path]) -> bool:
    """Check that every source file begins with project, copyright and licence.

    Returns True if a file does not.
    """
    failed = False
    for path in files:
        if path.suffix not in HEADED_SUFFIXES:
            continue
        head = "\n".join((ROOT / path).read_text().splitlines()[:HEADER_WITHIN])
        if not all(part in head for part in HEADER):
            print(f"{path}:1: the three-line header is missing (see LICENSE and any other file)")
            failed = True
    return failed


def check_words(files: list[Path]) -> bool:
    """Check that no source file has a mark of unfinished work, such as those in UNFINISHED.

    Returns True if a file has one.
    """
    failed = False
    for path in files:
        if path.suffix not in HEADED_SUFFIXES:
            continue
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
            if UNFINISHED.search(line):
                print(f"{path}:{number}: finish it or say it in the documentation: {line.strip()}")
                failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
