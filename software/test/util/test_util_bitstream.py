# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test that litepcie_util and bringup/bitstream.py accept and refuse the same bitstreams."""

import random
import subprocess

import pytest

from bringup import bitstream
from bringup.test.bitstream_samples import KU3P, bit_file, configuration, image, words
from software.test.software_build import build_software
from tools.testing.repository import ROOT
from tools.testing.seeds import SHIFT

HEADER = ROOT / "software" / "tools" / "litepcie_util" / "card" / "bitstream_format.h"
BROKEN = {
    "empty": b"",
    "program": b"\x7fELF" + bytes(5000),
    "damaged": b"\xff" * 32 + words(0xAA995566, 0x00000001),
    "partial": configuration().replace(words(0x30018001), words(0x30020001)),
    "header": bit_file(configuration())[:20],
    "short header": bit_file(configuration())[:-10],
}
WHOLE = {
    "bin": configuration(),
    "bit": bit_file(configuration()),
    "other part": bit_file(configuration(KU3P)),
    "image": image(0x12345678),
}


@pytest.fixture
def judge(tmp_path):
    """Return a function that gives a file to litepcie_util and to bringup/bitstream.py.

    The function returns the error message of each; None: the file is accepted.
    """
    util = build_software().util

    def judge(raw):
        file = tmp_path / "file.bit"
        file.write_bytes(raw)
        # If the bitstream is accepted, the command fails since it finds no card.
        command = [util, "-d", f"sim:{tmp_path}/none", "reboot", file]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "Sanitizer" not in done.stderr, done.stderr
        said = done.stderr.removeprefix("litepcie_util: reboot: ").strip()
        try:
            bitstream.read_bitstream(file)
        except bitstream.BitstreamError as error:
            return said, str(error)
        return None if said.startswith("sim:") or "none" in said else said, None

    return judge


def same(said, expected):
    """Return whether the message `said` of litepcie_util is the message `expected` of
    bringup/bitstream.py or its beginning: bringup/bitstream.py may add advice."""
    return said == expected or (said and expected and expected.startswith(said))


def test_the_header_is_what_the_module_gives():
    """bitstream_format.h has exactly the text that bringup/bitstream.py generates."""
    assert HEADER.read_text() == bitstream.c_header()


@pytest.mark.parametrize("name", [*BROKEN, *WHOLE])
def test_a_file_is_judged_alike(judge, name):
    """litepcie_util and bringup/bitstream.py accept whole bitstreams, and refuse other files with
    the same message.
    """
    said, expected = judge({**BROKEN, **WHOLE}[name])
    assert same(said, expected), (said, expected)
    assert (expected is None) == (name in WHOLE)


@pytest.mark.parametrize("kind", ["bin", "bit"])
def test_cut_and_damaged_files_are_judged_alike(judge, kind):
    """litepcie_util and bringup/bitstream.py agree on files that are cut or damaged at random."""
    rng = random.Random(1 + SHIFT)
    whole = WHOLE[kind]
    for _ in range(40):
        raw = bytearray(whole[: rng.randrange(len(whole))] if rng.random() < 0.6 else whole)
        for _ in range(rng.randrange(3)):
            if raw:
                raw[rng.randrange(min(len(raw), 300))] = rng.randrange(256)
        said, expected = judge(bytes(raw))
        assert same(said, expected), (said, expected, bytes(raw[:200]).hex())
