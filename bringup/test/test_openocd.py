# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of bringup/openocd.py and openocd.tcl: a real OpenOCD program loads a simulated part."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from bringup import openocd
from bringup.bitstream import Bitstream
from bringup.test.bitstream_samples import KU3P, REVISION_1, bit_file, configuration
from bringup.test.jtag_part import DONE_PIN, Cable, Tap
from targets.ku5p_platform import BOARD
from tools.testing.repository import ROOT

SECONDS = 60


@pytest.fixture
def interface(tmp_path):
    """Return a function that writes OpenOCD's interface file for a simulated cable and returns its
    path.
    """

    def interface(port):
        file = tmp_path / "cable.cfg"
        file.write_text(
            "adapter driver remote_bitbang\nremote_bitbang host 127.0.0.1\n"
            f"remote_bitbang port {port}\n"
        )
        return file

    return interface


@pytest.fixture
def load(tmp_path, interface):
    """Return a function that runs `ku5p.py --load` on a simulated cable.

    The function checks that the program leaves no temporary file.
    """
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    def load(port, raw=None, *options, wait=True, **environment):
        (tmp_path / "lanebox.bit").write_bytes(bit_file(configuration()) if raw is None else raw)
        command = [
            sys.executable,
            ROOT / "targets" / "ku5p.py",
            "--load",
            "--bitstream",
            tmp_path / "lanebox.bit",
            "--cable",
            interface(port),
            *options,
        ]
        started = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(temporary), **environment},
        )
        if not wait:
            return started
        out, err = started.communicate(timeout=SECONDS)
        assert not list(temporary.iterdir()), "temporary files are left"
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(command, started.returncode, out, err)

    return load


def untouched(tap):
    """Return whether the configuration of the simulated part was neither cleared nor sent any
    data.
    """
    return tap.config.cleared == 0 and not tap.config.received and not tap.broken


def test_a_bitstream_arrives_bit_by_bit(load):
    """--load sends exactly the file's configuration to the part, which starts and refuses no
    access.
    """
    data = configuration(frames=200)
    tap = Tap(REVISION_1)
    with Cable(tap) as cable:
        result = load(cable.port, bit_file(data))
    assert result.returncode == 0, result.stderr
    assert tap.broken == []
    assert tap.config.cleared == 1 and tap.config.status & DONE_PIN
    assert tap.config.received.count(data) == 1
    assert [f"loading {percent:3} %" in result.stdout for percent in (10, 50, 100)] == [True] * 3
    assert "0x14a62093 (xcku5p)" in result.stdout


def test_the_interface_is_looked_up_by_name(load, interface, tmp_path):
    """--cable NAME finds NAME.cfg in the folder interface/ftdi of OpenOCD's scripts."""
    folder = tmp_path / "scripts" / "interface" / "ftdi"
    folder.mkdir(parents=True)
    with Cable(Tap(REVISION_1)) as cable:
        shutil.copy(interface(cable.port), folder / "ours.cfg")
        result = load(
            cable.port, None, "--cable", "ours", OPENOCD_SCRIPTS=str(tmp_path / "scripts")
        )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "raw, reason",
    [
        (bit_file(configuration(KU3P)), "for another part"),
        (bit_file(configuration(), "xcku5p-ffvd900-2-i"), "for another part"),
        (bit_file(configuration())[:-300], "truncated"),
        (b"#!/bin/sh\n" * 100, "not a bitstream"),
    ],
    ids=["part", "package", "truncated", "other"],
)
def test_a_wrong_file_never_reaches_the_cable(load, raw, reason):
    """--load refuses a file that is no bitstream for this board before TCK ticks. The error has the
    reason.
    """
    tap = Tap(REVISION_1)
    with Cable(tap) as cable:
        result = load(cable.port, raw)
    assert result.returncode == 1 and reason in result.stderr
    assert tap.clocks == 0


@pytest.mark.parametrize("idcode, status", [(REVISION_1, 0), (KU3P, 1)])
def test_detection_shifts_nothing(interface, idcode, status):
    """--detect prints the IDCODE of the part on the cable, and changes nothing in the part."""
    tap = Tap(idcode)
    with Cable(tap) as cable:
        result = subprocess.run(
            [
                sys.executable,
                ROOT / "targets" / "ku5p.py",
                "--detect",
                "--cable",
                interface(cable.port),
            ],
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    assert result.returncode == status
    assert f"{idcode:#010x}" in result.stdout + result.stderr
    assert untouched(tap)


def test_a_wrong_part_is_not_programmed(load):
    """--load does not program a part with another IDCODE, and the message names that part."""
    tap = Tap(KU3P)
    with Cable(tap) as cable:
        result = load(cable.port)
    assert result.returncode == 1
    assert "the part on the cable is 0x04a63093 (xcku3p), not the board's xcku5p" in result.stderr
    assert untouched(tap) and tap.ir in ("IDCODE", "BYPASS")


@pytest.mark.parametrize("level", [0, 1])
def test_an_absent_part_is_told_from_a_missing_cable(load, level):
    """If the JTAG input TDO never changes, the message of --load says that no part answers. It does
    not say that the cable is missing.
    """
    with Cable(level=level) as cable:
        result = load(cable.port)
    assert result.returncode == 1
    assert "no part answers" in result.stderr and "Nothing was programmed" in result.stderr


def test_several_parts_are_refused(load):
    """--load refuses a JTAG chain of two parts, even if both are the board's part."""
    taps = [Tap(REVISION_1), Tap(REVISION_1)]
    with Cable(*taps) as cable:
        result = load(cable.port)
    assert result.returncode == 1
    assert "2 parts are on the chain" in result.stderr
    assert all(map(untouched, taps))


def test_a_missing_cable_is_told(load):
    """--load reports a missing cable as missing, for remote_bitbang's socket and for an FTDI's USB
    device.
    """
    for options in ([], ["--cable", "digilent-hs2"]):
        # remote_bitbang is sent to TCP port 1, since no program listens there.
        result = load(1, None, *options)
        assert result.returncode == 1
        assert "no such cable is plugged in" in result.stderr, result.stderr


def test_an_unknown_cable_names_the_known_ones(load):
    """The error of --load about an unknown cable lists the cables that OpenOCD knows."""
    result = load(1, None, "--cable", "digilent-hs9")
    assert result.returncode == 1
    assert "OpenOCD has no interface file of that name" in result.stderr
    assert "digilent-hs2" in result.stderr


def test_a_missing_openocd_names_the_package(load):
    """If OpenOCD is not installed, the message names its package."""
    result = load(1, None, LANEBOX_OPENOCD="/nowhere/openocd")
    assert result.returncode == 1
    assert "apt-get install openocd" in result.stderr


@pytest.mark.parametrize(
    "faults, reason",
    [
        ({"crc_error": True}, "finds the bitstream wrong"),
        ({"stuck": True}, "does not come back from its reset"),
        ({"no_start": True}, "did not start"),
    ],
)
def test_what_the_part_complains_of_is_told(load, faults, reason):
    """After --load the part's status register decides whether loading has worked, and the message
    names the error that it shows.
    """
    tap = Tap(REVISION_1, **faults)
    with Cable(tap) as cable:
        result = load(cable.port)
    assert result.returncode == 1 and reason in result.stderr, result.stderr
    assert tap.broken == []


def test_a_silent_cable_is_given_up(interface):
    """If a cable stops answering in the middle of loading, OpenOCD is ended and an error is
    raised.
    """
    long = Bitstream("", "", 0, configuration(frames=2000))
    with Cable(Tap(REVISION_1), hang_after=12000) as cable:
        with pytest.raises(openocd.ProgramError, match="said nothing for 1 s"):
            openocd.load(BOARD, long, str(interface(cable.port)), silence=1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing_behind(load, tmp_path, number):
    """SIGINT or SIGTERM during loading gives status 130, and leaves no OpenOCD process and
    no file.
    """
    tap = Tap(REVISION_1)
    with Cable(tap) as cable:
        started = load(cable.port, bit_file(configuration(frames=8000)), wait=False)
        until = time.monotonic() + SECONDS
        while len(tap.config.received) < 20000 and time.monotonic() < until:
            time.sleep(0.01)
        started.send_signal(number)
        out, err = started.communicate(timeout=SECONDS)
        assert cable.released.wait(10) and not cable.connected.is_set(), "OpenOCD has not ended"
    assert started.returncode == 130, err
    assert "interrupted" in err and "Traceback" not in err
    assert not list((tmp_path / "temporary").iterdir())
