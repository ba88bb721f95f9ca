# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every example in litepcie_util's manual page and --help texts runs unchanged."""

import os
import re
import subprocess

import pytest

from bringup.test.bitstream_samples import bit_file
from gateware.card.cpu import image
from sim import artefacts
from sim.board.process import BoardProcess
from sim.rows.measure import Conditions
from sim.test.board.board_builds import ROOT
from sim.test.services.card_contents import built_firmware, flash_file, qsfp28, sample
from software.test.standin.sysfs_standin import Machine

TOOLS = ROOT / "software" / "tools"
CARD = "0000:22:00.0"
WITH_CPU = image.compiler() is not None
# Stands in for litepcie_util: without -d the simulated board is its card; a later -d overrides
# that.
UTILITY = '#!/bin/sh\nexec {util} -d sim:build/board.sock "$@"\n'


def of_the_page():
    """Return the command lines in the section EXAMPLES of litepcie_util's manual page."""
    section = (TOOLS / "litepcie_util.1").read_text().split(".Sh EXAMPLES")[1].split("\n.Sh")[0]
    return re.findall(r"^\.Dl (.+)$", section, re.MULTILINE)


def of_the_help():
    """Return the examples in litepcie_util's help texts: of the program, and of its commands."""
    texts = [path.read_text() for path in sorted((TOOLS / "litepcie_util").rglob("*.c"))]
    endings = [end for text in texts for end in re.split(r'"examples:\\n"|\.examples =', text)[1:]]
    return [
        line
        for end in endings
        for line in re.findall(r'"  (\S.*)\\n"', re.split(r'"\\n"|;|,\n\t\.', end)[0])
    ]


@pytest.fixture
def place(tmp_path):
    """Yield a folder in which litepcie_util's examples can run. It has build/board.sock, a
    bitstream, the files of a made-up machine with a card, and the programs.

    The board has the card services, an application in its flash and a module in cage B. It has a
    management CPU where its firmware can be compiled.
    """
    built = artefacts.build("lanebox", card=True, firmware="default" if WITH_CPU else "none")
    if WITH_CPU:
        (tmp_path / "image.bin").write_bytes(built_firmware(built.board))
    machine = Machine(tmp_path / "machine")
    machine.add(CARD, driver="litepcie", group=16)
    for name, text in {
        "litepcie_util": UTILITY.format(util=artefacts.utility(built.headers)),
        "sudo": '#!/bin/sh\nexec "$@"\n',
    }.items():
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)
    bitstream = tmp_path / "build" / "ku5p" / "vivado" / "lanebox_application.bit"
    bitstream.parent.mkdir(parents=True)
    bitstream.write_bytes(bit_file(sample("old")))
    module = tmp_path / "module.bin"
    module.write_bytes(qsfp28())
    options = ["--flash", flash_file(tmp_path / "flash.bin"), "--flash-speed", "10000"]
    options += ["--module-b", module, *Conditions().board_options()]
    with BoardProcess(built.board, [str(option) for option in options]) as board:
        (tmp_path / "build" / "board.sock").symlink_to(board.socket)
        yield tmp_path


def examples():
    """Return each example of litepcie_util once, as a parameter of pytest. Slow examples run in
    `make soak` only."""
    long = re.compile("64M|latency|interval|sweep")
    return [
        pytest.param(line, marks=pytest.mark.soak if long.search(line) else ())
        for line in dict.fromkeys([*of_the_page(), *of_the_help()])
        if WITH_CPU or not re.search("console|firmware", line)
    ]


@pytest.mark.parametrize("command", examples())
def test_an_example_does_what_it_says(place, command):
    """Each example of a command in litepcie_util's manual page and --help texts ends with status 0,
    also in each part of a pipe, and prints something, except `poke`. An example of the console is
    given a command as input."""
    environment = {
        **os.environ,
        "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
        "LITEPCIE_ROOT": str(place / "machine"),
    }
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=place,
        env=environment,
        input="version\n",
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    # The output "null" means that litepcie_util's report lacks the key for which jq asks.
    assert done.stdout.strip() != "null"
    written = [path for path in place.glob("*.json") if path.stat().st_size]
    assert "poke" in command or done.stdout or written


def test_there_is_an_example_of_each_command():
    """Each command of litepcie_util has an example in its help text."""
    names = {path.stem[4:] for path in (TOOLS / "litepcie_util").rglob("cmd_*.c")}
    names = {"scratch_test" if name == "scratch" else name for name in names}
    helped = " ".join(of_the_help())
    assert {name for name in names if f" {name}" not in helped} == set()
    assert len(of_the_page()) >= 6
