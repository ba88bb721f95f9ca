# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Wireshark's programs, tcpdump, scapy and python-pcapng read what the capture block writes, and
find the frames sent.

The ring of a simulated card is written to a file, behind a page of header, as a recorder does. The
tests compare bytes, times, ports, lengths, drop counts and flags, not only the number of packets.
"""

import re
import shutil
import struct
import subprocess
from dataclasses import dataclass

import pytest
from pcapng import FileScanner
from pcapng.blocks import EnhancedPacket
from scapy.utils import RawPcapNgReader

from gateware.numbers import PCAPNG_FILLER
from tools.testing.scala_program import run_scala

pytestmark = pytest.mark.spinal

RECORDINGS = ("calm", "lossy", "snapped")
PORTS = 4
PAGE = 4096
NANOSECOND = 0xA1B23C4D  # The magic number of a pcap file whose packet times are in ns.


@dataclass(frozen=True)
class Packet:
    time: int  # The packet's time in ns.
    port: int
    length: int
    drops: int
    flags: int
    data: bytes


def block(kind, body):
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def header():
    """Return the first 4096 bytes of a file: a section header, an interface for each port, and a
    filler.

    The times of the interfaces are in ns.
    """
    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    interface = block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HHI", 9, 1, 9) + bytes(4))
    blocks = section + PORTS * interface
    return blocks + block(PCAPNG_FILLER, bytes(PAGE - len(blocks) - 12))


def expected(line):
    *numbers, data = line.split()
    return Packet(*map(int, numbers), bytes.fromhex(data))


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Run the simulation and return {name: (pcapng file, list of the packets that must be
    in it)}.
    """
    folder = tmp_path_factory.mktemp("capture")
    run_scala("lanebox.capture.CaptureFile", folder, folder=folder, seconds=600)
    found = {}
    for name in RECORDINGS:
        file = folder / f"{name}.pcapng"
        file.write_bytes(header() + (folder / f"{name}.blocks").read_bytes())
        lines = (folder / f"{name}.txt").read_text().splitlines()
        found[name] = (file, [expected(line) for line in lines])
    return found


def run(program, *arguments):
    assert shutil.which(program), f"{program} is missing: make setup installs it"
    result = subprocess.run([program, *arguments], capture_output=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout


def by_fields(file):
    """Yield (time in ns, port, length, drop count, flags) of every packet in a file, as tshark
    shows them.
    """
    names = ("time_epoch", "interface_id", "len", "drop_count", "packet_flags")
    fields = [word for name in names for word in ("-e", f"frame.{name}")]
    for line in run("tshark", "-r", file, "-T", "fields", *fields).decode().splitlines():
        time, *numbers = line.split("\t")
        seconds, decimal = time.split(".")
        yield int(seconds) * 10**9 + int(decimal), *(int(n or "0", 0) for n in numbers)


def by_bytes(file, converted):
    """Yield (data, ns part of the time, length) of every packet, from tshark's conversion
    to pcap.
    """
    run("tshark", "-r", file, "-F", "nsecpcap", "-w", converted)
    content = converted.read_bytes()
    assert struct.unpack_from("<I", content)[0] == NANOSECOND
    at = 24
    while at < len(content):
        seconds, ns, kept, length = struct.unpack_from("<4I", content, at)
        yield content[at + 16 : at + 16 + kept], ns, length
        at += 16 + kept


@pytest.mark.parametrize("name", RECORDINGS)
def test_tshark_finds_every_packet_as_it_was_sent(name, recordings, tmp_path):
    """tshark finds each packet with its bytes, time, port, length, drop count and flags, in
    order.
    """
    file, packets = recordings[name]
    wanted = [(p.time, p.port, p.length, p.drops, p.flags) for p in packets]
    assert list(by_fields(file)) == wanted
    wanted = [(p.data, p.time % 10**9, p.length) for p in packets]
    assert list(by_bytes(file, tmp_path / "converted.pcap")) == wanted
    assert len(packets) > 100


@pytest.mark.parametrize("name", RECORDINGS)
def test_scapy_finds_every_packet_as_it_was_sent(name, recordings):
    """scapy finds each packet with its bytes, time and length, in order."""
    file, packets = recordings[name]
    found = []
    with RawPcapNgReader(str(file)) as reader:
        for data, about in reader:
            assert about.tsresol == 10**9
            found.append((data, about.tshigh << 32 | about.tslow, about.wirelen))
    assert found == [(p.data, p.time, p.length) for p in packets]


@pytest.mark.parametrize("name", RECORDINGS)
def test_python_pcapng_finds_every_packet_as_it_was_sent(name, recordings):
    """python-pcapng finds each packet with its bytes, time, port and length, in order."""
    file, packets = recordings[name]
    with open(file, "rb") as stream:
        found = [
            (
                each.packet_data,
                each.timestamp_high << 32 | each.timestamp_low,
                each.interface_id,
                each.packet_len,
            )
            for each in FileScanner(stream)
            if isinstance(each, EnhancedPacket)
        ]
    assert found == [(p.data, p.time, p.port, p.length) for p in packets]


@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.parametrize(
    "program",
    [
        ("editcap", "-F", "pcapng", "{0}", "{1}"),
        ("mergecap", "-F", "pcapng", "-w", "{1}", "{0}"),
        ("reordercap", "{0}", "{1}"),
    ],
    ids=lambda words: words[0],
)
def test_what_others_copy_has_every_packet(name, program, recordings, tmp_path):
    """A copy of the file by one of Wireshark's programs has each packet with its bytes, time and
    length, in order.
    """
    file, packets = recordings[name]
    copy = tmp_path / "copy.pcapng"
    run(*(word.format(file, copy) for word in program))
    found = list(by_bytes(copy, tmp_path / "converted.pcap"))
    assert found == [(p.data, p.time % 10**9, p.length) for p in packets]
    times = [(p.time, p.length) for p in packets]
    assert [(ns, length) for ns, _, length, *_ in by_fields(copy)] == times


def test_a_pipe_into_wireshark_shows_every_packet(recordings):
    """Wireshark's capture from a pipe (`-i -`), into which the driver's node is read, shows each
    packet with its time, port and length, in order.
    """
    file, packets = recordings["calm"]
    fields = ("-e", "frame.time_epoch", "-e", "frame.interface_id", "-e", "frame.len")
    shown = subprocess.run(
        ["tshark", "-i", "-", "-n", "-T", "fields", *fields],
        input=file.read_bytes(),
        capture_output=True,
        timeout=60,
        check=True,
    )
    wanted = [f"{p.time // 10**9}.{p.time % 10**9:09}\t{p.port}\t{p.length}" for p in packets]
    assert shown.stdout.decode().splitlines() == wanted


def test_the_recordings_show_losses_flags_and_cut_packets(recordings):
    """The recordings have losses, flags, cut packets and all ports, so the other tests compare
    them.
    """
    lossy = recordings["lossy"][1]
    assert {p.port for p in lossy} == set(range(PORTS))
    assert any(p.drops for p in lossy) and any(p.flags >> 24 for p in lossy)
    assert all(p.drops == 0 for p in recordings["calm"][1])
    assert any(len(p.data) == 70 < p.length for p in recordings["snapped"][1])


@pytest.mark.parametrize("name", RECORDINGS)
def test_capinfos_counts_packets_in_strict_time_order(name, recordings):
    """capinfos counts exactly the packets sent, in strict order of time: fillers and seals are no
    packets.
    """
    file, packets = recordings[name]
    text = run("capinfos", "-c", "-o", "-M", file).decode()
    assert re.search(rf"Number of packets:\s+{len(packets)}\b", text), text
    assert re.search(r"Strict time order:\s+True", text), text


@pytest.mark.parametrize("name", RECORDINGS)
def test_tcpdump_writes_the_same_bytes(name, recordings, tmp_path):
    """tcpdump, which uses libpcap, reads the same bytes of all packets, in order."""
    file, packets = recordings[name]
    copy = tmp_path / "copy.pcap"
    run("tcpdump", "-r", file, "-w", copy)
    content, at, found = copy.read_bytes(), 24, []
    while at < len(content):
        kept = struct.unpack_from("<I", content, at + 8)[0]
        found.append(content[at + 16 : at + 16 + kept])
        at += 16 + kept
    assert found == [p.data for p in packets]
