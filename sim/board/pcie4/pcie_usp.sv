// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The hard block's user pins (PG213, 256 bit), with all behaviour in C++: one call per user_clk.
//
// Port names and widths are the vendor core's for the ports that LitePCIe connects. Every output is a
// register, as in silicon. Outputs without a driver below are constant in this configuration.

module pcie_usp (
    // Link pads: nothing moves on them, the link is part of the C++ model.
    output [7:0]   pci_exp_txn, pci_exp_txp,
    input  [7:0]   pci_exp_rxn, pci_exp_rxp,
    input          sys_clk, sys_clk_gt, sys_reset,

    output         user_clk,
    output reg     user_reset = 1'b1,
    output reg     user_lnk_up = 1'b0,
    output         phy_rdy_out,

    // Requester request: from the card.
    input  [255:0] s_axis_rq_tdata,
    input  [7:0]   s_axis_rq_tkeep,
    input  [61:0]  s_axis_rq_tuser,
    input          s_axis_rq_tlast, s_axis_rq_tvalid,
    output [3:0]   s_axis_rq_tready,

    // Requester completion: the answers to the card.
    output reg [255:0] m_axis_rc_tdata,
    output reg [7:0]   m_axis_rc_tkeep,
    output reg [74:0]  m_axis_rc_tuser,
    output reg         m_axis_rc_tlast,
    output reg         m_axis_rc_tvalid = 1'b0,
    input              m_axis_rc_tready,

    // Completer request: from the host.
    output reg [255:0] m_axis_cq_tdata,
    output reg [7:0]   m_axis_cq_tkeep,
    output reg [87:0]  m_axis_cq_tuser,
    output reg         m_axis_cq_tlast,
    output reg         m_axis_cq_tvalid = 1'b0,
    input              m_axis_cq_tready,

    // Completer completion: the answers to the host.
    input  [255:0] s_axis_cc_tdata,
    input  [7:0]   s_axis_cc_tkeep,
    input  [32:0]  s_axis_cc_tuser,
    input          s_axis_cc_tlast, s_axis_cc_tvalid,
    output [3:0]   s_axis_cc_tready,

    // Credits.
    output reg [5:0] pcie_cq_np_req_count,
    input  [1:0]   pcie_cq_np_req,
    output reg [3:0] pcie_rq_tag_av,
    output reg [5:0] pcie_rq_seq_num0, pcie_rq_seq_num1,
    output reg     pcie_rq_seq_num_vld0 = 1'b0, pcie_rq_seq_num_vld1 = 1'b0,
    output reg [3:0] pcie_tfc_nph_av, pcie_tfc_npd_av,
    output reg [7:0] cfg_fc_ph, cfg_fc_nph, cfg_fc_cplh,
    output reg [11:0] cfg_fc_pd, cfg_fc_npd, cfg_fc_cpld,
    input  [2:0]   cfg_fc_sel,

    // Status.
    output reg     cfg_phy_link_down = 1'b0,
    output [1:0]   cfg_phy_link_status,
    output reg [2:0] cfg_negotiated_width = 3'd3,
    output reg [1:0] cfg_current_speed = 2'd2,
    output reg [1:0] cfg_max_payload = 2'd0,
    output reg [2:0] cfg_max_read_req = 3'd2,
    output reg [15:0] cfg_function_status = 16'd0,
    output reg [11:0] cfg_function_power_state = 12'd0,
    output [503:0] cfg_vf_status,
    output [755:0] cfg_vf_power_state,
    output [1:0]   cfg_link_power_state,
    output reg     cfg_err_cor_out = 1'b0, cfg_err_nonfatal_out = 1'b0, cfg_err_fatal_out = 1'b0,
    output [5:0]   cfg_ltssm_state,
    output reg [3:0] cfg_rcb_status = 4'd0,
    output [1:0]   cfg_obff_enable,
    output         cfg_pl_status_change,
    output [3:0]   cfg_tph_requester_enable,
    output [11:0]  cfg_tph_st_mode,
    output [251:0] cfg_vf_tph_requester_enable,
    output [755:0] cfg_vf_tph_st_mode,

    // Management: configuration space by dwords. Messages: none are sent or received.
    input  [9:0]   cfg_mgmt_addr,
    input          cfg_mgmt_write, cfg_mgmt_read, cfg_mgmt_debug_access,
    input  [31:0]  cfg_mgmt_write_data,
    input  [3:0]   cfg_mgmt_byte_enable,
    input  [7:0]   cfg_mgmt_function_number,
    output reg [31:0] cfg_mgmt_read_data,
    output reg     cfg_mgmt_read_write_done = 1'b0,
    output         cfg_msg_received,
    output [7:0]   cfg_msg_received_data,
    output [4:0]   cfg_msg_received_type,
    input          cfg_msg_transmit,
    input  [2:0]   cfg_msg_transmit_type,
    input  [31:0]  cfg_msg_transmit_data,
    output         cfg_msg_transmit_done,

    // Control.
    input          cfg_hot_reset_in,
    output reg     cfg_hot_reset_out = 1'b0,
    input          cfg_power_state_change_ack,
    output reg     cfg_power_state_change_interrupt = 1'b0,
    input          cfg_err_cor_in, cfg_err_uncor_in,
    output reg [3:0] cfg_flr_in_process = 4'd0,
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

    // Interrupts.
    input  [3:0]   cfg_interrupt_int, cfg_interrupt_pending,
    output         cfg_interrupt_sent,
    output reg [3:0] cfg_interrupt_msi_enable = 4'd0,
    input  [31:0]  cfg_interrupt_msi_int,
    output reg     cfg_interrupt_msi_sent = 1'b0,
    output reg     cfg_interrupt_msi_fail = 1'b0,
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

    // MSI-X with the table in the user's BAR: the user sends the messages, as writes on RQ.
    output reg [3:0] cfg_interrupt_msix_enable = 4'd0,
    output reg [3:0] cfg_interrupt_msix_mask = 4'd0
);
    import "DPI-C" context function chandle pcie4_bind();
    import "DPI-C" function void pcie4_step(
        input chandle model,
        // {power_ack, flr_done, fc_sel[2:0], reset, rc_ready, cq_ready, cc_last, cc_valid, rq_last,
        // rq_valid, np_req[1:0]}
        input int in_flags,
        input bit [255:0] rq_data, input int rq_keep,
        input int rq_user,             // {seq_num[5:0], last_be[3:0], first_be[3:0]}
        input bit [255:0] cc_data, input int cc_keep,
        input int msi_int,
        output int out_flags,          // see the assignments below
        output bit [255:0] cq_data, output int cq_keep, output int cq_enables, output int cq_byte_en,
        output bit [255:0] rc_data, output int rc_keep, output int rc_byte_en,
        output int config_state,
        output int rq_state,           // {npd_av, nph_av, tag_av, vld1, seq_num1, vld0, seq_num0}
        output int fc_headers, output int fc_requests, output int fc_completions);
    import "DPI-C" function int pcie4_manage(
        input chandle model, input int dword, input int is_write, input int data);

    assign user_clk             = sys_clk_gt;
    assign phy_rdy_out          = 1'b1;
    assign cfg_phy_link_status  = cfg_phy_link_down ? 2'b00 : 2'b11;  // link up, DL initialised
    assign cfg_ltssm_state      = cfg_phy_link_down ? 6'h00 : 6'h10;  // Detect.Quiet, L0

    // The gateware is held in reset for a few cycles after the card's own reset, as silicon does.
    localparam RESET_CYCLES = 16;
    reg [4:0] reset_count = 5'd0;

    chandle model = null;
    reg     rq_ready = 1'b0;
    reg     cc_ready = 1'b0;
    assign  s_axis_rq_tready = {4{rq_ready}};
    assign  s_axis_cc_tready = {4{cc_ready}};

    int         out_flags, cq_keep, cq_enables, cq_byte_en, rc_keep, rc_byte_en;
    int         config_state = 0;
    int         rq_state, fc_headers, fc_requests, fc_completions;
    bit [255:0] cq_data, rc_data;

    // A management access takes a few cycles. The user withdraws its request a cycle after it has
    // seen `done`, which is early enough: a second access would be carried out only cycles later.
    localparam MANAGE_CYCLES = 4;
    reg [2:0] manage_count = 3'd0;

    always @(posedge user_clk) begin
        cfg_mgmt_read_write_done <= 1'b0;
        if (user_reset | ~(cfg_mgmt_read | cfg_mgmt_write)) begin
            manage_count <= 3'd0;
        end else if (manage_count != MANAGE_CYCLES - 1) begin
            manage_count <= manage_count + 3'd1;
        end else begin
            cfg_mgmt_read_data       <= pcie4_manage(model, {22'd0, cfg_mgmt_addr},
                                                     {31'd0, cfg_mgmt_write}, cfg_mgmt_write_data);
            cfg_mgmt_read_write_done <= 1'b1;
            manage_count             <= 3'd0;
        end
    end

    always @(posedge user_clk) begin
        if (!sys_reset | config_state[18]) begin
            reset_count <= 5'd0;
            user_reset  <= 1'b1;
            user_lnk_up <= 1'b0;
        end else if (reset_count != RESET_CYCLES) begin
            reset_count <= reset_count + 5'd1;
        end else begin
            user_reset  <= 1'b0;
            user_lnk_up <= 1'b1;
        end

        // Bound on the first clock: by then C++ has stored its pointer (gateware.cpp, bind_scopes).
        if (model == null) model = pcie4_bind();
        pcie4_step(model,
            {18'd0, cfg_power_state_change_ack, cfg_flr_done[0], cfg_fc_sel, user_reset | ~sys_reset,
             m_axis_rc_tready, m_axis_cq_tready, s_axis_cc_tlast, s_axis_cc_tvalid,
             s_axis_rq_tlast, s_axis_rq_tvalid, pcie_cq_np_req},
            s_axis_rq_tdata, {24'd0, s_axis_rq_tkeep},
            {18'd0, s_axis_rq_tuser[61:60], s_axis_rq_tuser[27:24], s_axis_rq_tuser[7:0]},
            s_axis_cc_tdata, {24'd0, s_axis_cc_tkeep},
            cfg_interrupt_msi_int,
            out_flags, cq_data, cq_keep, cq_enables, cq_byte_en, rc_data, rc_keep, rc_byte_en,
            config_state, rq_state, fc_headers, fc_requests, fc_completions);

        rq_ready               <= out_flags[0];
        cc_ready               <= out_flags[1];
        m_axis_cq_tvalid       <= out_flags[2];
        m_axis_cq_tlast        <= out_flags[3];
        m_axis_rc_tvalid       <= out_flags[4];
        m_axis_rc_tlast        <= out_flags[5];
        cfg_interrupt_msi_sent <= out_flags[6];
        cfg_interrupt_msi_fail <= out_flags[7];
        pcie_cq_np_req_count   <= out_flags[21:16];

        m_axis_cq_tdata <= cq_data;
        m_axis_cq_tkeep <= cq_keep[7:0];
        // tuser: byte enables of the request, of the beat, start of packet (PG213 "CQ tuser, 256 bit").
        m_axis_cq_tuser <= {47'd0, out_flags[8], cq_byte_en, cq_enables[7:0]};
        m_axis_rc_tdata <= rc_data;
        m_axis_rc_tkeep <= rc_keep[7:0];
        // RC's tuser: byte enables, then sof 0 and 1, eof 0 and 1 (PG213 "Sideband Signals").
        m_axis_rc_tuser <= {33'd0, out_flags[31:24], out_flags[10:9], rc_byte_en};

        {pcie_rq_seq_num_vld0, pcie_rq_seq_num0} <= rq_state[6:0];
        {pcie_rq_seq_num_vld1, pcie_rq_seq_num1} <= rq_state[13:7];
        {pcie_tfc_npd_av, pcie_tfc_nph_av, pcie_rq_tag_av} <= rq_state[25:14];
        {cfg_fc_cplh, cfg_fc_nph, cfg_fc_ph} <= fc_headers[23:0];
        {cfg_fc_npd, cfg_fc_pd}              <= fc_requests[23:0];
        cfg_fc_cpld                          <= fc_completions[11:0];

        // mmenable leaves its power-on value once: LitePCIe's glue acts only when it changes.
        cfg_interrupt_msi_mmenable <= 12'd0;
        cfg_interrupt_msi_enable   <= {3'd0, config_state[8]};
        cfg_function_status        <= {13'd0, config_state[10:9], 1'b0};
        cfg_max_payload            <= config_state[1:0];
        cfg_max_read_req           <= config_state[6:4];
        cfg_rcb_status             <= {3'd0, config_state[11]};
        cfg_negotiated_width       <= config_state[14:12];
        cfg_current_speed          <= config_state[16:15];
        cfg_flr_in_process         <= {3'd0, config_state[17]};
        cfg_phy_link_down          <= config_state[18];
        cfg_hot_reset_out          <= config_state[19];
        cfg_interrupt_msix_enable  <= {3'd0, config_state[20]};
        cfg_interrupt_msix_mask    <= {3'd0, config_state[21]};
        cfg_function_power_state   <= {9'd0, config_state[24:22]};
        cfg_power_state_change_interrupt <= config_state[25];
        {cfg_err_fatal_out, cfg_err_nonfatal_out, cfg_err_cor_out} <= config_state[28:26];
    end
endmodule
