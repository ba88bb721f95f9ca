# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util in a terminal: progress, colours and completion by bash."""

import os
import pty
import re
import select
import subprocess
import time

import pytest

from software.test.standin.vfio_user_standin import Standin
from tools.testing.repository import ROOT

SECONDS = 60


@pytest.fixture
def device(built, tmp_path):
    with Standin(tmp_path / "s", built.csr_json):
        yield f"sim:{tmp_path / 's'}"


def in_terminal(program, *arguments, **environment):
    """Run a program in a pseudoterminal, and return its output and its exit status."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(program, [str(program), *arguments], {**os.environ, **environment})
    text, deadline = b"", time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            text += os.read(terminal, 65536)
        # When the program has ended, its side of the terminal is closed, and a read fails.
        except OSError:
            break
    os.close(terminal)
    return text.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_long_work_shows_its_rate_and_the_time_left(util, device):
    """dma_test --duration shows the amount of data, its rate and the time left in one line of a
    terminal, and deletes the line at the end.

    If the output is no terminal, no such line is printed.
    """
    arguments = ("-d", device, "dma_test", "--duration", "2")
    text, status = in_terminal(util.program, *arguments)
    assert status == 0, text
    assert re.search(r"\rdma_test: \d+ MiB, [\d.]+ MiB/s, 0:0[01] left", text.replace("  ", ""))
    assert "\r\x1b[K" in text
    result = util.run(*arguments[:-1], "0.5")
    assert "\r" not in result.stdout + result.stderr and result.returncode == 0


def test_colours_are_for_terminals_only(util, device):
    """litepcie_util prints escape sequences for colours and bold text only to a terminal, and not
    with --json or with the variable NO_COLOR."""
    arguments = ("-d", device, "dump", "ctrl")
    assert "\x1b[1mctrl_scratch" in in_terminal(util.program, *arguments)[0]
    assert "\x1b" not in in_terminal(util.program, *arguments, NO_COLOR="1")[0]
    assert "\x1b" not in in_terminal(util.program, *arguments[:2], "--json", *arguments[2:])[0]
    assert "\x1b" not in util.run(*arguments).stdout


def test_bash_has_the_words_of_each_option():
    """The completion for bash has the words of each option that takes one of a few words, as the
    tables of options in the sources have them.
    """
    script = (ROOT / "software/tools/litepcie_util.bash").read_text()
    sources = sorted((ROOT / "software/tools/litepcie_util").rglob("*.c"))
    listed = [re.findall(r'\.choices = "(.*?)"', path.read_text()) for path in sources]
    choices = [words for found in listed for words in found]
    assert len(choices) >= 3
    assert [words for words in choices if f'choices="{words}"' not in script] == []


@pytest.mark.parametrize(
    "line, wanted",
    [
        ("litepcie_util dma_", {"dma_test", "dma_bench"}),
        ("litepcie_util pe", {"peek"}),
        ("litepcie_util --js", {"--json"}),
        ("litepcie_util --device s", {"sim:"}),
        ("litepcie_util -d sim:x dma_test --d", {"--direction", "--duration"}),
        ("litepcie_util dma_test --direction ", {"loopback", "c2h", "h2c", "both"}),
        ("litepcie_util dma_bench --direction ", {"c2h", "h2c", "duplex"}),
        ("litepcie_util vfio ", {"bind", "unbind", "status"}),
    ],
)
def test_bash_completes_what_there_is(built, line, wanted):
    """bash completes litepcie_util's commands, the options of the command on the line, and their
    values.
    """
    script = f"""
        set -eu
        . {ROOT}/software/tools/litepcie_util.bash
        line="{line}"; COMP_WORDS=($line); [ "${{line% }}" = "$line" ] || COMP_WORDS+=("")
        COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        _litepcie_util; printf '%s\n' "${{COMPREPLY[@]}}"
    """
    environment = {**os.environ, "PATH": f"{built.out}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=environment, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == wanted
