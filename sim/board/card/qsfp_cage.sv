// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A QSFP cage and what is in it. The module is in C++ (cage.hpp), which is called when a pin changes,
// when the module said that it will change one, and now and then for a change by the user.

module qsfp_cage #(
    parameter CAGE = 0
) (
    input      clk,
    input      scl_low,
    input      sda_low,
    output reg scl,
    output reg sda,
    input      modsel_n,
    input      reset_n,
    input      lpmode,
    output reg modprs_n,
    output reg int_n
);
    import "DPI-C" context function chandle parts_bind();
    // Returns pins: SCL, SDA, ModPrsL and IntL in bits 0 to 3, cycles until the next call above bit 8.
    import "DPI-C" function int cage_step(
        input chandle parts, input int cage, input int lines, input longint now);

    localparam LOOK_CYCLES = 1024;

    chandle parts = null;
    longint now   = 0;
    reg [4:0]  seen = 5'h1f;
    reg [31:0] left   = 0;
    int        pins;
    wire [4:0] lines = {lpmode, reset_n, modsel_n, sda_low, scl_low};

    initial begin
        scl = 1; sda = 1; modprs_n = 1; int_n = 1;
    end

    always @(posedge clk) begin
        if (parts == null) parts = parts_bind();
        now  = now + 1;
        left <= left - 1;
        if (lines != seen || left == 0) begin
            pins = cage_step(parts, CAGE, {27'd0, lines}, now);
            {int_n, modprs_n, sda, scl} <= pins[3:0];
            left   <= pins[31:8] == 0 || pins[31:8] > LOOK_CYCLES ? LOOK_CYCLES : {8'd0, pins[31:8]} - 1;
            seen <= lines;
        end
    end
endmodule
