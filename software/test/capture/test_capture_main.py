# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test the command line of lanebox-capture, its help and its manual page. No card is needed."""

import re
import subprocess

import pytest

from software.test.manual_page import options_of_help, options_of_page
from tools.testing.repository import ROOT

TOOLS = ROOT / "software" / "tools"
COMMANDS = ("record", "play", "check", "find", "live", "disk", "info")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["records"],
        ["-x"],
        ["check"],
        ["check", "-x"],
        ["record"],
        ["play"],
        ["info", "more"],
        ["find", "a.pcapng"],
        ["find", "--from", "-1", "a.pcapng", "tcp"],
        ["find", "--json", "--write", "-", "a.pcapng", "tcp"],
        ["live", "more"],
        ["live", "--interval", "0"],
        ["live", "--count", "0"],
        ["disk"],
        ["disk", "a", "b"],
        ["disk", "--rate", "fast", "a"],
        ["disk", "--ring", "100K", "a"],
        ["disk", "--ring", "64K", "--mbuf", "32K", "a"],
        ["-d"],
    ],
    ids=" ".join,
)
def test_usage_errors_end_with_2_and_point_to_help(tool, arguments):
    """With a wrong command line lanebox-capture ends with status 2, and its message points to the
    help. It opens no card."""
    done = tool.run(*arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("lanebox-capture: ") and "try: lanebox-capture" in done.stderr


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=" ".join)
def test_help_teaches_on_stdout(tool, command):
    """--help of lanebox-capture and of each command prints usage and examples, in at most 80
    columns, with status 0. If stdout cannot be written, the status is 1.
    """
    done = tool.run(*command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: lanebox-capture ")
    assert re.search("^examples?:$", done.stdout, re.MULTILINE)
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    with open("/dev/full", "w") as full:
        done = subprocess.run([tool.program, *command, "--help"], stdout=full, stderr=-1, text=True)
    assert done.returncode == 1 and "could not be written" in done.stderr


def test_a_card_behind_the_kernel_driver_is_no_silent_failure(tool):
    """If the card cannot be opened, `record` ends with status 1 and one sentence."""
    done = tool.run("record", "-d", "/dev/litepcie-none", "a.pcapng")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "/dev/litepcie-none" in done.stderr


def test_the_manual_page_knows_every_option_and_every_key(tool):
    """lanebox-capture's manual page has every option of the help texts and every key of the JSON
    output."""
    words = set(re.findall(r"[\w-]+", (TOOLS / "lanebox-capture.1").read_text()))
    texts = [tool.run(*name, "--help").stdout for name in ([], *zip(COMMANDS))]
    options = set(re.findall(r"--([a-z-]+)", " ".join(texts))) - {"help"}
    assert len(options) > 10 and all(f"-{option}" in words for option in options)
    sources = (TOOLS / "lanebox_capture").rglob("*.c")
    keys = set().union(
        *(re.findall(r'emit_\w+\(out, "(\w+)"', path.read_text()) for path in sources)
    )
    assert len(keys) > 20 and keys - words == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_manual_page_has_the_options_of_the_help(tool, command):
    """The section of a command in lanebox-capture's manual page has the same options as its --help,
    with the same letters, and with a value where the help has one. Options that all commands share
    (SHARED in manual_page.py) are not compared.
    """
    page = (TOOLS / "lanebox-capture.1").read_text()
    options = options_of_help(tool.run(command, "--help").stdout)
    assert options_of_page(page, command) == options
    assert options or command == "check"


def test_the_manual_page_begins_with_the_usage_of_every_command():
    """The section SYNOPSIS of lanebox-capture's manual page has every command."""
    text = (TOOLS / "lanebox-capture.1").read_text()
    synopsis = text.partition(".Sh SYNOPSIS\n")[2].partition(".Sh ")[0]
    assert set(re.findall(r"^\.Cm (\w+)", synopsis, re.MULTILINE)) == set(COMMANDS)


def test_the_manual_page_is_well_formed():
    """groff reports no warning for lanebox-capture's manual page."""
    command = ["groff", "-mdoc", "-Tutf8", "-ww", TOOLS / "lanebox-capture.1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
