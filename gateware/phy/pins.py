# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The pins of the PCIE4 hard block in one table, from PG213's port tables for a 256-bit interface.

No other file lists the pins with their widths. Three things are made from this table: the hard
block's instance in the gateware (pcie4_pins.py), the module that stands for the hard block in
simulation and in synthesis (pins_verilog.py), and the code between Verilog and C++ in the simulated
card (sim/board/border.py). Only this file knows the positions of fields in `tuser`."""

import difflib
from dataclasses import dataclass

from migen import C, Cat, Signal

from gateware.numbers import DATA_WIDTH, DWORDS_PER_BEAT


@dataclass(frozen=True)
class Pin:
    """A pin of the hard block. Directions are the hard block's: its outputs are the gateware's
    inputs.

    `tie` is the value that PG213 asks for at an input whose feature is not used. If it is None, the
    gateware must connect the input."""
    name:   str
    width:  int
    output: bool
    tie:    int = None

def _in(name, width=1, tie=None):
    return Pin(name, width, output=False, tie=tie)

def _out(name, width=1):
    return Pin(name, width, output=True)

GROUPS = {
    "Link pads, clocks and resets.": [
        _out("pci_exp_txn", 8), _out("pci_exp_txp", 8),
        _in("pci_exp_rxn", 8), _in("pci_exp_rxp", 8),
        _in("sys_clk"), _in("sys_clk_gt"), _in("sys_reset"),
        _out("user_clk"), _out("user_reset"), _out("user_lnk_up"), _out("phy_rdy_out"),
    ],
    "Requester request: from the card.": [
        _in("s_axis_rq_tdata", DATA_WIDTH), _in("s_axis_rq_tkeep", DWORDS_PER_BEAT),
        _in("s_axis_rq_tuser", 62),
        _in("s_axis_rq_tlast"), _in("s_axis_rq_tvalid"), _out("s_axis_rq_tready", 4),
    ],
    "Requester completion: the answers to the card.": [
        _out("m_axis_rc_tdata", DATA_WIDTH), _out("m_axis_rc_tkeep", DWORDS_PER_BEAT),
        _out("m_axis_rc_tuser", 75),
        _out("m_axis_rc_tlast"), _out("m_axis_rc_tvalid"), _in("m_axis_rc_tready"),
    ],
    "Completer request: from the host.": [
        _out("m_axis_cq_tdata", DATA_WIDTH), _out("m_axis_cq_tkeep", DWORDS_PER_BEAT),
        _out("m_axis_cq_tuser", 88),
        _out("m_axis_cq_tlast"), _out("m_axis_cq_tvalid"), _in("m_axis_cq_tready"),
    ],
    "Completer completion: the answers to the host.": [
        _in("s_axis_cc_tdata", DATA_WIDTH), _in("s_axis_cc_tkeep", DWORDS_PER_BEAT),
        _in("s_axis_cc_tuser", 33, tie=0),
        _in("s_axis_cc_tlast"), _in("s_axis_cc_tvalid"), _out("s_axis_cc_tready", 4),
    ],
    "Credits, tags and sequence numbers.": [
        _out("pcie_cq_np_req_count", 6), _in("pcie_cq_np_req", 2),
        _out("pcie_rq_tag_av", 4),
        _out("pcie_rq_seq_num0", 6), _out("pcie_rq_seq_num_vld0"),
        _out("pcie_rq_seq_num1", 6), _out("pcie_rq_seq_num_vld1"),
        _out("pcie_tfc_nph_av", 4), _out("pcie_tfc_npd_av", 4),
        _out("cfg_fc_ph", 8), _out("cfg_fc_nph", 8), _out("cfg_fc_cplh", 8),
        _out("cfg_fc_pd", 12), _out("cfg_fc_npd", 12), _out("cfg_fc_cpld", 12),
        _in("cfg_fc_sel", 3, tie=0),
    ],
    "Status.": [
        _out("cfg_phy_link_down"), _out("cfg_phy_link_status", 2),
        _out("cfg_negotiated_width", 3), _out("cfg_current_speed", 2),
        _out("cfg_max_payload", 2), _out("cfg_max_read_req", 3),
        _out("cfg_function_status", 16), _out("cfg_function_power_state", 12),
        _out("cfg_vf_status", 504), _out("cfg_vf_power_state", 756),
        _out("cfg_link_power_state", 2),
        _out("cfg_err_cor_out"), _out("cfg_err_nonfatal_out"), _out("cfg_err_fatal_out"),
        _out("cfg_ltssm_state", 6), _out("cfg_rcb_status", 4), _out("cfg_obff_enable", 2),
        _out("cfg_pl_status_change"),
        _out("cfg_tph_requester_enable", 4), _out("cfg_tph_st_mode", 12),
        _out("cfg_vf_tph_requester_enable", 252), _out("cfg_vf_tph_st_mode", 756),
    ],
    "Management: configuration space by dwords. Messages: none are sent or received.": [
        _in("cfg_mgmt_addr", 10), _in("cfg_mgmt_write", tie=0), _in("cfg_mgmt_read"),
        _in("cfg_mgmt_debug_access", tie=0), _in("cfg_mgmt_write_data", 32, tie=0),
        _in("cfg_mgmt_byte_enable", 4, tie=0xf), _in("cfg_mgmt_function_number", 8, tie=0),
        _out("cfg_mgmt_read_data", 32), _out("cfg_mgmt_read_write_done"),
        _out("cfg_msg_received"), _out("cfg_msg_received_data", 8),
        _out("cfg_msg_received_type", 5),
        _in("cfg_msg_transmit", tie=0), _in("cfg_msg_transmit_type", 3, tie=0),
        _in("cfg_msg_transmit_data", 32, tie=0), _out("cfg_msg_transmit_done"),
    ],
    "Resets, power states and errors.": [
        _in("cfg_hot_reset_in", tie=0), _out("cfg_hot_reset_out"),
        _in("cfg_power_state_change_ack"), _out("cfg_power_state_change_interrupt"),
        _in("cfg_err_cor_in", tie=0), _in("cfg_err_uncor_in", tie=0),
        _out("cfg_flr_in_process", 4), _in("cfg_flr_done", 4),
        _out("cfg_vf_flr_in_process", 252), _in("cfg_vf_flr_done", tie=0),
        _in("cfg_vf_flr_func_num", 8, tie=0),
        _in("cfg_link_training_enable", tie=1), _in("cfg_pm_aspm_l1_entry_reject", tie=0),
        _in("cfg_pm_aspm_tx_l0s_entry_disable", tie=0), _in("cfg_config_space_enable", tie=1),
        _in("cfg_req_pm_transition_l23_ready", tie=0),
        _in("cfg_dsn", 64, tie=0), _in("cfg_ds_bus_number", 8, tie=0),
        _in("cfg_ds_port_number", 8, tie=0), _in("cfg_ds_device_number", 5, tie=0),
    ],
    "Legacy interrupts and MSI.": [
        _in("cfg_interrupt_int", 4, tie=0), _in("cfg_interrupt_pending", 4, tie=0),
        _out("cfg_interrupt_sent"),
        _out("cfg_interrupt_msi_enable", 4), _in("cfg_interrupt_msi_int", 32),
        _out("cfg_interrupt_msi_sent"), _out("cfg_interrupt_msi_fail"),
        _out("cfg_interrupt_msi_mmenable", 12), _out("cfg_interrupt_msi_mask_update"),
        _out("cfg_interrupt_msi_data", 32), _in("cfg_interrupt_msi_select", 2, tie=0),
        _in("cfg_interrupt_msi_pending_status", 32, tie=0),
        _in("cfg_interrupt_msi_attr", 3, tie=0), _in("cfg_interrupt_msi_tph_present", tie=0),
        _in("cfg_interrupt_msi_tph_type", 2, tie=0), _in("cfg_interrupt_msi_tph_st_tag", 8, tie=0),
        _in("cfg_interrupt_msi_pending_status_function_num", 2, tie=0),
        _in("cfg_interrupt_msi_pending_status_data_enable", tie=0),
        _in("cfg_interrupt_msi_function_number", 8, tie=0),
    ],
    "MSI-X with the table in the user's BAR: the user sends the messages, as writes on RQ.": [
        _out("cfg_interrupt_msix_enable", 4), _out("cfg_interrupt_msix_mask", 4),
    ],
}

PINS = {pin.name: pin for pins in GROUPS.values() for pin in pins}

# The pins of the serial lanes. A board may connect fewer than eight lanes. These pins then have as
# many bits as the board has lanes.
LANES = ("pci_exp_txn", "pci_exp_txp", "pci_exp_rxn", "pci_exp_rxp")

# The fields of the tuser pins that are used. Each field is a list of parts, (lowest bit, width),
# the lowest part first. All other bits of a tuser input are 0.
FIELDS = {
    "m_axis_cq_tuser": {
        "first_be":    [(0, 4)],
        "last_be":     [(4, 4)],
        "byte_enable": [(8, 32)],
        "start":       [(40, 1)],
        "discontinue": [(41, 1)],
    },
    "m_axis_rc_tuser": {
        "byte_enable": [(0, 32)],
        "start_0":     [(32, 1)],
        "start_1":     [(33, 1)],
        "end_0_valid": [(34, 1)],
        "end_0_dword": [(35, 3)],
        "end_1_valid": [(38, 1)],
        "end_1_dword": [(39, 3)],
        "discontinue": [(42, 1)],
    },
    "s_axis_rq_tuser": {
        "first_be": [(0, 4)],
        "last_be":  [(4, 4)],
        "sequence": [(24, 4), (60, 2)],
    },
}

# The fields of the tuser pins that the gateware does not use, in the same form. Software that reads
# recorded traffic shows them, too (sim/differential/observation.py).
UNUSED_FIELDS = {
    "m_axis_cq_tuser": {
        "tph":    [(42, 11)],
        "parity": [(53, 32)],
    },
    "m_axis_rc_tuser": {
        "parity": [(43, 32)],
    },
    "s_axis_rq_tuser": {
        "address_offset": [(8, 3)],
        "discontinue":    [(11, 1)],
        "tph":            [(12, 12)],
        "parity":         [(28, 32)],
    },
    "s_axis_cc_tuser": {
        "discontinue": [(0, 1)],
        "parity":      [(1, 32)],
    },
}

def position(pin, field):
    """Returns (lowest bit, width in bits) of a field of a `tuser` pin, used or not. If the field
    has several parts, the result is its lowest part."""
    return {**FIELDS.get(pin, {}), **UNUSED_FIELDS[pin]}[field][0]

# Fields of tuser pins as the gateware uses them ---------------------------------------------------

def parts(pin):
    """Returns the used parts of a `tuser` pin in the order of their bits. Each part is (lowest bit
    in the pin, width in bits, field, lowest bit in the field)."""
    found = []
    for field, pieces in FIELDS[pin].items():
        inside = 0
        for low, width in pieces:
            found.append((low, width, field, inside))
            inside += width
    return sorted(found)

def tuser(pin, **signals):
    """Returns the value of a `tuser` pin, made of `signals`: each is put in the place of the field
    that has its name. Raises ValueError if the fields do not fit.

    Unused bits of an input pin are 0. Unused bits of an output pin go to signals that nothing
    reads."""
    filler = Signal if PINS[pin].output else (lambda width: C(0, width))
    total  = {field: sum(width for _, width in pieces) for field, pieces in FIELDS[pin].items()}
    widths = {field: len(signal) for field, signal in signals.items()}
    if widths != total:
        raise ValueError(f"{pin}: the fields are {total}, not {widths}")
    bits, at = [], 0
    for low, width, field, inside in parts(pin):
        bits += [filler(low - at)] if low > at else []
        bits.append(signals[field][inside:inside + width])
        at = low + width
    rest = PINS[pin].width - at
    return Cat(*bits, *([filler(rest)] if rest else []))

def instance_ports(**connected):
    """Returns the Instance arguments of the hard block. Pins in `connected` get these signals. All
    other inputs are tied to the table's values.

    Raises ValueError if a name is no pin, if a signal has another width than its pin, or if an
    input that must be connected is not."""
    ports = {}
    for name, signal in connected.items():
        if name not in PINS:
            near = difflib.get_close_matches(name, PINS, 1)
            raise ValueError(f"the hard block has no pin {name}" + (f"; it has {near[0]}" if near
                else ""))
        pin = PINS[name]
        if len(signal) != pin.width and name not in LANES:
            raise ValueError(f"pin {name} has {pin.width} bits, and is given {len(signal)}")
        ports[("o_" if pin.output else "i_") + name] = signal
    for name, pin in PINS.items():
        if pin.output or name in connected:
            continue
        if pin.tie is None:
            raise ValueError(f"input {name} of the hard block is not connected")
        ports["i_" + name] = C(pin.tie, pin.width)
    return ports
