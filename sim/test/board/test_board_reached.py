# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every rule of the hard block that the board checks, and every fault that it can inject, has a
test.

The names of rules and faults come from the board's C++ source. A rule counts as tested only if a
test breaks this rule and no other. Rules that can be broken at the hard block's pins are looked up
in the tables CASES of test_board_pins.py and test_rules.py. For the other rules, and for
faults, this file names a test, which must exist and mention the rule or fault in its text.
"""

import ast
import re
from pathlib import Path

import pytest
import test_board_pins

from sim.board.build import BOARD
from sim.test.model import test_rules

TESTS = Path(__file__).resolve().parents[1]
README = TESTS.parent / "README.md"

# {rule: the test that breaks it}, for rules that cannot be broken at the pins of the model alone.
# They need the bench card (bench_card.sv).
RULES = {
    "zero-length": "test_board_descriptors::test_an_illegal_request_breaks_exactly_its_rule",
    "reserved-fields": "test_board_descriptors::test_an_illegal_request_breaks_exactly_its_rule",
    "user-config-space": "test_board_descriptors::test_the_users_configuration_space",
    "flr-timeout": "test_board_resets::test_a_reset_that_is_not_acknowledged_is_an_error",
    "power-state": "test_board_power::test_the_card_sends_nothing_in_d3hot",
    "power-state-ack": "test_board_power::test_a_change_that_is_not_acknowledged_breaks_a_rule",
}
# {name of a fault that the board can inject: a test that injects it}
FAULTS = {
    "flip-c2h": "test_board_faults::test_flip_c2h_flips_one_bit_of_the_nth_write",
    "c2h-be": "test_board_faults::test_c2h_be_leaves_bytes_of_the_nth_write_unwritten",
    "flip-h2c": "test_board_faults::test_flip_h2c_spoils_one_beat_of_the_nth_completion",
    "wrong-be": "test_board_faults::test_wrong_be_reaches_the_card_once",
    "hole-be": "test_board_enables::test_every_enable_of_a_dword",
    "lose-msi": "test_board_faults::test_lose_msi_loses_the_nth",
    "ur": "test_faults_reads::test_a_refused_read_is_one_completion_without_data",
    "ca": "test_faults_reads::test_a_refused_read_is_one_completion_without_data",
    "drop-completion": "test_faults_reads::test_a_lost_completion_times_out",
    "poison": "test_faults_reads::test_poison_marks_one_completion",
    "unexpected": "test_faults_reads::test_an_unexpected_completion_is_one_too_many",
    "duplicate": "test_faults_reads::test_a_duplicate_comes_after_the_original",
    "byte-count": "test_faults_reads::test_a_wrong_byte_count_is_above_what_is_left",
    "attributes": "test_faults_reads::test_wrong_attributes_are_named",
    "lower-address": "test_faults_reads::test_a_wrong_lower_address_is_named",
    "malformed": "test_board_errors::test_a_malformed_write_never_reaches_the_card",
    "malformed-completion": "test_board_errors::test_a_malformed_completion_never_reaches_the_card",
    "replay-up": "test_link::test_a_replayed_request_is_only_late",
    "replay-down": "test_link::test_a_replayed_completion_is_only_late",
    "hot-reset": "test_board_resets::test_a_hot_reset_holds_the_card_in_reset",
    "link-down": "test_board_resets::test_the_card_is_in_reset_while_the_link_is_down",
    "remove": "test_faults_link::test_a_card_that_is_pulled_out",
    "insert": "test_faults_link::test_a_card_that_is_put_back",
    "devctl": "test_faults_link::test_device_control_rewritten_while_running",
    "command": "test_faults_link::test_bus_master_cleared_while_running",
}


def names(file, function):
    """Return the strings of the array `names` in the function `function` of the board's C++ file
    `file`."""
    text = (BOARD / file).read_text()
    found = re.search(re.escape(function) + r".*?names\[\] = \{(.*?)\};", text, re.S)
    return set(re.findall(r'"([a-z0-9-]+)"', found[1]))


def rule_names():
    return names("link/rules.cpp", "rule_name(")


def fault_names():
    file = "faults/faults.cpp"
    return names(file, "Faults::name(") | names(file, "Faults::event_name(")


def broken_alone():
    """Return the rules of the board that at least one case in the tables CASES breaks as its only
    rule."""
    cases = [*test_board_pins.CASES.values(), *test_rules.CASES.values()]
    return {next(iter(rules)) for _, rules in cases if len(rules) == 1}


def source_of(place):
    """Return the source text of the test at `place` (module::function), with its decorators and the
    tables of its file that it uses."""
    module, function = place.split("::")
    text = next(TESTS.rglob(f"{module}.py")).read_text()
    body = ast.parse(text).body
    test = next(node for node in body if getattr(node, "name", None) == function)
    used = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    tables = [n for n in body if isinstance(n, ast.Assign) and names_of(n.targets[0]) & used]
    return "\n".join(ast.get_source_segment(text, n) for n in [*tables, *test.decorator_list, test])


def names_of(target):
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def test_every_rule_is_broken_alone_by_some_test():
    """Every rule of the board is in RULES or is broken alone by a case at the pins, and none is in
    both. RULES names no unknown rule."""
    assert len(rule_names()) >= 24
    assert broken_alone() | set(RULES) == rule_names()
    assert not broken_alone() & set(RULES), (
        "a case at the pins breaks this rule, so RULES must not name it"
    )


def test_every_fault_has_a_test():
    """The table FAULTS names every fault and every event that the board can inject, and no
    others."""
    assert len(fault_names()) >= 24
    assert set(FAULTS) == fault_names()


@pytest.mark.parametrize("name, place", [*RULES.items(), *FAULTS.items()])
def test_the_named_test_speaks_of_it(name, place):
    """The test that RULES or FAULTS names for a rule or fault exists, is not skipped, and mentions
    that rule or fault."""
    text = source_of(place)
    assert re.search(rf"(?<![\w-]){name}(?![\w-])", text), f"{place} does not mention {name}"
    assert "mark.skip" not in text and "mark.xfail" not in text


def test_the_readme_has_them_all():
    """sim/README.md names every rule and every fault as the board's options spell it."""
    text = README.read_text()
    missing = [n for n in rule_names() | fault_names() if f"`{n}" not in text]
    assert not missing, f"sim/README.md does not name {sorted(missing)}"
