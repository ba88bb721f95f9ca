# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of port/sides.py: each name of a far side leads to its class."""

from importlib import import_module

import pytest

from gateware.port.sides import FAR_SIDES, check_port


def test_each_far_side_is_there():
    """Each far side of the net device that --port can name has its class in its module."""
    for name, (module, kind) in FAR_SIDES.items():
        check_port(name, with_mac=True)
        assert callable(getattr(import_module(module), kind))


def test_an_unknown_far_side_is_refused():
    """The error names the unknown far side of the net device, and the known ones."""
    with pytest.raises(ValueError, match="--port nothing: there is no such far side.*echo"):
        check_port("nothing", with_mac=True)


def test_a_card_without_a_mac_has_no_wire():
    """Without a MAC, which only the simulation has, --port wire is refused and --port echo is
    accepted.
    """
    check_port("echo", with_mac=False)
    with pytest.raises(ValueError, match="--port wire: the card has no MAC.*choose echo"):
        check_port("wire", with_mac=False)
