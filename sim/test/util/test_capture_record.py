# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of lanebox-capture and of the library's capture calls on the simulated card with the
capture block.

The card's generator makes the frames. Wireshark's programs read the recordings, and bytes, times,
ports, lengths and drop counts of all packets are compared with a model of the generator. In each
recording every frame that was made must be in the file or in the counts of lost frames.
"""

import json
import os
import resource
import signal
import struct
import subprocess
import threading
import time
from pathlib import Path

import pytest

from gateware import numbers
from gateware.test.capture.test_capture_file import by_fields
from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.rows.measure import Conditions
from sim.test.card.test_board_capture import PORT_MASK, PORTS, Generated
from sim.test.util.capture_tool import PAGE, SECONDS, Tool, compare, generate, packets
from software.test.software_build import build_unchecked
from tools.testing.repository import ROOT
from tools.testing.seeds import SHIFT


@pytest.fixture(scope="module")
def built():
    return artefacts.build(DEFAULT, capture=True)


@pytest.fixture(scope="module")
def checked():
    """Return the folder with lanebox-capture and the C tests, built with sanitizers."""
    return build_unchecked("SANITIZE=1")


@pytest.fixture
def board(built):
    with BoardProcess(built.board, Conditions().board_options()) as running:
        yield running


@pytest.fixture
def tool(checked, board):
    return Tool(checked / "lanebox-capture", board)


def only_file(report):
    (file,) = report["files"]
    assert Path(file["path"]).stat().st_size == file["bytes"]
    assert file["bytes"] == PAGE + file["mbufs"] * report["mbuf_bytes"]
    return Path(file["path"])


# Recordings of lanebox-capture --------------------------------------------------------------------


@pytest.mark.parametrize("size, period", [(64, 3000), (69, 3100), (256, 5000), (1518, 20000)])
def test_a_recording_has_every_frame_at_its_time(tool, tmp_path, size, period):
    """Each frame that the generator made is in the file, with its bytes and the time at which it
    began. The file is right by the rules of `check`, which counts the same."""
    frames = Generated(size, period, count=500)
    report = tool.record(frames, tmp_path / "a.pcapng")
    found = packets(only_file(report), tmp_path)
    assert compare(report, frames, found) == list(range(frames.count))
    starts = [start * numbers.TICK_NS for start in frames.starts()]
    assert [ns - found[0][0] for ns, *_ in found] == starts
    (checked,) = tool.check(only_file(report))
    assert (checked["packets"], checked["bytes"]) == (500, 500 * size)
    assert (checked["first_ns"], checked["last_ns"]) == (found[0][0], found[-1][0])
    assert (checked["lost"], checked["stopped"], checked["ordered"]) == (0, True, True)
    assert report["device_s"] == pytest.approx(starts[-1] / 1e9)


@pytest.mark.parametrize("mbuf", ["4K", "64K", "4M"])
def test_an_mbuf_has_the_size_that_was_asked_for(tool, tmp_path, mbuf):
    """`lanebox-capture record` divides its file into MBUFs, parts of the size that --mbuf gives.
    Without --mbuf an MBUF has 1 MiB."""
    bytes_of = {"4K": 4 << 10, "64K": 64 << 10, "4M": 4 << 20}[mbuf]
    frames = Generated(100, 2000, count=1500)
    report = tool.record(frames, "--mbuf", mbuf, tmp_path / "a.pcapng")
    (checked,) = tool.check(only_file(report))
    assert report["mbuf_bytes"] == checked["mbuf_bytes"] == bytes_of
    compare(report, frames, packets(only_file(report), tmp_path))
    assert checked["mbufs"] >= -(-1500 * 136 // bytes_of)
    report = tool.record(frames, tmp_path / "b.pcapng")
    assert report["mbuf_bytes"] == 1 << 20


def test_packets_are_cut_to_the_snap_length(tool, tmp_path):
    """With --snap 70 `lanebox-capture record` stores the first 70 bytes of each packet, together
    with the packet's original length."""
    frames = Generated(300, 5000, count=200)
    report = tool.record(frames, "--snap", "70", tmp_path / "a.pcapng")
    found = packets(only_file(report), tmp_path)
    assert {len(data) for *_, data in found} == {70}
    assert compare(report, frames, found, kept=70) == list(range(200))
    (checked,) = tool.check(only_file(report))
    assert (checked["bytes"], checked["kept_bytes"]) == (200 * 300, 200 * 70)


@pytest.mark.parametrize("size", [64, 1518])
def test_lossless_frames_wait_for_the_recorder(tool, tmp_path, size):
    """With --lossless a recording that is much larger than the ring has every frame. The recorder
    raises the card's limit by an eighth of the ring at a time, or in larger steps.

    The steps are larger if the recorder did not run for a while: it then finds more to take.
    """
    ring, count = 256 << 10, (3 << 20) // size
    frames = Generated(size, 0, count)
    options = ["--ring", ring, "--mbuf", "16K", "--lossless"]
    report = tool.record(frames, *options, tmp_path / "a.pcapng")
    assert compare(report, frames, packets(only_file(report), tmp_path)) == list(range(count))
    tool.check(only_file(report))
    taken = only_file(report).stat().st_size - PAGE
    assert taken > 8 * ring
    assert taken / ring - 1 < report["limit_writes"] <= taken / (ring / 8) + 2


def test_find_reads_the_part_of_a_recording_with_the_times(tool, tmp_path):
    """The times in the card's seals tell `lanebox-capture find` which MBUFs (parts of the ring)
    have the packets of a time. It reads only those, and finds all packets that tshark finds."""
    frames = Generated(64, 3000, count=20000)
    report = tool.record(
        frames, "--ring", "1M", "--mbuf", "16K", "--lossless", tmp_path / "a.pcapng"
    )
    times = [ns for ns, *_ in packets(only_file(report), tmp_path)]
    low, high = times[9000], times[9100]
    bounds = ["--from", f"{low / 1e9:.9f}", "--to", f"{high / 1e9:.9f}"]
    command = [str(tool.program), "find", "--json", *bounds, str(only_file(report)), ""]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert (found["found"], found["first_ns"], found["last_ns"]) == (101, low, high)
    assert found["packets"] < len(times)


def read_slowly(pipe, taken, seconds):
    """Read a pipe to its end, with a pause of `seconds` before each 16 KiB."""
    with pipe.open("rb", buffering=0) as source:
        while data := source.read(16 << 10):
            taken += data
            time.sleep(seconds)


def test_what_a_slow_disk_cannot_take_is_lost_and_counted(tool, tmp_path):
    """If the recorder's file is slower than the frames come, and the ring is small, the card loses
    frames. The next packet of each port says how many, and the accounts say the same."""
    pipe, taken = tmp_path / "pipe", bytearray()
    os.mkfifo(pipe)
    reader = threading.Thread(target=read_slowly, args=(pipe, taken, 0.04))
    reader.start()
    frames = Generated(64, 3000, count=60000)
    report = tool.record(frames, "--ring", "64K", "--mbuf", "4K", pipe)
    reader.join(SECONDS)
    (file,) = report["files"]
    assert file["bytes"] == len(taken) == PAGE + file["mbufs"] * 4096
    assert (report["o_direct"], report["note"]) == (False, None)
    recording = tmp_path / "taken.pcapng"
    recording.write_bytes(taken)
    found = packets(recording, tmp_path)
    delivered = compare(report, frames, found)
    assert report["lost_ring"] == frames.count - len(delivered) > 1000
    # The recording has several gaps, since the ring gets room again and again.
    assert sum(drops > 0 for _, _, _, drops, _ in found) > 2 * PORTS
    (checked,) = tool.check(recording)
    assert checked["lost"] == sum(drops for _, _, _, drops, _ in found) <= report["lost_ring"]
    assert checked["lost"] <= checked["lost_ring"] <= report["lost_ring"]


def test_files_of_a_limited_size_are_valid_by_themselves(tool, tmp_path):
    """With --size `lanebox-capture record` begins a new file before one would become larger than
    that. Each file is a valid recording by itself, and together the files have each frame once."""
    frames = Generated(200, 0, count=3000)
    folder = tmp_path / "out"
    options = ["--mbuf", "64K", "--size", "200K", "--lossless"]
    report = tool.record(frames, *options, f"{folder}/")
    files = [Path(file["path"]) for file in report["files"]]
    assert files == sorted(folder.iterdir()) and len(files) > 3
    assert all(file.stat().st_size == PAGE + 3 * (64 << 10) for file in files[:-1])
    checked = tool.check(*files)
    assert [file["first_mbuf"] for file in checked] == list(range(0, 3 * len(files), 3))
    assert [file["stopped"] for file in checked] == [False] * (len(files) - 1) + [True]
    found = [packet for file in files for packet in packets(file, tmp_path)]
    assert compare(report, frames, found) == list(range(frames.count))


def test_ctrl_c_ends_a_recording_in_order(tool, tmp_path):
    """SIGINT ends a recording without an end of its own with status 0. The file ends with the seal
    of a stop, and has what the accounts say."""
    file = tmp_path / "a.pcapng"
    endless = ["--generate", "64,3000,0", "--port-mask", PORT_MASK, "--mbuf", "16K"]
    recorder = tool.start("record", *endless, file)
    deadline = time.monotonic() + SECONDS
    # The recorder reserves room for its file ahead, so the file's length says nothing yet.
    while not (file.exists() and file.read_bytes()[PAGE + (64 << 10) :].strip(b"\0")):
        assert time.monotonic() < deadline and recorder.poll() is None
        time.sleep(0.05)
    recorder.send_signal(signal.SIGINT)
    out, errors = recorder.communicate(timeout=SECONDS)
    assert (recorder.returncode, errors) == (0, "")
    report = json.loads(out)
    (checked,) = tool.check(file)
    assert checked["stopped"] and checked["packets"] == report["packets"] > 500
    assert report["generated"] is None
    assert [n for n, _ in enumerate(packets(file, tmp_path))][-1] == report["packets"] - 1


@pytest.mark.parametrize("limit", [("--packets", 400), ("--seconds", 0.7)])
def test_a_recording_ends_at_its_limit(tool, tmp_path, limit):
    """--packets and --seconds end `lanebox-capture record` while the card's generator goes on
    without end. The recording has at least that many packets, or lasts at least that long."""
    begun = time.monotonic()
    report = tool.run("record", "--generate", "64,60000", *limit, tmp_path / "a.pcapng")
    assert report["packets"] >= (400 if limit[0] == "--packets" else 1)
    if limit[0] == "--seconds":
        assert time.monotonic() - begun >= 0.7
    (checked,) = tool.check(only_file(report))
    assert checked["packets"] == report["packets"]


def limit_files(most):
    """Let a process write files of `most` bytes only. A longer write fails with EFBIG, and SIGXFSZ
    ends a process that does not ignore it."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return limit


def test_a_disk_that_fails_leaves_whole_mbufs(tool, tmp_path):
    """If a write fails in the middle of an MBUF, the recording ends with a sentence, and the
    file is cut behind its last whole MBUF. It is then right but for its end."""
    file, mbuf = tmp_path / "a.pcapng", 64 << 10
    frames = Generated(1518, 0, count=3000)
    options = [*generate(frames), "--ring", "1M", "--mbuf", "64K", "--lossless", file]
    # The DMA's memory counts as files, too. So the limit is above the 2 MiB of its largest part.
    most = limit_files(PAGE + 40 * mbuf + mbuf // 2)
    report = tool.run("record", *options, status=1, preexec_fn=most)
    assert "File too large: the file ends after 40 MBUFs" in report["failures"][0]
    assert file.stat().st_size == PAGE + 40 * mbuf
    (checked,) = tool.check(file)
    assert (checked["mbufs"], checked["stopped"]) == (40, False)
    report = tool.run("record", *options[:-1], "/dev/full", status=1)
    assert "/dev/full: No space left on device" in report["failures"][0]


def test_a_board_that_ends_is_noticed(tool, board, tmp_path):
    """If the card goes away while no frame comes, a recording without an end ends with status 1
    and a sentence."""
    recorder = tool.start("record", tmp_path / "a.pcapng")
    deadline = time.monotonic() + SECONDS
    while not (tmp_path / "a.pcapng").exists():
        assert time.monotonic() < deadline and recorder.poll() is None
        time.sleep(0.05)
    time.sleep(0.5)
    assert recorder.poll() is None
    board.process.kill()
    out, _ = recorder.communicate(timeout=20)
    assert recorder.returncode == 1
    report = json.loads(out)
    assert "the board closed the connection" in report["failures"][0]
    # The frames' accounts went with the card, so they are unknown, and not 0.
    assert (report["packets"], report["lost_ring"], report["ports"]) == (None, None, None)


def test_info_has_the_accounts_of_each_port(tool, tmp_path):
    """`lanebox-capture info` prints the properties of the card's capture block, and for each port
    the counts of delivered and lost frames of the last recording."""
    tool.record(Generated(64, 3000, count=103), tmp_path / "a.pcapng")
    report = tool.run("info")
    assert (report["version"], report["staging_bytes"], report["segments"]) == (1, 1 << 20, 2048)
    frames = [port["delivered"]["frames"] for port in report["ports"]]
    assert frames == [26, 26, 26, 25] + [0] * 12


# Refusals of lanebox-capture ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--mbuf", "3K"], "an MBUF of 3072 bytes: it must be a power of two from 4096 to 4194304"),
        (["--mbuf", "8M"], "an MBUF of 8388608 bytes: it must be a power of two"),
        (["--ring", "3M"], "a ring of 3145728 bytes: it must be a power of two from 65536 to"),
        (["--ring", "2G"], "a ring of 2147483648 bytes: it must be a power of two"),
        (["--ring", "64K", "--mbuf", "32K"], "it must be at most a quarter of the ring"),
        (["--snap", "20000"], "a snap length of 20000 bytes: it must be at most 16383"),
        (
            ["--wait", "100000000"],
            "records that wait for 100000000 ns: it must be at most 67108860",
        ),
        (["--generate", "0"], "frames of 0 bytes: it must be 1 to 16383"),
        (["--generate", "64,16777216"], "a period of 16777216: it must be at most 16777215"),
        (["--generate", "64", "--port-mask", "16"], "a port mask of 16: it must be at most 15"),
        (["--generate", "64;3"], "--generate 64;3: it must be SIZE[,PERIOD[,COUNT]]"),
        (["--ring", "much"], "--ring much: it must be a number of bytes"),
        (["--seconds", "0"], "--seconds 0: it must be a number of seconds above 0"),
        (["--packets", "0"], "--packets 0: it must be a number above 0"),
        (["--rings", "64K"], "--rings: there is no such option"),
        (["second"], "record takes one file or folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_option_has_a_sentence(tool, tmp_path, options, sentence):
    """An option of `lanebox-capture record` with a value that is not allowed ends the command with
    status 2. The message has the value and the rule. No file is left."""
    file = tmp_path / "a.pcapng"
    assert sentence in tool.run("record", *options, file, status=2)
    assert not file.exists()


def test_a_file_is_not_overwritten(tool, tmp_path):
    """`lanebox-capture record` refuses a target file that exists, and leaves the file as it is. It
    also refuses --size without a folder, and a --size that is too small for one MBUF (part of the
    ring)."""
    file = tmp_path / "a.pcapng"
    file.write_bytes(b"mine")
    report = tool.run("record", "--generate", "64,0,10", file, status=1)
    assert "the file exists" in report["failures"][0] and file.read_bytes() == b"mine"
    report = tool.run("record", "--size", "4M", tmp_path / "b.pcapng", status=1)
    assert "need a folder" in report["failures"][0]
    report = tool.run("record", "--size", "1M", f"{tmp_path}", status=1)
    assert "--size 1048576: it must be 1052672 or more" in report["failures"][0]
    assert list(tmp_path.iterdir()) == [file]


def test_a_card_without_the_block_says_so(checked, tmp_path):
    """On a card whose gateware has no capture block, record and info end with status 1, and the
    sentence says how the gateware must be built."""
    plain = artefacts.build(DEFAULT)
    with BoardProcess(plain.board, Conditions().board_options()) as board:
        tool = Tool(checked / "lanebox-capture", board)
        for command in (["record", tmp_path / "a.pcapng"], ["info"]):
            report = tool.run(*command, status=1)
            assert "no capture block: build its gateware with --capture" in report["failures"][0]
    assert not (tmp_path / "a.pcapng").exists()


# Recording through the library --------------------------------------------------------------------


def test_the_capture_calls_do_what_they_say(checked, board):
    """The C test program capture_calls.c passes. It tests what the library's calls for a capture
    return and refuse, and how a capture ends."""
    done = subprocess.run(
        [checked / "test" / "capture_calls", f"sim:{board.socket}"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("capture_calls: ") == 4


def test_the_manual_s_examples_record(checked, board, tool, tmp_path):
    """The examples of the manual compile. The file of one has the generator's frames, and the other
    finds all of them there.
    """
    headers = ROOT / "software" / "liblitepcie"
    file = tmp_path / "a.pcapng"
    flags = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    library = [checked / "liblitepcie.a", "-pthread"]
    flags += [f"-I{headers}", f"-I{ROOT / 'software' / 'uapi'}"]
    said = {}
    for name in ("record", "records"):
        program, source = tmp_path / name, headers / "man" / "examples" / f"{name}.c"
        subprocess.run(["gcc", *flags, source, *library, "-o", program], check=True)
        done = subprocess.run(
            [program, f"sim:{board.socket}", file], capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stderr
        said[name] = done.stdout
    assert said["record"] == "MBUFs of 65536 bytes\n2000 packets of 2000, 0 lost\n"
    assert said["records"] == "port 0: 2000 frames\n"
    (checked_file,) = tool.check(file)
    assert checked_file["packets"] == len(list(by_fields(file))) == 2000


def test_the_recorder_stays_on_its_processor_and_awake(tool, tmp_path):
    """While it records with --cpu, the recorder runs on that processor alone, and holds
    /dev/cpu_dma_latency open if it may. A processor that is not there is refused."""
    cpu = min(os.sched_getaffinity(0))
    frames = Generated(64, 1 << 20, count=0)
    recorder = tool.start("record", *generate(frames), "--cpu", cpu, tmp_path / "a.pcapng")
    try:
        place = Path(f"/proc/{recorder.pid}")
        deadline = time.monotonic() + SECONDS
        while not (tmp_path / "a.pcapng").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert os.sched_getaffinity(recorder.pid) == {cpu}
        held = {os.readlink(entry) for entry in (place / "fd").iterdir()}
        may = os.access("/dev/cpu_dma_latency", os.W_OK)
        assert ("/dev/cpu_dma_latency" in held) == may
    finally:
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate(timeout=SECONDS)
    assert recorder.returncode == 0, said
    report = tool.run("record", "--cpu", 99999, tmp_path / "b.pcapng", status=1)
    assert any("--cpu 99999: this machine has no such" in text for text in report["failures"])
    assert not (tmp_path / "b.pcapng").exists()


def test_check_finds_what_a_byte_breaks(tool, tmp_path):
    """If a length, port or count in a recording of the card was changed, `lanebox-capture check`
    reports it with the offset of its block. A packet whose time was changed breaks no rule, since
    a recording of a played file may have any times, but the packets are reported as not in order.
    """
    frames = Generated(100, 2000, count=300, seed=SHIFT)
    file = only_file(tool.record(frames, "--mbuf", "64K", tmp_path / "a.pcapng"))
    whole = file.read_bytes()
    length = struct.unpack_from("<I", whole, PAGE + 4)[0]
    seal = len(whole) - 64
    for block, at, words in [
        (PAGE + length, 4, "the block's length is"),
        (PAGE + length, 8, "but the section has 16"),
        (seal, 32, "records in MBUF 0"),
        (seal, 40, "bytes of frames in MBUF 0"),
    ]:
        broken = bytearray(whole)
        broken[block + at + 1] ^= 4
        file.write_bytes(broken)
        report = tool.run("check", file, status=1)
        assert words in report["files"][0]["rule"]
        assert report["files"][0]["offset_bytes"] == block
        assert f"offset {block}: " in report["failures"][0]
    later = bytearray(whole)
    later[PAGE + 13] ^= 4  # the first packet's time is far ahead of the next one's
    file.write_bytes(later)
    assert tool.run("check", file)["files"][0]["ordered"] is False


def test_pages_that_are_not_there_are_refused(tool, tmp_path):
    """With --pages `lanebox-capture record` takes huge pages of that size for the ring, or fails
    and says how to reserve them. It refuses at once a size that does not divide the ring, or that
    no machine has."""
    cases = {
        ("--pages", "4M"): "pages of 4194304 bytes: it must be 2097152 or 1073741824",
        ("--pages", "1G"): "pages of 1073741824 bytes for a ring of 67108864: the ring must fill",
        ("--pages", "2M", "--ring", "1M"): "pages of 2097152 bytes for a ring of 1048576",
    }
    for options, sentence in cases.items():
        assert sentence in tool.run("record", *options, tmp_path / "a", status=2)
    frames = Generated(64, 1000, count=100)
    free = int(Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages").read_text())
    options = ("--pages", "2M", "--ring", "2M", *generate(frames), tmp_path / "a")
    report = tool.run("record", *options, status=0 if free else 1)
    if free:
        assert (report["page_bytes"], report["packets"]) == (2 << 20, frames.count)
    else:
        assert "there are no 1 free huge pages of 2 MiB for a ring" in report["failures"][0]
        assert "hugepages-2048kB/nr_hugepages" in report["failures"][0]
        assert list(tmp_path.iterdir()) == []


# Recordings in several folders --------------------------------------------------------------------
