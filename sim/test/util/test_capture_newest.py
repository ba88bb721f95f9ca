# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of two options of `lanebox-capture record` on the simulated card.

--newest, the flight recorder: the card's generator makes more frames than the ring holds. The file
must have the newest of them, each compared with a model of the generator, and no frame may count as
lost. --clock: whose time the packets of a file have, as tshark reads it.
"""

import json
import signal
import time

import pytest

from gateware import numbers
from gateware.test.capture.test_capture_file import run
from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.rows.measure import Conditions
from sim.test.board.board_builds import build_executable
from sim.test.card.test_board_capture import PORT_MASK, PORTS, Generated
from sim.test.util.capture_tool import (
    LOST,
    PAGE,
    SECONDS,
    Tool,
    compare,
    generate,
    packets,
    running_tool,
)
from software.test.software_build import build_unchecked

RING, MBUF = 4 << 20, 64 << 10
OPTIONS = ["--newest", "--ring", RING, "--mbuf", MBUF]
RECORD = 96  # bytes of the record of a frame of 64 bytes
PERIOD = 6 * 256  # from one frame to the next, in 1/256 of a cycle: no frame is lost at this rate
ENDLESS = Generated(64, PERIOD, count=0)


@pytest.fixture(scope="module")
def program():
    return build_unchecked("SANITIZE=1") / "lanebox-capture"


@pytest.fixture(scope="module")
def tool(program):
    """Give lanebox-capture on a board that all tests share: each recording starts the card anew."""
    built = artefacts.build(DEFAULT, capture=True)
    with BoardProcess(built.board, Conditions().board_options()) as board:
        yield Tool(program, board)


def newest(report, frames, tmp_path):
    """Check that the only file of the recording has the newest `frames` that were delivered, byte
    for byte and without a gap up to the last, and that none counts as lost. Return their number."""
    (file,) = report["files"]
    found = packets(file["path"], tmp_path)
    first = report["packets"] - len(found)
    for number, (_, port, length, drops, data) in enumerate(found, first):
        assert (port, length, drops) == (number & PORT_MASK, frames.size, 0)
        assert data == frames.data(number), f"frame {number}"
    assert all(report[cause] == 0 for cause in LOST)
    assert file["bytes"] == PAGE + file["mbufs"] * MBUF
    return len(found)


def test_the_file_has_the_newest_frames(tool, tmp_path):
    """With --newest the file has one ringful: the newest frames. The report says how many bytes of
    the ring were overwritten, and gives no rate, since the file's time is not that of all frames.
    The file begins with a later MBUF (part of the ring) than the first, and is valid."""
    frames = Generated(64, PERIOD, count=70000)
    report = tool.record(frames, *OPTIONS, tmp_path / "a.pcapng")
    assert newest(report, frames, tmp_path) > RING / RECORD - 2000
    assert report["packets"] == report["generated"] == frames.count
    (file,) = report["files"]
    assert file["mbufs"] * MBUF == RING
    assert 0 <= report["overwritten_bytes"] - (frames.count * RECORD - RING) < 2 * MBUF + RING / 50
    assert report["overwritten_bytes"] % MBUF == 0 and report["packets_per_s"] is None
    (checked,) = tool.check(file["path"])
    assert checked["mbufs"] == file["mbufs"] and checked["stopped"]
    assert checked["first_mbuf"] * MBUF == report["overwritten_bytes"]
    assert run("tshark", "-r", file["path"], "-c", "1")


def test_frames_that_fit_are_all_in_the_file(tool, tmp_path):
    """If the ring never gets full, --newest overwrites nothing, and the file has every frame."""
    frames = Generated(300, 3000, count=2000)
    report = tool.record(frames, *OPTIONS, tmp_path / "a.pcapng")
    found = packets(report["files"][0]["path"], tmp_path)
    assert compare(report, frames, found) == list(range(frames.count))
    assert report["overwritten_bytes"] == 0 and report["packets_per_s"] > 0


def start(tool, file):
    """Start a recording of frames without end. Return its process when it has opened its file."""
    process = tool.start("record", *generate(ENDLESS), *OPTIONS, file)
    deadline = time.monotonic() + SECONDS
    while not file.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    return process


@pytest.mark.parametrize("limit", [["--packets", 60000], ["--seconds", 3]], ids=["packets", "time"])
def test_a_limit_ends_the_flight(tool, tmp_path, limit):
    """--packets and --seconds end a recording of frames without end. The file then has the newest
    frames up to the last that the card has delivered."""
    report = tool.run("record", *generate(ENDLESS), *OPTIONS, *limit, tmp_path / "a.pcapng")
    count = newest(report, ENDLESS, tmp_path)
    if report["overwritten_bytes"]:
        assert count > RING / RECORD - 2000
    if "--packets" in limit:
        assert report["packets"] >= 60000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_writes_the_file(tool, tmp_path, number):
    """SIGINT and SIGTERM end the recording, and the file has the newest frames until then. Before
    the signal the file has only its header."""
    running = start(tool, tmp_path / "a")
    time.sleep(1.5)
    assert (tmp_path / "a").stat().st_size == PAGE and running.poll() is None
    running.send_signal(number)
    out, errors = running.communicate(timeout=SECONDS)
    assert running.returncode == 0, errors
    assert newest(json.loads(out), ENDLESS, tmp_path) > 0


def test_a_killed_flight_leaves_the_card_usable(tool, tmp_path):
    """A recorder that is killed leaves a file with only the header, which has no packet for
    Wireshark. The next recording gets its own frames and no others."""
    running = start(tool, tmp_path / "a")
    time.sleep(0.5)
    running.kill()
    running.communicate(timeout=SECONDS)
    assert (tmp_path / "a").stat().st_size == PAGE
    assert packets(tmp_path / "a", tmp_path) == []
    frames = Generated(64, 3000, count=500)
    report = tool.record(frames, *OPTIONS, tmp_path / "b")
    assert compare(report, frames, packets(tmp_path / "b", tmp_path)) == list(range(500))


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--size", "1G"], "so --size and --file-seconds are not for it"),
        (["--file-seconds", "1"], "so --size and --file-seconds are not for it"),
        (["--queue", "1"], "--newest is for a recording that has queue 0"),
        (["--lossless"], "newest and lossless: "),
        (["--ring", "2M"], "newest with a ring of 2097152 bytes: it must have 4194304 or more"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_does_not_go_with_newest_is_refused(tool, tmp_path, options, sentence):
    """Options that make no sense with --newest end the command with a sentence, and no file is
    left."""
    file = tmp_path / "a.pcapng"
    assert sentence in tool.run("record", "--newest", *options, file, status=2)
    assert not file.exists()


# --newest with several queues

QUEUES = 4
# The ring is four times as large as a queue's staging memory, the smallest that --newest allows.
SMALL_RING, SMALL_MBUF = 1 << 20, 16 << 10
SMALL = ["--newest", "--ring", SMALL_RING, "--mbuf", SMALL_MBUF, "--spread", "port"]


@pytest.fixture
def queues(program):
    """Give lanebox-capture on a board whose capture has four queues."""
    built = build_executable(capture=QUEUES)
    with BoardProcess(built, Conditions().board_options()) as board:
        yield Tool(program, board)


def test_each_queue_has_its_newest_frames(queues, tmp_path):
    """With --newest and --queues all, the file of each queue has that queue's newest frames, byte
    for byte and up to the last. Queue 2 gets twice as many frames as queues 0 and 1, so more of its
    ring is overwritten. Queue 3 gets none, and its file has only the header. Each other file has
    the whole ring."""
    frames = Generated(64, PERIOD, count=56000)
    files = [tmp_path / f"{n}.pcapng" for n in range(QUEUES)]
    options = ["--queues", "all", *SMALL, "--rule", "port=3 queue=2"]
    reports = queues.record(frames, *options, *files)["queues"]
    of_queue = [[0], [1], [2, 3], []]
    for report, file, ports in zip(reports, files, of_queue):
        made = [number for number in range(frames.count) if number % PORTS in ports]
        found = packets(file, tmp_path)
        assert report["packets"] == len(made) and all(report[cause] == 0 for cause in LOST)
        kept = made[len(made) - len(found) :]
        assert [data for *_, data in found] == [frames.data(number) for number in kept]
        assert [port for _, port, *_ in found] == [number % PORTS for number in kept]
        size = file.stat().st_size - PAGE
        assert size == (SMALL_RING if ports else 0)
        more = max(0, len(made) * RECORD - size)
        assert 0 <= report["overwritten_bytes"] - more < 2 * SMALL_MBUF + SMALL_RING / 50
    for checked, report in zip(queues.check(*files[:3]), reports):
        assert checked["first_mbuf"] * SMALL_MBUF == report["overwritten_bytes"] > 0


def test_newest_is_for_all_queues_of_the_card(queues, tmp_path):
    """--newest with rules or a spread is refused unless all queues of the card are recorded, since
    the card would overwrite the ring of a queue that nobody records."""
    frames = generate(Generated(64, PERIOD, count=100))
    why = queues.run("record", "--queues", 2, *SMALL, *frames, f"{tmp_path}/out/", status=2)
    assert "newest and rules or a spread: start all queues before queue 0; queue 2 is not" in why
    assert list(tmp_path.rglob("*.pcapng")) == []


# --clock

NS = 10**9


@pytest.fixture
def clocked():
    with running_tool() as tool:
        yield tool


def record(tool: Tool, frames, folder, name, *options):
    """Record the frames. Return the packets' times in ns, after a comparison with the frames."""
    report = tool.record(frames, *options, folder / name)
    assert report["clock"] == ("host" if "host" in options else "card")
    found = packets(folder / name, folder)
    assert compare(report, frames, found) == list(range(frames.count))
    starts = [start * numbers.TICK_NS for start in frames.starts()]
    times = [ns for ns, *_ in found]
    assert [ns - times[0] for ns in times] == starts
    return times


def test_packets_have_the_host_s_time_if_it_is_asked_for(clocked, tmp_path):
    """On a simulated card packets have the time since the card's reset, and with --clock host that
    of the host. The next program resets the card, and its clock. The packets' distances stay the
    same."""
    frames = Generated(100, 3000, count=300)
    assert record(clocked, frames, tmp_path, "a.pcapng")[-1] < NS
    begin = time.time_ns()
    first, *_, last = record(clocked, frames, tmp_path, "b.pcapng", "--clock", "host")
    end = time.time_ns()
    assert begin <= first < last <= end
    assert record(clocked, frames, tmp_path, "c.pcapng", "--clock", "card")[-1] < NS


def test_another_clock_is_refused(clocked, tmp_path):
    """A word that is no clock gets a sentence, and no file is made."""
    file = tmp_path / "a.pcapng"
    why = clocked.run("record", "--clock", "tai", file, status=2)
    assert "--clock tai: it must be auto, card or host" in why
    assert not file.exists()
