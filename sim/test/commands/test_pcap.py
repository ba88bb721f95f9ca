# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of `make sim PCAP=FILE`: packets come back from the card, and a difference is reported."""

import re
import struct
import subprocess
import sys
from dataclasses import replace

import pytest

from sim import pcap
from sim.pcap import Packet, first_difference, packets
from sim.rows import limits
from software.test.capture.pcapng_blocks import interface, packet, section
from tools.testing.repository import ROOT

SECONDS = 900
SENT = [Packet(n, n % 3, 60 + n, bytes(range(60 + n))) for n in range(20)]


def sim(*arguments):
    """Run `python -m sim.run`, the command that `make sim` runs."""
    return subprocess.run(
        [sys.executable, "-m", "sim.run", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def test_a_file_goes_through_the_card_and_comes_back(tmp_path):
    """`make sim PCAP=FILE` sends packets of all lengths, ports and times through the card. They
    come back unchanged, and the printed table has their number, their bytes and 0 lost packets."""
    data = section("<") + 4 * interface("<", 9)
    for n in range(300):
        data += packet("<", 10**18 + 1000 * n, bytes([n % 251]) * (n * 7 % 1500), number=n % 4)
    file = tmp_path / "a.pcapng"
    file.write_bytes(data)
    done = sim("--pcap", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    count = sum(1 for n in range(300) if n * 7 % 1500)
    total = sum(n * 7 % 1500 for n in range(300))
    assert re.search(rf"pcap/packets +{count}\b", done.stdout), done.stdout
    assert re.search(rf"pcap/bytes +{total:,}\b", done.stdout)
    assert re.search(r"pcap/lost +0\b", done.stdout)
    assert f"{count} packets came back as they were" in done.stdout
    assert f"{300 - count} packets of no bytes" in done.stdout


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"data": SENT[7].data[:5] + b"\0" + SENT[7].data[6:]}, "byte 5 of its 67 was 0x05"),
        ({"data": SENT[7].data[:-1]}, "67 bytes of it went and 66 came"),
        ({"original": 1}, "its original was 67 and came back as 1"),
        ({"port": 9}, "its port was 1 and came back as 9"),
        ({"time": 8}, "its time was 7 and came back as 8"),
    ],
)
def test_the_first_packet_that_differs_is_named(change, sentence):
    """`make sim PCAP=FILE` reports the number of the first packet that came back from the card
    changed, and what differs in it."""
    found = [replace(p, **change) if n == 7 else p for n, p in enumerate(SENT)]
    assert first_difference(SENT, SENT) is None
    assert first_difference(SENT, found) == f"packet 8: {sentence}" or sentence in str(
        first_difference(SENT, found)
    )
    found[9] = replace(found[9], port=99)
    assert first_difference(SENT, found).startswith("packet 8: ")


def test_a_packet_that_is_missing_or_new_is_told():
    """first_difference(), by which `make sim PCAP=FILE` compares the packets, reports a packet that
    did not come back, and a packet that was never sent."""
    assert "20 packets went and 18 came: packet 19 is missing" == first_difference(SENT, SENT[:18])
    assert "packet 19 is not of the file" in first_difference(SENT[:18], SENT)


def test_times_are_read_in_the_unit_of_their_interface():
    """sim.pcap converts pcapng times in us, ns and in powers of two to ns."""
    data = section("<") + interface("<") + interface("<", 9) + interface("<", 0x80 | 10)
    data += packet("<", 5, b"a") + packet("<", 5, b"b", number=1) + packet("<", 512, b"c", number=2)
    assert [p.time for p in packets(data)] == [5000, 5, 500_000_000]


@pytest.mark.parametrize("cut", [1, 4, 30])
def test_a_file_that_is_cut_is_no_pcapng(cut):
    """sim.pcap refuses a pcapng file that ends inside a block, with the block's offset."""
    data = section("<") + interface("<") + packet("<", 5, bytes(60))
    with pytest.raises(pcap.NotPcapng, match=r"offset \d+"):
        list(packets(data[:-cut]))


def test_the_limit_is_that_of_the_slowest_part():
    """limits.played(): packets of 65 bytes are limited by the builder of records or the player,
    which take 4 beats for 100 bytes. Other sizes are limited by RQ, which carries records and read
    requests. A short file has no limit."""
    for size in (60, 65, 1514):
        block = 32 + -(-size // 4) * 4
        count = 8 * limits.LEAST_PLAYED // block
        limit = limits.played([block] * count, [size] * count, 256, 512, 256)
        assert 0 < limit.value < 7.2
        assert limit.binds in (("builder", "player") if size == 65 else ("RQ",))
    assert limits.played([92] * 100, [60] * 100, 256, 512, 256) is None


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--pcap", "/nowhere/a"], "PCAP=/nowhere/a: there is no such file"),
        (["--pcap", "a", "--example", "scale"], "PCAP=a: it takes no EXAMPLE"),
        (["--pcap", "a", "--endpoint", "litepcie"], "PCAP=a: the endpoint litepcie has no capture"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments, sentence):
    """`make sim PCAP=FILE` ends with status 2 and a sentence if FILE does not exist, or if another
    option cannot be combined with PCAP=."""
    done = sim(*arguments)
    assert done.returncode == 2 and sentence in done.stderr


def test_a_file_of_another_format_is_refused_with_what_helps(tmp_path):
    """`make sim PCAP=FILE` with a legacy pcap file ends with status 1 and names the program that
    converts such a file to pcapng."""
    file = tmp_path / "a.pcap"
    file.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    done = sim("--pcap", str(file))
    assert done.returncode == 1 and "editcap -F pcapng" in done.stderr
