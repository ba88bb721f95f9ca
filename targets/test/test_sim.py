# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of targets/sim.py, which builds the gateware of the simulated card."""

import os
from pathlib import Path

import pytest

from tools.testing.repository import ROOT, run_sim_target

FILES = [
    "csr.json",
    "gateware/lanebox.v",
    "gateware/sources.txt",
    "include/csr.h",
    "include/mem.h",
    "include/soc.h",
]


def contents(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("sources.txt", "build.stamp", ".lock")
    }


def memory_words(folder):
    """Return the 32-bit words of both block memories, one memory after the other.

    A build has eight files, one for each lane of 32 bits, which are interleaved.
    """
    lanes = [
        (folder / "gateware" / f"lanebox_lane{lane}.init").read_text().split() for lane in range(8)
    ]
    return [word for row in zip(*lanes) for word in row]


def test_every_promised_file_is_there(sim_build):
    """A build for simulation has all files that sim/ and the driver need, and each listed source
    exists.
    """
    for name in FILES:
        assert (sim_build / name).stat().st_size > 0, name
    for path in (sim_build / "gateware" / "sources.txt").read_text().split():
        assert os.path.isabs(path) and os.path.exists(path)


def test_same_sources_same_bytes(sim_build, tmp_path):
    """A build into another folder and with another PYTHONHASHSEED gives the same bytes in every
    file.
    """
    result = run_sim_target("--build", "--output-dir", tmp_path, PYTHONHASHSEED="2")
    assert result.returncode == 0, result.stderr
    assert contents(tmp_path) == contents(sim_build)


def test_no_date_and_no_path(sim_build):
    """No file of a build contains a date, the path of the output folder or that of the repository.

    The list of sources is the exception: it has absolute paths.
    """
    for name, content in contents(sim_build).items():
        for word in (b"Date ", b" on 20", str(sim_build).encode(), str(ROOT).encode()):
            assert word not in content, f"{name}: {word}"


def test_second_build_does_nothing(sim_build):
    """A second build of the same sources of the simulated card prints that it is up to date, and
    changes no file.
    """
    before = {path: path.stat().st_mtime_ns for path in sim_build.rglob("*.*")}
    result = run_sim_target("--build", "--output-dir", sim_build)
    assert result.stdout == f"{sim_build}: up to date\n"
    before.pop(sim_build / ".lock")
    for path, time in before.items():
        assert path.stat().st_mtime_ns == time, path


def test_memory_contents_reach_the_gateware(tmp_path):
    """--memory1 FILE initialises the second block memory only.

    If FILE has changed, the gateware is built again.
    """
    image = tmp_path / "image.hex"
    image.write_text("cafe0001\ncafe0002\n")
    result = run_sim_target("--build", "--output-dir", tmp_path, "--memory1", image)
    assert result.returncode == 0, result.stderr
    words = memory_words(tmp_path)
    first, second = words[:1024], words[1024:]
    assert second[:3] == ["cafe0001", "cafe0002", "00000000"] and len(second) == 1024
    assert set(first) == {"00000000"}

    image.write_text("cafe0003\n")
    result = run_sim_target("--build", "--output-dir", tmp_path, "--memory1", image)
    assert result.stdout.endswith(": built\n")


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--endpoint", "none"], "endpoint 'none' is unknown"),
        (["--user", "none:None"], "module 'none' cannot be loaded"),
        (["--memory0", "none.hex"], "none.hex: cannot be read"),
        (["--memory1", "a.mif"], "suffix '.mif' is unknown"),
    ],
)
def test_bad_options_end_in_one_sentence(tmp_path, options, sentence):
    """A bad option ends targets/sim.py with status 1 and a sentence, not a traceback. No file is
    written.
    """
    result = run_sim_target("--build", "--output-dir", tmp_path / "out", *options)
    assert result.returncode == 1
    assert sentence in result.stderr and "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_occupant_that_does_not_fit_ends_in_one_sentence(tmp_path):
    """User logic without the user slot's streams is refused, and the message names the missing
    stream.
    """
    module = tmp_path / "odd.py"
    module.write_text(
        "from litex.gen import LiteXModule\n"
        "class Odd(LiteXModule):\n    def __init__(self, platform):\n        pass\n"
    )
    result = run_sim_target("--build", "--output-dir", tmp_path / "out", "--user", f"{module}:Odd")
    assert result.returncode == 1
    assert "user logic Odd: `sink` (h2c)" in result.stderr and "Traceback" not in result.stderr


def test_without_build_nothing_happens():
    """Without --build the program targets/sim.py writes nothing and ends with exit status 2."""
    assert run_sim_target().returncode == 2


def test_target_is_executable():
    """The file targets/sim.py is executable."""
    assert os.access(Path(ROOT / "targets" / "sim.py"), os.X_OK)
