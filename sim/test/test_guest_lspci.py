# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What lspci, a reader that others wrote, makes of the card as the guest's kernel has set it up.

The guest hands over the raw configuration space, lspci decodes it here. The checked-in expectation
holds the statements that must be there; releases of lspci lay out the rest differently.
"""

import re
import subprocess
from pathlib import Path

import pytest

from sim.guest import run

pytestmark = pytest.mark.guest

EXPECTED = Path(__file__).with_name("lspci.txt")
CARD = "$(ls -d /sys/bus/pci/drivers/litepcie/0000:*)"


def decoded(config: bytes, tmp_path: Path) -> str:
    """`lspci -vvv` of one device with this configuration space."""
    lines = [config[at : at + 16].hex(" ") for at in range(0, len(config), 16)]
    rows = [f"{at * 16:03x}: {line}" for at, line in enumerate(lines)]
    dump = tmp_path / "config.txt"
    dump.write_text("\n".join(["01:00.0 Memory controller: card", *rows, ""]))
    command = ["lspci", "-nvvv", "-F", dump]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_lspci_shows_what_silicon_would_show(start_board, gateware, tmp_path):
    """A Gen3 x8 endpoint with power management, MSI and error reporting, and nothing besides."""
    guest = run.prepare(headers=gateware / "include")
    with start_board("--rules", "warn") as board:
        result = run.run_guest(board.socket, [f"cat {CARD}/config >/out/config"], guest=guest)
    assert result.rc == 0, result.console
    shown = decoded(result.files["config"], tmp_path)
    expected = EXPECTED.read_text().splitlines()
    assert [line for line in expected if line not in shown] == [], shown
    capabilities = re.findall(r"^\tCapabilities: (\[\S+)", shown, re.MULTILINE)
    assert capabilities == re.findall(r"^Capabilities: (\[\S+)", "\n".join(expected), re.MULTILINE)
