# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of bringup/bitstream.py: which files are read as bitstreams, and which are refused."""

import re

import pytest

from bringup.bitstream import BitstreamError, check_part, read_bitstream, scan_value
from bringup.test.bitstream_samples import (
    FRAME,
    KU3P,
    PART,
    bit_file,
    configuration,
    image,
    words,
)
from targets.as02mc04_platform import BOARD as KU3P_BOARD
from targets.ku5p_platform import BOARD


@pytest.fixture
def read(tmp_path):
    def read(raw):
        (tmp_path / "file.bit").write_bytes(raw)
        return read_bitstream(tmp_path / "file.bit")

    return read


@pytest.mark.parametrize("wrap", [bit_file, bytes], ids=["bit", "bin"])
def test_a_whole_bitstream_is_read(read, wrap):
    """read_bitstream() returns the configuration and nothing else, with and without a .bit header
    in front of it.
    """
    data = configuration()
    found = read(wrap(data))
    assert found.data == data and found.idcode == 0x04A62093
    assert found.part == (PART if wrap is bit_file else "")
    check_part(found, BOARD)


def test_the_user_id_is_in_register_axss():
    """The sample image writes its user ID by the packet that UG570 gives for the register AXSS.

    The C programs that read the user ID have the register's number from the same numbers.py.
    """
    assert words(0x3001A001, 0x12345678) in image(0x12345678)


@pytest.mark.parametrize("wrap", [bit_file, bytes], ids=["bit", "bin"])
def test_a_file_cut_anywhere_is_refused(read, wrap):
    """A bitstream file that is cut at any place is refused, never read as a shorter bitstream."""
    data = configuration(frames=1)
    whole = wrap(data)
    # The DESYNC command ends at this byte of the configuration. Only pads follow, so a file that is
    # cut behind it is not truncated.
    end = len(whole) - 16 * 4
    for length in range(0, end, 7 if wrap is bit_file else 5):
        with pytest.raises(BitstreamError, match="truncated|not a bitstream"):
            read(whole[:length])
    with pytest.raises(BitstreamError, match="truncated"):
        read(whole[: end - 1])


def test_a_cut_header_file_says_how_much_is_there(read):
    """The error for a cut .bit file says how many bytes its header promises and how many
    are there.
    """
    whole = bit_file(configuration())
    with pytest.raises(BitstreamError, match=r"promises (\d+) bytes, and (\d+) are there") as found:
        read(whole[:-10])
    promised, there = (int(text) for text in re.findall(r"(\d+) (?:bytes|are)", str(found.value)))
    assert promised - there == 10


@pytest.mark.parametrize(
    "raw, reason",
    [
        (b"", "not a bitstream"),
        (b"\x7fELF" + bytes(5000), "not a bitstream"),
        (b"\xff" * 32 + words(0xAA995566, 0x00000001), "damaged"),
        (configuration().replace(words(0x30018001), words(0x30020001)), "no IDCODE"),
    ],
    ids=["empty", "program", "damaged", "partial"],
)
def test_other_files_are_refused(read, raw, reason):
    """read_bitstream() refuses a file that is no bitstream of the part, and the error has the
    reason.
    """
    with pytest.raises(BitstreamError, match=reason):
        read(raw)


def test_a_missing_file_is_named(tmp_path):
    """The error of read_bitstream() about a missing file has the file's name."""
    with pytest.raises(BitstreamError, match="gone.bit: No such file"):
        read_bitstream(tmp_path / "gone.bit")


def test_another_part_is_refused_by_header_and_by_contents(read):
    """check_part() refuses a bitstream for another part by its IDCODE, and one for another package
    by its header.
    """
    with pytest.raises(BitstreamError, match=r"0x04a63093 \(xcku3p\), and KU5P card has xcku5p"):
        check_part(read(bit_file(configuration(KU3P))), BOARD)
    with pytest.raises(BitstreamError, match="xcku5p-sfvb784-2-i, and KU5P card"):
        check_part(read(bit_file(configuration(), "xcku5p-sfvb784-2-i")), BOARD)
    check_part(read(bit_file(configuration(KU3P), "xcku3p-ffvb676-1-e")), KU3P_BOARD)


def test_a_sync_word_inside_frames_is_data(read):
    """The reader skips a configuration packet's contents, even if they contain a sync word."""
    data = bytearray(configuration(frames=3))
    at = data.index(words(0x50000000 | 3 * FRAME)) + 400
    data[at : at + 16] = words(0xAA995566, 0x30008001, 0x0000000D, 0)
    assert read(bytes(data)).data == bytes(data)


def test_the_first_bit_of_a_scan_is_the_highest_of_the_first_byte():
    """A scan value shifts the most significant bit of the first byte into the part first
    (UG570).
    """
    assert int(scan_value(b"\x80\x00\x01"), 16) == 1 | 1 << 23
