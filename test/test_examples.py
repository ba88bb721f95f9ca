# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""sim/examples.py: examples are found by their folder's name, with everything a user copies."""

import pytest

from sim import examples


def test_the_class_is_named_after_the_folder():
    """scale is Scale, spinal_scale is SpinalScale: nothing has to be registered."""
    assert examples.find("scale").user.endswith("examples/scale/scale.py:Scale")
    assert examples.find("spinal_scale").user.endswith("spinal_scale.py:SpinalScale")


def test_an_unknown_example_lists_those_that_exist():
    """The message is what to type next."""
    with pytest.raises(ValueError, match="scale, spinal_scale"):
        examples.find("scales")


@pytest.mark.parametrize("name", examples.names())
def test_each_example_is_complete(name):
    """Logic, client and a page that explains them; the client is built by the common Makefile."""
    folder = examples.EXAMPLES / name
    assert (folder / "client.c").is_file()
    assert f"EXAMPLE={name}" in (folder / "README.md").read_text()
