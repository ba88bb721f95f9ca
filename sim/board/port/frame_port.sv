// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The MAC and the line behind the far side `wire` of the net device. Both are in C++ (wire.hpp).
// h2c and c2h are streams of frames (Frames.scala). The parameters are the widths of their data, of
// the bytes of a beat and of the length of a frame.

module frame_port #(parameter DATA = 1, BYTES = 1, LENGTH = 1) (
    input                   clk,
    input                   rst,
    input                   h2c_valid,
    output reg              h2c_ready,
    input                   h2c_last,
    input      [DATA-1:0]   h2c_data,
    input      [BYTES-1:0]  h2c_bytes,
    input                   h2c_error,
    output reg              c2h_valid,
    input                   c2h_ready,
    output reg              c2h_last,
    output reg [DATA-1:0]   c2h_data,
    output reg [BYTES-1:0]  c2h_bytes,
    output reg [LENGTH-1:0] c2h_kept,
    output reg [63:0]       c2h_time,
    output reg              link
);
    import "DPI-C" context function chandle wire_bind();
    // Each pin is an argument of its own (wire_pins.cpp).
    import "DPI-C" function void wire_step(
        input chandle model, input bit reset,
        input bit h2c_valid, input bit h2c_last, input bit h2c_error, input int h2c_bytes,
        input bit [DATA-1:0] h2c_data, output bit h2c_ready,
        input bit c2h_ready, output bit c2h_valid, output bit c2h_last, output int c2h_bytes,
        output bit [DATA-1:0] c2h_data, output int c2h_kept, output longint c2h_time,
        output bit link);

    chandle        model = null;
    bit            takes, gives, ends, up;
    int            bytes, kept;
    longint        began;
    bit [DATA-1:0] data;

    initial begin
        h2c_ready = 0; c2h_valid = 0; link = 0;
    end

    always @(posedge clk) begin
        if (model == null) model = wire_bind();
        wire_step(model, rst, h2c_valid, h2c_last, h2c_error, 32'(h2c_bytes), h2c_data, takes,
                  c2h_ready, gives, ends, bytes, data, kept, began, up);
        h2c_ready <= takes;
        c2h_valid <= gives;
        c2h_last  <= ends;
        c2h_bytes <= BYTES'(bytes);
        c2h_data  <= data;
        c2h_kept  <= LENGTH'(kept);
        c2h_time  <= began;
        link      <= up;
    end
endmodule
