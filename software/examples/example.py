# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the examples share: options, and an error message at the end.

Exit status 0: all went well, 1: something failed, 2: usage.
"""

import argparse
import sys
from pathlib import Path


def options(text: str) -> argparse.ArgumentParser:
    """Make a parser with the option -d. The first line of the text becomes its
    description.
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
    """Parse an option's number, 1 or more."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: it must be 1 or more")
    return int(text)


def fail(sentence: object) -> None:
    sys.exit(f"{Path(sys.argv[0]).stem}: {sentence}")


def run(program, parser: argparse.ArgumentParser) -> None:
    """Call the program, and turn an error into a sentence and exit status 1."""
    args = parser.parse_args()
    try:
        program(args)
    except OSError as error:  # errors of the card are OSErrors, too
        fail(error)
    except KeyboardInterrupt:
        sys.exit(130)
