# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""python -m sim.report: write build/report.html again from the stored results and traces."""

import sys

from sim import artefacts
from sim.errors import SimError
from sim.report.page import write
from sim.report.record import record
from sim.rows.measure import Conditions


def main() -> int:
    """Record the TLP traces that the page shows, and write the page. Return the exit status."""
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
