# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the guest that `make sim EXAMPLE=` starts. The guest has the example's folder, the
example's client and the names of its registers."""

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sim import artefacts, examples, run
from sim.clients import programs
from sim.endpoints import DEFAULT
from sim.examples import Example
from sim.guest import run as guest_run
from sim.rows.measure import Conditions
from sim.run import DEVICE, Plan
from sim.test.board.board_builds import ROOT
from sim.test.util.test_user_requests import ACCUMULATOR
from tools.testing.seeds import SHIFT

pytestmark = pytest.mark.guest


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """Return the plan of `make sim EXAMPLE=<tmp>/scale`. The board has this repository's example
    `scale`, and the guest gets a copy of its folder."""
    monkeypatch.setattr(guest_run, "PLACE", tmp_path / "guest")
    built = artefacts.build(DEFAULT, examples.find("scale"))
    folder = shutil.copytree(examples.EXAMPLES / "scale", tmp_path / "scale")
    built = dataclasses.replace(built, example=Example(folder))
    guest = guest_run.prepare(None, built.headers)
    return Plan(built, Conditions(user="scale"), [], guest, files=[(__file__, "bin/given")])


def test_the_user_s_things_are_in_the_guest_and_come_back(plan, capfd):
    """In the guest of `make sim EXAMPLE=` the example's client runs, the card's registers have
    names, and a file given by --file exists. Changes in the example's folder come back to the host.
    A file that was deleted in the guest is kept on the host."""
    folder = plan.built.example.folder
    readme = (folder / "README.md").read_text()
    commands = [
        f"cd ~/scale; scale {DEVICE} >said",
        "echo more >>README.md; rm client.c",
        "litepcie_util dump --csr ~/csr.json | grep -q user_shift",
        "[ -x /bin/given ] || cp /bin/given /out/given",
    ]
    with plan.board() as board:
        result = plan.run_guest(board, commands, [])
    assert result.rc == 0, result.console[-2000:]
    assert (folder / "said").read_text().endswith("shift 31: 16 buffers right\n")
    assert (folder / "README.md").read_text() == readme + "more\n"
    assert (folder / "client.c").exists()
    said = capfd.readouterr().err.splitlines()
    assert f"{folder}: came back changed: README.md, said" in said
    assert f"{folder}: deleted in the guest, kept here: client.c" in said


CLIENT = """
import argparse, os, sys
import numpy
from lanebox_host import Card, WaitTimeout

parser = argparse.ArgumentParser()
parser.add_argument("-d", "--device", default="/dev/litepcie0")
device = parser.parse_args().device
before = numpy.zeros(32, numpy.uint8)
random = numpy.random.default_rng(SEED)
with Card(device) as card:
    card.registers.load(os.environ["LANEBOX_CSR"])
    card.registers["user_clear"] = 0
    card.enable_user()
    with card.loopback(inside=False, packets=True, interrupt_every=1) as stream:
        for number in range(20):
            page = random.integers(0, 256, 4096, numpy.uint8)
            wanted = numpy.bitwise_xor.accumulate(page.reshape(-1, 32), axis=0) ^ before
            before = wanted[-1]
            assert stream.ask(page, 10) == wanted.tobytes(), number
            assert card.wait_user(10), number
    try:
        card.wait_user(0.1)
    except WaitTimeout:
        pass
    else:
        raise SystemExit("an interrupt without a packet")
    print("beats", card.registers["user_beats"])
    with open("result", "w") as file:
        print(before.tobytes().hex(), file=file)
"""


@pytest.fixture
def with_state(tmp_path, monkeypatch):
    """Return the plan of an example whose answers depend on all data so far (accumulator.py). Its
    client is written in Python, and its guest has Debian's programs."""
    monkeypatch.setattr(guest_run, "PLACE", tmp_path / "guest")
    folder = tmp_path / "accumulator"
    folder.mkdir()
    print(f"seed {SHIFT}")
    (folder / "client.py").write_text(CLIENT.replace("SEED", str(SHIFT)))
    built = artefacts.build(DEFAULT, ACCUMULATOR)
    shutil.copy(Path(__file__).parents[1] / "blocks" / "accumulator.py", folder)
    built = dataclasses.replace(built, example=Example(folder))
    guest = guest_run.prepare(None, built.headers)
    return Plan(built, Conditions(user="accumulator"), [], guest, debian=True)


PROGRAMS = {
    "python": "python3 -c 'import numpy, ctypes, ssl, sqlite3; print(numpy.linalg.inv([[2]]))'",
    "lspci": "lspci -nn -s 01:00.0",
    "fio": "fio --version",
    "iperf3": "ip link set lo up; iperf3 -s -D; sleep 1; iperf3 -c 127.0.0.1 -n 1M",
    "ethtool": "ethtool lo",
}
PRINTED = {
    "python": "[[0.5]]",
    "lspci": "Xilinx Corporation",
    "fio": "fio-",
    "iperf3": "iperf Done.",
    "ethtool": "Link detected: yes",
}


@pytest.mark.soak  # the first run of this test fetches 73 MB of Debian's packages
def test_a_client_in_python_does_in_the_guest_what_it_does_without(with_state):
    """A client in Python gets the same answers in a guest behind the driver as on the host without
    a guest.

    The client asserts every answer and writes a result file, which is the same both times. Debian's
    other programs run in the guest, too.
    """
    folder, built = with_state.built.example.folder, with_state.built
    places = programs.environment(built.gateware)
    with with_state.board() as board:
        command = [sys.executable, "client.py", "-d", f"sim:{board.socket}"]
        subprocess.run(command, cwd=folder, env=places, check=True, timeout=60)
    alone = (folder / "result").read_text()
    (folder / "result").unlink()
    commands, files = run._commands(with_state)
    mine = [line for line in commands if "client.py" in line]
    assert mine == [f"(cd /root/accumulator && python3 client.py -d {DEVICE})"]
    mine += [f"{{ {text}; }} >/out/{name} 2>&1" for name, text in PROGRAMS.items()]
    with with_state.board() as board:
        result = with_state.run_guest(board, mine, files, timeout=300)
    texts = {name: data.decode() for name, data in result.files.items()}
    assert result.rc == 0, result.console[-2000:] + str(texts)
    assert "beats 2560\n" in result.console
    assert (folder / "result").read_text() == alone
    for name, printed in PRINTED.items():
        assert printed in texts[name], (name, texts[name])


def test_a_client_in_python_wants_a_guest_that_has_it(with_state, capsys):
    """In a guest without GUEST=debian, which has no Python, `make sim EXAMPLE=` leaves a client in
    Python out, and says so."""
    commands, _ = run._commands(dataclasses.replace(with_state, debian=False))
    assert not any("client.py" in line for line in commands)
    assert "client.py is left out" in capsys.readouterr().err


def test_without_a_guest_there_is_nowhere_to_put_debian():
    """GUEST=debian with VM=0 is a usage error, before anything is built."""
    command = [sys.executable, "-m", "sim.run", "--vm", "0", "--guest", "debian"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "GUEST=debian" in done.stderr


@pytest.mark.parametrize("text", ["tool", ":bin/tool", "tool:"])
def test_a_file_without_a_place_in_the_guest_is_a_usage_error(text):
    """--file without a path on the host or without a path in the guest is a usage error. The
    message shows the form HOST:GUEST."""
    command = [sys.executable, "-m", "sim.run", "--file", text]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 2 and "HOST:GUEST, such as" in done.stderr
