# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that Wireshark with the project's dissector shows the same TLPs as the text trace."""

import json
import shutil
import subprocess

import pytest

from sim.test.board.board_builds import ROOT
from sim.test.trace import pcapng_file
from sim.test.trace.pcapng_file import dwords
from sim.test.trace.trace_run import recording
from sim.trace.tlp import decode, matched

DISSECTOR = ROOT / "sim" / "trace" / "lanebox_tlp.lua"


def tshark(path, *options):
    assert shutil.which("tshark"), "tshark is missing: make setup installs it"
    result = subprocess.run(
        ["tshark", "-X", f"lua_script:{DISSECTOR}", "-r", path, *options],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0 and "Lua" not in result.stderr, result.stderr
    return result.stdout


def dissected(path):
    """Return all packets as Wireshark shows them: [(interface, nanoseconds, {field: text})]."""
    found = []
    for packet in json.loads(tshark(path, "-T", "json")):
        layers = packet["_source"]["layers"]
        frame = layers["frame"]
        name = frame["frame.interface_id_tree"]["frame.interface_name"]
        seconds, fraction = frame["frame.time_epoch"].split(".")
        fields = {k.removeprefix("lanebox_tlp."): v for k, v in layers["lanebox_tlp"].items()}
        found.append((name, int(seconds) * 10**9 + int(fraction), fields))
    return found


def numbers(fields, *names):
    return tuple(int(fields[name], 0) for name in names)


def as_text(name, ns, fields):
    """Return a packet of dissected() in the form of a line of the text trace."""
    dwords, tag = numbers(fields, "length", "tag")
    interface = "RQ MSI" if name == "MSI" else name
    if fields["kind"].startswith("Cpl"):
        low, left, status = numbers(fields, "lower_address", "byte_count", "status")
        rest = f"low 0x{low:03x} {dwords} dw bc {left} tag {tag} status {status}"
        rest += f" latency {float(fields['latency']):.3f} ns"
    else:
        address, first, last = numbers(fields, "address", "first_be", "last_be")
        rest = f"0x{address:x} {dwords} dw be {first:x}/{last:x} tag {tag}"
    return f"{ns:12.3f} ns {interface} {fields['kind']} {rest}"


def test_tshark_sees_what_the_text_says():
    """For every TLP, Wireshark and the text trace agree on time, interface, type, address, tag,
    length, byte enables and latency."""
    command = [ROOT / ".venv/bin/python", "-m", "sim.trace", recording().path, "--text"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert [as_text(*packet) for packet in dissected(recording().path)] == text.splitlines()


def test_tshark_sees_the_data():
    """The payload that tshark shows for the card's writes is the data of the card's loopback."""
    writes = [f for name, _, f in dissected(recording().path) if (name, f["kind"]) == ("RQ", "MWr")]
    data = b"".join(bytes.fromhex(f["payload"].replace(":", "")) for f in writes)
    assert data == b"".join(recording().data)


def test_filters_on_what_an_engineer_looks_for():
    """Wireshark's display filters find refused reads and slow completions. No packet is
    malformed."""
    show = ["-T", "fields", "-e", "lanebox_tlp.tag"]
    refused = tshark(recording().path, "-Y", "lanebox_tlp.status == 1", *show).split()
    assert len(refused) == 1
    slow = tshark(recording().path, "-Y", "lanebox_tlp.latency >= 600", *show).split()
    # These are all completions of the card's reads, which cross the link to the host and back.
    assert len(slow) == 33
    assert tshark(recording().path, "-Y", "_ws.malformed or _ws.lua.error", *show) == ""


CRAFTED = [
    ("RQ", 4, dwords(0x6000_4000, 0x0103_05FF, 0x1234, 0x5678_9ABC, payload=bytes(4096))),
    ("RC", 8, dwords(0x0A00_0000, 0x00A0_0000 | 4 << 13, 0x0100_0AFF)),
    ("CQ", 12, dwords(0x0200_0001, 0x0000_010F, 0xFFC0)),
    ("RQ", 16, dwords(0x3400_0000, 0x0100_0018, 0, 0)),
    ("CC", 20, dwords(0x4A00_0001, 0x0100_0001, 0x00A0_0203, payload=b"\xff" * 4)),
]


@pytest.fixture
def crafted(tmp_path):
    path = tmp_path / "crafted.pcapng"
    path.write_bytes(pcapng_file.write(CRAFTED))
    return path


def test_what_the_board_does_not_send(crafted):
    """The dissector decodes TLPs that the board does not send: 4 KiB, poisoned, aborted, I/O,
    message. A completion without a request has no latency."""
    packets = [fields for _, _, fields in dissected(crafted)]
    assert [f["kind"] for f in packets] == ["MWr", "Cpl", "IORd", "Msg", "CplD"]
    write, abort = packets[:2]
    assert numbers(write, "length", "address") == (1024, 0x1234_5678_9ABC)
    assert (write["poisoned"], write["requester"]) == ("1", "01:00.3")
    assert numbers(abort, "status", "byte_count", "lower_address", "length") == (4, 4096, 127, 0)
    assert abort["completer"] == "00:14.0"
    assert not any("latency" in fields for fields in packets)


def test_the_packet_list(crafted):
    """Each line of Wireshark's packet list has the TLP's type and main fields."""
    lines = [line.split("TLP ")[1].split(maxsplit=2) for line in tshark(crafted).splitlines()]
    assert [(interface, size) for interface, size, _ in lines] == [
        (interface, str(len(data))) for interface, _, data in CRAFTED
    ]
    assert [text for _, _, text in lines] == [
        "MWr 0x123456789abc, 1024 dw, be f/f, tag 5",
        "Cpl low 0x7f, 0 dw, 4096 B left, tag 10, Completer Abort",
        "IORd 0xffc0, 1 dw, be f/0, tag 1",
        "Msg 0x0, 0 dw, be 8/1, tag 0",
        "CplD low 0x03, 1 dw, 1 B left, tag 2, Successful Completion",
    ]


def test_the_python_decoder_agrees(crafted):
    """The Python decoder of sim.trace finds the same fields in the crafted packets as the
    dissector."""
    tlps = [tlp for tlp, _ in matched(decode(*packet) for packet in CRAFTED)]
    for tlp, (_, _, fields) in zip(tlps, dissected(crafted)):
        assert numbers(fields, "length", "tag") == (tlp.dwords, tlp.tag)
        if tlp.is_completion:
            assert numbers(fields, "status", "byte_count") == (tlp.status, tlp.byte_count)
        assert fields["poisoned"] == str(int(tlp.poisoned))
