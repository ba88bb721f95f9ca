# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of bringup/programming.py: which bitstream is loaded, how openFPGALoader is called, and
what --driver copies.
"""

import os
import subprocess
import sys

import pytest

from bringup.test.bitstream_samples import bit_file, configuration
from tools.testing.repository import ROOT

SECONDS = 120


@pytest.fixture
def run(tmp_path):
    """Return a function that runs targets/ku5p.py with stand-ins for `programs` at the front of
    PATH.
    """

    def run(*arguments, programs=None, path=None):
        for name, script in (programs or {}).items():
            file = tmp_path / "bin" / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/called\n{script}\n')
            file.chmod(0o755)
        return subprocess.run(
            [
                sys.executable,
                ROOT / "targets" / "ku5p.py",
                *arguments,
                "--output-dir",
                tmp_path / "out",
            ],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env={**os.environ, "PATH": path or f"{tmp_path}/bin:{os.environ['PATH']}"},
        )

    return run


@pytest.fixture
def bitstream(tmp_path):
    file = tmp_path / "out" / "vivado" / "lanebox.bit"
    file.parent.mkdir(parents=True)
    file.write_bytes(bit_file(configuration()))
    return file


def called(tmp_path):
    file = tmp_path / "called"
    return file.read_text().splitlines() if file.exists() else []


def test_without_a_bitstream_the_way_to_one_is_named(run):
    """Without a bitstream --load fails, and the message names --build."""
    result = run("--load")
    assert result.returncode == 1
    assert "there is no" in result.stderr and "--build" in result.stderr
    assert "Traceback" not in result.stderr


# What openFPGALoader 0.10 prints if it is called with --detect. {} stands for the part's IDCODE.
DETECTED = """empty
index 0:
\tidcode 0x{}
\tmanufacturer xilinx
\tfamily kintexusp
\tmodel  xcku5p
\tirlength 6"""


def loader(code, status=0):
    answer = f"cat <<'END'\n{DETECTED.format(code)}\nEND"
    return {"openFPGALoader": f'[ "$5" = --detect ] && {answer}\nexit {status}'}


def test_openfpgaloader_may_load_what_it_has_detected(run, bitstream, tmp_path):
    """With --programmer openFPGALoader, --load first asks openFPGALoader for the part's IDCODE, and
    then lets it load the file.
    """
    result = run("--load", "--programmer", "openFPGALoader", programs=loader("4a62093"))
    assert result.returncode == 0, result.stderr
    assert called(tmp_path) == [
        "--cable digilent_hs2 --freq 6000000 --detect",
        f"--cable digilent_hs2 --freq 6000000 --bitstream {bitstream}",
    ]


@pytest.mark.parametrize(
    "code, words",
    [
        ("4a63093", r"0x04a63093 (xcku3p), not one xcku5p"),
        ("", "no part, not one xcku5p"),
    ],
)
def test_openfpgaloader_may_not_load_another_part(run, bitstream, tmp_path, code, words):
    """If openFPGALoader reports another part, or no part, --load does not let it load the file."""
    result = run("--load", "--programmer", "openFPGALoader", programs=loader(code))
    assert result.returncode == 1 and words in result.stderr
    assert len(called(tmp_path)) == 1


def test_openfpgaloaders_own_failure_is_shown(run, bitstream):
    """If openFPGALoader fails, --load shows openFPGALoader's own message."""
    result = run(
        "--load",
        "--programmer",
        "openFPGALoader",
        programs={"openFPGALoader": "echo unable to open ftdi device >&2; exit 1"},
    )
    assert result.returncode == 1 and "unable to open ftdi device" in result.stderr


def test_a_missing_openfpgaloader_names_the_package(run, bitstream):
    """If openFPGALoader is not installed, the message names its package."""
    result = run("--load", "--programmer", "openFPGALoader", path="/nowhere")
    assert result.returncode == 1 and "apt-get install openfpgaloader" in result.stderr


def test_without_vivado_nothing_old_is_loaded(run, bitstream, tmp_path):
    """If --build fails, --load in the same command does not load the bitstream of an earlier
    build.
    """
    result = run("--build", "--load", "--endpoint", "nonsense", programs={"openocd": "exit 0"})
    assert result.returncode == 1 and not called(tmp_path)


def test_the_driver_comes_with_the_headers_of_this_build(run, tmp_path):
    """--driver copies the sources of kernel module and tools, with the headers of this build."""
    result = run("--driver", "--endpoint", "litepcie")
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "out" / "driver"
    assert (folder / "software" / "kernel" / "Kbuild").exists()
    assert (folder / "include" / "csr.h").read_text() == (
        tmp_path / "out" / "include" / "csr.h"
    ).read_text()
    assert f"make -C {folder}/software/kernel" in result.stdout


@pytest.mark.soak
def test_the_tools_compile_against_that_gateware(run, tmp_path):
    """The `make` command that --driver prints for the tools compiles them."""
    result = run("--driver", "--endpoint", "litepcie")
    folder = tmp_path / "out" / "driver"
    command = next(line for line in result.stdout.splitlines() if "/software OUT=" in line)
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    assert (folder / "tools" / "litepcie_util").exists()
