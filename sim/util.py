# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""litepcie_util on a board of its own, which starts and ends with it.

python -m sim.util doctor                     any command, with its options
python -m sim.util --board "--link-width 4" doctor    on another board (board --help)
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys

from sim import artefacts
from sim.board.process import BoardProcess
from sim.errors import SimError
from sim.measure import Conditions


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m sim.util", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--board", default="", metavar="OPTIONS", help="of the board, in one word")
    parser.add_argument("words", nargs=argparse.REMAINDER, help="of litepcie_util")
    args = parser.parse_args()
    try:
        built = artefacts.build(Conditions().endpoint)
        util = artefacts.utility(built.headers)
        options = [*Conditions().board_options(), *shlex.split(args.board)]
        with BoardProcess(built.board, options) as board:
            return subprocess.run([util, "-d", f"sim:{board.socket}", *args.words]).returncode
    except SimError as error:
        print(f"util: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
