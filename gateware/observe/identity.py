# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The identifier text of the gateware. It depends on the sources alone.

The same sources give the same text on every machine and at any time: it has no date, path or user.
"""

from pathlib import Path

from tools.verilog.sources import source_digest, source_files

ROOT         = Path(__file__).resolve().parents[2]
DIGEST_SHOWN = 12

def gateware_digest(occupant_sources):
    """The SHA-256, in hexadecimal, over the sources of the gateware, of the programs that make
    Verilog of it, and of the user logic.
    """
    return source_digest(source_files(ROOT/"gateware"), source_files(ROOT/"tools"/"verilog"),
        occupant_sources)

def identifier(target, occupant_sources):
    """The text of the card's identifier memory, for the target (board) called `target` and the user
    logic with these sources.
    """
    return f"Lanebox {target} {gateware_digest(occupant_sources)[:DIGEST_SHOWN]}"
