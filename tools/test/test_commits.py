# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of tools/commits.py: which messages of commits are refused, and why."""

import pytest

from tools import commits

WHY = "\n\nThe reason.\n"


@pytest.mark.parametrize(
    "subject", ["kernel: wake epoll", "kernel, liblitepcie: give up", "test: `make test` runs"]
)
def test_a_message_with_area_and_reason_has_no_fault(subject):
    """A message whose first line has one or two areas of the list AREAS, and which gives a reason,
    has no fault.
    """
    assert commits.faults(subject + WHY) == []


@pytest.mark.parametrize(
    "message, word",
    [
        ("wake epoll" + WHY, "area: imperative"),
        ("kernel: wake epoll." + WHY, "full stop"),
        ("driver: wake epoll" + WHY, "no area is called driver"),
        ("kernel, library: give up" + WHY, "no area is called library"),
        ("kernel: wake epoll", "says why"),
        ("kernel: wake epoll\n# a comment of git's\n", "says why"),
        ("kernel: wake epoll\nat once" + WHY, "second line"),
        ("kernel: " + "x" * 80 + WHY, "88 columns"),
        ("", "area: imperative"),
    ],
)
def test_a_fault_is_named(message, word):
    """Each rule for messages of commits has a sentence of its own for a message that breaks it."""
    assert any(word in fault for fault in commits.faults(message))


def test_a_message_in_a_file_is_checked(tmp_path, capsys):
    """With the name of a file, as git calls its hook, the program checks the message in it."""
    file = tmp_path / "message"
    file.write_text("driver: wake epoll" + WHY)
    assert commits.main([str(file)]) == 1
    assert "no area is called driver" in capsys.readouterr().out
    file.write_text("kernel: wake epoll" + WHY)
    assert commits.main([str(file)]) == 0


def test_a_fault_of_the_history_is_told_with_its_commit(monkeypatch, capsys):
    """Without the name of a file, tools/commits.py checks each commit since BEGIN, and a fault has
    the commit's hash.
    """
    monkeypatch.setattr(commits, "messages", lambda begin: {"1234567": "kernel: wake epoll"})
    assert commits.main([]) == 1
    assert "1234567: kernel: wake epoll\n" in capsys.readouterr().out


def test_the_history_is_read():
    """messages() finds the message of each of the last commits, whole and by the commit's hash."""
    found = commits.messages("2026-11-01")
    assert found or not (commits.ROOT / ".git").exists()
    assert all(len(key) >= 7 and text for key, text in found.items())
