# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of tools/synthesis/formal.py, which proves the properties in this folder for our
Verilog.
"""

import re
from pathlib import Path

import pytest

from tools.synthesis.formal import Refuted, bound, flatten, prove
from tools.synthesis.yosys import find_yosys
from tools.verilog.spinal_build import BUILD

PROPERTIES = Path(__file__).parent
PROOFS = Path(BUILD) / "formal"

# For each property (a file NAME.sv): the module that it is about, the component that the module is
# generated with, and the depth of the induction in cycles. Modules in FLAT have memories; they are
# flattened first, so that a property can read the memories.
COMPONENTS = {
    "NonPostedCredits": ("NonPostedCredits", "Completer", 2),
    "CompletionCredits": ("CompletionCredits", "Requester", 6),
    "TagPool": ("TagPool", "Requester", 2),
    "TagPoolUpper": ("TagPool", "Requester", 2),
}
FLAT = ["TagPool", "TagPoolUpper"]


# Proofs of flattened modules take half a minute and more, so these are soak tests.
def param(name, *more):
    return pytest.param(name, *more, marks=pytest.mark.soak if name in FLAT else ())


# Mistakes that a simulation might find only after a long time: (property, right code, wrong code)
# as regular expression and replacement.
MISTAKES = [
    # With this change NonPostedCredits grants the hard block one credit too many for the host's
    # non-posted requests.
    ("NonPostedCredits", r"below && \(! io_returned\)", "below"),
    # With this change NonPostedCredits loses a credit for the host's non-posted requests.
    ("NonPostedCredits", r"\(io_returned && exact\)", "1'b0"),
    ("CompletionCredits", r"headers <= 9'h0dc", "headers <= 9'h0dd"),
    ("CompletionCredits", r"_zz_room <= 10'h100", "_zz_room <= 10'h101"),
    ("CompletionCredits", r"data <= 12'h77c", "data <= 12'h79d"),
    ("CompletionCredits", r"headers <= 9'h0fc", "headers <= 9'h0ff"),
    ("CompletionCredits", r"&& lateAreSmall", ""),
    ("CompletionCredits", r"&& isKnown\) && lateAreSmall", "&& lateAreSmall)"),
    ("TagPool", r"(lower_pop_ready = ).*;", r"\1io_pop_ready;"),
    ("TagPool", r"(useSuspect = ).*;", r"\1(! lower_pop_valid);"),
    ("TagPoolUpper", r"(upper_upper = ).*;", r"\1(|io_free_payload_tag[7 : 4]);"),
]


@pytest.fixture(scope="module")
def verilog(sim_build):
    """Return {name of the component: its Verilog} for each SpinalHDL component of the default
    build.
    """
    files = map(Path, (sim_build / "gateware" / "sources.txt").read_text().split())
    return {file.stem: file.read_text() for file in files}


def attempt(text, name, folder):
    part, component, cycles = COMPONENTS[name]
    module = f"{component}_{part}"
    property = (PROPERTIES / f"{name}.sv").read_text()
    if name in FLAT:
        text = flatten(text, module, Path(folder) / "flat", find_yosys())
    return prove(text, module, property, cycles, folder, find_yosys())


@pytest.mark.parametrize("name", map(param, COMPONENTS))
def test_the_property_holds_for_ever(verilog, name):
    """Each formal property is proven for all time. A second run reuses the stored proof."""
    text = verilog[COMPONENTS[name][1]]
    attempt(text, name, PROOFS)
    assert not attempt(text, name, PROOFS), "the proof was not reused"


@pytest.mark.parametrize("name, right, wrong", [param(*mistake) for mistake in MISTAKES])
def test_a_mistake_is_found(verilog, tmp_path, name, right, wrong):
    """If one condition in the Verilog is changed, the proof of its property fails. So the property
    is not trivially true.
    """
    part, component, _ = COMPONENTS[name]
    module = bound(verilog[component], f"{component}_{part}", "")
    changed = re.sub(right, wrong, module)
    assert changed != module, "the right code of this mistake is not in the Verilog"
    with pytest.raises(Refuted, match="the property does not hold"):
        attempt(verilog[component].replace(module.rstrip(), changed.rstrip()), name, tmp_path)


def test_each_property_is_proven():
    """Each property file (*.sv) in gateware/test/formal/ is one that these tests prove."""
    assert {file.stem for file in PROPERTIES.glob("*.sv")} == set(COMPONENTS)


def test_a_module_that_is_not_there_is_named():
    """A property about a module that the Verilog does not have is an error with the name."""
    with pytest.raises(ValueError, match="there is no module Other"):
        bound("module One (input a);\nendmodule\n", "Other", "")
