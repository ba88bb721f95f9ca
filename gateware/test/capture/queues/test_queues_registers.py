# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of capture/queues/registers.py: the registers of a capture block with several queues."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from litex.soc.interconnect.csr import CSRStorage
from migen import run_simulation

from gateware import numbers
from gateware.capture.queues.registers import CaptureQueues
from gateware.capture.registers import check_capture, needs_capture
from gateware.capture.vocabulary import bits
from gateware.vocabulary.spinal_instance import read_ports
from tools import numbers as written
from tools.verilog.spinal_build import generate

RULE = Path(bits.__file__).parents[1] / "queues" / "Rule.scala"


def made():
    """Return the registers of a capture block with four queues, and their ports. A stand-in has the
    registers of a single queue.
    """
    queues = CaptureQueues(4)
    one = SimpleNamespace(
        _status_base=CSRStorage(64, name="status_base"),
        _last_segment=CSRStorage(11, name="last_segment"),
    )
    return queues, queues.ports(one)


def test_the_component_has_exactly_these_ports():
    """All Verilog ports that only a capture block with several queues needs are connected, with
    direction and width.
    """
    direction = {"i": "input", "o": "output"}
    given = {
        name.partition("_")[2]: (direction[name.partition("_")[0]], len(signal))
        for name, signal in made()[1].items()
    }
    ports = read_ports(generate("capture.CaptureUnit", queues=4))
    assert given == {name: port for name, port in ports.items() if name.startswith("sort_")}


def test_an_index_names_a_rule_and_its_word():
    """The upper half of `rule_index` is a rule's number, the lower half the number of its word."""
    queues, ports = made()
    seen = []

    def write():
        for rule, word in ((0, 0), (15, 3), (2, 15)):
            yield queues._rule_index.storage.eq(16 * rule + word)
            yield
            seen.append(
                (
                    (yield ports["i_sort_rule_payload_rule"]),
                    (yield ports["i_sort_rule_payload_word"]),
                )
            )

    run_simulation(queues, write())
    assert seen == [(0, 0), (15, 3), (2, 15)]


def snake(name):
    """Return a name of Scala as bits.py has it: `hasPorts` is `has_ports`."""
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def in_word(text, name):
    """Return {field: lowest bit} of the word that Rule.scala makes of a key for this number."""
    fields = re.search(rf"word\(Numbers\.{written.camel(name)}, ([^)]*)\)", text)[1]
    return dict(zip(map(snake, re.findall(r"\w+", fields)), getattr(numbers, name), strict=True))


def test_software_has_the_rule_s_places_as_the_card_has_them():
    """Words and fields of a rule have the names in bits.py that they have in Rule.scala."""
    text = RULE.read_text()
    words = re.search(r"val Seq\(([^)]*)\) = Numbers\.CaptureRuleWords", text)[1]
    names = [snake(name.removesuffix("Word")) for name in re.findall(r"\w+", words)]
    assert dict(zip(names, numbers.CAPTURE_RULE_WORDS, strict=True)) == bits.RULE_WORDS
    assert in_word(text, "CAPTURE_RULE_FACTS") == bits.RULE_FACTS
    kinds = in_word(text, "CAPTURE_RULE_KINDS")
    assert {name.replace("ether_type", "ethertype"): bit for name, bit in kinds.items()} == (
        bits.RULE_KINDS
    )
    action = dict(re.findall(r"action\.(\w+) +:= word\(act\((\d)\)", text))
    action["on"] = re.search(r"words\(Rule\.actionWord\)\(act\((\d)\)\)", text)[1]
    assert {
        snake(name): numbers.CAPTURE_RULE_ACTION[int(field)] for name, field in action.items()
    } == bits.RULE_ACTION


@pytest.mark.parametrize("count", numbers.CAPTURE_QUEUES)
def test_a_build_has_a_number_of_queues_that_it_can_have(count):
    """Each number of queues that a capture may have is accepted, and the build gets it."""
    check_capture(count, "lanebox")
    assert needs_capture(count, SimpleNamespace(frames=None), "lanebox") == count


@pytest.mark.parametrize("count", [-1, 3, 5, 32])
def test_another_number_of_queues_is_refused(count):
    """The error for any other number of queues names it, and the possible numbers."""
    with pytest.raises(
        ValueError, match=f"^--capture {count}: the number of queues is one of 1, 2, 4, 8, 16$"
    ):
        check_capture(count, "lanebox")


def test_frames_of_the_user_slot_need_one_queue():
    """With user logic that has frames, the capture block has one queue, if no number is given."""
    slot = SimpleNamespace(frames=object())
    assert needs_capture(0, slot, "lanebox") == 1
    assert needs_capture(8, slot, "lanebox") == 8
    assert needs_capture(0, SimpleNamespace(frames=None), "lanebox") == 0
