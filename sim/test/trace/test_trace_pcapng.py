# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that the TLPs in a pcapng trace are those of the run, byte for byte as on the wire."""

import struct
import subprocess
import sys

import pytest

from gateware.numbers import PCAPNG_INBOUND as INBOUND
from gateware.numbers import PCAPNG_OUTBOUND as OUTBOUND
from sim.test.board.board_builds import ROOT
from sim.test.trace import pcapng_file
from sim.test.trace.pcapng_file import dwords
from sim.test.trace.trace_run import NOWHERE, PAGE, SCRATCH, recording
from sim.trace import pcapng
from sim.trace.tlp import decode, load, matched

CARD, HOST = 0x0100, 0x0000


@pytest.fixture(scope="module")
def read():
    run = recording()
    interfaces, packets = pcapng_file.read(run.path.read_bytes())
    return run, interfaces, packets


def on(packets, name, *first_bytes):
    """Return (dwords of the header, payload) of each packet on an interface whose first byte is one
    of `first_bytes`."""
    found = []
    for interface, _, _, data in packets:
        if interface == name and data[0] in first_bytes:
            count = 4 if data[0] & 0x20 else 3
            found.append((struct.unpack_from(f">{count}I", data), data[4 * count :]))
    return found


def test_interfaces_and_times(read):
    """The board's pcapng trace has five interfaces with link type USER0 and times in ns. The TLPs
    are in order of time, and all times are on clock edges."""
    _, interfaces, packets = read
    assert list(interfaces) == ["CQ", "CC", "RQ", "RC", "MSI"]
    assert {(each["link"], each[9]) for each in interfaces.values()} == {(147, b"\x09")}
    times = [ticks for _, ticks, _, _ in packets]
    assert times == sorted(times) and not any(ns % 4 for ns in times)
    directions = {name: flags for name, _, flags, _ in packets}
    assert directions == {
        "CQ": INBOUND,
        "RC": INBOUND,
        "CC": OUTBOUND,
        "RQ": OUTBOUND,
        "MSI": OUTBOUND,
    }


def test_host_accesses(read):
    """In the board's pcapng trace the header of the host's write, of the host's read and of the
    card's completion has each field at its place."""
    run, _, packets = read
    writes = [(h, data) for h, data in on(packets, "CQ", 0x40) if h[2] == run.scratch]
    [(header, data)] = writes
    requester = header[1] >> 16
    assert header[0] == 0x4000_0001 and header[1] & 0xFF == 0x0F
    assert data == SCRATCH[1].to_bytes(4, "little")
    [(request, _)] = on(packets, "CQ", 0x00)
    [(answer, data)] = on(packets, "CC", 0x4A)
    tag = request[1] >> 8 & 0xFF
    assert request == (0x0000_0001, requester << 16 | tag << 8 | 0x0F, run.scratch)
    assert answer == (0x4A00_0001, CARD << 16 | 4, requester << 16 | tag << 8 | run.scratch & 0x7F)
    assert data == SCRATCH[1].to_bytes(4, "little")


def test_reads_of_the_card(read):
    """In the board's pcapng trace the card's reads have three header dwords for addresses below 4
    GiB, and four for those above. The completions have the data."""
    run, _, packets = read
    low, high = on(packets, "RQ", 0x00), on(packets, "RQ", 0x20)
    assert [h[2] for h, _ in low] == list(range(run.sources[0], run.sources[0] + PAGE, 512))
    wanted = [*range(run.sources[1], run.sources[1] + PAGE, 512), NOWHERE]
    assert [h[2] << 32 | h[3] for h, _ in high] == wanted
    assert {(h[0] & 0x3FF, h[1] & 0xFF, h[1] >> 16) for h, _ in low + high} == {(128, 0xFF, CARD)}
    answers = on(packets, "RC", 0x4A)
    assert b"".join(data for _, data in answers) == b"".join(run.data)
    assert [h[1] for h, _ in answers] == [HOST << 16 | 512, HOST << 16 | 256] * (PAGE // 256)
    assert {len(data) // 4 for _, data in answers} == {h[0] & 0x3FF for h, _ in answers} == {64}


def test_writes_of_the_card(read):
    """In a pcapng trace the card's writes have the right data and address, with three or four
    header dwords."""
    run, _, packets = read
    for kind, sink, data in ((0x60, run.sinks[0], run.data[0]), (0x40, run.sinks[1], run.data[1])):
        writes = on(packets, "RQ", kind)
        assert b"".join(payload for _, payload in writes) == data
        assert [h[-1] for h, _ in writes] == [
            (sink + at) & ~0 & 0xFFFF_FFFF for at in range(0, PAGE, 256)
        ]


def test_a_refusal_has_no_data(read):
    """In the board's pcapng trace an Unsupported Request is a completion without data: length 0,
    and the byte count of the whole read."""
    _, _, packets = read
    [(header, data)] = on(packets, "RC", 0x0A)
    assert data == b"" and header[0] == 0x0A00_0000
    assert header[1] == HOST << 16 | 1 << 13 | 512


def test_interrupts_have_an_interface_of_their_own(read):
    """MSI writes, which the hard block makes itself, are on an interface of their own in the
    trace."""
    _, _, packets = read
    assert [h[0] for h, _ in on(packets, "MSI", 0x40)] == [0x4000_0001] * 2


def test_the_projects_reader_agrees(read):
    """sim.trace reads the same packets from the trace as this test's own reader."""
    run, _, packets = read
    read = [packet[:3] for packet in pcapng.packets(run.path)]
    assert read == [(n, t, data) for n, t, _, data in packets]


# Crafted pcapng files --------------------------------------------------------------------------

READ = dwords(0x0000_0001, 0x0100_070F, 0x1000)
ANSWER = dwords(0x4A00_0001, 0x0000_0004, 0x0100_0700, payload=b"\x01\x02\x03\x04")


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("resolution", "ticks"), [(9, 5_000), (12, 5_000_000), (6, 5)])
def test_either_byte_order_and_any_resolution(tmp_path, order, resolution, ticks):
    """sim.trace reads a pcapng file of either byte order and any time resolution."""
    path = tmp_path / "trace.pcapng"
    path.write_bytes(pcapng_file.write([("RQ", ticks, READ)], order, resolution=resolution))
    assert list(pcapng.packets(path)) == [("RQ", 5_000, READ, None)]


def test_a_cut_off_file_yields_what_was_written(tmp_path, capsys):
    """From a trace that ends inside a block, as after a kill, sim.trace reads all packets before
    that block."""
    path = tmp_path / "trace.pcapng"
    whole = pcapng_file.write([("RQ", 4, READ), ("RC", 8, ANSWER)])
    for missing in (1, 10, 40):
        path.write_bytes(whole[:-missing])
        assert [p[0] for p in pcapng.packets(path)] == ["RQ"]
        assert "cut off" in capsys.readouterr().err


def test_what_is_no_trace_is_refused(tmp_path):
    """sim.trace refuses a text log, another link type, and a packet shorter than a header, each
    with its reason."""
    path = tmp_path / "trace"
    path.write_text("     864.000 ns CQ MWr 0xe0002020 1 dw be f/0 tag 0\n")
    with pytest.raises(pcapng.TraceError, match="TLP_LOG=NAME.pcapng"):
        list(pcapng.packets(path))
    path.write_bytes(pcapng_file.write([], link=1))
    with pytest.raises(pcapng.TraceError, match="link type 1"):
        list(pcapng.packets(path))
    path.write_bytes(pcapng_file.write([("RQ", 4, READ[:8])]))
    with pytest.raises(pcapng.TraceError, match="shorter than a header"):
        list(load(path))


def test_lengths_that_are_written_as_zero():
    """sim.trace decodes a length field of 0 as 1024 dwords and a byte count of 0 as 4096. A
    completion without data has 0 dwords."""
    write = decode("RQ", 0, dwords(0x6000_0000, 0x0100_00FF, 1, 0, payload=bytes(4096)))
    assert (write.kind, write.dwords, write.address) == ("MWr", 1024, 1 << 32)
    assert (write.payload, write.poisoned) == (bytes(4096), False)
    refusal = decode("RC", 0, dwords(0x0A00_0000, 1 << 13, 0x0100_0700))
    assert (refusal.kind, refusal.dwords, refusal.byte_count) == ("Cpl", 0, 4096)


def test_completions_find_their_request():
    """sim.trace pairs a completion with the request of its side and tag. The last completion frees
    the tag. A completion without a request has no latency."""
    part = dwords(0x4A00_0001, 0x0000_0008, 0x0100_0700, payload=bytes(4))
    trace = [
        ("CQ", 2, READ),
        ("RQ", 4, READ),
        ("RC", 10, part),
        ("RC", 14, ANSWER),
        ("RC", 18, ANSWER),
        ("CC", 22, ANSWER),
    ]
    latencies = [t.latency for t, _ in matched(decode(*packet) for packet in trace)]
    assert latencies == [None, None, 6, 10, None, 20]


def convert(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "sim.trace", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )


def test_summary():
    """The summary that `python -m sim.trace FILE` prints has the numbers of TLPs of the run, and
    says that every read has ended."""
    run = recording()
    result = convert(run.path)
    lines = {tuple(line.split()[:4]) for line in result.stdout.splitlines()}
    assert {("RQ", "MWr", "32", "8,192"), ("RC", "CplD", "32", "8,192")} <= lines
    assert "reads by the card: 17, of which 17 ended" in result.stdout
    assert "that refuse: 1, that nothing asked for: 0; poisoned TLPs: 0" in result.stdout


def test_a_converter_that_fails_leaves_nothing(tmp_path):
    """A conversion that fails ends with status 1 and one line on stderr, and leaves no output
    file."""
    bad, out = tmp_path / "bad", tmp_path / "out"
    bad.write_bytes(b"no trace at all")
    result = convert(bad, "--text", "-o", out)
    assert result.returncode == 1 and list(tmp_path.iterdir()) == [bad]
    assert result.stderr.startswith("trace: ") and len(result.stderr.splitlines()) == 1
    assert convert(tmp_path / "missing").returncode == 1
