# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""lspci, an independent decoder, agrees with the card as the guest's kernel has set it up.

The guest hands over the raw configuration space, and lspci decodes it on the host. lspci.txt has
the lines that must appear. Releases of lspci print other lines differently: 3.13 knows more of
AER's bits than 3.9, and spreads them over several lines. Bits that only one release knows must be
clear.
"""

import re
import subprocess
from pathlib import Path

import pytest

from sim.guest import run

EXPECTED = Path(__file__).with_name("lspci.txt")
CARD = "$(ls -d /sys/bus/pci/drivers/litepcie/0000:*)"


def decoded(config: bytes, tmp_path: Path) -> str:
    """Return the output of `lspci -vvv` for a device with the configuration space `config`."""
    lines = [config[at : at + 16].hex(" ") for at in range(0, len(config), 16)]
    rows = [f"{at * 16:03x}: {line}" for at, line in enumerate(lines)]
    dump = tmp_path / "config.txt"
    dump.write_text("\n".join(["01:00.0 Memory controller: card", *rows, ""]))
    command = ["lspci", "-nvvv", "-F", dump]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def registers(shown: str) -> str:
    """Return lspci's output with each register of configuration space on one line. lspci itself
    breaks long registers into lines that it indents by three tabs."""
    return re.sub(r"\n\t{3}(?=(?:\w+[-+] ?)+$)", " ", shown, flags=re.MULTILINE)


def stated(line: str, shown: str) -> bool:
    """Return whether lspci printed this line. A register of AER may have more flags than the line,
    if those flags are clear."""
    more = r"(?: \w+-)*$" if re.match(r"[UC]E(?:Sta|Svrt):", line) else ""
    return bool(re.search(re.escape(line) + more, shown, re.MULTILINE))


@pytest.mark.guest
def test_lspci_shows_what_silicon_would_show(start_board, gateware, tmp_path):
    """lspci shows a Gen3 x8 endpoint that has exactly the capabilities of lspci.txt. Power
    management, MSI and AER are among them."""
    guest = run.prepare(headers=gateware / "include")
    with start_board("--rules", "warn") as board:
        result = run.run_guest(board.socket, [f"cat {CARD}/config >/out/config"], guest=guest)
    assert result.rc == 0, result.console
    shown = registers(decoded(result.files["config"], tmp_path))
    expected = EXPECTED.read_text().splitlines()
    assert [line for line in expected if not stated(line, shown)] == [], shown
    capabilities = re.findall(r"^\tCapabilities: (\[\S+)", shown, re.MULTILINE)
    assert capabilities == re.findall(r"^Capabilities: (\[\S+)", "\n".join(expected), re.MULTILINE)


AER = "UESvrt:\tDLP+ SDES+ TLP- FCP+ CmpltTO- CmpltAbrt- UnxCmplt- RxOF+ MalfTLP+"
OLD = f"\t\t{AER} ECRC- UnsupReq- ACSViol-\n\t\tCESta:\tRxErr-\n"
NEW = f"""\t\t{AER}
\t\t\tECRC- UnsupReq- ACSViol- UncorrIntErr- BlockedTLP- AtomicOpBlocked- TLPBlockedErr-
\t\t\tPoisonTLPBlocked- DMWrReqBlocked- IDECheck- MisIDETLP- PCRC_CHECK- TLPXlatBlocked-
\t\tCESta:\tRxErr- CorrIntErr-
"""


@pytest.mark.parametrize("release", [OLD, NEW], ids=["3.9", "3.13"])
def test_every_bit_counts_in_both_releases_of_lspci(release):
    """A wrong bit of AER is noticed in the output of lspci 3.9 and of 3.13, also a bit that only
    3.13 knows."""
    expected = f"{AER} ECRC- UnsupReq- ACSViol-"
    assert stated(expected, registers(release)) and stated("CESta:\tRxErr-", registers(release))
    for flag in re.finditer(r"\w+([-+])(?=\s)", release):
        other = "-" if flag[1] == "+" else "+"
        changed = registers(release[: flag.start(1)] + other + release[flag.end(1) :])
        lines = (expected, "CESta:\tRxErr-")
        assert not all(stated(line, changed) for line in lines), flag[0]
