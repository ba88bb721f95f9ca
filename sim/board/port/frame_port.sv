// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The MAC and the line behind the far side `wire` of the net device. Both are in C++ (wire.hpp).
// h2c and c2h are streams of frames (Frames.scala).

module frame_port (
    input              clk,
    input              rst,
    input              h2c_valid,
    output reg         h2c_ready,
    input              h2c_last,
    input      [255:0] h2c_data,
    input      [4:0]   h2c_bytes,
    input              h2c_error,
    output reg         c2h_valid,
    input              c2h_ready,
    output reg         c2h_last,
    output reg [255:0] c2h_data,
    output reg [4:0]   c2h_bytes,
    output reg [13:0]  c2h_kept,
    output reg [63:0]  c2h_time,
    output reg         link
);
    import "DPI-C" context function chandle wire_bind();
    // The vectors are the structs WireInputs and WireOutputs in wire.hpp.
    import "DPI-C" function void wire_step(
        input chandle model, input bit [287:0] inputs, output bit [351:0] outputs);

    chandle     model = null;
    bit [351:0] outputs;
    wire [31:0] control = {19'd0, h2c_bytes, 3'd0, c2h_ready, rst, h2c_error, h2c_last, h2c_valid};

    initial begin
        h2c_ready = 0; c2h_valid = 0; link = 0;
    end

    always @(posedge clk) begin
        if (model == null) model = wire_bind();
        wire_step(model, {control, h2c_data}, outputs);
        c2h_data  <= outputs[255:0];
        c2h_time  <= outputs[319:256];
        c2h_valid <= outputs[320];
        c2h_last  <= outputs[321];
        h2c_ready <= outputs[322];
        link      <= outputs[323];
        c2h_bytes <= outputs[332:328];
        c2h_kept  <= outputs[349:336];
    end
endmodule
