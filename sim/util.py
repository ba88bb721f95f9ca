# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""litepcie_util, or a program of yours, on a board that starts and ends with it.

python -m sim.util doctor                            any command, with its options
python -m sim.util --board "--link-width 4" doctor   on another board (board --help)
python -m sim.util ./program -n 100                  a path: called with -d DEVICE first
python -m sim.util software/examples/request.py      in Python, with lanebox_host
python -m sim.util ~/mine.c                          in C: compiled with liblitepcie and csr.h
python -m sim.util --running ~/crc/client.py         on the board that `make board` has started
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from sim import artefacts, examples, serve
from sim.board.process import BoardProcess
from sim.clients import programs
from sim.errors import SimError
from sim.examples import Occupant
from sim.rows.measure import Conditions


def command(words: list[str], headers: Path) -> tuple[list[str], list[str]]:
    """Return the command that starts the user's program, and the words that are its arguments.

    If the first word has a slash, it is the path of a program or of its source in C or Python. A C
    source is compiled first. Without a slash, litepcie_util gets all words.
    """
    if not words or "/" not in words[0]:
        return [str(artefacts.utility(headers))], words
    path = Path(words[0])
    if not path.is_file():
        raise SimError(f"there is no program {path}")
    if path.suffix == ".c":
        name = path.parent.name if path.stem == "client" else path.stem
        return [str(artefacts.program(path.resolve(), name, headers))], words[1:]
    interpreter = [sys.executable] if path.suffix == ".py" else []
    return [*interpreter, str(path.resolve())], words[1:]


def start(words: list[str], gateware: Path, socket: Path) -> int:
    """Run the program on the board that listens at `socket`. Return the program's exit status."""
    program, words = command(words, gateware / "include")
    places = programs.environment(gateware)
    return subprocess.run([*program, "-d", f"sim:{socket}", *words], env=places).returncode


def run(args: argparse.Namespace) -> int:
    """Run the user's program on a new board, or on the running one with --running.

    Returns the program's exit status.
    """
    if args.running:
        return start(args.words, serve.running(), serve.SOCKET)
    user = examples.find(args.example) if args.example else None
    user = Occupant("user", args.user) if args.user else user
    built = artefacts.build(Conditions().endpoint, user)
    options = [*Conditions().board_options(), *shlex.split(args.board)]
    with BoardProcess(built.board, options) as board:
        return start(args.words, built.gateware, board.socket)


def main() -> int:
    """Run litepcie_util or the user's program on a board, as the command line asks.

    Returns the exit status.
    """
    parser = argparse.ArgumentParser(
        prog="python -m sim.util",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--board", default="", metavar="OPTIONS", help="of the board, in one word")
    parser.add_argument("--running", action="store_true", help="on the board of `make board`")
    parser.add_argument("--example", metavar="NAME", help="in the user slot: a folder, or its name")
    parser.add_argument("--user", metavar="MODULE:CLASS", help="in the user slot (loopback)")
    parser.add_argument(
        "words",
        nargs=argparse.REMAINDER,
        help="a command of litepcie_util, or the path of a program",
    )
    args = parser.parse_args()
    try:
        return run(args)
    except (SimError, OSError, ValueError) as error:
        print(f"util: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
