# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the board's trace writer, with TLPs that this project's boards do not send
(trace_probe.cpp)."""

import subprocess
from pathlib import Path

import pytest
from test_trace_tshark import as_text, dissected

from sim.board.build import BOARD, CXX_FLAGS, include_flags
from sim.test.trace import pcapng_file
from sim.trace.tlp import load, matched

PROBE = Path(__file__).with_name("trace_probe.cpp")
NAMES = ("trace/tlp_log", "trace/trace_pcapng", "link/wire_header", "link/tlp")
SOURCES = [BOARD / f"{name}.cpp" for name in NAMES]
CARD = 0x0100

TEXT = """\
       4.000 ns RQ MRd 0x100000000 2 dw be e/7 tag 7
       8.000 ns CQ MRd 0xe0000000 1 dw be e/0 tag 7
      12.000 ns RC CplD low 0xf81 1 dw bc 6 tag 7 status 0 latency 8.000 ns
      16.000 ns CC CplD low 0xf81 5 dw bc 3 tag 7 status 1 latency 8.000 ns
      20.000 ns RC CplD low 0xf81 1 dw bc 3 tag 7 status 0 latency 16.000 ns
      24.000 ns RC CplD low 0xf81 1 dw bc 3 tag 7 status 0
      28.000 ns RQ MWr 0xfffffffc 1024 dw be e/7 tag 255
      32.000 ns RQ other 0x0 0 dw be e/0 tag 1
"""
# TLPs that the trace must have: (interface, dwords of the header, number of dwords of payload).
PACKETS = [
    ("RQ", (0x2000_0002, CARD << 16 | 0x077E, 1, 0), 0),
    ("CQ", (0x0000_0001, 0x0000_070E, 0xE000_0000), 0),
    ("RC", (0x4A00_0001, 6, CARD << 16 | 0x0701), 1),
    ("CC", (0x0A00_0000, CARD << 16 | 1 << 13 | 3, 0x0000_0701), 0),
    ("RC", (0x4A00_0001, 3, CARD << 16 | 0x0701), 1),
    ("RC", (0x4A00_0001, 3, CARD << 16 | 0x0701), 1),
    ("RQ", (0x4004_7000, 0x1234_FF7E, 0xFFFF_FFFC), 1024),
    ("RQ", (0x3000_0000, CARD << 16 | 0x010E, 0, 0), 0),
]


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    """Return a function that runs trace_probe.cpp with a trace file of the given name, and returns
    the file's path."""
    folder = tmp_path_factory.mktemp("probe")
    flags = [*CXX_FLAGS.split(), "-Werror", *include_flags(), "-o", folder / "probe"]
    subprocess.run(["g++", *flags, PROBE, *SOURCES], check=True)

    def run(name):
        subprocess.run([folder / "probe", folder / name], check=True)
        return folder / name

    return run


def test_text(write):
    """In a text trace a completion has the latency since the request of its side and tag. A
    duplicate has none, and an error completion on CC has 5 dwords."""
    assert write("trace.log").read_text() == TEXT


def test_pcapng(write):
    """In a pcapng trace each header is as on the wire: format, attributes, poison, IDs. An error
    completion has no data."""
    _, packets = pcapng_file.read(write("trace.pcapng").read_bytes())
    expected = []
    for i, (interface, header, count) in enumerate(PACKETS):
        payload = bytes([10, 11, 12, 13] if interface == "RC" else [1, 2, 3, 4]) * count
        data = pcapng_file.dwords(*header, payload=payload)
        expected.append((interface, 4 * i + 4, 1 if interface in ("CQ", "RC") else 2, data))
    assert packets == expected


def test_no_file_costs_nothing(write):
    """Without a file name the trace writer writes no file."""
    probe = write("unused").with_name("probe")
    folder = probe.parent / "empty"
    folder.mkdir()
    subprocess.run([probe], check=True, cwd=folder)
    assert list(folder.iterdir()) == []


def test_both_decoders_match_by_side_and_tag(write):
    """The Python reader and Wireshark's dissector find the same latencies as the text trace, and
    none for the duplicate."""
    path = write("trace.pcapng")
    latencies = [tlp.latency for tlp, _ in matched(load(path))]
    assert latencies == [None, None, 8, 8, 16, None, None, None]
    seen = [fields.get("latency") for _, _, fields in dissected(path)]
    assert [x and float(x) for x in seen] == latencies
    assert as_text(*dissected(path)[4]).startswith("      20.000 ns RC CplD low 0x001 1 dw bc 3")
