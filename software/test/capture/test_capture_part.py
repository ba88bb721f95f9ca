# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test that the command `find` of lanebox-capture reads only the part of a recording that has the
times that are searched for. It needs no card.

The recordings are sparse files. Each MBUF (part of a recording) has packets at its begin, then
fillers, whose zeros take no room on the disk, and its seal. A search with --all, which reads
everything, must have the same result.
"""

import json
import struct

import pytest

from gateware import numbers
from software.test.capture.pcapng_blocks import interface, packet, section

PAGE, MBUF, MBUFS = 4096, 1 << 20, 64
FILLER_MOST = 64 << 10
PACKETS, GAP_NS = 5, 200_000_000  # packets of an MBUF, one every 0.2 s: an MBUF takes a second
LAST_S = MBUFS * PACKETS * GAP_NS / 1e9
PROBES = 10 * 512  # most bytes that the search reads before it knows the part


def filler(file, at, end):
    """Write fillers from `at` to `end`. Only their heads and their ends are written."""
    while at < end:
        size = min(FILLER_MOST, end - at)
        file.seek(at)
        file.write(struct.pack("<II", numbers.PCAPNG_FILLER, size))
        file.seek(at + size - 4)
        file.write(struct.pack("<I", size))
        at += size


def write(path, times, gap=GAP_NS):
    """Write a recording in which packet i of MBUF n has the time times(n, i). The seals have the
    times at which packets would come in every `gap` ns."""
    with path.open("wb") as file:
        head = section("<") + interface("<", 9)
        file.write(head)
        filler(file, len(head), PAGE)
        for n in range(MBUFS):
            at = PAGE + n * MBUF
            file.seek(at)
            text = b"".join(
                packet("<", times(n, i), struct.pack("<II", n, i)) for i in range(PACKETS)
            )
            text += bytes(-len(text) % 8)
            file.write(text)
            filler(file, at + len(text), at + MBUF - 64)
            file.seek(at + MBUF - 64)
            records = (n + 1) * PACKETS
            seal = struct.pack(
                "<3I2H3Q",
                numbers.PCAPNG_SEAL,
                64,
                numbers.CAPTURE_SEAL_MAGIC,
                0,
                0,
                n,
                records * gap,
                records,
            )
            file.write(seal + bytes(60 - len(seal)) + struct.pack("<I", 64))
    return path


def in_order(n, i):
    return (n * PACKETS + i) * GAP_NS


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return write(tmp_path_factory.mktemp("part") / "a.pcapng", in_order)


def find(tool, *arguments):
    done = tool.run("find", "--json", *arguments, "")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    return report.pop("read_bytes"), report.pop("packets"), report


@pytest.mark.parametrize(
    "times",
    [
        ["--from", "50", "--to", "50.4"],
        ["--from", "40.7", "--to", "43"],
        ["--to", "1"],
        ["--from", f"{LAST_S - 1}"],
        ["--from", f"{LAST_S + 9}"],
        ["--from", "7", "--to", "6"],
        ["--from", "0.2", "--to", "0.2"],
    ],
    ids=" ".join,
)
def test_only_the_part_with_the_times_is_read(tool, recording, times):
    """With --from and --to `find` finds the same packets as with --all, which reads the file twice.
    It reads a few bytes of some MBUFs (parts of the recording), and twice the MBUFs that it needs
    with up to 1 MiB more at each end, since it reads in steps of 1 MiB."""
    read, looked, report = find(tool, *times, recording)
    everything, all_looked, wanted = find(tool, "--all", *times, recording)
    assert report.pop("conditions") and wanted.pop("conditions") and report == wanted
    assert all_looked == MBUFS * PACKETS and everything >= 2 * MBUFS * MBUF
    assert looked <= 6 * PACKETS and read <= 2 * 8 * MBUF + PROBES


def test_the_part_has_every_packet_of_the_times(tool, recording, tmp_path):
    """The packets that are written are those of the times, and no others, also at the borders of an
    MBUF."""
    target = tmp_path / "b.pcapng"
    find(tool, "--from", "9.8", "--to", "11", "--write", target, recording)
    text = target.read_bytes()
    wanted = [
        (n, i) for n in range(MBUFS) for i in range(PACKETS) if 9.8e9 <= in_order(n, i) <= 11e9
    ]
    assert len(wanted) == 7
    assert text.endswith(
        b"".join(packet("<", in_order(n, i), struct.pack("<II", n, i)) for n, i in wanted)
    )


@pytest.mark.parametrize(
    "times, begin",
    [
        (lambda n, i: in_order(MBUFS - 1 - n, i), 50),
        (lambda n, i: in_order(n, i) + 1000 * 10**9, 1050),
    ],
    ids=["backwards", "later"],
)
def test_packets_of_other_times_are_found(tool, tmp_path, times, begin):
    """If the packets' times are not those of the seals, as those of `play --keep-time`, the whole
    file is read, so no packet is missed."""
    path = write(tmp_path / "a.pcapng", times)
    read, looked, report = find(tool, "--from", f"{begin}", "--to", f"{begin}.4", path)
    assert (report["found"], looked) == (3, MBUFS * PACKETS) and read >= 2 * MBUFS * MBUF


def test_packets_behind_the_last_whole_mbuf_are_found(tool, tmp_path):
    """A file that is no whole number of MBUFs (parts of a recording), as one that was cut or joined
    with another, is read whole, so no packet at its end is missed."""
    path = write(tmp_path / "a.pcapng", in_order)
    with path.open("ab") as file:
        for i in range(PACKETS):
            file.write(packet("<", in_order(MBUFS, i), bytes(60)))
    _, looked, report = find(tool, "--from", f"{LAST_S}", path)
    assert (report["found"], looked) == (PACKETS, (MBUFS + 1) * PACKETS)


def test_a_late_packet_is_found(tool, tmp_path):
    """A packet that has waited in the card for up to 0.1 s may be several MBUFs (parts of a
    recording) behind those of its time. It is found, too."""
    gap = 4_000_000  # An MBUF takes 20 ms.

    def times(n, i):
        return (n * PACKETS + i) * gap - (90_000_000 if i == 0 and n > 4 else 0)

    path = write(tmp_path / "a.pcapng", times, gap)
    for n in range(40, 44):
        about = times(n, 0) / 1e9
        bounds = ["--from", f"{about - 0.001}", "--to", f"{about + 0.001}"]
        _, looked, report = find(tool, *bounds, path)
        assert (report["found"], report["first_ns"]) == (1, times(n, 0))
        assert looked < 10 * PACKETS


def test_a_file_that_is_no_recording_is_read_whole(tool, tmp_path):
    """A pcapng file without seals is read from its begin to its end."""
    packets = b"".join(packet("<", in_order(n, 0), bytes(60)) for n in range(1000))
    path = tmp_path / "a.pcapng"
    path.write_bytes(section("<") + interface("<", 9) + packets)
    _, looked, report = find(tool, "--from", "20", "--to", "21", path)
    assert (report["found"], looked) == (2, 1000)
