# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test the command `find` of lanebox-capture, which finds packets in pcapng files by a filter. It
needs no card.

The packets that `find` writes are read by sim/pcap.py, which shares no code with the tool. If
tcpdump is installed, it must find the same number of packets with the same filter.
"""

import json
import random
import shutil
import struct
import subprocess

import pytest

from sim.pcap import packets
from software.test.capture.pcapng_blocks import block, interface, option, packet, section
from tools.testing.seeds import SHIFT

UDP, TCP = 17, 6
PORTS = (53, 80, 443, 5000)
FIRST_NS, GAP_NS = 1_000_000_000, 1_000_000


def frame(protocol, port, size):
    """Return an Ethernet frame with an IPv4 packet of `protocol` that is sent to `port`."""
    head = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + size, 0, 0, 64, protocol, 0, 1, 2)
    body = struct.pack(">HHHH", 40000, port, size, 0) + bytes(size - 8)
    return bytes(12) + b"\x08\x00" + head + body


@pytest.fixture
def recording(tmp_path):
    """Return a file of 400 packets, and a list with the protocol, port and data of each packet.

    Some packets have a count of lost packets (drops). Behind every 100th packet is a filler, a
    block without a packet.
    """
    rng = random.Random(SHIFT)
    print(f"seed {SHIFT}")
    text, sent = section("<") + 2 * interface("<", 9), []
    for n in range(400):
        protocol, port = rng.choice((UDP, TCP)), rng.choice(PORTS)
        data = frame(protocol, port, rng.randint(20, 900))
        drops = option("<", 4, struct.pack("<Q", n)) if n % 50 == 7 else b""
        text += packet("<", FIRST_NS + n * GAP_NS, data, number=n % 2, options=drops)
        sent.append((protocol, port, data))
        if n % 100 == 99:
            text += block("<", 0x80004C46, bytes(100))
    path = tmp_path / "a.pcapng"
    path.write_bytes(text)
    return path, sent


def find(tool, *arguments, status=0):
    done = tool.run("find", "--json", *arguments)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "text, takes",
    [
        ("udp port 53", lambda protocol, port, data: (protocol, port) == (UDP, 53)),
        ("tcp and not port 443", lambda protocol, port, data: protocol == TCP and port != 443),
        ("less 400", lambda protocol, port, data: len(data) <= 400),
        ("arp", lambda *_: False),
        ("", lambda *_: True),
    ],
    ids=["udp", "tcp", "length", "none", "all"],
)
def test_a_filter_finds_its_packets_and_no_others(tool, recording, tmp_path, text, takes):
    """find counts the packets that match the filter, and writes them with the same bytes, ports,
    times and drop counts. tcpdump, if installed, finds the same number of packets."""
    path, sent = recording
    wanted = [n for n, about in enumerate(sent) if takes(*about)]
    target = tmp_path / "b.pcapng"
    report = find(tool, "--write", target, path, text)
    every, found = list(packets(path.read_bytes())), list(packets(target.read_bytes()))
    assert found == [every[n] for n in wanted]
    assert (report["packets"], report["found"]) == (len(sent), len(wanted))
    assert report["bytes"] == sum(len(sent[n][2]) for n in wanted)
    assert report["first_ns"] == (FIRST_NS + wanted[0] * GAP_NS if wanted else None)
    checked = json.loads(tool.run("check", "--json", target).stdout)["files"][0]
    assert checked["lost"] == sum(n for n in wanted if n % 50 == 7)
    if shutil.which("tcpdump"):
        command = ["tcpdump", "-n", "-r", path, *([text] if text else [])]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert len(lines.splitlines()) == len(wanted)


def test_times_bound_what_is_found(tool, recording):
    """--from and --to find the packets between two times, including packets at these times."""
    path, _ = recording
    report = find(tool, "--from", "1.0100", "--to", "1.0300", path, "")
    assert (report["found"], report["first_ns"]) == (21, FIRST_NS + 10 * GAP_NS)
    assert report["last_ns"] == FIRST_NS + 30 * GAP_NS
    assert find(tool, "--from", "9", path, "")["found"] == 0


def test_times_are_compared_in_ns(tool, tmp_path):
    """Of packets that came in the present, 100 ns after each other, --from and --to with the time
    that `check` shows for one find this one, and with a part of a ns behind that time none.
    """
    times = [1_764_000_000_123_456_789 + 100 * n for n in range(4)]
    path = tmp_path / "a.pcapng"
    path.write_bytes(
        section("<") + interface("<", 9) + b"".join(packet("<", time, bytes(60)) for time in times)
    )
    for time in times:
        text = f"{time // 10**9}.{time % 10**9:09}"
        report = find(tool, "--from", text, "--to", text, path, "")
        assert (report["found"], report["first_ns"]) == (1, time)
        assert find(tool, "--from", text + "01", "--to", text + "99", path, "")["found"] == 0


@pytest.mark.parametrize(
    "text, time", [("7", 7 * 10**9), (".5", 5 * 10**8), ("1.25", 1_250_000_000), ("0.000000001", 1)]
)
def test_a_time_may_have_fewer_decimals(tool, tmp_path, text, time):
    """--from and --to take whole seconds and up to nine decimals or more."""
    path = tmp_path / "a.pcapng"
    path.write_bytes(
        section("<")
        + interface("<", 9)
        + b"".join(packet("<", time + n, bytes(60)) for n in (-1, 0, 1))
    )
    report = find(tool, "--from", text, "--to", text + "0" * text.count("."), path, "")
    assert (report["found"], report["first_ns"]) == (1, time)


@pytest.mark.parametrize(
    "text", ["", ".", "-1", "1.2.3", "1s", "1e9", "nan", "18446744073.709551616", "1" + "0" * 40]
)
def test_a_text_that_is_no_time_is_refused(tool, text):
    """A time is decimal, and has up to 64 bits in ns. `find` ends with status 2 on another text."""
    done = tool.run("find", f"--from={text}", "none", "")
    assert done.returncode == 2 and "it must be a time in seconds up to" in done.stderr


def test_packets_of_any_link_type_are_found(tool, tmp_path):
    """find takes packets of other link types than Ethernet, as those of sensors (USER0), and uses
    the filter as libpcap has it for the link type of each packet. If libpcap has none, the message
    names the file, and the other files are searched."""
    ethernet, user = interface("<", 9), interface("<", 9, link=147)
    data = frame(UDP, 53, 20)
    path, mixed = tmp_path / "a.pcapng", tmp_path / "b.pcapng"
    path.write_bytes(section("<") + user + packet("<", 5, b"\7abc") + packet("<", 6, b"\x08abc"))
    assert find(tool, path, "")["found"] == 2
    report = find(tool, path, "link[0] = 8")
    assert (report["found"], report["first_ns"]) == (1, 6)
    both = ethernet + interface("<", 9, link=228)  # raw IPv4
    packets = [packet("<", n, data[14 * (n % 2) :], number=n % 2) for n in range(8)]
    mixed.write_bytes(section("<") + both + b"".join(packets))
    assert find(tool, mixed, "udp port 53")["found"] == 8
    report = find(tool, path, mixed, "udp port 53", status=1)
    (sentence,) = report["failures"]
    assert sentence.startswith(f"{path}: the filter 'udp port 53': ") and report["found"] == 8


def test_packets_that_no_card_could_play_are_found(tool, tmp_path):
    """find takes packets that are longer than any frame of the card, and those that were so before
    they were cut."""
    path = tmp_path / "a.pcapng"
    long, cut = packet("<", 5, bytes(20000)), packet("<", 6, bytes(60), original=70000)
    path.write_bytes(section("<") + interface("<", 9) + long + cut)
    report = find(tool, path, "greater 20000")
    assert (report["found"], report["bytes"]) == (2, 90000)


def test_a_filter_s_length_is_that_before_the_cut(tool, tmp_path):
    """In a recording with cut packets, as by `record --snap`, the length in a filter is that which
    the packet had, and no byte behind the cut is looked at."""
    path = tmp_path / "a.pcapng"
    cut = packet("<", 5, bytes([1] * 60), original=1400)
    path.write_bytes(section("<") + interface("<", 9) + cut + packet("<", 6, bytes(60)))
    for text, found in (("greater 1000", 1), ("less 100", 1), ("ether[0] = 1", 1)):
        assert find(tool, path, text)["found"] == found
    assert find(tool, path, "ether[1000] = 0")["found"] == 0


@pytest.mark.parametrize(
    "resolution, offset_s, time",
    [
        (None, None, 1_700_000_000_123_456),
        (6, None, 1_700_000_000_123_456),
        (12, None, 1_700_000_000_123_456_789),
        (0x80 | 10, None, 1_700_000_000 << 10 | 512),
        (9, 1_700_000_000, 5),
        (3, -10, 1_700_000_000_123),
    ],
    ids=["none", "us", "ps", "2^-10", "offset", "ms-offset"],
)
def test_written_packets_keep_their_times(tool, tmp_path, resolution, offset_s, time):
    """find --write keeps the time of a packet, whatever unit and offset the times of its interface
    have. tshark, if installed, reads the same times from the file that was searched and from the
    file that was written.
    """
    options = b"" if resolution is None else option("<", 9, bytes([resolution]))
    if offset_s is not None:
        options += option("<", 14, struct.pack("<q", offset_s))
    start = section("<") + interface("<", 9)
    start += block("<", 1, struct.pack("<HHI", 1, 0, 0) + options)
    data, target = frame(UDP, 53, 20), tmp_path / "b.pcapng"
    path = tmp_path / "a.pcapng"
    path.write_bytes(start + packet("<", time, data, number=1) + packet("<", 7, data))
    assert find(tool, "--write", target, path, "udp")["found"] == 2
    assert target.read_bytes() == path.read_bytes()
    if shutil.which("tshark"):
        times = [
            subprocess.run(
                ["tshark", "-r", file, "-T", "fields", "-e", "frame.time_epoch"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for file in (path, target)
        ]
        assert times[0] == times[1] and len(times[0].splitlines()) == 2


def test_several_files_become_one(tool, recording, tmp_path):
    """find --write - writes the found packets of several files to stdout as one pcapng file."""
    path, sent = recording
    command = [tool.program, "find", "--write", "-", path, path, "udp"]
    done = subprocess.run(command, capture_output=True, check=True)
    found = list(packets(done.stdout))
    assert len(found) == 2 * sum(protocol == UDP for protocol, *_ in sent)


def test_what_cannot_be_searched_is_told(tool, recording, tmp_path):
    """A bad filter, a file that is no pcapng, a target that exists and a target that cannot be
    written each make find fail with status 1. After a bad file the other files are searched
    nevertheless."""
    path, sent = recording
    (tmp_path / "bad").write_bytes(bytes(100))
    report = find(tool, path, "host or", status=1)
    assert "the filter 'host or': " in report["failures"][0]
    report = find(tool, tmp_path / "bad", path, "", status=1)
    assert "it begins with 00000000 and not with a section" in report["failures"][0]
    assert report["found"] == len(sent)
    report = find(tool, "--write", path, path, "", status=1)
    assert "the file exists" in report["failures"][0]
    done = tool.run("find", "--write", "/dev/full", path, "")
    assert done.returncode == 1
