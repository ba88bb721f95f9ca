# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs lanebox-capture on a simulated card with the capture block, and reads what it has recorded.

Wireshark's programs read the recordings.
"""

import json
import re
import subprocess
from contextlib import contextmanager

from gateware.test.capture.test_capture_file import by_bytes, by_fields, run
from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.rows.measure import Conditions
from sim.test.card.test_board_capture import PORT_MASK, PORTS
from software.test.software_build import build_unchecked

PAGE = 4096  # bytes of the header of a pcapng file
SECONDS = 120  # seconds of wall time that a command may take
LOST = ("lost_ring", "lost_staging")


class Tool:
    """lanebox-capture with sanitizers, on one board. A finding of a sanitizer fails the test."""

    def __init__(self, program, board):
        self.program, self.device = program, f"sim:{board.socket}"

    def command(self, name, *arguments):
        device = [] if name == "check" else ["-d", self.device]
        return [str(word) for word in (self.program, name, *device, "--json", *arguments)]

    def run(self, name, *arguments, status=0, **options):
        """Run a command of lanebox-capture. Returns its JSON report."""
        done = subprocess.run(
            self.command(name, *arguments),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            **options,
        )
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
        assert done.returncode == status, done.stdout + done.stderr
        return json.loads(done.stdout) if status < 2 else done.stderr

    def start(self, name, *arguments):
        return subprocess.Popen(
            self.command(name, *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def record(self, frames, *arguments, port_mask=PORT_MASK):
        """Let lanebox-capture record the frames `frames` of the card's generator. Returns the
        command's report."""
        return self.run("record", *generate(frames, port_mask), *arguments)

    def check(self, *files):
        """Return the report of `lanebox-capture check` for each file. Fail if a file breaks a rule
        or is no recording."""
        found = self.run("check", *files)["files"]
        assert all(file["rule"] is None and file["recording"] for file in found)
        return found


@contextmanager
def running_tool():
    """Give lanebox-capture, built with sanitizers, on a new board whose capture has one queue."""
    built = artefacts.build(DEFAULT, capture=True)
    program = build_unchecked("SANITIZE=1") / "lanebox-capture"
    with BoardProcess(built.board, Conditions().board_options()) as board:
        yield Tool(program, board)


def generate(frames, port_mask=PORT_MASK):
    """Return the options of `lanebox-capture record` that let the card's generator make
    `frames`."""
    what = f"{frames.size},{frames.period},{frames.count}"
    return ["--generate", what, "--seed", frames.seed, "--port-mask", port_mask]


def packets(file, tmp_path):
    """Return [(time in ns, port, length, drops, data), ...] of all packets of a recording, as
    tshark reads them."""
    fields = list(by_fields(file))
    bodies = list(by_bytes(file, tmp_path / "converted.pcap"))
    text = run("capinfos", "-c", "-o", "-M", file).decode()
    assert re.search(rf"Number of packets:\s+{len(fields)}\b", text), text
    assert re.search(r"Strict time order:\s+True", text), text
    assert len(bodies) == len(fields)
    found = []
    for (ns, port, length, drops, flags), (data, decimal, original) in zip(fields, bodies):
        assert (flags, decimal, original) == (0, ns % 10**9, length)
        found.append((ns, port, length, drops, data))
    return found


def compare(report, frames, found, kept=None):
    """Compare the packets `found` with the generator's `frames`, and with the accounts in `report`.

    Each frame must be in the file or lost, and the drop counts must say where. Returns the numbers
    of the frames in the file.
    """
    delivered = [int.from_bytes(data[16:20], "little") for *_, data in found]
    assert delivered == sorted(set(delivered))
    seen = dict.fromkeys(range(PORTS), 0)
    for number, (_, port, length, drops, data) in zip(delivered, found):
        assert (port, length) == (number & PORT_MASK, frames.size)
        assert data == frames.data(number)[:kept], f"frame {number}"
        assert drops == number // PORTS - seen[port], f"drop count of frame {number}"
        seen[port] = number // PORTS + 1
    assert report["generated"] == frames.count
    for port, account in enumerate(report["ports"]):
        made = len(range(port, frames.count, PORTS)) if port < PORTS else 0
        there = sum(number & PORT_MASK == port for number in delivered)
        lost = sum(account[cause] for cause in LOST)
        lost_bytes = sum(account[f"{cause}_bytes"] for cause in LOST)
        assert (account["packets"], account["bytes"]) == (there, there * frames.size)
        assert (there + lost, account["bad"]) == (made, 0)
        assert lost_bytes == lost * frames.size
    assert report["packets"] == len(found)
    return delivered
