# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Makes the identifier text of the gateware from the board's name and the sources alone. It has no
date, path or user, so the same sources give the same text everywhere."""

from pathlib import Path

from tools.verilog.sources import source_digest, source_files

ROOT         = Path(__file__).resolve().parents[2]
DIGEST_SHOWN = 12

def gateware_digest(occupant_sources):
    """Returns the SHA-256, in hexadecimal, over the sources of the gateware, of the programs in
    tools/verilog that make Verilog of it, and of the user logic."""
    return source_digest(source_files(ROOT/"gateware"), source_files(ROOT/"tools"/"verilog"),
        occupant_sources)

def identifier(board, occupant_sources):
    """Returns the text of the card's identifier memory, for the board called `board` and the user
    logic with the sources `occupant_sources`."""
    return f"Lanebox {board} {gateware_digest(occupant_sources)[:DIGEST_SHOWN]}"
