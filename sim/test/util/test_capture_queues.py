# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of recordings of several capture queues, on a simulated card that has four.

The card's generator makes the frames, and its ports, rules or hashes send them to the queues. Each
frame must be in one file, or in the accounts of its queue or of the rules.
"""

from pathlib import Path

import pytest

from sim.board.process import BoardProcess
from sim.rows.measure import Conditions
from sim.test.board.board_builds import build_executable
from sim.test.card.test_board_capture import PORTS, Generated
from sim.test.util.test_capture_record import Tool, generate, packets
from software.test.software_build import build_unchecked

QUEUES = 4
LOST = ("bad", "lost_ring", "lost_staging")
SMALL = ("--ring", "1M", "--mbuf", "16K")


@pytest.fixture(scope="module")
def running():
    program = build_executable(capture=QUEUES)
    with BoardProcess(program, Conditions().board_options()) as board:
        yield board


@pytest.fixture
def tool(running):
    return Tool(build_unchecked("SANITIZE=1") / "lanebox-capture", running)


def record(tool, frames, *options):
    """Record all queues, and return the reports of the queues."""
    return tool.run("record", "--queues", "all", *SMALL, *generate(frames), *options)["queues"]


def account(frames, reports):
    """Check that each frame is in one account, in frames and in bytes, for each port."""
    (made,) = {report["generated"] for report in reports[:1]}
    assert made == frames.count
    for port in range(PORTS):
        counts = [report["ports"][port] for report in reports]
        kept = sum(count["packets"] + sum(count[cause] for cause in LOST) for count in counts)
        size = sum(
            count["bytes"] + sum(count[f"{cause}_bytes"] for cause in LOST) for count in counts
        )
        assert size == kept * frames.size
        yield frames.count // PORTS - kept


def numbers_in(report, tmp_path):
    """Return the numbers of the frames in a queue's files, which must have the right bytes."""
    (file,) = report["files"]
    found = packets(Path(file["path"]), tmp_path)
    assert len(found) == report["packets"]
    return [int.from_bytes(data[16:20], "little") for *_, data in found]


def test_each_queue_has_a_file_with_its_ports(tool, tmp_path):
    """With --spread port each queue's file has the frames of its port, and `check` finds each file
    right by itself. In one folder for all, queue n has the folder qn."""
    frames = Generated(100, 3000, count=2000)
    reports = record(tool, frames, "--spread", "port", f"{tmp_path}/out/")
    assert [report["queue"] for report in reports] == list(range(QUEUES))
    for queue, report in enumerate(reports):
        (file,) = report["files"]
        assert Path(file["path"]).parent.name == f"q{queue}"
        numbers = numbers_in(report, tmp_path)
        assert numbers == list(range(queue, frames.count, PORTS))
        (checked,) = tool.check(file["path"])
        assert checked["packets"] == frames.count // PORTS and checked["stopped"]
    assert list(account(frames, reports)) == [0] * PORTS


def test_rules_send_cut_and_discard_frames(tool, tmp_path):
    """A rule discards the frames of a port, one sends a port to another queue, and one cuts. What
    is discarded is counted, and is in no file."""
    frames = Generated(200, 3000, count=1200)
    rules = ["port=3 discard", "port=1 queue=2", "length=200 port=0 snap=60"]
    options = [word for rule in rules for word in ("--rule", rule)]
    files = [tmp_path / f"{n}.pcapng" for n in range(QUEUES)]
    reports = record(tool, frames, "--spread", "none", *options, *files)
    each = frames.count // PORTS
    assert [report["packets"] for report in reports] == [2 * each, 0, each, 0]
    assert reports[0]["discarded"], reports[0]["discarded_bytes"] == (each, each * 200)
    assert list(account(frames, reports)) == [0, 0, 0, each]
    kept = {(port, len(data)) for _, port, *_, data in packets(files[0], tmp_path)}
    assert kept == {(0, 60), (2, 200)}
    assert {port for _, port, *_ in packets(files[2], tmp_path)} == {1}


def test_a_queue_is_recorded_on_its_processor(tool, tmp_path):
    """--cpus places the threads. A processor that does not exist fails with a sentence, and the
    other queues are recorded."""
    frames = Generated(64, 3000, count=400)
    reports = record(tool, frames, "--spread", "port", "--cpus", "0,0,0,0", f"{tmp_path}/a/")
    assert [report["packets"] for report in reports] == [100] * QUEUES
    report = tool.run(
        "record", "--queues", "2", *SMALL, *generate(frames), "--cpus", "0,9999", f"{tmp_path}/b/",
        status=1,
    )  # fmt: skip
    assert any("queue 1: --cpu 9999" in failure for failure in report["failures"])
    assert report["queues"][0]["packets"] > 0


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--queue", "4"], "queue 4: the card has 4, the first is 0"),
        (["--queues", "5"], "queue 4: the card has 4, the first is 0"),
        (["--queues", "0"], "--queues 0: it must be a number from 1 to 16, or all"),
        (
            ["--queues", "all", "--rule", "port=16 discard"],
            "port=16: it must be a number from 0 to",
        ),
        (["--queues", "2", "--rule", "port=1 queue=7"], "rule 0 names queue 7: the card has 4"),
        (["--spread", "wide"], "--spread wide: it must be hash, port or none"),
        (["--cpus", "a"], "--cpus a: it must be numbers with commas between"),
        (["--queue", "1", "--queues", "2"], "--queue and --queues: choose one of them"),
        (["--queue", "1", "--generate", "64"], "the generator belongs to the capture of queue 0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_option_has_a_sentence(tool, tmp_path, options, sentence):
    """A setting of queues and rules that cannot be ends with status 2 and a sentence."""
    target = f"{tmp_path}/out/"
    assert sentence in tool.run("record", *SMALL, *options, target, status=2)


def test_too_few_files_are_refused(tool, tmp_path):
    """Several queues need a folder, or a file for each."""
    report = tool.run("record", "--queues", "all", tmp_path / "a", tmp_path / "b", status=1)
    assert (
        "4 queues are recorded, and 2 files or folders are named: name one" in report["failures"][0]
    )
