# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Connects signals of the gateware to the hard block's pins, by the pins' names.

If no function of this file names an input of the hard block, the input's feature is not used, and
it gets the value that the table in pins.py has for it."""

from migen import *

from gateware.phy.pins import tuser

# The bit of the hard block's pin cfg_function_status that shows Bus Master Enable of function 0.
BUS_MASTER = 2

class CoreStatus:
    """The hard block's status outputs that the gateware uses. Each is driven by a register of the
    hard block in the user clock."""
    def __init__(self):
        self.link_up          = Signal()
        self.phy_link_down    = Signal()
        self.phy_link_status  = Signal(2)
        self.negotiated_width = Signal(3)
        self.current_speed    = Signal(2)
        self.ltssm_state      = Signal(6)
        self.max_payload      = Signal(2)
        self.max_read_req     = Signal(3)
        self.rcb_status       = Signal(4)
        self.function_status  = Signal(16)
        self.msi_enable       = Signal(4)
        self.msi_sent         = Signal()
        self.msi_fail         = Signal()
        self.msix_enable      = Signal(4)
        self.msix_mask        = Signal(4)
        self.power_change     = Signal()

# Pins of the TLP streams --------------------------------------------------------------------------

def _stream(prefix, endpoint, ready):
    return {
        f"{prefix}_tvalid": endpoint.valid,
        f"{prefix}_tready": ready,
        f"{prefix}_tlast":  endpoint.last,
        f"{prefix}_tdata":  endpoint.data,
        f"{prefix}_tkeep":  endpoint.keep,
    }

def stream_pins(cq, cc, rq, rc):
    """Returns {pin: signal} for the pins of CQ, CC, RQ and RC. Parity is neither checked nor
    generated. TLP processing hints are not used."""
    # The hard block's tready of RQ and CC has four bits that are always equal. The gateware uses
    # bit 0.
    rq_ready, cc_ready = Signal(4), Signal(4)
    return {
        **_stream("m_axis_cq", cq, cq.ready),
        "m_axis_cq_tuser": tuser("m_axis_cq_tuser",
            first_be    = cq.first_be,
            last_be     = cq.last_be,
            byte_enable = cq.byte_enable,
            start       = cq.start,
            discontinue = cq.discontinue,
        ),
        **_stream("m_axis_rc", rc, rc.ready),
        "m_axis_rc_tuser": tuser("m_axis_rc_tuser",
            byte_enable = rc.byte_enable,
            start_0     = rc.start_0,
            start_1     = rc.start_1,
            end_0_valid = rc.end_0.valid,
            end_0_dword = rc.end_0.dword,
            end_1_valid = rc.end_1.valid,
            end_1_dword = rc.end_1.dword,
            discontinue = rc.discontinue,
        ),
        **_stream("s_axis_rq", rq, Cat(rq.ready, rq_ready[1:])),
        "s_axis_rq_tuser": tuser("s_axis_rq_tuser",
            first_be = rq.first_be,
            last_be  = rq.last_be,
            sequence = rq.sequence,
        ),
        **_stream("s_axis_cc", cc, Cat(cc.ready, cc_ready[1:])),
    }

def credit_pins(np_request, sequence):
    """Returns {pin: signal} for the pins that grant the hard block credits for the host's
    non-posted requests, and for those with the sequence numbers of the card's requests that have
    left."""
    return {
        "pcie_cq_np_req":       np_request,
        "pcie_rq_seq_num0":     sequence.number_0,
        "pcie_rq_seq_num_vld0": sequence.valid_0,
        "pcie_rq_seq_num1":     sequence.number_1,
        "pcie_rq_seq_num_vld1": sequence.valid_1,
    }

# Pins of status and configuration -----------------------------------------------------------------

def status_pins(core):
    """Returns {pin: signal} for the hard block's pins that show the state of the link and of the
    function."""
    return {
        "user_lnk_up":          core.link_up,
        "cfg_phy_link_down":    core.phy_link_down,
        "cfg_phy_link_status":  core.phy_link_status,
        "cfg_negotiated_width": core.negotiated_width,
        "cfg_current_speed":    core.current_speed,
        "cfg_ltssm_state":      core.ltssm_state,
        "cfg_max_payload":      core.max_payload,
        "cfg_max_read_req":     core.max_read_req,
        "cfg_rcb_status":       core.rcb_status,
        "cfg_function_status":  core.function_status,
    }

def management_pins(cfg_mgmt):
    """Returns {pin: signal} for the pins with which the card reads its configuration space. The
    card never writes it."""
    return {
        "cfg_mgmt_addr":            cfg_mgmt.address,
        "cfg_mgmt_read":            cfg_mgmt.read,
        "cfg_mgmt_read_data":       cfg_mgmt.data,
        "cfg_mgmt_read_write_done": cfg_mgmt.done,
    }

def interrupt_pins(core, msi):
    """Returns {pin: signal} for the pins of MSI. Only vector 0 of function 0 is used, and no legacy
    interrupt."""
    return {
        "cfg_interrupt_msi_enable": core.msi_enable,
        "cfg_interrupt_msi_sent":   core.msi_sent,
        "cfg_interrupt_msi_fail":   core.msi_fail,
        "cfg_interrupt_msi_int":    Cat(msi.pulse, C(0, 31)),
    }

def msix_pins(core):
    """Returns {pin: signal} for the pins of MSI-X. The MSI-X table is outside the hard block. The
    pins only say whether the host has enabled or masked MSI-X."""
    return {
        "cfg_interrupt_msix_enable": core.msix_enable,
        "cfg_interrupt_msix_mask":   core.msix_mask,
    }

def control_pins(core, flr):
    """Returns {pin: signal} for the pins for function level resets and power states.

    The power state is acknowledged in the cycle in which the hard block asks."""
    in_process = Signal(4)
    flr.comb += flr.in_process.eq(in_process[0])
    return {
        "cfg_flr_in_process":               in_process,
        "cfg_flr_done":                     Cat(flr.done, C(0, 3)),
        # The card needs no time to prepare for another power state, so it acknowledges the change
        # at once.
        "cfg_power_state_change_interrupt": core.power_change,
        "cfg_power_state_change_ack":       core.power_change,
    }
