# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/examples.py: an example is found by its folder's name, and is complete."""

import runpy
import sys
from unittest import mock

import pytest

from sim import examples


def test_the_class_is_named_after_the_folder():
    """The logic's class is named after the example's folder: folder scale has the class Scale, and
    spinal_scale has SpinalScale.
    """
    assert examples.find("scale").user.endswith("examples/scale/scale.py:Scale")
    assert examples.find("spinal_scale").user.endswith("spinal_scale.py:SpinalScale")


def test_an_unknown_example_lists_those_that_exist():
    """For a name that no example has, examples.find() raises an error that lists the examples."""
    with pytest.raises(ValueError, match="scale, sensor, spinal_scale"):
        examples.find("scales")


def test_a_folder_elsewhere_is_found_by_its_path(tmp_path):
    """examples.find() takes the path of a user's folder outside of examples/, too.

    The build folders of such a block differ from those of an example with the same folder name.
    """
    folder = tmp_path / "scale"
    folder.mkdir()
    (folder / "scale.py").write_text("")
    found = examples.find(f"{folder}/")
    assert found.user == f"{folder}/scale.py:Scale" and found.client is None
    assert found.name != "scale" and found.title == "scale"
    (folder / "client.c").write_text("")
    assert found.client == folder / "client.c"
    assert examples.find(str(examples.EXAMPLES / "scale")) == examples.find("scale")


@pytest.mark.parametrize(
    ("name", "files", "sentence"),
    [
        ("gone", None, r"^there is no folder \S*/gone\. A new block .*`make new NAME=\S*/gone`$"),
        ("empty", [], "^/.*/empty has no empty.py, the user slot's logic$"),
        ("my-block", ["my-block.py"], "a class cannot be named after 'my-block'"),
    ],
)
def test_a_folder_that_cannot_be_says_why(tmp_path, name, files, sentence):
    """If the folder of a user's block cannot be used, the error of examples.find() names the path,
    and the file that is missing.
    """
    if files is not None:
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / file).write_text("")
    with pytest.raises(ValueError, match=sentence):
        examples.find(f"{tmp_path}/{name}")


def test_a_folder_of_a_similar_name_is_proposed(tmp_path):
    """The error of examples.find() for a mistyped folder proposes the folder of a similar name
    beside it that has a block, and no folder without one.
    """
    for name in ("my_crc", "my_crd"):
        (tmp_path / name).mkdir()
    (tmp_path / "my_crc" / "my_crc.py").write_text("")
    with pytest.raises(ValueError) as caught:
        examples.find(f"{tmp_path}/my_cre")
    assert str(caught.value) == (
        f"there is no folder {tmp_path}/my_cre. Did you mean {tmp_path}/my_crc? "
        f"A new block begins with `make new NAME={tmp_path}/my_cre`"
    )


@pytest.mark.parametrize("name", examples.names())
def test_each_example_is_complete(name):
    """Each example has a C client, and a README.md with `EXAMPLE=` and the example's name."""
    folder = examples.EXAMPLES / name
    assert (folder / "client.c").is_file()
    assert f"EXAMPLE={name}" in (folder / "README.md").read_text()


@pytest.mark.parametrize("name", ["whiten", "spinal_whiten"])
def test_a_client_that_gets_no_interrupt_says_what_to_look_at(monkeypatch, name):
    """If a packet comes back but no interrupt, the example's client.py ends with an error message.

    The message has the packet's number, the count in the register user_packets, and the name of the
    signal to look at, `irq`.
    """
    registers = mock.MagicMock()
    registers.__getitem__.side_effect = iter([7, 8])
    card = mock.MagicMock(registers=registers)
    card.__enter__.return_value = card
    card.wait_user.side_effect = TimeoutError
    errors = {"LaneboxError": OSError, "WaitTimeout": TimeoutError}
    module = mock.MagicMock(Card=lambda device: card, **errors)
    monkeypatch.setitem(sys.modules, "lanebox_host", module)
    client = runpy.run_path(str(examples.EXAMPLES / name / "client.py"))
    stream = card.loopback.return_value.__enter__.return_value
    stream.ask.side_effect = lambda packet, wait: client["expected"](packet)
    with pytest.raises(SystemExit, match="packet 0 .*counted 1 of 1: look at `irq`"):
        client["run"]("sim:none", "csr.json")
