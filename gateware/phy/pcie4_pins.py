# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The pins of the hard block: PG213's port tables for 256 bit, as Instance arguments.

Only this file knows the positions of fields in tuser. Inputs that this gateware does not use have
the value that PG213 asks for when a feature is not used.
"""

from migen import *

BUS_MASTER = 2 # Of cfg_function_status: I/O, memory and bus master enable, INTx disable.

class CoreStatus:
    """The core's status outputs that are used; all of them are registers in the user clock."""
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

# Streams ------------------------------------------------------------------------------------------

def stream_ports(cq, cc, rq, rc):
    """Ports of CQ, CC, RQ and RC. Parity is neither checked nor given; processing hints are not
    used.
    """
    rq_ready, cc_ready = Signal(4), Signal(4) # The core's `ready` is the same bit four times.
    end_0, end_1 = rc.end_0, rc.end_1
    return {
        "o_m_axis_cq_tvalid": cq.valid,
        "i_m_axis_cq_tready": cq.ready,
        "o_m_axis_cq_tlast":  cq.last,
        "o_m_axis_cq_tdata":  cq.data,
        "o_m_axis_cq_tkeep":  cq.keep,
        "o_m_axis_cq_tuser":  Cat(cq.first_be, cq.last_be, cq.byte_enable, cq.start,
            cq.discontinue, Signal(46)),

        "o_m_axis_rc_tvalid": rc.valid,
        "i_m_axis_rc_tready": rc.ready,
        "o_m_axis_rc_tlast":  rc.last,
        "o_m_axis_rc_tdata":  rc.data,
        "o_m_axis_rc_tkeep":  rc.keep,
        "o_m_axis_rc_tuser":  Cat(rc.byte_enable, rc.start_0, rc.start_1,
            end_0.valid, end_0.dword, end_1.valid, end_1.dword, rc.discontinue, Signal(32)),

        "i_s_axis_rq_tvalid": rq.valid,
        "o_s_axis_rq_tready": Cat(rq.ready, rq_ready[1:]),
        "i_s_axis_rq_tlast":  rq.last,
        "i_s_axis_rq_tdata":  rq.data,
        "i_s_axis_rq_tkeep":  rq.keep,
        "i_s_axis_rq_tuser":  Cat(rq.first_be, rq.last_be, C(0, 16), rq.sequence[:4], C(0, 32),
            rq.sequence[4:]),

        "i_s_axis_cc_tvalid": cc.valid,
        "o_s_axis_cc_tready": Cat(cc.ready, cc_ready[1:]),
        "i_s_axis_cc_tlast":  cc.last,
        "i_s_axis_cc_tdata":  cc.data,
        "i_s_axis_cc_tkeep":  cc.keep,
        "i_s_axis_cc_tuser":  C(0, 33),
    }

def credit_ports(np_request, sequence):
    """Ports for non-posted credits to the block, and for numbers of requests that have left it."""
    return {
        "i_pcie_cq_np_req":      np_request,
        "o_pcie_rq_seq_num0":    sequence.number_0,
        "o_pcie_rq_seq_num_vld0": sequence.valid_0,
        "o_pcie_rq_seq_num1":    sequence.number_1,
        "o_pcie_rq_seq_num_vld1": sequence.valid_1,
        "i_cfg_fc_sel":          0,
    }

# Configuration ------------------------------------------------------------------------------------

def status_ports(core):
    return {
        "o_user_lnk_up":          core.link_up,
        "o_cfg_phy_link_down":    core.phy_link_down,
        "o_cfg_phy_link_status":  core.phy_link_status,
        "o_cfg_negotiated_width": core.negotiated_width,
        "o_cfg_current_speed":    core.current_speed,
        "o_cfg_ltssm_state":      core.ltssm_state,
        "o_cfg_max_payload":      core.max_payload,
        "o_cfg_max_read_req":     core.max_read_req,
        "o_cfg_rcb_status":       core.rcb_status,
        "o_cfg_function_status":  core.function_status,
    }

def management_ports(cfg_mgmt):
    """Ports to read configuration space; nothing is written to it from inside."""
    return {
        "i_cfg_mgmt_addr":            cfg_mgmt.address,
        "i_cfg_mgmt_read":            cfg_mgmt.read,
        "o_cfg_mgmt_read_data":       cfg_mgmt.data,
        "o_cfg_mgmt_read_write_done": cfg_mgmt.done,
        "i_cfg_mgmt_write":           0,
        "i_cfg_mgmt_write_data":      0,
        "i_cfg_mgmt_byte_enable":     0xf,
        "i_cfg_mgmt_debug_access":    0,
        "i_cfg_mgmt_function_number": 0,
    }

def interrupt_ports(core, msi):
    """Ports of MSI: vector 0 of function 0. There is no legacy interrupt."""
    return {
        "o_cfg_interrupt_msi_enable": core.msi_enable,
        "o_cfg_interrupt_msi_sent":   core.msi_sent,
        "o_cfg_interrupt_msi_fail":   core.msi_fail,
        "i_cfg_interrupt_msi_int":    Cat(msi.pulse, C(0, 31)),

        "i_cfg_interrupt_int":                               0,
        "i_cfg_interrupt_pending":                           0,
        "i_cfg_interrupt_msi_select":                        0,
        "i_cfg_interrupt_msi_pending_status":                0,
        "i_cfg_interrupt_msi_pending_status_data_enable":    0,
        "i_cfg_interrupt_msi_pending_status_function_num":   0,
        "i_cfg_interrupt_msi_attr":                          0,
        "i_cfg_interrupt_msi_tph_present":                   0,
        "i_cfg_interrupt_msi_tph_type":                      0,
        "i_cfg_interrupt_msi_tph_st_tag":                    0,
        "i_cfg_interrupt_msi_function_number":               0,
    }

def msix_ports(core):
    """Ports of MSI-X with the table outside the core: it only says what the host has enabled."""
    return {
        "o_cfg_interrupt_msix_enable": core.msix_enable,
        "o_cfg_interrupt_msix_mask":   core.msix_mask,
    }

def control_ports(core, flr):
    """Ports of resets and power states. No message is sent and no error is reported from inside."""
    in_process = Signal(4)
    flr.comb += flr.in_process.eq(in_process[0])
    return {
        "o_cfg_flr_in_process":               in_process,
        "i_cfg_flr_done":                     Cat(flr.done, C(0, 3)),
        "i_cfg_vf_flr_done":                  0,
        "i_cfg_vf_flr_func_num":              0,
        # Nothing here needs time to prepare for another power state.
        "o_cfg_power_state_change_interrupt": core.power_change,
        "i_cfg_power_state_change_ack":       core.power_change,

        "i_cfg_config_space_enable":         1,
        "i_cfg_link_training_enable":        1,
        "i_cfg_hot_reset_in":                0,
        "i_cfg_err_cor_in":                  0,
        "i_cfg_err_uncor_in":                0,
        "i_cfg_pm_aspm_l1_entry_reject":     0,
        "i_cfg_pm_aspm_tx_l0s_entry_disable": 0,
        "i_cfg_req_pm_transition_l23_ready": 0,
        "i_cfg_dsn":                         0,
        "i_cfg_ds_bus_number":               0,
        "i_cfg_ds_device_number":            0,
        "i_cfg_ds_port_number":              0,
        "i_cfg_msg_transmit":                0,
        "i_cfg_msg_transmit_type":           0,
        "i_cfg_msg_transmit_data":           0,
    }
