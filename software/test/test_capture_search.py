# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test the commands `find` and `disk` of lanebox-capture, which need no card.

The packets that `find` writes are read by sim/pcap.py, which shares no code with the tool. If
tcpdump is installed, it must find the same number of packets with the same filter.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from sim.pcap import packets
from software.test.software_build import Util, build_software
from software.test.test_capture_tool import block, interface, option, packet, section
from tools.testing.seeds import SHIFT

UDP, TCP = 17, 6
PORTS = (53, 80, 443, 5000)
FIRST_NS, GAP_NS = 1_000_000_000, 1_000_000


@pytest.fixture(scope="module")
def tool():
    return Util(build_software().capture)


def frame(protocol, port, size):
    """Return an Ethernet frame with an IPv4 packet of `protocol` that is sent to `port`."""
    head = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + size, 0, 0, 64, protocol, 0, 1, 2)
    body = struct.pack(">HHHH", 40000, port, size, 0) + bytes(size - 8)
    return bytes(12) + b"\x08\x00" + head + body


@pytest.fixture
def recording(tmp_path):
    """Return a file of 400 packets, and a list with the protocol, port and data of each packet.

    Some packets have a count of lost packets, and a filler follows each 100 packets.
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


def test_several_files_become_one(tool, recording, tmp_path):
    """find writes the packets of several files to one file, each with the section of its file."""
    path, sent = recording
    command = [tool.program, "find", "--write", "-", path, path, "udp"]
    done = subprocess.run(command, capture_output=True, check=True)
    found = list(packets(done.stdout))
    assert len(found) == 2 * sum(protocol == UDP for protocol, *_ in sent)


def test_what_cannot_be_searched_is_told(tool, recording, tmp_path):
    """A bad filter, a file that is no pcapng and a target that exists each make find fail with
    status 1 and a sentence. The other files are searched nevertheless."""
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


# Tests of the command disk ------------------------------------------------------------------------


def disk(tool, *arguments, status=0):
    done = tool.run("disk", "--json", *arguments)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def test_a_rate_that_the_disk_holds_loses_nothing(tool, tmp_path):
    """At a low rate `disk` writes all bytes and loses none. No file is left in the folder."""
    report = disk(
        tool, "--rate", "8M", "--seconds", "1.5", "--ring", "32M", "--mbuf", "64K", tmp_path
    )
    assert report["lost_bytes"] == 0 and report["most_waiting_bytes"] <= 32 << 20
    assert 11 << 20 <= report["written_bytes"] <= 12 << 20
    assert report["asked_bytes_per_s"] == 8 << 20
    assert report["slowest_bytes_per_s"] <= 1.2 * (8 << 20)
    assert list(tmp_path.iterdir()) == []


def test_a_rate_that_no_disk_holds_is_told(tool, tmp_path):
    """If the ring of a trial runs over, `disk` ends with status 1. Each byte is written or lost."""
    options = ("--rate", "8G", "--seconds", "0.05", "--ring", "64K", "--mbuf", "16K")
    report = disk(tool, *options, tmp_path, status=1)
    assert "does not hold 8.590 GB/s" in report["failures"][0]
    assert report["most_waiting_bytes"] == 64 << 10
    come = report["written_bytes"] + report["lost_bytes"]
    assert 0.5 * 0.05 * 8 * 2**30 < come < 1.01 * report["seconds"] * 8 * 2**30
    assert list(tmp_path.iterdir()) == []


def test_without_a_rate_the_disk_gets_what_it_takes(tool, tmp_path):
    """Without --rate `disk` reports the disk's own speed, and ends with status 0."""
    report = disk(tool, "--seconds", "0.2", "--ring", "4M", "--mbuf", "256K", tmp_path)
    assert report["written_bytes"] > 0 and report["lost_bytes"] is None


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--rate", "1000G", "--seconds", "100000"], "choose a lower --rate or fewer --seconds"),
        (["none"], "none: No such file or directory"),
        (["file"], "file: it is no folder"),
        (["file/below"], "file/below: Not a directory"),
    ],
    ids=["room", "none", "file", "below"],
)
def test_a_folder_that_cannot_be_tried_is_refused(tool, tmp_path, arguments, sentence):
    """`disk` fails with a sentence before it writes anything if the disk has no room for the trial,
    or if its argument is no folder."""
    (tmp_path / "file").write_bytes(b"")
    *options, last = arguments
    place = tmp_path / last if not options else tmp_path
    report = disk(tool, *(arguments if options else []), place, status=1)
    assert sentence in report["failures"][0] and "written_bytes" not in report


@pytest.mark.parametrize("option, size", [("--ring", "96M"), ("--mbuf", "96K")])
def test_a_size_that_is_no_power_of_two_is_refused(tool, tmp_path, option, size):
    """--ring and --mbuf of `disk` must be powers of two, as those of `record` must. Another size is
    refused with a sentence that says so, and nothing is written."""
    done = tool.run("disk", option, size, tmp_path)
    assert done.returncode == 2 and f"{option} {size}: it must be a power of two" in done.stderr
    assert not list(tmp_path.iterdir())


def has_begun(process):
    """Return whether the trial has begun to write: its file, whose name was removed, is larger than
    the page of header."""
    for link in Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if ".lanebox-disk" in os.readlink(link) and os.stat(link).st_size > 4096:
                return True
    return False


def test_ctrl_c_ends_a_trial_with_its_result(tool, tmp_path):
    """SIGINT ends a long trial of `disk` at once, with the result of the time until the signal."""
    command = [tool.program, "disk", "--json", "--rate", "1M", "--ring", "64K", "--mbuf", "4K"]
    running = subprocess.Popen([*command, "--seconds", "1000", tmp_path], stdout=-1, text=True)
    deadline = time.monotonic() + 60
    while not has_begun(running):
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    assert running.returncode in (0, 1)  # 1 if the machine stood still and the ring ran over
    assert json.loads(out)["written_bytes"] > 0
    assert list(tmp_path.iterdir()) == []
