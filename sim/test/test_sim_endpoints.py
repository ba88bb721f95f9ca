# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that sim/endpoints.py says of the endpoints what gateware and board know of them."""

import re

from gateware.endpoint import endpoints
from sim.endpoints import DEFAULT, ENDPOINTS
from tools.testing.repository import ROOT

OPTIONS = ROOT / "sim" / "board" / "machine" / "options.cpp"


def test_the_endpoints_are_those_of_the_gateware():
    """A measurement knows each endpoint that gateware can be built with, and no other one."""
    assert list(ENDPOINTS) == list(endpoints.ENDPOINTS)
    assert all(name == entry.name for name, entry in ENDPOINTS.items())


def test_rows_of_two_endpoints_have_different_ids():
    """Each endpoint has a prefix of its own, a word and a slash. Only the default one has none."""
    prefixes = {name: entry.prefix for name, entry in ENDPOINTS.items()}
    assert prefixes.pop(DEFAULT) == ""
    assert len(set(prefixes.values())) == len(prefixes)
    assert all(re.fullmatch(r"[a-z]+/", prefix) for prefix in prefixes.values())


def test_the_board_knows_each_endpoint_s_rules():
    """The value of --rules of each endpoint is one that the board accepts."""
    known = re.findall(r'text == "(\w+)"\) return Rules::Mode', OPTIONS.read_text())
    assert len(known) == 3
    assert {entry.rules for entry in ENDPOINTS.values()} <= set(known)


def test_only_the_default_endpoint_may_break_no_rule():
    """A broken rule of the hard block ends the board of this project's endpoint. LitePCIe's breaks
    some rules, so its board goes on."""
    assert {name for name, entry in ENDPOINTS.items() if entry.rules == "fatal"} == {DEFAULT}
