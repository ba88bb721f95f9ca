# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""python -m sim.report: write build/report.html again from the results on file, traces included."""

import sys

from sim import artefacts
from sim.errors import SimError
from sim.measure import Conditions
from sim.report.page import write
from sim.report.record import record


def main() -> int:
    try:
        built = artefacts.build(Conditions().endpoint)
        recording = record(built.board, artefacts.utility(built.headers), Conditions())
    except SimError as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    print(write(recording))
    return 0


if __name__ == "__main__":
    sys.exit(main())
