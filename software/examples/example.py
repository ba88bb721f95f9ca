# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Define the options and the error message that the Python examples share.

Exit status of each example: 0 success, 1 something failed (a message on
standard error says what), 2 wrong usage, 130 after Ctrl-C.
"""

import argparse
import sys
from pathlib import Path


def options(text: str) -> argparse.ArgumentParser:
    """Return a parser of the command line with the option -d.

    The first line of `text` is the description of the program in its help.
    """
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument(
        "-d",
        "--device",
        metavar="DEVICE",
        default="/dev/litepcie0",
        help="/dev/litepcieN, vfio:ADDRESS or sim:SOCKET (%(default)s)",
    )
    return parser


def count(text: str) -> int:
    """Parse the value of an option of the command line, a number from 1 on."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: it must be 1 or more")
    return int(text)


def fail(sentence: object) -> None:
    sys.exit(f"{Path(sys.argv[0]).stem}: {sentence}")


def run(program, parser: argparse.ArgumentParser) -> None:
    """Parse the command line and call `program` with the arguments.

    An OSError ends the program with a message and exit status 1. Ctrl-C ends it
    with exit status 130.
    """
    args = parser.parse_args()
    try:
        program(args)
    except OSError as error:  # LaneboxError is an OSError, too
        fail(error)
    except KeyboardInterrupt:
        sys.exit(130)
