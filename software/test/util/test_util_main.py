# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test the command line of litepcie_util, its help, its JSON and its manual page.

The card is a stand-in. The tests in sim/test use the real gateware.
"""

import json
import re
import subprocess

import pytest

from software.test.manual_page import options_of_help, options_of_page
from tools.testing.repository import ROOT

# Commands of litepcie_util that the tests run on the stand-in for a card, with the arguments that
# the tests give to each of them.
COMMANDS = {
    "info": [],
    "peek": ["ctrl_scratch"],
    "poke": ["ctrl_scratch", "1"],
    "dump": [],
    "scratch_test": [],
    "mmio_bench": [],
    "dma_test": [],
    "dma_bench": ["--size", "4M"],
    "doctor": ["--look"],
}
# the other commands of litepcie_util
OTHERS = ["list", "reset", "rescan", "vfio", "latency", "flash", "reboot", "sensors", "module"]
OTHERS += ["console", "firmware"]


# Tests of usage and help texts --------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["-t", "x", "info"],
        ["-w", "40", "info"],
        ["--nonsense"],
        ["nonsense"],
        ["-d"],
        ["-c", "x", "info"],
        ["-c", "300", "info"],
        ["info", "extra"],
        ["info", "--size", "1"],
        ["scratch_test", "extra"],
        ["sensors", "extra"],
        ["module", "C"],
        ["module", "A", "B"],
        ["module", "--page", "3"],
        ["console", "extra"],
        ["flash"],
        ["flash", "erase"],
        ["flash", "info", "file"],
        ["flash", "write"],
        ["flash", "--address", "0", "write", "file"],
        ["flash", "--address", "0x100000000", "read", "file"],
        ["flash", "--bytes", "64M", "read", "file"],
        ["reboot", "a", "b"],
        ["firmware", "load"],
        ["firmware", "load", "a", "b"],
        ["firmware", "save"],
        ["firmware", "info", "extra"],
        ["mmio_bench", "--count", "0"],
        ["mmio_bench", "--count"],
        ["mmio_bench", "--target", "bar"],
        ["dma_test", "--direction", "up"],
        ["dma_test", "--size", "0"],
        ["dma_test", "--size", "-1"],
        ["dma_test", "--size", "1T"],
        ["dma_test", "--size", "99999999999G"],
        ["dma_test", "--duration", "0"],
        ["dma_test", "--duration", "nan"],
        ["dma_test", "--seed", "x"],
        ["dma_test", "--timeout", "0"],
        ["dma_test", "--size"],
        ["dma_test", "extra"],
        ["dma_bench", "--size", "1M"],
        ["dma_bench", "--direction", "up"],
        ["dma_bench", "--interval", "0"],
        ["dma_bench", "--sweep", "--interval", "1"],
        ["dma_bench", "--slot", "--sweep"],
        ["dma_bench", "--slot", "--duration", "1"],
    ],
    ids=" ".join,
)
def test_usage_errors_end_with_2_and_point_to_help(util, arguments):
    """litepcie_util refuses a wrong command line with status 2 before it opens a card.

    The message points to the help.
    """
    result = util.run(*arguments)
    assert result.returncode == 2
    assert "try: litepcie_util" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    "arguments", [["--help"], *([name, "--help"] for name in [*COMMANDS, *OTHERS])], ids=" ".join
)
def test_help_teaches_on_stdout(util, arguments):
    """--help of litepcie_util and of each command prints usage and examples to stdout, with status
    0.

    No line has more than 80 columns.
    """
    result = util.run(*arguments)
    assert result.returncode == 0
    assert result.stderr == ""
    assert result.stdout.startswith("usage: litepcie_util ")
    assert re.search("^examples?:$", result.stdout, re.MULTILINE)
    assert max(len(line) for line in result.stdout.splitlines()) <= 80


def test_help_names_every_command_and_the_exit_statuses(util):
    """The general help of litepcie_util lists every command and the exit statuses."""
    text = util.run("--help").stdout
    listed = text.partition("commands:")[2].partition("options:")[0]
    assert set(re.findall(r"^  (\w+) ", listed, re.MULTILINE)) == {*COMMANDS, *OTHERS}
    assert "examples:" in text and "exit status:" in text


# Tests of JSON and other output -------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_one_object_with_the_same_head(util, card, device, command):
    """With --json each command in COMMANDS prints one JSON object, whose first keys are command,
    ok, failures and conditions.
    """
    with card():
        result = util.run("-d", device, "--json", command, *COMMANDS[command])
    report = json.loads(result.stdout)
    assert list(report)[:4] == ["command", "ok", "failures", "conditions"]
    assert report["command"] == command and report["ok"] is True and report["failures"] == []
    assert report["conditions"] == {"mps": 512, "mrrs": 512, "device": device, "backend": "sim"}
    assert result.stderr == ""


@pytest.mark.parametrize(
    "command",
    [
        ["info"],
        ["scratch_test"],
        ["mmio_bench", "--count", "2"],
        ["mmio_bench", "--all"],
        ["dma_test"],
        ["dma_bench"],
        ["dma_bench", "--size", "4M", "--interval", "0.01"],
        ["dma_bench", "--sweep"],
        ["latency", "--count", "2"],
        ["doctor"],
    ],
    ids=" ".join,
)
def test_a_default_terminal_shows_a_result_whole(util, card, device, command):
    """The result of each command that this test runs fits into 80 columns, if the name of the
    device is short.
    """
    with card():
        result = util.run("-d", device, *command)
    assert result.returncode == 0, result.stderr
    lines = [line.replace(device, "sim:build/board.sock") for line in result.stdout.splitlines()]
    assert [line for line in lines if len(line) > 80] == []


def test_a_result_that_cannot_be_written_fails(util, card, device):
    """If stdout cannot be written, litepcie_util ends with status 1 and says so."""
    with card(), open("/dev/full", "w") as full:
        result = subprocess.run(
            [util.program, "-d", device, "--json", "info"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert result.returncode == 1
    assert "could not be written" in result.stderr
    for name in ([], ["info"]):
        with open("/dev/full", "w") as full:
            result = subprocess.run(
                [util.program, *name, "--help"],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=60,
            )
        assert result.returncode == 1 and "could not be written" in result.stderr


# Tests of the manual pages ------------------------------------------------------------------------


def test_the_manual_page_knows_every_option_and_every_key(util, card, device):
    """litepcie_util's manual page has every option of the help texts and every key of the JSON
    output.
    """
    page = (ROOT / "software" / "tools" / "litepcie_util.1").read_text()
    words = set(re.findall(r"[\w-]+", page))
    texts = [util.run(*name, "--help").stdout for name in ([], *zip([*COMMANDS, *OTHERS]))]
    options = set(re.findall(r"--([a-z]+)", " ".join(texts)))
    assert options and all(f"-{option}" in words for option in options)
    with card():
        keys = set()
        for command, more in COMMANDS.items():
            keys |= _keys(util.json(device, command, *more)[1])
    # The C sources have the JSON keys of all commands, also of those that this test does not run.
    sources = sorted((ROOT / "software" / "tools" / "litepcie_util").rglob("*.c"))
    keyed = r"(?:json_\w+\(&?json|emit_\w+\(out), \"(\w+)\""
    named = [re.findall(keyed, path.read_text()) for path in sources]
    assert len(keys) < len(keys.union(*named)) and keys.union(*named) - words == set()


@pytest.mark.parametrize("command", [*COMMANDS, *OTHERS])
def test_the_manual_page_has_the_options_of_the_help(util, command):
    """The section of a command in litepcie_util's manual page has the same options as its --help,
    with the same letters, and with a value where the help has one. Options that all commands share
    (SHARED in manual_page.py) are not compared.
    """
    page = (ROOT / "software" / "tools" / "litepcie_util.1").read_text()
    assert options_of_page(page, command) == options_of_help(util.run(command, "--help").stdout)


def _keys(value):
    """Return all keys of a JSON report as a set, at every depth of nesting."""
    if isinstance(value, list):
        return set().union(*(_keys(entry) for entry in value)) if value else set()
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(_keys(entry) for entry in value.values()))


def test_the_manual_page_is_well_formed():
    """groff reports no warning for litepcie_util's manual page."""
    page = ROOT / "software" / "tools" / "litepcie_util.1"
    command = ["groff", "-mdoc", "-Tutf8", "-ww", page]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0
    assert result.stderr == ""
