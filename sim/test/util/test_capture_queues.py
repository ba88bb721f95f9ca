# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of recordings of several capture queues, on a simulated card that has four.

The card's generator makes the frames, and its ports, rules or hashes send them to the queues. Each
frame must be in one file, or in the accounts of its queue or of the rules.
"""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from sim.board.process import BoardProcess
from sim.rows.measure import Conditions
from sim.test.board.board_builds import build_executable
from sim.test.card.test_board_capture import PORTS, Generated
from sim.test.util.capture_tool import SECONDS, Tool, generate, packets
from sim.test.util.test_capture_live import objects
from sim.test.util.test_capture_record import limit_files
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
    """Record all capture queues by `lanebox-capture record`, while the card's generator makes
    `frames`. Returns the command's report of each queue."""
    return tool.run("record", "--queues", "all", *SMALL, *generate(frames), *options)["queues"]


def account(frames, reports):
    """Yield for each port the number of its frames that no queue has recorded or lost, by the
    reports of the queues. Fail if the generator has not made all `frames`, or if the counts of
    bytes do not fit the counts of frames."""
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


def objects_of(live):
    """Return the JSON objects of `lanebox-capture live`: one for each interval."""
    out, errors = live.communicate(timeout=SECONDS)
    assert live.returncode == 0, errors
    return objects(out)


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


def burst(tool, target, staging):
    """Record frames of 16000 bytes that come faster than the link takes them, in queue 0, which may
    use `staging` of the card's staging memory. Returns the report."""
    options = ("--ring", "8M", "--staging", staging)
    return tool.record(Generated(16000, 0, count=150), *options, target, port_mask=0)


def test_a_queue_takes_longer_bursts_with_more_staging_memory(tool, tmp_path):
    """A burst for which 32 KiB of the staging memory are too short loses frames. With 512 KiB it
    loses none, and afterwards 32 KiB are too short again."""
    short, longer, again = (
        burst(tool, tmp_path / f"{n}.pcapng", staging)
        for n, staging in enumerate(("32K", "512K", "32K"))
    )
    assert short["lost_staging"] > 0 and short["staging_bytes"] == 32 << 10
    assert longer["lost_staging"] == 0 and longer["staging_bytes"] == 512 << 10
    assert longer["packets"] == 150
    assert again["lost_staging"] > 0


def test_the_sizes_of_staging_memory_are_checked(tool, tmp_path):
    """--staging takes a size that a queue can have, once or for each queue that is recorded."""
    for sizes, sentence in (
        ("33K", "33792 bytes of the staging memory: it must be a multiple of 4096"),
        ("2M", "from 32768 to 1048576"),
        ("32K,x", "1 to 16 sizes in bytes with commas between"),
    ):
        errors = tool.run("record", "--staging", sizes, tmp_path / "a.pcapng", status=2)
        assert sentence in errors, errors
    report = tool.run(
        "record", "--queues", "all", "--staging", "32K,64K", f"{tmp_path}/q/", status=1
    )
    assert "2 sizes, and 4 queues are recorded" in json.dumps(report)


def folders_of(report):
    return [folder["folder"] for folder in report["folders"]]


def test_queues_share_folders(tool, tmp_path):
    """If there are more queues than folders, the MBUFs of each queue are dealt to all folders, in
    which queue n has the folder qn. Each file is valid by itself, and each frame of a queue is in
    one file of that queue."""
    frames = Generated(500, 3000, count=6000)
    targets = [f"{tmp_path}/{name}" for name in ("a/", "b/c/")]
    (tmp_path / "b").mkdir()
    reports = record(tool, frames, "--spread", "port", "--lossless", *targets)
    for queue, report in enumerate(reports):
        assert folders_of(report) == [f"{target}/q{queue}/" for target in targets]
        assert all(folder["mbufs"] > 0 for folder in report["folders"])
        paths = [Path(file["path"]) for file in report["files"]]
        checked = tool.check(*paths)
        assert sum(file["packets"] for file in checked) == report["packets"]
        found = [data for path in paths for *_, data in packets(path, tmp_path)]
        numbers = sorted(int.from_bytes(data[16:20], "little") for data in found)
        assert numbers == list(range(queue, frames.count, PORTS))
    assert list(account(frames, reports)) == [0] * PORTS


@pytest.mark.parametrize("shares", [False, True])
def test_as_many_folders_as_queues(tool, tmp_path, shares):
    """If there are as many folders as queues, each queue has a folder of its own, or with --share
    all folders."""
    targets = [f"{tmp_path}/{name}/" for name in "ab"]
    options = ["--queues", 2, *SMALL, *generate(Generated(500, 3000, count=2000))]
    options += ["--spread", "port", "--lossless", *["--share"] * shares]
    reports = tool.run("record", *options, *targets)["queues"]
    for queue, report in enumerate(reports):
        assert report["packets"] == 1000
        own = [f"{target}/q{queue}/" for target in targets]
        assert folders_of(report) == (own if shares else [])
        there = {str(Path(file["path"]).parent) for file in report["files"]}
        assert there == {
            str(Path(path)) for path in (own if shares else targets[queue : queue + 1])
        }


def test_a_shared_folder_that_fails_costs_no_queue_a_frame(tool, tmp_path):
    """If no more files can be made in a folder that queues share, each queue goes on in the other
    folder. No frame is missing, and a sentence for each queue names its folder."""
    targets = [f"{tmp_path}/{name}" for name in "ab"]
    for target in targets:
        Path(target).mkdir()
    frames = generate(Generated(500, 20000, count=0))
    options = ["--queues", 3, "--spread", "port", "--lossless", "--size", "100K", *SMALL, *frames]
    running = tool.start("record", *options, *targets)
    gone, first = tmp_path / "b", tmp_path / "a"

    def files(folder, queue):
        return len(list(folder.glob(f"q{queue}/*")))

    def wait(what):
        end = time.monotonic() + SECONDS
        while not what() and time.monotonic() < end:
            time.sleep(0.02)
        assert what(), running.poll()

    wait(lambda: all(files(gone, queue) for queue in range(3)))
    gone.rename(tmp_path / "moved")
    before = [files(first, queue) for queue in range(3)]
    wait(lambda: all(files(first, queue) > before[queue] + 2 for queue in range(3)))
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=SECONDS)
    assert running.returncode == 1 and "Sanitizer" not in errors, errors
    report = json.loads(out)
    assert len(report["failures"]) == 3
    for queue, own in enumerate(report["queues"]):
        assert any(f"{gone}/q{queue}/" in failure for failure in report["failures"])
        assert [bool(folder["failure"]) for folder in own["folders"]] == [False, True]
        paths = [
            Path(file["path"].replace(f"{gone}/", f"{tmp_path}/moved/")) for file in own["files"]
        ]
        found = [data for path in paths for *_, data in packets(path, tmp_path)]
        assert len(found) == own["packets"] > 0
        assert not any(own[cause] for cause in LOST)
        tool.check(*paths)


@pytest.mark.parametrize(
    "options, names, status, sentence",
    [
        (["--share"], ["a/", "b/"], 2, "--share is for several queues: give --queues, too"),
        (["--queues", 4], ["a/", "../{0}/a/"], 1, ": the folder is named twice"),
        (["--queues", 4], ["a/", "none/b/"], 1, "none/b/: No such file or directory"),
        (["--queues", 4], ["a/", "b/", "c"], 1, "4 queues are recorded, and 3 files or folders"),
        (["--queues", 2, "--share"], ["a/", "b"], 1, "one for each queue, or folders that all"),
    ],
)
def test_folders_that_queues_cannot_share(tool, tmp_path, options, names, status, sentence):
    """`lanebox-capture record` refuses targets that several queues cannot share. Such a recording
    leaves no folder and no file."""
    targets = [f"{tmp_path}/{name.format(tmp_path.name)}" for name in names]
    found = tool.run("record", *options, "--packets", 1, *targets, status=status)
    assert sentence in (found if status == 2 else found["failures"][0])
    assert list(tmp_path.iterdir()) == []


def test_rules_send_cut_and_discard_frames(tool, tmp_path):
    """Of the rules that `lanebox-capture record` gives the card, one discards the frames of a port,
    one sends those of another port to another queue, and one cuts frames. Discarded frames are
    counted, and are in no file."""
    frames = Generated(200, 3000, count=1200)
    rules = ["port=3 discard", "port=1 queue=2", "length=200 port=0 snap=60"]
    options = [word for rule in rules for word in ("--rule", rule)]
    files = [tmp_path / f"{n}.pcapng" for n in range(QUEUES)]
    reports = record(tool, frames, "--spread", "none", *options, *files)
    each = frames.count // PORTS
    assert [report["packets"] for report in reports] == [2 * each, 0, each, 0]
    discarded = reports[0]["discarded"], reports[0]["discarded_bytes"]
    assert discarded == (each, each * 200)
    assert list(account(frames, reports)) == [0, 0, 0, each]
    kept = {(port, len(data)) for _, port, *_, data in packets(files[0], tmp_path)}
    assert kept == {(0, 60), (2, 200)}
    assert {port for _, port, *_ in packets(files[2], tmp_path)} == {1}


def test_a_queue_is_recorded_on_its_processor(tool, tmp_path):
    """With --cpus the thread of each queue runs on the processor that the option names for it. If a
    processor does not exist, its queue fails with a sentence, and the other queues are recorded."""
    frames = Generated(64, 3000, count=400)
    reports = record(tool, frames, "--spread", "port", "--cpus", "0,0,0,0", f"{tmp_path}/a/")
    assert [report["packets"] for report in reports] == [100] * QUEUES
    options = ["--queues", "2", *SMALL, *generate(frames), "--cpus", "0,9999"]
    report = tool.run("record", *options, f"{tmp_path}/b/", status=1)
    assert any("queue 1: --cpu 9999" in failure for failure in report["failures"])
    assert report["queues"][0]["packets"] > 0


def test_record_warns_of_frames_for_a_queue_without_a_recording(tool, tmp_path):
    """`record` warns of a rule for a queue that is not recorded, before the recording begins. The
    rule's frames are lost, and that queue's accounts have them. `record` does not warn of a rule
    for a recorded queue.
    """
    frames = Generated(100, 3000, count=400)
    rules = ["--rule", "port=1 queue=1", "--rule", "port=3 queue=3"]
    options = ["--queues", 2, "--spread", "none", *SMALL, *generate(frames), *rules]
    done = subprocess.run(
        tool.command("record", *options, f"{tmp_path}/out/"), capture_output=True, timeout=SECONDS
    )
    sentence = "--rule 'port=3 queue=3': queue 3 is not recorded here, so its frames are lost"
    report = json.loads(done.stdout)
    assert done.returncode == 0 and [sentence in text for text in report["warnings"]] == [True]
    assert done.stderr.decode().startswith(f"lanebox-capture: warning: {sentence}")
    assert [queue["packets"] for queue in report["queues"]] == [200, 100]
    lost = tool.run("info", "--queue", 3)["ports"][3]["lost_ring"]
    assert lost == {"frames": 100, "bytes": 10000}


def test_a_lossless_recording_that_waits_for_ever_ends_at_a_signal(tool, tmp_path):
    """With --lossless a frame for a queue that nobody records holds all others up, as the warning
    says. SIGINT still ends the recording in order, and the accounts have the frame."""
    rule = ["--rule", "port=3 queue=3", "--lossless"]
    frames = generate(Generated(100, 3000, count=400))
    running = tool.start("record", *SMALL, *frames, *rule, tmp_path / "a")
    warning = running.stderr.readline()
    assert "wait for room, and all frames behind them wait too, for ever unless" in warning
    time.sleep(3)
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=SECONDS)
    assert (running.returncode, errors) == (0, "")
    assert json.loads(out)["packets"] < 400
    assert tool.run("info", "--queue", 3)["ports"][3]["lost_ring"]["frames"] > 0


def test_a_disk_that_fails_holds_up_no_other_queue(tool, tmp_path):
    """If the file of a queue cannot grow, a lossless recording of the other queues goes on. A
    sentence has the number of bytes that are in no file."""
    frames = Generated(1518, 0, count=6000)
    rules = [word for port in (1, 2, 3) for word in ("--rule", f"port={port} queue=1")]
    options = ["--queues", "2", *SMALL, "--lossless", *generate(frames), *rules]
    # The DMA's memory counts as files, too. So the limit is above the 2 MiB of its largest part.
    limit = limit_files((2 << 20) + (512 << 10))
    files = [tmp_path / "a.pcapng", tmp_path / "b.pcapng"]
    report = tool.run("record", *options, *files, status=1, preexec_fn=limit)
    full, dropped = report["failures"]
    assert "queue 1: " in full and "File too large: the file ends after" in full
    sentence = (
        r"queue 1: (\d+) bytes behind the file's end were dropped, so that this queue does not"
    )
    found = re.match(sentence, dropped)
    reports = report["queues"]
    assert numbers_in(reports[0], tmp_path) == list(range(0, frames.count, PORTS))
    assert list(account(frames, reports)) == [0] * PORTS
    assert int(found[1]) + files[1].stat().st_size >= 4500 * frames.size
    (checked,) = tool.check(files[1])
    assert not checked["stopped"] and checked["packets"] < 4500


def test_each_queue_has_accounts_to_look_at(tool, tmp_path):
    """`lanebox-capture info` and `lanebox-capture live` with --queue print the counts of that
    queue's frames, and without --queue those of queue 0. The rules send another number of frames to
    each queue."""
    frames = Generated(80, 3000, count=1000)
    rules = ["--rule", "port=1 queue=2", "--rule", "port=2 queue=2", "--rule", "port=3 queue=3"]
    reports = record(tool, frames, "--spread", "none", *rules, f"{tmp_path}/out/")
    told = [report["packets"] for report in reports]
    assert told == [250, 0, 500, 250]
    for queue, packets_told in [*enumerate(told), (None, told[0])]:
        options = [] if queue is None else ["--queue", queue]
        info = tool.run("info", *options)
        assert (info["queues"], info["queue"]) == (QUEUES, queue or 0)
        assert sum(port["delivered"]["frames"] for port in info["ports"]) == packets_told
        (live,) = objects_of(tool.start("live", *options, "--interval", 0.1, "--count", 1))
        ports = [n for n in range(PORTS) if info["ports"][n]["delivered"]["frames"]]
        assert live["queue"] == (queue or 0)
        assert [port["port"] for port in live["ports"]] == ports


@pytest.mark.parametrize("command", ["info", "live"])
@pytest.mark.parametrize(
    "queue, sentence",
    [
        ("4", "queue 4: the card has 4, the first is 0"),
        ("4294967295", "queue 4294967295: the card has 4, the first is 0"),
        ("4294967296", "--queue 4294967296: it must be a number up to 4294967295"),
        ("-1", "--queue -1: it must be a number up to 4294967295"),
        ("", "--queue : it must be a number up to 4294967295"),
    ],
)
def test_accounts_of_no_queue_have_a_sentence(tool, command, queue, sentence):
    """`lanebox-capture info` and `lanebox-capture live` with the number of a queue that the card
    does not have end with status 2 and a sentence."""
    assert sentence in tool.run(command, "--queue", queue, status=2)


def extcap(tool, *options):
    """Run lanebox-capture for this board with options as Wireshark gives them to a program in its
    extcap folder."""
    return subprocess.run(
        [tool.program, *map(str, options)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, "LANEBOX_CAPTURE": tool.device},
        check=False,
    )


def test_wireshark_has_an_interface_for_each_queue(tool):
    """Wireshark's list of interfaces has each queue of the card. Queue 0 has the same name as on a
    card with one queue. The settings of an interface are printed even if the card cannot be asked.
    """
    done = extcap(tool, "--extcap-interfaces")
    assert (done.returncode, done.stderr) == (0, "")
    names = re.findall(r"^interface \{value=([\w-]+)\}", done.stdout, re.MULTILINE)
    assert names == ["lanebox-env0", *(f"lanebox-env0-q{n}" for n in range(1, QUEUES))]
    assert f"{{display=Lanebox card {tool.device}, queue 3}}" in done.stdout
    for name in names:
        done = extcap(tool, "--extcap-interface", name, "--extcap-dlts", "--extcap-config")
        assert done.returncode == 0 and "dlt {number=1}" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "name, options, sentence",
    [
        ("lanebox-env0-q4", [], "queue 4: the card has 4, the first is 0"),
        ("lanebox-env0-q0", [], "lanebox-env0-q0: there is no such interface"),
        ("lanebox-env0-qx", [], "lanebox-env0-qx: there is no such interface"),
        ("lanebox-env01", [], "lanebox-env01: there is no such interface"),
        (
            "lanebox-env0-q1",
            ["--generate", "64"],
            "the generator belongs to the capture of queue 0",
        ),
    ],
)
def test_an_interface_of_no_queue_has_a_sentence(tool, tmp_path, name, options, sentence):
    """If Wireshark asks lanebox-capture for the interface of a queue that the card does not have,
    the program ends with status 2 and a sentence with the queue's number."""
    fifo = tmp_path / "fifo"
    fifo.touch()
    capture = ("--extcap-interface", name, "--capture", "--fifo", fifo)
    done = extcap(tool, *capture, "--extcap-capture-filter", "", *options)
    assert done.returncode == 2 and sentence in done.stderr, done.stderr


def test_an_interface_of_a_queue_waits_for_queue_0(tool, tmp_path):
    """The capture of another queue than 0 gives Wireshark the header at once. It ends in order when
    Wireshark ends it, though no frame has come."""
    fifo = tmp_path / "fifo"
    fifo.touch()
    capture = ("--extcap-interface", "lanebox-env0-q1", "--capture", "--fifo", fifo)
    running = subprocess.Popen(
        [tool.program, *map(str, capture), "--extcap-capture-filter", ""],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "LANEBOX_CAPTURE": tool.device},
    )
    end = time.monotonic() + SECONDS
    while fifo.stat().st_size < 4096 and time.monotonic() < end:
        assert running.poll() is None
        time.sleep(0.01)
    running.terminate()
    _, errors = running.communicate(timeout=SECONDS)
    assert (running.returncode, errors, fifo.stat().st_size) == (0, "", 4096)


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
        (["--cpus", "a"], "--cpus a: it must be 1 to 16 numbers with commas"),
        (["--queue", "1", "--queues", "2"], "--queue and --queues: choose one of them"),
        (["--queue", "1", "--generate", "64"], "the generator belongs to the capture of queue 0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_option_has_a_sentence(tool, tmp_path, options, sentence):
    """An option of `lanebox-capture record` about queues, rules or the spread that has a value
    which is not allowed ends the command with status 2 and a sentence."""
    target = f"{tmp_path}/out/"
    assert sentence in tool.run("record", *SMALL, *options, target, status=2)


def test_too_few_files_are_refused(tool, tmp_path):
    """lanebox-capture refuses several queues without a folder, or a file for each queue."""
    report = tool.run("record", "--queues", "all", tmp_path / "a", tmp_path / "b", status=1)
    assert (
        "4 queues are recorded, and 2 files or folders are named: name one" in report["failures"][0]
    )
