# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim.trace.replay, which sends the host's side of a recording to the card again and
reports differences."""

import re
import subprocess
import sys

import pytest

from sim.test.board.board_builds import ROOT
from sim.test.trace import pcapng_file
from sim.test.trace.pcapng_file import dwords
from sim.test.trace.trace_run import recording
from sim.trace import pcapng
from sim.trace.host_memory import HostMemory
from sim.trace.tlp import decode
from tools.graph import tracked
from tools.locks import WAITING


def replay(path, *options):
    result = subprocess.run(
        [sys.executable, "-m", "sim.trace.replay", path, *options],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
    )
    # Another test may be building at the same time, and the wait for it adds a line to stderr.
    return result.returncode, result.stdout, result.stderr.replace(WAITING + "\n", "")


@pytest.mark.parametrize("options", [[], ["--read-latency", "3000"]], ids=["same", "slower"])
def test_the_card_does_the_same_again(options):
    """When sim.trace.replay sends the recorded host requests again, the card repeats every
    completion, read, write and interrupt, at any latency of the host."""
    status, out, err = replay(recording().path, *options)
    assert (status, err) == (0, "")
    assert "compared 1 completions, 2 interrupts, 17 reads, 32 writes\ndifferences: 0" in out


def changed(tmp_path, interface, edit, which=0):
    """Copy the recorded trace with one packet of an interface edited; returns the copy's path."""
    packets = [packet[:3] for packet in pcapng.packets(recording().path)]
    index = [i for i, packet in enumerate(packets) if packet[0] == interface][which]
    data = bytearray(packets[index][2])
    edit(data)
    packets[index] = (interface, packets[index][1], bytes(data))
    path = tmp_path / "changed.pcapng"
    path.write_bytes(pcapng_file.write(packets))
    return path


def flip(at):
    def edit(data):
        data[at] ^= 0x40

    return edit


@pytest.mark.parametrize(
    "interface,edit,what",
    [
        ("CC", flip(-1), "completion 0: recorded"),
        ("RQ", flip(7), "read 0: recorded"),  # flips a byte enable of a recorded read by the card
        # This flips a bit of the data that the card reads, so that its loopback writes other data.
        ("RC", flip(-1), "write 0: recorded"),
    ],
)
def test_a_changed_recording_is_noticed(tmp_path, interface, edit, what):
    """One flipped bit of the recording on CC, RQ or RC is reported as exactly one difference, with
    exit status 1."""
    status, out, err = replay(changed(tmp_path, interface, edit))
    assert (status, err) == (1, "")
    assert what in out and out.splitlines()[-1] == "differences: 1"


def test_another_host_request_is_another_run(tmp_path):
    """If the value of the host's write to the scratch register differs in the recording, the
    completion of the read after that write is reported as different."""
    status, out, _ = replay(changed(tmp_path, "CQ", flip(-1)))
    assert status == 1 and "completion 0: recorded" in out


def test_values_that_depend_on_time_are_left_out(tmp_path):
    """--ignore NAME leaves the data of registers with that name out of the comparison. A name that
    no register has is refused."""
    path = changed(tmp_path, "CC", flip(-1))
    assert replay(path, "--ignore", "ctrl_")[0] == 0
    status, _, err = replay(path, "--ignore", "nothing_like_it")
    assert status == 1 and "--ignore nothing_like_it" in err


def test_a_request_that_no_client_can_make(tmp_path):
    """sim.trace.replay refuses a recording with a host request whose byte enables have a hole,
    since no client can make such a request."""

    def hole(data):
        data[7] = 0x05

    status, _, err = replay(changed(tmp_path, "CQ", hole))
    assert status == 1 and "1 to 8 adjacent bytes" in err


def test_the_table_has_every_block():
    """The table of sim/trace/README.md, which says what a replay reaches, has a row for each folder
    of the gateware's stages."""
    rows = re.findall(r"^\| `([\w/]+)`", (ROOT / "sim" / "trace" / "README.md").read_text(), re.M)
    sources = [path for path in tracked() if path.parts[0] == "gateware" and len(path.parts) > 2]
    named = {row.partition("/")[0] for row in rows}
    assert named == {path.parts[1] for path in sources} - {"project", "test"}


# Host memory of a trace ------------------------------------------------------------------------

READ = dwords(0x0000_0002, 0x0100_00FF, 0x1FF8)
WRITE = 0x4000_0002, 0x0100_00FF, 0x1FF8


def memory_of(*trace):
    return HostMemory(decode(name, 4 * i, data) for i, (name, data) in enumerate(trace))


def answer(count, *values):
    data = b"".join(value.to_bytes(4, "little") for value in values)
    return dwords(0x4A00_0000 | len(values), count, 0x0100_0000 | 0x78, payload=data)


def test_memory_is_what_the_card_read_first():
    """The replay's memory starts with the data that the card read before it wrote there itself.
    That data may have come in any number of completions."""
    memory = memory_of(
        ("RQ", READ),
        ("RC", answer(8, 1)),
        ("RC", answer(4, 2)),
        ("RQ", dwords(*WRITE, payload=bytes([3] * 8))),
        ("RQ", READ),
        ("RC", answer(8, 0x03030303, 0x03030303)),
    )
    [(address, data)] = memory.regions()
    assert (address, data) == (0x1000, bytes(4096 - 8) + b"\1\0\0\0\2\0\0\0")


def test_byte_enables_of_a_write_count():
    """In the replay's memory, a byte that a write of the card did not enable keeps its value."""
    write = dwords(0x4000_0002, 0x0100_007E, 0x1FF8, payload=bytes([3] * 8))
    memory = memory_of(("RQ", write), ("RQ", READ), ("RC", answer(8, 0x03030305, 0x06030303)))
    [(_, data)] = memory.regions()
    assert data[-8:] == b"\5\0\0\0\0\0\0\6"


def test_adjacent_pages_are_one_region():
    """Adjacent pages of the replay's memory are one region. After a gap another region begins."""
    pages = [dwords(0x4000_0001, 0x0100_000F, page, payload=bytes(4)) for page in (0x3000, 0, 4096)]
    memory = memory_of(*(("RQ", page) for page in pages))
    assert [(a, len(d)) for a, d in memory.regions()] == [(0, 8192), (0x3000, 4096)]


def test_a_host_that_rewrote_its_memory_is_refused():
    """A recording in which the host rewrote its memory is refused, because it does not say when
    that happened."""
    with pytest.raises(pcapng.TraceError, match="rewrote its memory"):
        memory_of(("RQ", READ), ("RC", answer(8, 1, 2)), ("RQ", READ), ("RC", answer(8, 1, 3)))
