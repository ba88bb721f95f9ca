# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reads a trace of TLPs that the board has recorded (`--tlp-log FILE.pcapng`).

python -m sim.trace FILE                          what was in it: counts, times, latencies
python -m sim.trace FILE --text                   a line for each TLP
python -m sim.trace FILE --perfetto -o FILE.json  a timeline for ui.perfetto.dev
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from sim.errors import SimError
from sim.trace import perfetto, summary, text
from sim.trace.tlp import Tlp, load

FORMS = {"summary": summary.write, "text": text.write, "perfetto": perfetto.write}


def parse() -> argparse.Namespace:
    """Parse the command line and return its options."""
    parser = argparse.ArgumentParser(
        prog="python -m sim.trace",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("file", type=Path, help="a trace in pcapng")
    forms = parser.add_mutually_exclusive_group()
    for form in FORMS:
        forms.add_argument(f"--{form}", dest="form", action="store_const", const=form)
    add("-o", "--output", type=Path, help="a file, instead of standard output")
    add("--from", dest="first", type=int, default=0, metavar="NS", help="leave out what was before")
    add("--to", dest="last", type=int, metavar="NS", help="leave out what was after")
    parser.set_defaults(form="summary")
    return parser.parse_args()


def window(tlps: Iterator[Tlp], first: int, last: int | None) -> Iterator[Tlp]:
    """Yield the TLPs from `first` to `last`, both in ns of device time.

    If `last` is None, the window has no end.
    """
    return (t for t in tlps if t.ns >= first and (last is None or t.ns <= last))


@contextlib.contextmanager
def opened(path: Path | None) -> Iterator[TextIO]:
    """Open the output: the file `path`, or standard output if `path` is None.

    A failure leaves no partial file.
    """
    if path is None:
        yield sys.stdout
        return
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "w") as file:
            yield file
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)


def main() -> int:
    """Read the trace and write it in the form that the command line asks for.

    Returns the exit status.
    """
    args = parse()
    try:
        with opened(args.output) as out:
            FORMS[args.form](window(load(args.file), args.first, args.last), out)
    except BrokenPipeError:
        # If stderr stayed open, the interpreter would print a second error about the closed pipe.
        sys.stderr.close()
        return 0
    except (SimError, OSError) as error:
        print(f"trace: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
