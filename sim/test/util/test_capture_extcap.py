# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of lanebox-capture as a program of Wireshark's extcap folder: the cards are in the list of
interfaces, and frames come from the simulated card into tshark."""

import os
import re
import shutil
import subprocess

import pytest

from sim import artefacts
from sim.board.process import BoardProcess
from sim.rows.measure import Conditions
from sim.test.card.test_board_capture import Generated
from software.test.software_build import build_unchecked

SECONDS = 120  # seconds of wall time that a program may take
MISSING = "sim:/nonexistent/board.sock"

pytestmark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")


@pytest.fixture(scope="module")
def program():
    """Return lanebox-capture, built with sanitizers."""
    return build_unchecked("SANITIZE=1") / "lanebox-capture"


@pytest.fixture
def board():
    built = artefacts.build("lanebox", capture=True)
    with BoardProcess(built.board, Conditions().board_options()) as running:
        yield running


@pytest.fixture
def wireshark(program, tmp_path):
    """Return a function that runs one of Wireshark's programs for a user who has lanebox-capture in
    his extcap folder. `cards` are the names of LANEBOX_CAPTURE."""
    # The folder up to Wireshark 4.0, and the one from then on.
    for place in ("config/wireshark/extcap", ".local/lib/wireshark/extcap"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "lanebox-capture").symlink_to(program)

    def run(*command, cards):
        home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
        return subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env={**os.environ, **home, "LANEBOX_CAPTURE": cards},
            check=False,
        )

    return run


def ask(program, *options, cards=MISSING):
    done = subprocess.run(
        [program, *options],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, "LANEBOX_CAPTURE": cards},
        check=False,
    )
    assert "Sanitizer" not in done.stderr, done.stderr
    return done


def test_the_cards_are_in_the_list_of_interfaces(program, wireshark):
    """tshark lists each card that LANEBOX_CAPTURE names. For each card lanebox-capture prints a
    link type and the settings, and accepts each setting as an option."""
    done = wireshark("tshark", "-D", cards=f"{MISSING}  vfio:0000:22:00.0")
    assert f"lanebox-env0 (Lanebox card {MISSING})" in done.stdout, done.stdout + done.stderr
    assert "lanebox-env1 (Lanebox card vfio:0000:22:00.0)" in done.stdout
    of = ("--extcap-interface", "lanebox-env0")
    assert ask(program, *of, "--extcap-dlts").stdout == (
        "dlt {number=1}{name=EN10MB}{display=Ethernet}\n"
    )
    settings = ask(program, *of, "--extcap-config").stdout
    calls = re.findall(r"^arg \{number=\d+\}\{call=(--[a-z-]+)\}", settings, re.MULTILINE)
    assert len(calls) == settings.count("\n") == 5
    for call in calls:
        value = [] if call == "--keep-bad" else ["64"]
        assert ask(program, *of, "--extcap-dlts", call, *value).returncode == 0, call


@pytest.mark.parametrize(
    "options, said",
    [
        (["--extcap-dlts"], "--extcap-interface"),
        (["--extcap-interface", "eth0", "--extcap-dlts"], "eth0: there is no such interface"),
        (["--extcap-interface", "lanebox-env0", "--capture"], "--capture needs --fifo"),
        (
            ["--extcap-interface", "lanebox-env0", "--capture", "--extcap-capture-filter", "tcp"],
            "capture filter tcp: the card cannot filter",
        ),
        (["--extcap-interface", "lanebox-env0", "--snap", "20000"], "--snap 20000: .* 16383"),
        (["--extcap-interface", "lanebox-env0", "--generate", "big"], "--generate big"),
        (
            ["--extcap-interface", "lanebox-env0", "--capture", "--fifo", "/nonexistent/fifo"],
            "/nonexistent/fifo: No such file",
        ),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_a_request_that_cannot_be_gets_a_sentence(program, options, said):
    """If an option that Wireshark must give is missing, or has a value that lanebox-capture does
    not accept, the program ends with status 2 and a sentence that names the option or the value."""
    done = ask(program, *options)
    assert done.returncode == 2 and re.search(said, done.stderr), done.stderr


def test_a_card_that_is_not_there_gets_a_sentence(program, tmp_path):
    """A capture of a card that cannot be opened fails with the library's sentence about it."""
    file = tmp_path / "fifo"
    file.touch()
    of = ("--extcap-interface", "lanebox-env0")
    done = ask(program, *of, "--capture", "--fifo", file)
    assert done.returncode == 1 and "/nonexistent/board.sock" in done.stderr, done.stderr


def test_frames_come_into_tshark(wireshark, board, tmp_path):
    """tshark captures from the card as from any interface: all frames come with their bytes and
    ports, from the first one on. When it has enough it ends the program, and the next capture
    begins anew."""
    frames = Generated(96, 4000, count=300, seed=0)
    for number in range(2):
        file = tmp_path / f"{number}.pcapng"
        done = wireshark(
            "tshark",
            *("-i", "lanebox-env0", "-c", 300, "-w", file),
            *("-o", f"extcap.lanebox_env0.generate:{frames.size},{frames.period},0"),
            cards=f"sim:{board.socket}",
        )
        assert done.returncode == 0 and file.exists(), done.stdout + done.stderr
        read = wireshark(
            "tshark",
            *("-r", file, "-T", "json", "-x", "--no-duplicate-keys"),
            cards="",
        ).stdout
        bodies = re.findall(r'"frame_raw": \[\s*"([0-9a-f]+)"', read)
        assert len(bodies) == 300, read[:500]
        for i, body in enumerate(bodies):
            want = bytearray(frames.data(i))
            want[11] = 0  # the card's port, in the frame's source MAC address
            assert bytes.fromhex(body) == bytes(want), i
