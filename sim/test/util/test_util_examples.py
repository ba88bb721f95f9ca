# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every example in litepcie_util's manual page and --help runs as it stands there."""

import os
import re
import subprocess
import sys

import pytest
from board_builds import ROOT

from sim import artefacts
from sim.board.process import BoardProcess
from sim.measure import Conditions

sys.path.append(str(ROOT / "test"))

from sysfs_standin import Machine  # noqa: E402

USER = ROOT / "software" / "user"
CARD = "0000:22:00.0"
# An example without a device gets the board as its card; a later -d overrides that.
UTILITY = '#!/bin/sh\nexec {util} -d sim:build/board.sock "$@"\n'


def of_the_page():
    """The command lines in the manual page's section EXAMPLES."""
    section = (USER / "litepcie_util.1").read_text().split(".Sh EXAMPLES")[1].split("\n.Sh")[0]
    return re.findall(r"^\.Dl (.+)$", section, re.MULTILINE)


def of_the_help():
    """The command lines behind "example:" in the program's help texts."""
    texts = [path.read_text() for path in sorted((USER / "litepcie_util").glob("*.c"))]
    endings = [end for text in texts for end in re.split(r'"examples?:\\n"', text)[1:]]
    return [line for end in endings for line in re.findall(
        r'^\t\s*"  (\S.*)\\n"', re.split(r'"\\n"|;', end)[0], re.MULTILINE)]  # fmt: skip


@pytest.fixture
def place(tmp_path):
    """A folder with build/board.sock, a stand-in for a machine with a card, and the programs."""
    built = artefacts.build("lanebox")
    machine = Machine(tmp_path / "machine")
    machine.add(CARD, driver="litepcie", group=16)
    for name, text in {"litepcie_util": UTILITY.format(util=artefacts.utility(built.headers)),
                       "sudo": '#!/bin/sh\nexec "$@"\n'}.items():  # fmt: skip
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)
    with BoardProcess(built.board, Conditions().board_options()) as board:
        (tmp_path / "build").mkdir()
        (tmp_path / "build" / "board.sock").symlink_to(board.socket)
        yield tmp_path


def examples():
    """Each example once; slow ones are for `make soak`."""
    long = re.compile("64M|latency|interval|sweep")
    return [pytest.param(line, marks=pytest.mark.soak if long.search(line) else ())
            for line in dict.fromkeys([*of_the_page(), *of_the_help()])]  # fmt: skip


@pytest.mark.parametrize("command", examples())
def test_an_example_does_what_it_says(place, command):
    """An example ends with status 0 in every part of a pipe, and prints something, except poke."""
    environment = {**os.environ, "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
                   "LITEPCIE_ROOT": str(place / "machine")}  # fmt: skip
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=place, env=environment,
        capture_output=True, text=True, timeout=600)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() != "null"  # the key that jq asks for is missing in the report
    written = [path for path in place.glob("*.json") if path.stat().st_size]
    assert "poke" in command or done.stdout or written


def test_there_is_an_example_of_each_command():
    """Each command has an example in its help text."""
    names = {path.stem[4:] for path in (USER / "litepcie_util").glob("cmd_*.c")}
    names = {"scratch_test" if name == "scratch" else name for name in names}
    helped = " ".join(of_the_help())
    assert {name for name in names if f" {name}" not in helped} == set()
    assert len(of_the_page()) >= 6
