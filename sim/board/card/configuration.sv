// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Models of the vendor's cells that lead to the configuration: STARTUPE3 has the pins of the flash,
// ICAPE3 takes words of the configuration logic. Their behaviour is in C++ (card_pins.cpp).

module STARTUPE3 #(
    parameter PROG_USR = "FALSE"
) (
    output [3:0] DI,
    input  [3:0] DO,
    input  [3:0] DTS,
    input        FCSBO,
    input        FCSBTS,
    input        USRCCLKO,
    input        USRCCLKTS,
    input        USRDONEO,
    input        USRDONETS,
    input        GSR,
    input        GTS,
    input        KEYCLEARB,
    input        PACK
);
    import "DPI-C" context function chandle card_bind();
    import "DPI-C" function int card_flash_pins(
        input chandle model, input int cs_n, input int sck, input int mosi, input int driven);

    // The first clocks after a configuration do not reach the pin: the part still changes from its
    // own clock to this one.
    localparam LOST = 3;

    chandle     model  = null;
    reg   [1:0] lost   = 2'd0;
    reg         last   = 1'b0;
    // D01 and D00, as the flash drives them and as they are at DI.
    reg   [1:0] answer = 2'b11;
    reg   [1:0] lines  = 2'b11;
    int         pins;

    assign DI = {2'b11, lines[0], DTS[0] ? lines[1] : DO[0]};

    // The flash answers at falling edges. The answer is at DI from the next rising edge on: half a
    // period stands for the time that it takes through part, flash and board.
    always @(posedge USRCCLKO or negedge USRCCLKO or posedge FCSBO or negedge FCSBO) begin
        if (model == null) model = card_bind();
        if (USRCCLKO & ~last) lines = answer;
        pins   = card_flash_pins(model, {31'd0, FCSBO}, {31'd0, USRCCLKO & (lost == LOST)},
                                 {31'd0, DO[0]}, {31'd0, ~DTS[0]});
        answer = pins[1:0];
        if (~USRCCLKO & last & lost != LOST) lost = lost + 2'd1;
        last = USRCCLKO;
    end
endmodule

module ICAPE3 (
    input             CLK,
    input             CSIB,
    input             RDWRB,
    input      [31:0] I,
    output reg [31:0] O = 32'hffffffff
);
    import "DPI-C" context function chandle card_bind();
    import "DPI-C" function int card_icap_clock(
        input chandle model, input int csib, input int rdwrb, input int data);

    chandle model = null;

    always @(posedge CLK) begin
        if (model == null) model = card_bind();
        O <= card_icap_clock(model, {31'd0, CSIB}, {31'd0, RDWRB}, I);
    end
endmodule
