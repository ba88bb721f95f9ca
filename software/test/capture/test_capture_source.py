# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test the error messages of `lanebox-capture play` about files that the card's player would
refuse.

sim/test/util/test_capture_play.py plays files on the simulated card.
"""

import json
import struct

import pytest

from software.test.capture.pcapng_blocks import block, interface, packet, section
from software.test.software_build import build_unchecked, run_program


def refused(tool, path, *options, status=1):
    """Run `play` with one file, which must be refused. Return the error message."""
    done = tool.run("play", "--json", "-d", "/dev/litepcie-none", *options, path)
    assert done.returncode == status, done.stderr
    (sentence,) = json.loads(done.stdout)["failures"]
    return sentence


def changed(data, at, value):
    """Return the bytes `data` with the 32-bit word at offset `at` replaced by `value`."""
    return data[:at] + struct.pack("<I", value) + data[at + 4 :]


GOOD = section("<") + interface("<") + packet("<", 5, bytes(60))
AT = len(section("<") + interface("<"))  # offset in GOOD of the block with its packet


@pytest.mark.parametrize(
    "data, sentence",
    [
        (b"", "it has 0 bytes"),
        (b"short", "it has 5 bytes, and so is no pcapng file"),
        (b"GET / HTTP/1.0\r\n", "it begins with 20544547 and not with a section"),
        (struct.pack("<I", 0xA1B2C3D4) + bytes(20), "editcap -F pcapng"),
        (struct.pack(">I", 0xA1B2C3D4) + bytes(20), "it is a file of the older format pcap"),
        (struct.pack("<I", 0xA1B23C4D) + bytes(20), "it is a file of the older format pcap"),
        (section(">") + interface(">"), "offset 0: the section is big endian"),
        (GOOD + section(">"), f"offset {len(GOOD)}: the section is big endian"),
        (changed(GOOD, 8, 0x12345678), "the section's byte-order magic is 12345678"),
        (GOOD[:-8], f"offset {AT}: the file ends inside a block of 92 bytes"),
        (GOOD + b"\6\0\0\0", "the file ends inside a block"),
        (
            changed(GOOD, AT + 4, 93),
            f"offset {AT}: a block of 93 bytes: it must be a multiple of 4",
        ),
        (changed(GOOD, AT + 4, 8), "a block of 8 bytes: it must be"),
        (changed(GOOD, AT + 4, 1 << 24), "a block of 16777216 bytes: it must be"),
        (changed(GOOD, AT + 88, 96), "a block of 92 bytes has the length 96 at its end"),
        (changed(GOOD, AT + 20, 61), "a packet of 61 bytes in a block of 92"),
        (
            changed(GOOD, AT + 24, 65536),
            "a packet that had 65536 bytes: the card counts up to 65535",
        ),
        (changed(GOOD, AT + 8, 1), "a packet of interface 1: the section has 1"),
        (section("<") + interface("<") + packet("<", 5, bytes(16384)), "editcap -s 16383"),
        (section("<") + block("<", 1, struct.pack("<HHI", 113, 0, 0)), "has the link type 113"),
        (section("<") + block("<", 1, b"\1\0\0\0"), "an interface of 16 bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_the_card_would_refuse_has_a_sentence(tool, tmp_path, data, sentence):
    """If a file is no pcapng, or breaks a rule of the card's player, `play` ends with status 1. Its
    message names the file and what is wrong, for most rules with the offset of the wrong block. The
    card is not opened."""
    path = tmp_path / "a.pcapng"
    path.write_bytes(data)
    said = refused(tool, path)
    assert said.startswith(f"{path}: ") and sentence in said


def test_a_file_that_changes_while_it_is_played_ends_the_play(tmp_path):
    """The C test source.c passes: source_take(), which copies a file for the player, checks each
    block again, since another program may have changed or cut the file meanwhile. It copies the
    blocks before the first one that breaks a rule or is cut, and then fails with a message that
    says what is wrong. At the end of a file that has fewer blocks than before it fails, too.
    """
    run_program(build_unchecked("SANITIZE=1") / "test" / "source", tmp_path / "a.pcapng")


def test_a_port_for_each_interface_is_needed_or_one_for_all(tool, tmp_path):
    """A packet of an interface beyond the last port is refused, and the message names the option
    --port. With that option the file is accepted, and `play` fails only because no card can be
    opened."""
    path = tmp_path / "a.pcapng"
    path.write_bytes(section("<") + 17 * interface("<") + packet("<", 5, b"1234", number=16))
    assert "there are ports 0 to 15; --port N lets" in refused(tool, path)
    assert "/dev/litepcie-none" in refused(tool, path, "--port", "3")


def test_all_files_are_looked_at_before_one_is_played(tool, tmp_path):
    """`play` checks all files first: each bad file, folder or missing file has a message."""
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_bytes(GOOD)
    bad.write_bytes(GOOD[:-4])
    paths = [good, bad, tmp_path, tmp_path / "none"]
    done = tool.run("play", "--json", "-d", "/dev/litepcie-none", *paths)
    failures = json.loads(done.stdout)["failures"]
    assert done.returncode == 1 and len(failures) == 3
    assert [sentence.partition(": ")[0] for sentence in failures] == [str(p) for p in paths[1:]]


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--rate", "fast"], "--rate fast: it must be bits a second like 10G"),
        (["--rate", "-3G"], "--rate -3G: it must be"),
        (["--rate", "10Gb"], "--rate 10Gb: it must be"),
        (["--port", "16"], "--port 16: it must be a number from 0 to 15"),
        (["--speed", "1"], "--speed: there is no such option"),
        (["--fast", "--recorded"], "only one of --fast, --recorded and --rate sets the pace"),
        (["--recorded", "--rate", "10G"], "only one of --fast, --recorded and --rate sets"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_option_has_a_sentence(tool, tmp_path, options, sentence):
    """With a wrong option `play` ends with status 2 before it opens a file."""
    done = tool.run("play", *options, tmp_path / "none")
    assert done.returncode == 2 and sentence in done.stderr and "none" not in done.stderr


def test_no_file_makes_the_program_read_outside(tool, tmp_path):
    """Each word of a file is replaced by each of five values. The sanitizers with which `play` is
    built find no read beyond the file. `play` ends with status 1, since the file is refused or no
    card is there."""
    path = tmp_path / "a.pcapng"
    for at in range(0, len(GOOD), 4):
        for value in (0, 1, 0x0A0D0D0A, 0x7FFFFFFF, 0xFFFFFFFF):
            path.write_bytes(changed(GOOD, at, value))
            done = tool.run("play", "-d", "/dev/litepcie-none", path)
            assert done.returncode == 1, (at, value, done.stderr)
            assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr
