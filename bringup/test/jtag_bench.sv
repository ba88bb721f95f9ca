// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A design that is loaded over JTAG, simulated without a part. The vendor's primitives that it uses
// are modelled below, and the TAP's and the configuration's signals are ports. `DESIGN` is the
// design's module, `PORTS` are its connections.

`timescale 1ns / 1ps

module jtag_bench (
    // Signals of the FPGA's JTAG controller (TAP), named as the ports of primitive BSCANE2. Bit n
    // of `selected` is set while instruction USERn is selected.
    input            tck, tdi, capture, shift, update,
    input      [4:1] selected,
    output reg [4:1] tdo,
    // Signals that the design reaches through primitive STARTUPE3: the SPI pins of the
    // configuration flash, and CFGMCLK, the clock of the FPGA's own oscillator.
    output           cs_n, sck, mosi,
    input            miso,
    input            cfgmclk,
    // The pins of the design under test: `pins` has their levels as the board drives them, `driven`
    // says which of them the design drives, and `levels` has the levels that the design drives.
    input      [63:0] pins,
    output     [63:0] driven, levels,
    input      [7:0]  clocks
);
    `DESIGN loaded (`PORTS);
endmodule

module BSCANE2 #(parameter JTAG_CHAIN = 1, parameter DISABLE_JTAG = "FALSE") (
    output SEL, CAPTURE, SHIFT, UPDATE, TCK, TDI,
    input  TDO
);
    assign SEL     = jtag_bench.selected[JTAG_CHAIN];
    assign CAPTURE = jtag_bench.capture;
    assign SHIFT   = jtag_bench.shift;
    assign UPDATE  = jtag_bench.update;
    assign TCK     = jtag_bench.tck;
    assign TDI     = jtag_bench.tdi;
    always_comb jtag_bench.tdo[JTAG_CHAIN] = TDO;
endmodule

module BUFG (input I, output O);
    assign O = I;
endmodule

module FDRE #(parameter INIT = 0, parameter IS_C_INVERTED = 0) (
    input C, CE, R, D, output reg Q = INIT
);
    wire clock = C ^ IS_C_INVERTED;
    always @(posedge clock) if (R) Q <= 1'b0; else if (CE) Q <= D;
endmodule

// Model of primitive STARTUPE3. On an FPGA the first three pulses of USRCCLKO do not reach the
// flash, since the source of the configuration clock is being switched (UG570). The model drops
// them.
module STARTUPE3 #(parameter PROG_USR = "FALSE") (
    input        FCSBO, FCSBTS, USRCCLKO, USRCCLKTS, USRDONEO, USRDONETS, GSR, GTS, KEYCLEARB, PACK,
    input  [3:0] DO, DTS,
    output [3:0] DI,
    output       CFGCLK, CFGMCLK, EOS, PREQ
);
    reg [1:0] lost = 2'd0;
    always @(negedge USRCCLKO) if (lost != 3) lost <= lost + 2'd1;
    assign jtag_bench.cs_n = FCSBO | FCSBTS;
    assign jtag_bench.sck  = USRCCLKO & (lost == 3) & ~USRCCLKTS;
    assign jtag_bench.mosi = DO[0] | DTS[0];
    assign DI              = {DO[3:2] | DTS[3:2], DTS[1] ? jtag_bench.miso : DO[1], DO[0]};
    assign CFGMCLK         = jtag_bench.cfgmclk;
    assign CFGCLK          = 1'b0;
    assign EOS             = 1'b1;
    assign PREQ            = 1'b0;
endmodule
