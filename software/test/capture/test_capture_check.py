# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test `lanebox-capture check` on pcapng files that the tests themselves write.

sim/test/util/test_capture_record.py tests `check` on recordings of the simulated card.
"""

import json
import os
import re
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from software.test.capture.pcapng_blocks import block, interface, option, packet, section
from software.test.software_build import run_program


def check(tool, *files):
    """Run `check` on files. Return its exit status, and a list of its reports on the files."""
    done = tool.run("check", "--json", *files)
    return done.returncode, json.loads(done.stdout)["files"]


@pytest.mark.parametrize("order", ["<", ">"], ids=["little", "big"])
@pytest.mark.parametrize(
    "resolution, time, ns",
    [
        (None, 1_700_000_000_000_001, 1_700_000_000_000_001_000),
        (9, 1_700_000_000_000_000_001, 1_700_000_000_000_000_001),
        (0x80 | 10, 3 << 9, 1_500_000_000),
    ],
    ids=["us", "ns", "2^-10"],
)
def test_any_pcapng_is_walked_through(tool, tmp_path, order, resolution, time, ns):
    """`check` finds packets, bytes, times and drop counts in pcapng of either byte order, with
    times in us, in ns and in 2^-10 s, and skips blocks of other types. Packets whose times are not
    in order break no rule.
    """
    file = tmp_path / "a.pcapng"
    drops = option(order, 4, struct.pack(order + "Q", 5)) + option(order, 0, b"")
    text = section(order) + interface(order, resolution) + block(order, 4, bytes(8))
    text += packet(order, time, b"first") + packet(order, time - 1, b"then", options=drops)
    file.write_bytes(text + block(order, 3, struct.pack(order + "I", 6) + b"simple"))
    status, (found,) = check(tool, file)
    assert (status, found["rule"]) == (0, None)
    assert (found["packets"], found["bytes"], found["lost"]) == (3, 15, 5)
    assert (found["first_ns"], found["ordered"], found["interfaces"]) == (ns, False, 1)
    assert (found["recording"], found["mbufs"]) == (False, None)


def test_sections_have_interfaces_and_byte_orders_of_their_own(tool, tmp_path):
    """A file may have several sections. A packet must be of an interface of its own section."""
    whole = section("<") + 2 * interface("<") + packet("<", 1, b"a", number=1)
    whole += section(">") + interface(">") + packet(">", 2, b"b")
    file = tmp_path / "a.pcapng"
    file.write_bytes(whole)
    status, (found,) = check(tool, file)
    assert (status, found["packets"], found["interfaces"]) == (0, 2, 3)
    file.write_bytes(whole + packet(">", 3, b"c", number=1))
    status, (found,) = check(tool, file)
    assert (status, found["offset_bytes"], found["packets"]) == (1, len(whole), 2)
    assert found["rule"] == "the packet is of interface 1, but the section has 1"


def test_a_file_that_is_no_pcapng_is_told(tool, tmp_path):
    """`check` ends with status 1, and has a message for each file that is no correct pcapng or
    cannot be read. After such a file it checks the next one.
    """
    names = {"pcap": struct.pack("<6I", 0xA1B2C3D4, 0, 0, 0, 0, 1), "empty": b"", "cut": None}
    names["cut"] = (section("<") + interface("<") + packet("<", 1, b"data"))[:-4]
    for name, data in names.items():
        (tmp_path / name).write_bytes(data)
    done = tool.run("check", *(tmp_path / name for name in names), tmp_path / "none", tmp_path)
    assert done.returncode == 1
    assert f"{tmp_path}/pcap: offset 0: the file begins with 0xa1b2c3d4, a pcapng" in done.stderr
    assert f"{tmp_path}/empty: offset 0: the file is empty" in done.stderr
    assert f"{tmp_path}/cut: offset 48: the block has 36 bytes, but the file ends" in done.stderr
    assert f"{tmp_path}/none: No such file or directory" in done.stderr
    assert f"{tmp_path}: a pipe, folder or device cannot be checked" in done.stderr
    assert done.stdout.count("result       broken") == 3


def test_the_recording_of_the_test_program_is_whole(tool, tmp_path):
    """The C test program capture_cost.c, whose instructions `make bench` counts, makes recordings
    that `check` accepts, also if they have more MBUFs (parts of the ring) than the program's ring,
    which has 256.
    """
    program, file = Path(tool.program).parent / "test" / "capture_cost", tmp_path / "a.pcapng"
    for mbufs in (1, 260):
        run_program(program, "record", str(mbufs), file)
        status, (found,) = check(tool, file)
        assert (status, found["rule"], found["mbufs"]) == (0, None, mbufs)
        assert (found["packets"], found["stopped"]) == (10922 * mbufs, True)
        file.unlink()


def test_a_recording_without_an_mbuf_says_so(tool, tmp_path):
    """`check` takes a file for a recording of lanebox-capture if it has a filler, a block type of
    such recordings, even without a seal, the block that ends each MBUF (part of a recording).
    Without seals the values of the report that come from seals are null.
    """
    file = tmp_path / "a.pcapng"
    file.write_bytes(section("<") + interface("<") + block("<", 0x80004C46, bytes(20)))
    _, (found,) = check(tool, file)
    assert (found["recording"], found["mbufs"], found["stopped"]) == (True, None, None)


def bad_blocks(order):
    """Return a dict from names to wrong blocks in the byte order `order`, with the error message of
    `check` for each. The blocks must follow a section and an interface.
    """
    word = order + "I"
    head = struct.pack(order + "5I", 0, 0, 0, 0, 0)  # fields of a packet block without data
    drops = [option(order, 4, struct.pack(order + "Q", 2**64 - 1 + n)) for n in (0, -1)]
    return {
        "cut": (packet(order, 1, bytes(100))[:-50], "has 132 bytes, but the file ends after 82"),
        "cut in its type": (b"\x06\0\0", "3 bytes are left, and a block has 12 or more"),
        "cut in its length": (packet(order, 1, b"")[:8], "8 bytes are left"),
        "4 GiB": (struct.pack(order + "II", 6, 2**32 - 4) + bytes(8), "has 4294967292 bytes, but"),
        "odd": (struct.pack(order + "II", 6, 2**32 - 1) + bytes(8), "a block of 4294967295 bytes"),
        "no length": (bytes(16), "a block of 0 bytes: it has 12 or more"),
        "short packet": (block(order, 6, bytes(16)), "has 32 bytes or more, not 28"),
        "short interface": (block(order, 1, bytes(4)), "has 20 bytes or more, not 16"),
        "short section": (
            block(order, 0x0A0D0D0A, struct.pack(word, 0x1A2B3C4D)),
            "a section header has 28 bytes or more, not 16",
        ),
        "short simple": (block(order, 3, b""), "a simple packet has 16 bytes or more, not 12"),
        "4 GiB kept": (
            block(order, 6, struct.pack(order + "5I", 0, 0, 0, 2**32 - 1, 0)),
            "the packet has 4294967295 bytes, but its block has room for 0",
        ),
        "long option": (
            block(order, 6, head + struct.pack(order + "HH", 1, 65535)),
            "option 1 has 65535 bytes, but the block has 0 left",
        ),
        "option over the length behind it": (
            block(order, 6, head + struct.pack(order + "HH", 1, 5) + bytes(4)),
            "option 1 has 5 bytes, but the block has 4 left",
        ),
        "drops": (
            b"".join(packet(order, 1, b"", options=each) for each in drops),
            "the drop counts are more than 2^64",
        ),
        "seal in a header": (
            block(order, 0x80004C42, bytes(52)),
            "a recording has 4096 bytes of header",
        ),
        "filler in no header": (
            block(order, 0x80004C46, bytes(52)),
            "the file ends after 112 bytes: the header of a recording has 4096",
        ),
        "filler over the header": (
            block(order, 0x80004C46, bytes(4084)),
            "ends at 4144: a recording has 4096 bytes of header",
        ),
    }


@pytest.mark.parametrize("order", ["<", ">"], ids=["little", "big"])
def test_a_block_that_cannot_be_is_told(tool, tmp_path, order):
    """For each of the wrong blocks of bad_blocks() `check` ends with status 1, and reports the rule
    that the block breaks and an offset within the block or at its end.
    """
    start = section(order) + interface(order)
    file = tmp_path / "a.pcapng"
    for name, (data, sentence) in bad_blocks(order).items():
        file.write_bytes(start + data)
        status, (found,) = check(tool, file)
        assert status == 1 and sentence in found["rule"], name
        offset = found["offset_bytes"]
        assert len(start) <= offset <= len(start) + len(data), name


def test_a_block_of_4_gib_is_passed_over(tool, tmp_path):
    """`check` finds a packet behind a block of nearly 4 GiB. The file is sparse."""
    file = tmp_path / "a.pcapng"
    start, length = section("<") + interface("<"), 2**32 - 4
    with file.open("wb") as out:
        out.write(start + struct.pack("<II", 0x0BAD, length))
        out.seek(len(start) + length - 4)
        out.write(struct.pack("<I", length) + packet("<", 3, b"after"))
    status, (found,) = check(tool, file)
    assert (status, found["packets"], found["first_ns"]) == (0, 1, 3000)


def test_a_pipe_is_refused_and_not_waited_for(tool, tmp_path):
    """`check` of a pipe fails at once with a sentence. It does not wait until a program opens the
    pipe for writing.
    """
    os.mkfifo(tmp_path / "pipe")
    done = tool.run("check", tmp_path / "pipe")
    assert done.returncode == 1 and "only a regular file" in done.stderr


def test_files_that_a_signal_left_out_are_told(tool, tmp_path):
    """If Ctrl-C ends `check` before the last file, the status is 1 and a sentence says how many
    files were not checked.
    """
    file = tmp_path / "a"
    file.write_bytes(section("<") + interface("<"))
    running = subprocess.Popen(
        [tool.program, "check", *["a"] * 100_000], cwd=tmp_path, stdout=-1, stderr=-1, text=True
    )
    handled = 0
    while not handled >> (signal.SIGINT - 1) & 1:
        assert running.poll() is None
        status = Path(f"/proc/{running.pid}/status").read_text()
        handled = int(re.search(r"^SigCgt:\s+(\w+)", status, re.MULTILINE)[1], 16)
        time.sleep(0.001)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 1
    assert re.search(r"a signal came: the last \d+ of 100000 files were not checked", errors)
