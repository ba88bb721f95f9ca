# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of mmio/memory.py, which reads files with the initial contents of the card's memories."""

import random
import struct

import pytest
from litex.soc.interconnect import wishbone

from gateware.mmio.memory import BLANK_IMAGE, read_image
from gateware.numbers import MEMORY_SIZE
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate

ROOM = MEMORY_SIZE // 4

# Contents of image files --------------------------------------------------------------------------


def as_hex(words, rng):
    return "".join(
        f"{word:{rng.choice(['x', '08X'])}}{rng.choice(['', '  # c', '// c 12'])}\n"
        f"{rng.choice(['', '// whole line', '   '])}\n"
        for word in words
    ).encode()


def as_coe(words, rng):
    radix = rng.choice([2, 10, 16])
    form = {2: "b", 10: "d", 16: "x"}[radix]
    text = f"; a comment\nMEMORY_INITIALIZATION_RADIX = {radix};\nmemory_initialization_vector="
    return (
        text + rng.choice([",", ",\n", " ", " ,"]).join(f"{word:{form}}" for word in words) + ";\n"
    ).encode()


def as_bin(words, rng):
    return struct.pack(f"<{len(words)}I", *words)


@pytest.mark.parametrize("suffix, write", [(".hex", as_hex), (".coe", as_coe), (".bin", as_bin)])
@each_seed(6)
def test_every_format_gives_the_words_that_were_written(tmp_path, suffix, write, seed):
    """An image file in each format fills the memory from its start. The rest of the memory
    is zero.
    """
    rng = random.Random(seed)
    words = [
        rng.choice([0, 1, 2**32 - 1, rng.randrange(2**32)])
        for _ in range(rng.choice([1, 2, 100, ROOM]))
    ]
    path = tmp_path / f"image{suffix}"
    path.write_bytes(write(words, rng))
    assert read_image(path) == words + [0] * (ROOM - len(words))


def test_blank_image_fills_the_memory():
    """BLANK_IMAGE, the contents of a memory without an image file, has a zero for each word."""
    assert BLANK_IMAGE == [0] * ROOM


def test_image_is_what_the_bus_reads():
    """A LiteX memory on the Wishbone bus holds the words of its image, from its start on."""
    image = [0x11111111 * n for n in range(16)]
    dut = wishbone.SRAM(64, init=image)

    def read():
        for n, word in enumerate(image):
            assert (yield from dut.bus.read(n)) == word

    simulate(dut, [read()])


# Errors of image files ----------------------------------------------------------------------------

COE = "memory_initialization_radix=16;\nmemory_initialization_vector="

BAD = {
    "suffix": ("a.txt", b"0", "suffix '.txt' is unknown"),
    "no_suffix": ("a", b"0", "suffix '' is unknown"),
    "hex_empty": ("a.hex", b"", "holds 0 words"),
    "hex_comments": ("a.hex", b"// x\n# y\n\n", "holds 0 words"),
    "hex_too_long": (
        "a.hex",
        b"0\n" * (ROOM + 1),
        f"holds {ROOM + 1} words; the memory of {MEMORY_SIZE} bytes has room for {ROOM}",
    ),
    "hex_not_hex": ("a.hex", b"0\n0\nxyz\n", ":3: 'xyz' is not a word"),
    "hex_prefix": ("a.hex", b"0x12\n", ":1: '0x12' is not a word"),
    "hex_negative": ("a.hex", b"-1\n", ":1: '-1' is not a word"),
    "hex_nine_digits": ("a.hex", b"\n123456789\n", ":2: '123456789' does not fit a word of 32"),
    "hex_two_words": ("a.hex", b"1 2 // c\n", ":1: '1 2 // c' has 2 words; write one"),
    "hex_binary": ("a.hex", b"1\n\xff\n", ":2: byte 0xff is not ASCII"),
    "coe_empty": ("a.coe", b"", "memory_initialization_vector is missing"),
    "coe_no_words": ("a.coe", f"{COE};".encode(), "holds 0 words"),
    "coe_no_radix": (
        "a.coe",
        COE.splitlines()[1].encode() + b"1;",
        "memory_initialization_radix is missing",
    ),
    "coe_bad_radix": ("a.coe", b"\nmemory_initialization_radix=8;", ":2: memory_init"),
    "coe_no_value": ("a.coe", b"memory_initialization_radix=;", "is ''; it must be 2, 10 or"),
    "coe_bad_word": ("a.coe", f"{COE}\n1,\n2g;".encode(), ":4: '2g' is not a word of radix-16"),
    "coe_wide_word": ("a.coe", f"{COE}1{'0' * 8};".encode(), ":2: '100000000' does not fit"),
    "coe_no_end": ("a.coe", f"{COE}1,2".encode(), ":2: statement 'memory_initialization_vec"),
    "coe_unknown": ("a.coe", b"depth=4;", "'depth' is unknown"),
    "coe_no_equals": ("a.coe", b"1,2;", ":1: statement before ';' is not"),
    "bin_empty": ("a.bin", b"", "holds 0 words"),
    "bin_part_word": ("a.bin", b"12345", "holds 5 bytes; it must be a multiple of 4"),
    "bin_too_long": ("a.bin", b"1234" * (ROOM + 1), f"room for {ROOM}"),
}


@pytest.mark.parametrize("name, content, sentence", BAD.values(), ids=BAD)
def test_every_doubt_is_an_error(tmp_path, name, content, sentence):
    """A bad image file for the card's memories is refused with a sentence that names the file, the
    value and the rule.
    """
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError) as error:
        read_image(path)
    assert str(error.value).startswith(str(path))
    assert sentence in str(error.value)


def test_missing_file_is_an_error(tmp_path):
    """If the image file for a memory does not exist, the error names the file."""
    with pytest.raises(ValueError, match="none.hex: cannot be read: No such file"):
        read_image(tmp_path / "none.hex")
