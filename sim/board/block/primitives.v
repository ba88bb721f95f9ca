// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Models of the vendor's cells between the card's pads and the hard block. IBUFDS_GTE4 buffers the
// reference clock, which in simulation is itself the user clock. FDPE is a flip-flop with
// asynchronous set, of which reset synchronisers are made.

module IBUFDS_GTE4 #(
    parameter REFCLK_HROW_CK_SEL = 0
) (
    input  CEB,
    input  I,
    input  IB,
    output O,
    output ODIV2
);
    assign O     = I;
    assign ODIV2 = I;
endmodule

module FDPE #(
    parameter INIT = 1'b1
) (
    input      C,
    input      CE,
    input      D,
    input      PRE,
    output reg Q = INIT
);
    always @(posedge C or posedge PRE)
        if (PRE) Q <= 1'b1;
        else if (CE) Q <= D;
endmodule
