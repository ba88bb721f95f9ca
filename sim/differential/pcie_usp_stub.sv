// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The hard block's user pins with nothing behind them: cocotbext-pcie's device drives the outputs.
//
// cocotb waits for edges of single bits only, so RQ's and CC's tready have one bit here and four in
// PG213. Outputs that the device does not drive have the values of a trained Gen3 x8 link.

module pcie_usp (
    output [7:0] pci_exp_txn, pci_exp_txp,
    input  [7:0] pci_exp_rxn, pci_exp_rxp,
    input        sys_clk, sys_clk_gt, sys_reset,

    output reg   user_clk    = 1'b0,
    output       user_reset,
    output reg   user_lnk_up = 1'b0,
    output reg   phy_rdy_out = 1'b1,

    input  [255:0] s_axis_rq_tdata,
    input  [7:0]   s_axis_rq_tkeep,
    input  [61:0]  s_axis_rq_tuser,
    input          s_axis_rq_tlast, s_axis_rq_tvalid,
    output reg     s_axis_rq_tready = 1'b0,

    output reg [255:0] m_axis_rc_tdata  = 256'd0,
    output reg [7:0]   m_axis_rc_tkeep  = 8'd0,
    output reg [74:0]  m_axis_rc_tuser  = 75'd0,
    output reg         m_axis_rc_tlast  = 1'b0,
    output reg         m_axis_rc_tvalid = 1'b0,
    input              m_axis_rc_tready,

    output reg [255:0] m_axis_cq_tdata  = 256'd0,
    output reg [7:0]   m_axis_cq_tkeep  = 8'd0,
    output reg [87:0]  m_axis_cq_tuser  = 88'd0,
    output reg         m_axis_cq_tlast  = 1'b0,
    output reg         m_axis_cq_tvalid = 1'b0,
    input              m_axis_cq_tready,

    input  [255:0] s_axis_cc_tdata,
    input  [7:0]   s_axis_cc_tkeep,
    input  [32:0]  s_axis_cc_tuser,
    input          s_axis_cc_tlast, s_axis_cc_tvalid,
    output reg     s_axis_cc_tready = 1'b0,

    output reg [5:0] pcie_cq_np_req_count = 6'd0,
    input  [1:0]   pcie_cq_np_req,
    output [3:0]   pcie_rq_tag_av,
    output reg [5:0] pcie_rq_seq_num0 = 6'd0, pcie_rq_seq_num1 = 6'd0,
    output reg     pcie_rq_seq_num_vld0 = 1'b0, pcie_rq_seq_num_vld1 = 1'b0,
    output [3:0]   pcie_tfc_nph_av, pcie_tfc_npd_av,
    output [7:0]   cfg_fc_ph, cfg_fc_nph, cfg_fc_cplh,
    output [11:0]  cfg_fc_pd, cfg_fc_npd, cfg_fc_cpld,
    input  [2:0]   cfg_fc_sel,

    output reg     cfg_phy_link_down     = 1'b0,
    output [1:0]   cfg_phy_link_status,
    output reg [2:0] cfg_negotiated_width = 3'd3,
    output reg [1:0] cfg_current_speed    = 2'd2,
    output reg [1:0] cfg_max_payload      = 2'd0,
    output reg [2:0] cfg_max_read_req     = 3'd2,
    output reg [15:0] cfg_function_status = 16'd0,
    output [11:0]  cfg_function_power_state,
    output [503:0] cfg_vf_status,
    output [755:0] cfg_vf_power_state,
    output [1:0]   cfg_link_power_state,
    output         cfg_err_cor_out, cfg_err_nonfatal_out, cfg_err_fatal_out,
    output [5:0]   cfg_ltssm_state,
    output reg [3:0] cfg_rcb_status = 4'd0,
    output [1:0]   cfg_obff_enable,
    output         cfg_pl_status_change,
    output [3:0]   cfg_tph_requester_enable,
    output [11:0]  cfg_tph_st_mode,
    output [251:0] cfg_vf_tph_requester_enable,
    output [755:0] cfg_vf_tph_st_mode,

    input  [9:0]   cfg_mgmt_addr,
    input          cfg_mgmt_write, cfg_mgmt_read, cfg_mgmt_debug_access,
    input  [31:0]  cfg_mgmt_write_data,
    input  [3:0]   cfg_mgmt_byte_enable,
    input  [7:0]   cfg_mgmt_function_number,
    output reg [31:0] cfg_mgmt_read_data    = 32'd0,
    output reg     cfg_mgmt_read_write_done = 1'b0,
    output         cfg_msg_received,
    output [7:0]   cfg_msg_received_data,
    output [4:0]   cfg_msg_received_type,
    input          cfg_msg_transmit,
    input  [2:0]   cfg_msg_transmit_type,
    input  [31:0]  cfg_msg_transmit_data,
    output         cfg_msg_transmit_done,

    input          cfg_hot_reset_in,
    output         cfg_hot_reset_out,
    input          cfg_power_state_change_ack,
    output         cfg_power_state_change_interrupt,
    input          cfg_err_cor_in, cfg_err_uncor_in,
    output [3:0]   cfg_flr_in_process,
    input  [3:0]   cfg_flr_done,
    output [251:0] cfg_vf_flr_in_process,
    input          cfg_vf_flr_done,
    input  [7:0]   cfg_vf_flr_func_num,
    input          cfg_link_training_enable, cfg_pm_aspm_l1_entry_reject,
    input          cfg_pm_aspm_tx_l0s_entry_disable, cfg_config_space_enable,
    input          cfg_req_pm_transition_l23_ready,
    input  [63:0]  cfg_dsn,
    input  [7:0]   cfg_ds_bus_number, cfg_ds_port_number,
    input  [4:0]   cfg_ds_device_number,

    input  [3:0]   cfg_interrupt_int, cfg_interrupt_pending,
    output         cfg_interrupt_sent,
    output reg [3:0] cfg_interrupt_msi_enable = 4'd0,
    input  [31:0]  cfg_interrupt_msi_int,
    output reg     cfg_interrupt_msi_sent = 1'b0,
    output reg     cfg_interrupt_msi_fail = 1'b0,
    // Another value than the device's first one: LitePCIe's glue acts only when it changes.
    output reg [11:0] cfg_interrupt_msi_mmenable = 12'hfff,
    output         cfg_interrupt_msi_mask_update,
    output [31:0]  cfg_interrupt_msi_data,
    input  [1:0]   cfg_interrupt_msi_select,
    input  [31:0]  cfg_interrupt_msi_pending_status,
    input  [2:0]   cfg_interrupt_msi_attr,
    input          cfg_interrupt_msi_tph_present,
    input  [1:0]   cfg_interrupt_msi_tph_type,
    input  [7:0]   cfg_interrupt_msi_tph_st_tag,
    input  [1:0]   cfg_interrupt_msi_pending_status_function_num,
    input          cfg_interrupt_msi_pending_status_data_enable,
    input  [7:0]   cfg_interrupt_msi_function_number,

    output reg [3:0] cfg_interrupt_msix_enable = 4'd0,
    output reg [3:0] cfg_interrupt_msix_mask   = 4'd0
);
    // cocotbext-pcie's device drives its reset low at first and asserts it two clocks later.
    // Silicon asserts user_reset from the start (PG213). In these two clocks gateware that was
    // never reset may offer anything, and the device would take it as a beat before the first TLP.
    reg device_reset = 1'b0;
    reg was_reset    = 1'b0;
    always @(posedge user_clk) if (device_reset) was_reset <= 1'b1;
    assign user_reset = device_reset | ~was_reset;

    // Events that cocotbext-pcie's device does not model never happen.
    assign cfg_flr_in_process               = 4'd0;
    assign cfg_hot_reset_out                = 1'b0;
    assign cfg_power_state_change_interrupt = 1'b0;
    assign cfg_function_power_state         = 12'd1;  // D0, active
    assign {cfg_err_cor_out, cfg_err_nonfatal_out, cfg_err_fatal_out} = 3'd0;
    assign cfg_msg_received      = 1'b0;
    assign cfg_msg_transmit_done = 1'b0;

    assign cfg_phy_link_status = 2'b11;
    assign cfg_ltssm_state     = 6'h10;
    assign pcie_tfc_nph_av     = 4'hf;
    assign pcie_tfc_npd_av     = 4'hf;
endmodule
