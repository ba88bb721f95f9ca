// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The vendor's primitive BUFGCE_DIV in simulation: its output has one period in BUFGCE_DIVIDE
// periods of I. While CE is low no new period begins, so a stopped clock costs nothing behind it.

module BUFGCE_DIV #(
    parameter BUFGCE_DIVIDE = 1
) (
    input      I,
    input      CE,
    input      CLR,
    output reg O
);
    reg [3:0] count = 0;

    initial O = 0;

    always @(posedge I) begin
        if (CLR) begin
            count <= 0;
            O     <= 1'b0;
        end else if (count != 0) begin
            count <= count == BUFGCE_DIVIDE - 1 ? 0 : count + 1;
            O     <= count < BUFGCE_DIVIDE / 2;
        end else if (CE) begin
            count <= 1;
            O     <= 1'b1;
        end
    end
endmodule
