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
    // `driven`: the card drives D00. `d01` and `d00` are the levels of the flash's data pins.
    import "DPI-C" function void card_flash_pins(
        input chandle model, input bit cs_n, input bit sck, input bit mosi, input bit driven,
        output bit d01, output bit d00);

    // The first clocks after a configuration do not reach the pin: the part still changes from its
    // own clock to this one.
    localparam LOST = 3;

    chandle     model  = null;
    reg   [1:0] lost   = 2'd0;
    reg         last   = 1'b0;
    // D01 and D00 as the flash drives them, and as they are at DI.
    bit         answer_d01 = 1'b1, answer_d00 = 1'b1;
    bit         line_d01   = 1'b1, line_d00   = 1'b1;

    assign DI = {2'b11, line_d01, DTS[0] ? line_d00 : DO[0]};

    // The flash answers at falling edges. The answer is at DI from the next rising edge on: half a
    // period stands for the time that it takes through part, flash and board.
    always @(posedge USRCCLKO or negedge USRCCLKO or posedge FCSBO or negedge FCSBO) begin
        if (model == null) model = card_bind();
        if (USRCCLKO & ~last) begin
            line_d01 = answer_d01;
            line_d00 = answer_d00;
        end
        card_flash_pins(model, FCSBO, USRCCLKO & (lost == LOST), DO[0], ~DTS[0],
                        answer_d01, answer_d00);
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
        input chandle model, input bit csib, input bit rdwrb, input int data);

    chandle model = null;

    always @(posedge CLK) begin
        if (model == null) model = card_bind();
        O <= card_icap_clock(model, CSIB, RDWRB, I);
    end
endmodule
