# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests that the commands in targets/README.md which need a card work as they are written there.

A shell runs each command in a copy of the repository, so that build/ku5p is the copy's. The real
OpenOCD reads interface files of the README's cables that lead to a simulated part.
"""

import os
import shutil
import subprocess

import pytest

from bringup.test.bitstream_samples import REVISION_1, bit_file, configuration
from bringup.test.jtag_bench import Bench
from bringup.test.jtag_part import DONE_PIN, Cable, Tap
from bringup.test.spi_flash import Flash
from bringup.test.test_rescan import Host
from gateware.numbers import FLASH_LAYOUT
from targets.test.readme import commands
from tools.testing.repository import ROOT

SECONDS = 120
CABLES = ("digilent-hs2", "um232h")  # Without --cable the target takes the first one.
# What a user has before the commands: the files of --build, and lanebox.bit from elsewhere.
LOADED, APPLICATION, GOLDEN, PROXY = (configuration(seed=seed) for seed in range(4))
FILES = {
    "lanebox.bit": LOADED,
    "build/ku5p/vivado/lanebox.bit": LOADED,
    "build/ku5p/vivado/lanebox_application.bit": APPLICATION,
    "build/ku5p/vivado/lanebox_golden.bit": GOLDEN,
    "build/ku5p/spi_proxy/vivado/spi_proxy.bit": PROXY,
}

# The commands that this file runs. For --flash: the place of the image, and the image.
DETECT = "./targets/ku5p.py --detect"
LOADS = (
    "./targets/ku5p.py --load",
    "./targets/ku5p.py --load --cable um232h --bitstream lanebox.bit",
)
RESCAN = "./targets/ku5p.py --load --rescan"
FLASHES = {
    "./targets/ku5p.py --flash": (FLASH_LAYOUT["application"], APPLICATION),
    "./targets/ku5p.py --flash --golden": (0, GOLDEN),
}


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a command of the README with the part `tap` on the cable. It
    returns what the command printed.
    """
    copy, scripts = tmp_path / "repository", tmp_path / "scripts" / "interface" / "ftdi"
    for folder in ("targets", "bringup", "gateware", "tools"):
        skipped = shutil.ignore_patterns("test", "__pycache__", "*.scala")
        shutil.copytree(ROOT / folder, copy / folder, ignore=skipped)
    for name, data in FILES.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(bit_file(data))
    scripts.mkdir(parents=True)

    def run(command, tap):
        with Cable(tap) as cable:
            for name in CABLES:
                (scripts / f"{name}.cfg").write_text(
                    "adapter driver remote_bitbang\n"
                    f"remote_bitbang host 127.0.0.1\nremote_bitbang port {cable.port}\n"
                )
            done = subprocess.run(
                command,
                shell=True,
                cwd=copy,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                env={
                    **os.environ,
                    "OPENOCD_SCRIPTS": str(scripts.parents[1]),
                    "LANEBOX_SYSFS": str(tmp_path / "sysfs"),
                },
            )
        assert done.returncode == 0, done.stdout + done.stderr
        assert tap.broken == []
        return done.stdout

    return run


def test_detect_finds_the_part(run):
    """--detect, as in the README, names the part and loads nothing."""
    tap = Tap(REVISION_1)
    assert "0x14a62093 (xcku5p)" in run(DETECT, tap)
    assert tap.config.cleared == 0


@pytest.mark.parametrize("command", LOADS)
def test_load_starts_the_bitstream(run, command):
    """--load, as in the README, sends the bitstream to the part, and the part starts."""
    tap = Tap(REVISION_1)
    assert "loading 100 %" in run(command, tap)
    assert tap.config.received.count(LOADED) == 1 and tap.config.status & DONE_PIN


def test_load_with_rescan_says_how_the_link_trained(run, tmp_path):
    """--load --rescan, as in the README, loads the part and then says how the card's link
    trained.
    """
    tap = Tap(REVISION_1)
    with Host(tmp_path / "sysfs", ("8.0 GT/s PCIe", "8")) as host:
        said = run(RESCAN, tap)
    assert said.splitlines()[-1] == "0000:01:00.0: link 8.0 GT/s PCIe x8"
    assert tap.config.status & DONE_PIN and host.seen == ["0000:01:00.0", "rescan"]


@pytest.mark.parametrize("command", FLASHES)
def test_flash_writes_the_image(run, library, command):
    """--flash, as in the README, writes the application behind the golden image. With --golden it
    writes the golden image.
    """
    first, image = FLASHES[command]
    flash = Flash()
    assert "written and compared" in run(command, Tap(REVISION_1, user=Bench(library, flash)))
    assert flash.broken == [] and flash.contents(first, len(image)) == image


# For each other command of the README, a test that runs it or what it starts, with other folders,
# options or stand-ins.
ELSEWHERE = {
    "./targets/ku5p.py --synth-only": "targets/test/test_silicon.py::test_the_default_build_fits",
    "./targets/ku5p.py --build": "targets/test/test_silicon.py::test_with_vivado_the_build_goes_on",
    "./targets/ku5p.py --build --lanes 1": "targets/test/test_silicon.py::"
    "test_one_lane_is_not_inferred",
    "./targets/ku5p.py --driver": "bringup/test/test_programming.py::"
    "test_the_driver_comes_with_the_headers_of_this_build",
    "./targets/ku5p_probe.py --build": "bringup/test/test_ku5p_probe.py::"
    "test_without_vivado_the_netlists_are_made",
    "./targets/ku5p_probe.py --listen": "bringup/test/test_ku5p_probe.py::"
    "test_what_is_on_the_pins_is_heard",
    "./targets/ku5p_probe.py --drive E25": "bringup/test/test_ku5p_probe.py::"
    "test_a_free_pin_sends_its_name",
    "./targets/ku5p_probe.py --decode pin.csv": "bringup/test/test_ku5p_probe.py::"
    "test_a_recording_is_read",
}


def test_every_command_of_the_readme_is_run():
    """Each command in targets/README.md is run in this file, or ELSEWHERE names an existing test
    for it.
    """
    assert sorted(commands()) == sorted([DETECT, *LOADS, RESCAN, *FLASHES, *ELSEWHERE])
    for place in ELSEWHERE.values():
        file, _, name = place.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(), place
