// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A QSFP cage with or without a module. The model of both is in C++ (cage.hpp). It is called when a
// pin changes, when the model has said that it will change one, and every LOOK_CYCLES, because the
// user may have changed the cage's contents.

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
    // Each pin is an argument of its own (parts_pins.cpp). `wake` is the number of cycles after
    // which the model will change a pin by itself; 0: it will not.
    import "DPI-C" function void cage_step(
        input chandle parts, input int cage, input longint now,
        input bit scl_low, input bit sda_low, input bit modsel_n, input bit reset_n,
        input bit lpmode,
        output bit scl, output bit sda, output bit modprs_n, output bit int_n, output int wake);

    localparam LOOK_CYCLES = 1024;

    chandle parts = null;
    longint now   = 0;
    reg [4:0]  seen = 5'h1f;
    reg [31:0] left   = 0;
    bit        scl_high, sda_high, absent, quiet;
    int        wake;
    wire [4:0] lines = {lpmode, reset_n, modsel_n, sda_low, scl_low};

    initial begin
        scl = 1; sda = 1; modprs_n = 1; int_n = 1;
    end

    always @(posedge clk) begin
        if (parts == null) parts = parts_bind();
        now  = now + 1;
        left <= left - 1;
        if (lines != seen || left == 0) begin
            cage_step(parts, CAGE, now, scl_low, sda_low, modsel_n, reset_n, lpmode,
                      scl_high, sda_high, absent, quiet, wake);
            scl      <= scl_high;
            sda      <= sda_high;
            modprs_n <= absent;
            int_n    <= quiet;
            left     <= wake == 0 || wake > LOOK_CYCLES ? LOOK_CYCLES : wake - 1;
            seen     <= lines;
        end
    end
endmodule
