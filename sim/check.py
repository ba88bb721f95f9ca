# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""make test EXAMPLE=...: an example's own tests, then its clients on a board.

test_*.py in the example's folder are cocotb tests of its logic alone (sim/block/bench.py). Its
client.c and client.py run on the whole card. Exit status: 0 ok, 1 failed, 2 usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
import time

from sim import artefacts, examples
from sim.block import run as block
from sim.board.process import BoardProcess
from sim.clients import programs
from sim.endpoints import DEFAULT
from sim.errors import SimError, TestFailed
from sim.rows.measure import Conditions


def on_the_block(example: examples.Example, seed: int, waves: bool = False) -> int:
    """Run the example's cocotb tests and return their number. Raise TestFailed if any failed.

    Raises ValueError if `waves` are wanted and the example has no tests.
    """
    if not example.tests:
        if waves:
            raise ValueError(
                f"{example.folder} has no test_*.py whose waves WAVES=1 could record. "
                "`make board EXAMPLE=... WAVES=1` records those of the whole card"
            )
        return 0
    found = block.test(example, seed, waves)
    for each in found:
        print(f"{each.name}: {'failed' if each.problem else 'ok'}", flush=True)
    if waves:
        print(f"waves of these tests: {block.waves_of(example)}", flush=True)
    failed = [each for each in found if each.problem]
    if failed:
        texts = [f"{each.name}\n{each.problem}" for each in failed]
        many = f"{len(failed)} of {len(found)} tests of {example.folder} failed, with seed {seed}:"
        raise TestFailed("\n".join([many, *texts]))
    return len(found)


def on_the_board(example: examples.Example) -> int:
    """Run the example's C and Python clients on a new board and return how many ran.

    Raises TestFailed if a client ends with an error.
    """
    built = artefacts.build(DEFAULT, example)
    with BoardProcess(built.board, Conditions().board_options()) as board:
        return programs.run(example, built, f"sim:{board.socket}")


def run(args: argparse.Namespace) -> int:
    """Run an example's cocotb tests, then its clients on a board. Return the exit status, 0.

    Raises TestFailed if a test or a client failed, or if the example has neither.
    """
    example = examples.find(args.example)
    started = time.monotonic()
    tests = on_the_block(example, args.seed, args.waves)
    programs = on_the_board(example)
    if not tests + programs:
        raise TestFailed(
            f"{example.folder} has nothing that could be run: no test_*.py, client.c or client.py. "
            "`make new` writes a folder with all of them"
        )
    print(f"{tests} tests and {programs} clients passed in {time.monotonic() - started:.0f} s")
    return 0


def main() -> int:
    """Run the example's tests and clients as the command line asks. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m sim.check", description=__doc__.split("\n")[0])
    parser.add_argument("--example", required=True, metavar="NAME", help="a folder, or its name")
    parser.add_argument("--seed", type=int, default=1, help="of everything random (1)")
    parser.add_argument("--waves", action="store_true", help="record the tests' waves as FST")
    args = parser.parse_args()
    try:
        return run(args)
    except ValueError as error:
        print(f"test: {error}", file=sys.stderr)
        return 2
    except SimError as error:
        print(f"test: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
