# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of phy/pins.py, the table of the hard block's pins: it is compared with PG213, and
connections that do not fit it are refused.
"""

import re
import subprocess

import pytest
from migen import C, Cat, Signal

from gateware.phy import pins, pins_verilog
from gateware.phy.pins import FIELDS, PINS

# The bits of each field of the tuser pins, written down by hand from PG213's tables of the 256-bit
# interfaces.
PG213 = {
    "m_axis_cq_tuser": {
        "first_be": range(4),
        "last_be": range(4, 8),
        "byte_enable": range(8, 40),
        "start": [40],
        "discontinue": [41],
    },
    "m_axis_rc_tuser": {
        "byte_enable": range(32),
        "start_0": [32],
        "start_1": [33],
        "end_0_valid": [34],
        "end_0_dword": range(35, 38),
        "end_1_valid": [38],
        "end_1_dword": range(39, 42),
        "discontinue": [42],
    },
    "s_axis_rq_tuser": {
        "first_be": range(4),
        "last_be": range(4, 8),
        "sequence": [24, 25, 26, 27, 60, 61],
    },
}
WIDTHS = {
    "s_axis_rq_tuser": 62,
    "m_axis_rc_tuser": 75,
    "m_axis_cq_tuser": 88,
    "s_axis_cc_tuser": 33,
    "s_axis_rq_tready": 4,
    "s_axis_cc_tready": 4,
    "pcie_cq_np_req": 2,
    "pcie_cq_np_req_count": 6,
    "pcie_rq_seq_num0": 6,
    "cfg_mgmt_addr": 10,
    "cfg_max_payload": 2,
    "cfg_interrupt_msi_int": 32,
    "cfg_flr_in_process": 4,
    "cfg_function_power_state": 12,
}


def test_fields_lie_where_pg213_has_them():
    """In phy/pins.py each field of a tuser pin has the bits that PG213's table gives it."""
    found = {
        pin: {
            field: [bit for low, width in pieces for bit in range(low, low + width)]
            for field, pieces in fields.items()
        }
        for pin, fields in FIELDS.items()
    }
    assert found == {
        pin: {field: list(bits) for field, bits in fields.items()} for pin, fields in PG213.items()
    }
    assert {name: PINS[name].width for name in WIDTHS} == WIDTHS


@pytest.mark.parametrize("pin", FIELDS)
def test_a_tuser_has_each_field_in_its_place(pin):
    """tuser() returns a value as wide as the hard block's tuser pin, with the bits of each field in
    their places.
    """
    signals = {
        field: Signal(sum(width for _, width in pieces), name=field)
        for field, pieces in FIELDS[pin].items()
    }
    value = pins.tuser(pin, **signals)
    assert len(value) == PINS[pin].width
    places, at = {}, 0
    for part in value.l:
        for inside in range(len(part)):
            origin, first = (part.value, part.start) if hasattr(part, "start") else (part, 0)
            places[at + inside] = (origin, first + inside)
        at += len(part)
    for field, bits in PG213[pin].items():
        for number, bit in enumerate(bits):
            assert places[bit] == (signals[field], number), (field, number)


def test_a_field_of_another_width_is_refused():
    """If a field of a tuser pin has another width or is missing, the error names the pin and the
    widths.
    """
    with pytest.raises(ValueError, match=r"s_axis_rq_tuser: .*'sequence': 6.* not .*'sequence': 4"):
        pins.tuser("s_axis_rq_tuser", first_be=Signal(4), last_be=Signal(4), sequence=Signal(4))
    with pytest.raises(ValueError, match="s_axis_rq_tuser: .*first_be"):
        pins.tuser("s_axis_rq_tuser", last_be=Signal(4), sequence=Signal(6))


def needed():
    return {
        name: Signal(pin.width) for name, pin in PINS.items() if not pin.output and pin.tie is None
    }


def test_what_is_not_used_is_tied_to_its_value():
    """An input pin of the hard block that nothing drives gets the table's constant, in the pin's
    width.
    """
    ports = pins.instance_ports(**needed())
    tied = {name[2:]: value for name, value in ports.items() if name[2:] not in needed()}
    assert {name: value.value for name, value in tied.items() if value.value} == {
        "cfg_mgmt_byte_enable": 0xF,
        "cfg_link_training_enable": 1,
        "cfg_config_space_enable": 1,
    }
    assert all(len(value) == PINS[name].width for name, value in tied.items())
    assert {name[2:] for name in ports} == {name for name, pin in PINS.items() if not pin.output}


MISTAKES = {
    "no such pin": (
        lambda ports: ports.update(cfg_max_pay_load=Signal(2)),
        "no pin cfg_max_pay_load; it has cfg_max_payload",
    ),
    "too wide": (
        lambda ports: ports.update(cfg_max_payload=Signal(3)),
        "cfg_max_payload has 2 bits, and is given 3",
    ),
    "too narrow": (
        lambda ports: ports.update(s_axis_rq_tuser=Cat(C(0, 61))),
        "s_axis_rq_tuser has 62 bits, and is given 61",
    ),
    "not connected": (
        lambda ports: ports.pop("s_axis_rq_tvalid"),
        "input s_axis_rq_tvalid of the hard block is not connected",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_does_not_fit_is_refused(mistake):
    """A connection that does not fit the hard block's pins is refused. The error names the pin and
    the rule.
    """
    change, sentence = MISTAKES[mistake]
    ports = needed()
    change(ports)
    with pytest.raises(ValueError, match=sentence):
        pins.instance_ports(**ports)


def test_a_board_may_connect_fewer_lanes():
    """The PCIe link's pads may have fewer than eight bits, if the board has fewer lanes."""
    ports = {**needed(), "pci_exp_rxp": Signal(4), "pci_exp_rxn": Signal(4)}
    assert len(pins.instance_ports(**ports)["i_pci_exp_rxp"]) == 4


def test_the_module_has_the_tables_pins(tmp_path):
    """Verilator accepts the generated module, and its ports have the names, directions and widths
    of PINS.
    """
    file = tmp_path / "pcie_usp.sv"
    body = "initial begin\n    user_reset = 1'b1;\n  end\n"
    text = f"module pcie_usp (\n//: ports\n);\n{body}endmodule\n"
    file.write_text(pins_verilog.fill(text, {"s_axis_rq_tready": 1}))
    lint = subprocess.run(
        ["verilator", "--lint-only", "-Wno-lint", file], capture_output=True, text=True
    )
    assert lint.returncode == 0, lint.stderr
    found = {
        name: (way, int(high or 0) + 1)
        for way, high, name in re.findall(
            r"(input|output)(?: reg)?(?: \[(\d+):0\])? (\w+)", file.read_text()
        )
    }
    expected = {
        name: ("output" if pin.output else "input", pin.width) for name, pin in PINS.items()
    }
    assert found == {**expected, "s_axis_rq_tready": ("output", 1)}
    assert re.findall(r"output reg.* (\w+),", file.read_text()) == ["user_reset"]
    assert "output user_reset" in pins_verilog.module()


def test_what_cannot_be_filled_is_refused():
    """fill() refuses a module without exactly one line for its ports, and a width for an unknown
    pin.
    """
    with pytest.raises(ValueError, match="must have one line `//: ports`"):
        pins_verilog.fill("module pcie_usp ();\nendmodule\n")
    with pytest.raises(ValueError, match="no pin user_rest"):
        pins_verilog.fill("//: ports\n", {"user_rest": 2})
