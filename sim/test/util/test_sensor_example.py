# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The example of a sensor whose frames are captured: both clients find each sample in place, and
Wireshark's programs read the recordings as frames of a user's link type."""

import json
import os
import re
import subprocess
import sys

import pytest

from examples.test.test_sensor import frame
from sim import artefacts, examples
from sim.board.process import BoardProcess
from sim.guest import run as guest_run
from sim.rows.measure import Conditions
from sim.test.board.board_builds import ROOT
from sim.test.driver.driver_guest import boot

SECONDS = 120  # seconds of wall time that a program may take
USER0 = 147
PORT = 15  # the card's port that stands for frames of the user slot


@pytest.fixture(scope="module")
def built():
    return artefacts.build("lanebox", examples.find("sensor"))


@pytest.fixture
def board(built):
    with BoardProcess(built.board, Conditions().board_options()) as running:
        yield running


def run(*command, **environment):
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def read(file):
    """Return [(interface, bytes), ...] of all packets, as tshark reads them. All must be of the
    link type USER0."""
    fields = ("frame.interface_id", "frame.encap_type", "frame.len")
    lines = run("tshark", "-r", file, "-T", "fields", *(f"-e{name}" for name in fields))
    interfaces = []
    for line in lines.splitlines():
        interface, encapsulation, length = line.split("\t")
        # Wireshark's own number of USER0, which is not that of the file
        assert (encapsulation, length) == ("45", "44"), line
        interfaces.append(int(interface))
    text = run("tshark", "-r", file, "-T", "json", "-x", "--no-duplicate-keys")
    bodies = re.findall(r'"frame_raw": \[\s*"([0-9a-f]+)"', text)
    assert len(bodies) == len(interfaces)
    return list(zip(interfaces, map(bytes.fromhex, bodies)))


def test_the_client_in_python_writes_what_the_sensor_sends(built, board, tmp_path):
    """The sensor example's client in Python finds all samples right, and tshark finds the same
    frames in the file that the client writes."""
    file = tmp_path / "sensor.pcapng"
    said = run(
        sys.executable,
        ROOT / "examples" / "sensor" / "client.py",
        *("-d", f"sim:{board.socket}", "-c", built.gateware / "csr.json", file),
        LIBLITEPCIE=str(artefacts.library()),
        PYTHONPATH=str(ROOT / "software" / "python"),
    )
    count = int(re.match(r"(\d+) frames of 20 samples right, 0 missed", said).group(1))
    assert count >= 500
    assert read(file) == [(PORT, frame(number)) for number in range(count)]


def test_the_client_in_c_finds_each_sample(built, board):
    """The sensor example's client in C finds all samples right, without a copy."""
    client = artefacts.client(examples.find("sensor"), built.headers)
    assert re.match(r"\d+ frames of 20 samples right", run(client, f"sim:{board.socket}"))


def test_the_recorder_gives_frames_a_link_type(built, board, tmp_path):
    """lanebox-capture records frames with the link type that its option gives, and refuses a link
    type that does not exist.

    The frames are those of the generator: a board has one client at a time, so no second client
    could start the sensor.
    """
    tool, file = artefacts.capture_tool(built.headers), tmp_path / "a.pcapng"
    command = [tool, "record", "-d", f"sim:{board.socket}", "--json"]
    frames = ("--generate", "44,256000,100")
    out = run(*command, *frames, "--link-type", USER0, file)
    assert json.loads(out)["packets"] == 100
    assert [port for port, _ in read(file)] == [0] * 100
    done = subprocess.run(
        [*command, "--link-type", "70000", tmp_path / "b"], capture_output=True, text=True
    )
    assert done.returncode == 2 and "link type 70000: it must be at most" in done.stderr


@pytest.mark.guest
@pytest.mark.soak  # the test boots a guest of its own
def test_the_recorder_records_the_sensor(built, board, tmp_path, monkeypatch):
    """Behind the driver lanebox-capture records the sensor's frames, and another program starts and
    stops the sensor meanwhile. tshark finds each frame in the recording."""
    monkeypatch.setattr(guest_run, "PLACE", tmp_path / "guest")
    files = [
        (artefacts.capture_tool(built.headers, static=True), "bin/lanebox-capture"),
        (artefacts.utility(built.headers, static=True), "bin/litepcie_util"),
        (built.gateware / "csr.json", "csr.json"),
    ]
    recording, kept = "/out/sensor.pcapng", tmp_path / "sensor.pcapng"
    commands = [
        "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled; export LANEBOX_CSR=/csr.json",
        f"lanebox-capture record --link-type {USER0} --ring 1M --packets 1000 {recording} & r=$!",
        f"while [ ! -s {recording} ]; do kill -0 $r; sleep 0.05; done",
        "litepcie_util poke user_run 1; wait $r; litepcie_util poke user_run 0",
        f"lanebox-capture check {recording}",
    ]
    kept.write_bytes(boot(board, commands, programs=(), files=files).files["sensor.pcapng"])
    found = read(kept)
    # The sensor may have started a moment before the recording.
    first = int.from_bytes(found[0][1][:4], "little")
    assert len(found) >= 1000
    assert found == [(PORT, frame(first + n)) for n in range(len(found))]
