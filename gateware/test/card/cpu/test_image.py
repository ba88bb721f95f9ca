# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of card/cpu/image.py: which firmware a build gets, and how an image is made."""

import struct
import subprocess
import sys
import zlib

import pytest

from firmware.test.fake_card import small_soc
from gateware import numbers
from gateware.card.cpu import image, layout
from tools.testing.repository import ROOT

needs_compiler = pytest.mark.skipif(image.compiler() is None, reason="no RISC-V compiler")


def test_without_card_services_there_is_no_cpu():
    """Without --card a build has no firmware, and firmware asked for by name is refused."""
    assert image.choose_firmware("none", card=True) is None
    assert image.choose_firmware("default", card=False) is None
    with pytest.raises(ValueError, match="--firmware mine: .* add --card"):
        image.choose_firmware("mine", card=False)


def test_without_a_compiler_the_build_has_no_cpu_and_says_so(monkeypatch, capsys):
    """Without a RISC-V compiler the build leaves out the default firmware, and says so. It refuses
    a user's firmware.
    """
    monkeypatch.setattr(image, "compiler", lambda: None)
    assert image.choose_firmware("default", card=True) is None
    assert "no management CPU in this build, since riscv64-unknown-elf-gcc is not installed" in (
        capsys.readouterr().out
    )
    with pytest.raises(ValueError, match="--firmware mine: riscv64-unknown-elf-gcc is not"):
        image.choose_firmware("mine", card=True)


@needs_compiler
def test_a_folder_without_sources_is_refused(tmp_path):
    """A firmware whose folder has no C files is refused with a sentence."""
    with pytest.raises(ValueError, match="must be none, default, or a folder with .c files"):
        image.choose_firmware(str(tmp_path), card=True)


@needs_compiler
def test_an_image_has_size_and_crc_and_depends_on_its_sources_alone(monkeypatch, tmp_path):
    """The image of the default firmware has the header's words, and its CRC-32 at its end. A second
    compilation gives the same image.
    """
    firmware = image.choose_firmware("default", card=True)
    words = image.make_image(small_soc(), firmware)
    raw = struct.pack(f"<{len(words)}I", *words)
    assert words[1] == layout.IMAGE_MAGIC and words[2] == len(raw) <= numbers.CPU_IMAGE_SIZE
    assert words[-1] == zlib.crc32(raw[:-4]) and zlib.crc32(raw) == layout.CRC_RESIDUE
    monkeypatch.setattr(image, "CACHE", tmp_path)
    assert image.make_image(small_soc(), firmware) == words


@needs_compiler
def test_a_firmware_that_does_not_compile_is_told_with_its_error(tmp_path):
    """The C compiler's own message about firmware reaches the user."""
    (tmp_path / "main.c").write_text("int main(void) { return nothing; }")
    firmware = image.choose_firmware(str(tmp_path), card=True)
    with pytest.raises(RuntimeError, match="(?s)cannot be built: .*'nothing' undeclared"):
        image.make_image(small_soc(), firmware)


@needs_compiler
def test_initialised_data_arrives_and_other_data_is_zero(tmp_path):
    """The initial value of a firmware's variable is in the image, behind the code."""
    (tmp_path / "main.c").write_text(
        "volatile unsigned known = 0x12345678, zero;\nint main(void) { return known + zero; }"
    )
    words = image.make_image(small_soc(), image.choose_firmware(str(tmp_path), card=True))
    assert words[-2] == 0x12345678


@needs_compiler
def test_the_command_makes_an_image(tmp_path):
    """The module card/cpu/image.py, run as a program, compiles a folder with a given header, as
    firmware/README.md says.
    """
    (tmp_path / "main.c").write_text("int main(void) { for (;;); }")
    (tmp_path / "numbers.h").write_text(
        image.c_header(small_soc(), image.choose_firmware("default", card=True))
    )
    command = [sys.executable, "-m", "gateware.card.cpu.image", tmp_path]
    command += ["--numbers", tmp_path / "numbers.h", "--output", tmp_path / "image.bin"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    raw = (tmp_path / "image.bin").read_bytes()
    assert zlib.crc32(raw) == layout.CRC_RESIDUE and f"{len(raw)} bytes" in done.stdout
