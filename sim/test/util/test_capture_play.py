# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of `lanebox-capture play` and of the library's calls for the player on the simulated card.

Files go through h2c to the card's player. What the capture block makes of the frames is recorded,
and every packet is compared with the file. Other projects' programs make the files: randpkt and
editcap of Wireshark, and in the soak test the captures among tcpdump's own tests.
"""

import json
import random
import signal
import struct
import subprocess
import time

import pytest

from gateware import numbers
from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.guest.packages import SetupError
from sim.pcap import Packet, blocks, first_difference, packets
from sim.rows.measure import Conditions
from sim.test.util.tcpdump_captures import ethernet_captures
from software.test.capture.pcapng_blocks import interface, packet, section
from software.test.software_build import build_unchecked
from tools.testing.repository import ROOT
from tools.testing.seeds import SHIFT

SECONDS = 300  # seconds of wall time that a command may take
PAGE = 4096  # bytes of the header of a pcapng recording
KINDS = ("arp", "dns", "ip", "udp", "syslog", "nbns")  # randpkt's types of Ethernet packets


@pytest.fixture(scope="module")
def program():
    """Return lanebox-capture, built with sanitizers."""
    return build_unchecked("SANITIZE=1") / "lanebox-capture"


@pytest.fixture
def board():
    built = artefacts.build(DEFAULT, capture=True)
    with BoardProcess(built.board, Conditions().board_options()) as running:
        yield running


@pytest.fixture
def run(program, board):
    """Return a function that runs a command of lanebox-capture on the board and returns its JSON
    report. A finding of a sanitizer fails the test."""

    def run(command, *arguments, status=0):
        done = subprocess.run(
            [program, command, "--json", "-d", f"sim:{board.socket}", *arguments],
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout)

    return run


def frames(path):
    """Return the packets of a pcapng file that the card can play as Ethernet frames."""
    return [found for found in packets(path.read_bytes()) if found.data]


def made(path, count, largest=1514, ports=4, seed=SHIFT):
    """Write a pcapng file with random packets, with times in ns and gaps of up to 2 us."""
    rng, time_ns = random.Random(seed), 1_700_000_000_000_000_000
    data = section("<") + ports * interface("<", 9)
    for _ in range(count):
        time_ns += rng.randrange(2000)
        body = rng.randbytes(rng.choice((rng.randint(1, 70), rng.randint(1, largest))))
        data += packet("<", time_ns, body, number=rng.randrange(ports))
    path.write_bytes(data)
    return path


def randpkt(folder, kind, count=60):
    """Let randpkt make a file of random packets, and editcap make pcapng of it."""
    old, new = folder / f"{kind}.pcap", folder / f"{kind}.pcapng"
    subprocess.run(["randpkt", "-b", "9000", "-c", str(count), "-t", kind, old], check=True)
    subprocess.run(["editcap", "-F", "pcapng", old, new], check=True)
    return new


def test_what_others_made_comes_back(run, tmp_path):
    """`lanebox-capture play` sends captures that randpkt has made to the card, and records what the
    card plays. Every packet comes back with its bytes, both lengths, its place in the order and its
    time, which is in us in the files."""
    sources = [randpkt(tmp_path, kind) for kind in KINDS]
    report = run("play", "--keep-time", "--record", tmp_path / "back.pcapng", *sources)
    sent = [found for source in sources for found in frames(source)]
    assert report["packets"] == report["recorded"] == len(sent) > 300 and report["lost"] == 0
    assert first_difference(sent, frames(tmp_path / "back.pcapng")) is None


def test_a_recording_plays_again_to_the_same_bytes(run, tmp_path):
    """A recording of the card's generator is played by `lanebox-capture play` with its own times,
    and recorded again. The new file has the same bytes, except for the times in the seals (the
    blocks at the end of each part)."""
    first, second = tmp_path / "a.pcapng", tmp_path / "b.pcapng"
    run("record", "--generate", "300,0,5000", "--port-mask", "7", "--lossless", first)
    run("play", "--keep-time", "--record", second, first)

    def without_seal_times(path):
        return [
            (kind, body[:16] + body[24:] if kind == numbers.PCAPNG_SEAL else body)
            for kind, body in blocks(path.read_bytes())
        ]

    assert without_seal_times(first) == without_seal_times(second)
    assert first.stat().st_size == second.stat().st_size > PAGE + 5000 * 300


def test_frames_have_the_recorded_distances(run, tmp_path):
    """`lanebox-capture play --recorded` plays frames with the distances in time that the file has,
    to one cycle of the card (4 ns), if the frames do not overlap."""
    source, target = tmp_path / "a.pcapng", tmp_path / "b.pcapng"
    data, time_ns = section("<") + interface("<", 9), 10**15
    for n in range(200):
        time_ns += 1000 + 37 * n
        data += packet("<", time_ns, bytes(60))
    source.write_bytes(data)
    run("play", "--recorded", "--record", target, source)
    sent, found = frames(source), frames(target)
    assert len(found) == 200
    for before, after in zip(sent, found):
        late = (after.time - found[0].time) - (before.time - sent[0].time)
        assert 0 <= late < 4, late


@pytest.mark.parametrize(
    "rate, seconds", [("10G", 84 * 8 / 10e9), ("40G", 84 * 8 / 40e9), ("2Mpps", 5e-7)]
)
def test_frames_come_at_the_rate_that_was_asked_for(run, tmp_path, rate, seconds):
    """`lanebox-capture play --rate` plays 4000 frames of 60 bytes without a loss. At 10G or 40G a
    frame takes the time of 84 bytes on a line of that many bits a second. At 2Mpps it takes 0.5
    us."""
    source, target = tmp_path / "a.pcapng", tmp_path / "b.pcapng"
    source.write_bytes(section("<") + interface("<", 9) + 4000 * packet("<", 5, bytes(60)))
    report = run("play", "--rate", rate, "--record", target, source)
    times = [found.time for found in frames(target)]
    assert report["lost"] == 0 and len(times) == 4000
    taken = (times[-1] - times[100]) / 3899
    assert abs(taken - 1e9 * seconds) < 0.01 * 1e9 * seconds


def test_one_port_and_files_behind_one_another(run, tmp_path):
    """`lanebox-capture play --port 9` plays all packets as packets of port 9. Several files are
    played in the order of the command line."""
    sources = [made(tmp_path / f"{n}.pcapng", 100, seed=SHIFT + n) for n in range(3)]
    target = tmp_path / "back.pcapng"
    run("play", "--keep-time", "--port", "9", "--record", target, *sources)
    sent = [
        Packet(found.time, 9, found.original, found.data)
        for source in sources
        for found in frames(source)
    ]
    assert first_difference(sent, frames(target)) is None


def test_frames_that_nobody_records_are_dropped(run, tmp_path):
    """`lanebox-capture play` without --record sends all frames of the file, and the capture block
    drops them. A second run of the command sends all of them again."""
    source = made(tmp_path / "a.pcapng", 500)
    for _ in range(2):
        report = run("play", source)
        assert report["packets"] == 500 and report["recording"] is None


def test_empty_packets_and_those_without_a_time_are_counted(run, tmp_path):
    """`lanebox-capture play` makes no frames of packets without bytes and of Simple Packet Blocks,
    which have no time. Its report counts both."""
    source, target = tmp_path / "a.pcapng", tmp_path / "b.pcapng"
    simple = struct.pack("<III", 3, 20, 4) + b"abcd" + struct.pack("<I", 20)
    good = packet("<", 5, b"abc")
    source.write_bytes(section("<") + interface("<", 9) + packet("<", 1, b"") + simple + good)
    report = run("play", "--keep-time", "--record", target, source)
    (about,) = report["files"]
    assert (about["packets"], about["empty"], about["left_out"]) == (1, 1, 1)
    assert report["recorded"] == report["packets"] == report["empty"] == 1
    assert frames(target) == [Packet(5, 0, 3, b"abc")]


def test_ctrl_c_ends_a_slow_player_in_order(program, board, tmp_path):
    """SIGINT ends `lanebox-capture play --recorded` with status 0 while the program waits for a
    frame whose time is a day later. The recording has the frame that was played before."""
    source, target = tmp_path / "a.pcapng", tmp_path / "b.pcapng"
    later = packet("<", 86_400 * 10**9, b"later")
    source.write_bytes(section("<") + interface("<", 9) + packet("<", 0, b"now") + later)
    command = [
        program,
        "play",
        "--recorded",
        "-d",
        f"sim:{board.socket}",
        "--record",
        target,
        source,
    ]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(3)
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=SECONDS)
    assert running.returncode == 0, errors
    assert [found.data for found in frames(target)] == [b"now"]


def test_the_library_s_calls_do_what_they_say(program, board):
    """The C test player_calls.c passes. It tests what the library's calls for the player refuse and
    return."""
    done = subprocess.run(
        [program.parent / "test" / "player_calls", f"sim:{board.socket}"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_manual_s_example_plays(program, board, tmp_path):
    """The example program in the library's manual compiles, and makes the card's player send its
    ten frames."""
    library = ROOT / "software" / "liblitepcie"
    example = tmp_path / "player"
    flags = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    source = library / "man" / "examples" / "player.c"
    archive = [program.parent / "liblitepcie.a", "-pthread"]
    flags += [f"-I{library}", f"-I{ROOT / 'software' / 'uapi'}"]
    subprocess.run(["gcc", *flags, source, *archive, "-o", example], check=True)
    done = subprocess.run(
        [example, f"sim:{board.socket}"], capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("10 frames: ")


@pytest.mark.soak
def test_tcpdump_s_own_captures_come_back(run, tmp_path):
    """`lanebox-capture play` plays all Ethernet captures among tcpdump's own tests that the card
    can play. Every packet is recorded unchanged."""
    try:
        captures = ethernet_captures(tmp_path / "tcpdump")
    except SetupError as error:
        pytest.skip(f"Debian's source of tcpdump cannot be fetched: {error}")
    assert len(captures) > 300
    target = tmp_path / "back.pcapng"
    report = run("play", "--keep-time", "--record", target, *captures)
    sent = [found for source in captures for found in frames(source)]
    assert len(sent) > 7000 and report["lost"] == 0
    assert first_difference(sent, frames(target)) is None
