# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`python -m sim.report` says where the page is, or why there is none.

The page itself is tested by test_report.py.
"""

from types import SimpleNamespace

import pytest

from sim.errors import BuildError
from sim.report import __main__ as command


@pytest.fixture
def faked(monkeypatch):
    """Replace the build, the recording and the page by stand-ins. The stand-in of the page returns
    a path that names the board and the utility of its recording."""
    built = SimpleNamespace(board="board", headers="headers")
    monkeypatch.setattr(command.artefacts, "build", lambda endpoint: built)
    monkeypatch.setattr(command.artefacts, "utility", lambda headers: f"util of {headers}")
    monkeypatch.setattr(command, "record", lambda board, util, _: f"{board} by {util}")
    monkeypatch.setattr(command, "write", lambda recording: f"page of {recording}")


def test_the_page_is_of_a_new_recording_and_its_place_is_printed(faked, capsys):
    """`python -m sim.report` records with the board and utility that it built, and prints the path
    of the report page."""
    assert command.main() == 0
    assert capsys.readouterr().out == "page of board by util of headers\n"


def test_a_build_that_fails_is_a_sentence_and_status_1(faked, monkeypatch, capsys):
    """If the gateware cannot be built, `python -m sim.report` says why, writes no page and ends
    with status 1."""

    def refuse(_):
        raise BuildError("there is no Verilator")

    monkeypatch.setattr(command.artefacts, "build", refuse)
    assert command.main() == 1
    output = capsys.readouterr()
    assert not output.out and output.err == "report: there is no Verilator\n"
