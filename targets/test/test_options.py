# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of targets/options.py: what a command line means, and the sentence for one that is wrong.

The order of --help and the commands of the README are in test_targets.py.
"""

import re

import pytest
from sample_board import BOARD

from targets.options import ACTIONS, parse_arguments
from tools.environment import ROOT


def parse(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["sample.py", *arguments])
    return parse_arguments(BOARD, "Target: the sample card.")


# Right command lines ------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ACTIONS)
def test_each_action_alone_is_enough(action, monkeypatch):
    """Each action of a target, such as --build, may stand alone on the command line, and asks for
    no other one.
    """
    arguments = parse(monkeypatch, f"--{action.replace('_', '-')}")
    assert [name for name in ACTIONS if getattr(arguments, name)] == [action]


def test_what_is_not_said_has_the_boards_default(monkeypatch):
    """Without options a build has the board's first number of lanes and an output folder of the
    board's name.

    Nothing optional is in the gateware, and the endpoint is Lanebox's.
    """
    arguments = parse(monkeypatch, "--build")
    assert arguments.lanes == BOARD.lanes[0]
    assert arguments.output_dir == str(ROOT / "build" / BOARD.name)
    assert (arguments.endpoint, arguments.synthesis) == ("lanebox", "vivado")
    assert not (arguments.msix or arguments.completion_pool or arguments.capture or arguments.card)
    assert arguments.compat is None and not arguments.golden
    # With --card a board has the management CPU, unless --firmware none says otherwise.
    assert arguments.firmware == "default"


@pytest.mark.parametrize("lanes", BOARD.lanes)
def test_lanes_are_a_number_that_the_board_has(lanes, monkeypatch):
    """--lanes accepts each number of lanes that the board has, and the parsed value is an
    integer.
    """
    assert parse(monkeypatch, "--build", "--lanes", str(lanes)).lanes == lanes


def test_golden_goes_with_flash(monkeypatch):
    """--golden is accepted beside --flash."""
    assert parse(monkeypatch, "--flash", "--golden").golden


# Wrong ones ---------------------------------------------------------------------------------------

# (arguments, what the message must have: the value or option that is wrong, and then the rule)
WRONG = [
    ([], "nothing to do: --build or --synth-only or --detect or --load or --flash or --rescan or"),
    (["--msix"], "nothing to do: .*--driver$"),
    (["--golden"], "--golden says which image --flash writes: give both"),
    (["--load", "--golden"], "--golden says which image --flash writes: give both"),
    (["--build", "--lanes", "2"], r"--lanes: invalid choice: '?2'? \(choose from '?4'?, '?1'?\)"),
    (["--build", "--lanes", "all"], "--lanes: invalid int value: 'all'"),
    (
        ["--build", "--synthesis", "abc"],
        r"--synthesis: invalid choice: 'abc' \(choose from '?vivado'?, '?yosys'?\)",
    ),
    (
        ["--load", "--programmer", "impact"],
        r"--programmer: invalid choice: 'impact' \(choose from '?openocd'?, '?openFPGALoader'?\)",
    ),
    (["--load", "--cable-speed", "10M"], "--cable-speed: invalid int value: '10M'"),
    (["--build", "--compat"], "--compat: expected one argument"),
    (["--build", "--speed", "3"], "unrecognized arguments: --speed 3"),
    (["--build", "lanes"], "unrecognized arguments: lanes"),
]


@pytest.mark.parametrize(
    "arguments, said", WRONG, ids=[" ".join(words) or "none" for words, _ in WRONG]
)
def test_a_wrong_command_line_is_refused(arguments, said, monkeypatch, capsys):
    """For a wrong command line a target ends with status 2, and its message names the value and the
    rule that it broke.

    The message is one line after the usage, and nothing is printed to stdout.
    """
    with pytest.raises(SystemExit) as ended:
        parse(monkeypatch, *arguments)
    assert ended.value.code == 2
    output = capsys.readouterr()
    assert not output.out
    message = output.err.splitlines()[-1]
    assert message.startswith("sample.py: error: ")
    assert re.search(said, message), message
