// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Writes every beat that passes the hard block's user pins as a line of `pins.txt` in the current
// folder: interface, cycle, tlast, tkeep, tuser, tdata. The module is bound into any module
// `pcie_usp`, so that both models are recorded by the same code. A beat that is offered and not
// taken is not written. cfg_* outputs are written when they change, interrupts when sent or failed.
// The parameters are the widths of the pins that the module is bound to.

module pin_recorder #(
    parameter DATA = 1, KEEP = 1, RQ_USER = 1, RC_USER = 1, CQ_USER = 1, CC_USER = 1,
    parameter MSI = 1
) (
    input clk, reset,
    input [DATA-1:0] rq_data, input [KEEP-1:0] rq_keep, input [RQ_USER-1:0] rq_user,
    input rq_last, rq_valid, rq_ready,
    input [DATA-1:0] rc_data, input [KEEP-1:0] rc_keep, input [RC_USER-1:0] rc_user,
    input rc_last, rc_valid, rc_ready,
    input [DATA-1:0] cq_data, input [KEEP-1:0] cq_keep, input [CQ_USER-1:0] cq_user,
    input cq_last, cq_valid, cq_ready,
    input [DATA-1:0] cc_data, input [KEEP-1:0] cc_keep, input [CC_USER-1:0] cc_user,
    input cc_last, cc_valid, cc_ready,
    input [MSI-1:0] msi_int, input msi_sent, msi_fail,
    input [31:0] config_pins
);
    integer file  = 0;
    integer cycle = 0;
    // The value of config_pins that was written last. It begins with a value that config_pins never
    // has, so the first real value is written, too.
    reg [31:0] config_written = 32'hffff_ffff;

    wire rq = rq_valid & rq_ready;
    wire rc = rc_valid & rc_ready;
    wire cq = cq_valid & cq_ready;
    wire cc = cc_valid & cc_ready;

    always @(posedge clk) if (!reset) begin
        cycle = cycle + 1;
        // pins.txt is opened at the first beat, since the simulation's current folder is the run's
        // folder only by then.
        if (file == 0 && (rq | rc | cq | cc)) file = $fopen("pins.txt", "w");
        if (cq) $fwrite(file, "CQ %0d %b %h %h %h\n", cycle, cq_last, cq_keep, cq_user, cq_data);
        if (cc) $fwrite(file, "CC %0d %b %h %h %h\n", cycle, cc_last, cc_keep, cc_user, cc_data);
        if (rq) $fwrite(file, "RQ %0d %b %h %h %h\n", cycle, rq_last, rq_keep, rq_user, rq_data);
        if (rc) $fwrite(file, "RC %0d %b %h %h %h\n", cycle, rc_last, rc_keep, rc_user, rc_data);
        if (msi_sent | msi_fail)
            $fwrite(file, "MSI %0d %b %b %h\n", cycle, msi_sent, msi_fail, msi_int);
        if (file != 0 && config_pins != config_written) begin
            $fwrite(file, "CFG %0d %h\n", cycle, config_pins);
            config_written = config_pins;
        end
    end
endmodule

// In the models of the hard block, tready of RQ and CC has one bit or four equal bits. The
// recorder's port has one bit and takes the lowest.
bind pcie_usp pin_recorder #(
    .DATA($bits(s_axis_rq_tdata)), .KEEP($bits(s_axis_rq_tkeep)),
    .RQ_USER($bits(s_axis_rq_tuser)), .RC_USER($bits(m_axis_rc_tuser)),
    .CQ_USER($bits(m_axis_cq_tuser)), .CC_USER($bits(s_axis_cc_tuser)),
    .MSI($bits(cfg_interrupt_msi_int))
) recorder (
    .clk(user_clk), .reset(user_reset),
    .rq_data(s_axis_rq_tdata), .rq_keep(s_axis_rq_tkeep), .rq_user(s_axis_rq_tuser),
    .rq_last(s_axis_rq_tlast), .rq_valid(s_axis_rq_tvalid), .rq_ready(s_axis_rq_tready),
    .rc_data(m_axis_rc_tdata), .rc_keep(m_axis_rc_tkeep), .rc_user(m_axis_rc_tuser),
    .rc_last(m_axis_rc_tlast), .rc_valid(m_axis_rc_tvalid), .rc_ready(m_axis_rc_tready),
    .cq_data(m_axis_cq_tdata), .cq_keep(m_axis_cq_tkeep), .cq_user(m_axis_cq_tuser),
    .cq_last(m_axis_cq_tlast), .cq_valid(m_axis_cq_tvalid), .cq_ready(m_axis_cq_tready),
    .cc_data(s_axis_cc_tdata), .cc_keep(s_axis_cc_tkeep), .cc_user(s_axis_cc_tuser),
    .cc_last(s_axis_cc_tlast), .cc_valid(s_axis_cc_tvalid), .cc_ready(s_axis_cc_tready),
    .msi_int(cfg_interrupt_msi_int), .msi_sent(cfg_interrupt_msi_sent),
    .msi_fail(cfg_interrupt_msi_fail),
    .config_pins({1'b0, cfg_current_speed, cfg_negotiated_width, cfg_interrupt_msi_enable,
                  cfg_rcb_status[0], cfg_function_status, cfg_max_read_req, cfg_max_payload}));
