# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fetches tcpdump's source package from Debian, and makes pcapng of the captures in its tests.

The captures have packets that other people recorded, of some hundred protocols, and broken packets
among them. Packets whose original length is 64 KiB or more are left out, since the card counts no
further.
"""

import struct
import subprocess
import tarfile
from pathlib import Path

from gateware import numbers
from gateware.numbers import CAPTURE_LENGTH_BITS
from sim.guest import SetupError, mirror
from sim.guest.packages import Archive
from sim.pcap import blocks

ETHERNET = 1
LONGEST = 2**CAPTURE_LENGTH_BITS - 1
ORIGINAL = 2**16 - 1  # The most bytes of a packet before a capture program cut it short.


class SourceArchive(Archive):
    """An apt that also sees the suites' source packages."""

    def __init__(self, home, sources):
        super().__init__(home, sources)
        listed = self.home / "sources.list"
        lines = listed.read_text()
        listed.write_text(lines + lines.replace("deb [arch=amd64 ", "deb-src ["))

    def source(self, package):
        """Fetch the files of a source package, unpack nothing, and return the upstream archive."""
        self._ask("apt-get", "source", "--download-only", package)
        found = sorted(self.archives.glob(f"{package}_*.orig.tar.*"))
        found = [path for path in found if path.suffix != ".asc"]
        if not found:
            raise SetupError(f"apt-get source {package} brought no upstream archive")
        return found[0]


def ethernet_captures(folder):
    """Return the paths of pcapng files, one for each capture of tcpdump's tests that the card can
    play. Packets are cut to what a frame may have."""
    archive = SourceArchive(folder / "apt", mirror.sources())
    archive.update("tcpdump's source")
    with tarfile.open(archive.source("tcpdump")) as tar:
        tar.extractall(folder / "source", filter="data")
    made = []
    for path in sorted((folder / "source").glob("*/tests/*.pcap")):
        target = folder / f"{len(made)}.pcapng"
        if is_ethernet(path) and convert(path, target):
            made.append(target)
    return made


def is_ethernet(path: Path) -> bool:
    """Say whether a legacy pcap file has the link type of Ethernet."""
    head = path.read_bytes()[:24]
    if len(head) < 24:
        return False
    for order in "<>":
        magic, _, _, link = struct.unpack(order + "I4s12sI", head)
        if magic in (0xA1B2C3D4, 0xA1B23C4D):
            return link & 0xFFFF == ETHERNET
    return False


def convert(path: Path, target: Path) -> bool:
    """Let editcap write pcapng. Returns False if it cannot read the file, which some tests of
    tcpdump are about."""
    command = ["editcap", "-F", "pcapng", "-s", str(LONGEST), path, target]
    done = subprocess.run(command, capture_output=True)
    if done.returncode or not target.exists():
        return False
    target.write_bytes(b"".join(fitting(target.read_bytes())))
    return True


def fitting(data: bytes):
    """Yield the blocks of a pcapng file, but those of packets that the card cannot play."""
    for kind, body in blocks(data):
        if kind == numbers.PCAPNG_RECORD and struct.unpack_from("<I", body, 16)[0] > ORIGINAL:
            continue
        length = struct.pack("<I", len(body) + 12)
        yield struct.pack("<I", kind) + length + body + length
