// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A bench that stands in the gateware's place around the model of the hard block. It sends three
// reads with sequence numbers, then selects each view of the flow control credits in turn, and
// prints the values of the hard block's pins. test_model_verilog.py checks them.

module lanebox (
    input  pcie_x8_clk_p, pcie_x8_rst_n,
    output busy,
    output [5:0] user_slot
);
    // The pins user_slot are valid, ready and last of the user slot's two streams. This bench has
    // no user slot.
    assign user_slot = 6'd0;
    assign busy = 1'b0;

    wire         user_reset;
    reg  [9:0]   cycle = 10'd0;
    reg  [1:0]   sent = 2'd0;
    wire         rq_valid = cycle > 10'd8 && sent != 2'd3;
    wire [5:0]   seq_num = sent == 2'd0 ? 6'h15 : sent == 2'd1 ? 6'h2a : 6'h3f;
    // Low half of the next read's address. The three reads are 4 KiB apart, from 4 GiB on.
    wire [31:0]  address = {18'd0, sent, 12'd0};
    wire [3:0]   rq_ready;
    reg  [2:0]   fc_sel = 3'd0;

    wire [255:0] rc_data;
    wire [7:0]   rc_keep;
    wire [74:0]  rc_user;
    wire         rc_last, rc_valid;
    wire [3:0]   tag_av, nph_av, npd_av;
    wire [5:0]   seq_num0, seq_num1, np_req_count;
    wire         seq_num_vld0, seq_num_vld1;
    wire [7:0]   ph, nph, cplh;
    wire [11:0]  pd, npd, cpld;
    wire [2:0]   width;
    wire [1:0]   speed;

    pcie_usp pcie_usp_i (
        .sys_clk_gt (pcie_x8_clk_p), .sys_clk (pcie_x8_clk_p), .sys_reset (pcie_x8_rst_n),
        .user_reset (user_reset),
        .s_axis_rq_tvalid (rq_valid), .s_axis_rq_tlast (1'b1), .s_axis_rq_tready (rq_ready),
        .s_axis_rq_tkeep (8'h0f),
        .s_axis_rq_tdata ({128'd0, 30'd0, sent, 32'd16, 32'd1, address}),
        .s_axis_rq_tuser ({seq_num[5:4], 32'd0, seq_num[3:0], 16'd0, 8'hff}),
        .m_axis_rc_tdata (rc_data), .m_axis_rc_tkeep (rc_keep), .m_axis_rc_tuser (rc_user),
        .m_axis_rc_tlast (rc_last), .m_axis_rc_tvalid (rc_valid), .m_axis_rc_tready (1'b1),
        .s_axis_cc_tvalid (1'b0), .s_axis_cc_tlast (1'b0), .cfg_interrupt_msi_int (32'd0),
        .cfg_mgmt_read (1'b0), .cfg_mgmt_write (1'b0), .cfg_flr_done (4'd0),
        .cfg_power_state_change_ack (1'b0),
        .m_axis_cq_tready (1'b1), .pcie_cq_np_req (2'b01), .pcie_cq_np_req_count (np_req_count),
        .pcie_rq_tag_av (tag_av), .pcie_tfc_nph_av (nph_av), .pcie_tfc_npd_av (npd_av),
        .pcie_rq_seq_num0 (seq_num0), .pcie_rq_seq_num_vld0 (seq_num_vld0),
        .pcie_rq_seq_num1 (seq_num1), .pcie_rq_seq_num_vld1 (seq_num_vld1),
        .cfg_fc_sel (fc_sel), .cfg_fc_ph (ph), .cfg_fc_pd (pd), .cfg_fc_nph (nph),
        .cfg_fc_npd (npd), .cfg_fc_cplh (cplh), .cfg_fc_cpld (cpld),
        .cfg_negotiated_width (width), .cfg_current_speed (speed)
    );

    always @(posedge pcie_x8_clk_p) if (!user_reset) begin
        cycle <= cycle + 10'd1;
        if (rq_valid && rq_ready[0]) sent <= sent + 2'd1;
        if (rc_valid) $display("rc %h %h %h %h", rc_last, rc_keep, rc_user, rc_data);
        if (seq_num_vld0) $display("seq %h", seq_num0);
        if (seq_num_vld1) $display("seq %h", seq_num1);
        // cfg_fc_sel keeps each value for four cycles: the hard block takes it in one cycle and
        // answers in the next.
        if (cycle >= 10'd600) fc_sel <= cycle[4:2] - 3'd6;
        if (cycle >= 10'd600 && cycle < 10'd632 && cycle[1:0] == 2'd3)
            $display("fc %h %0d %0d %0d %0d %0d %0d", fc_sel, ph, pd, nph, npd, cplh, cpld);
        if (cycle == 10'd20 || cycle == 10'd600)
            $display("state %0d %0d %0d %0d %0d %0d", tag_av, nph_av, npd_av, np_req_count, width,
                     speed);
    end
endmodule
