// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The vendor's primitive SYSMONE4 in simulation: the pins that LiteX's system monitor uses. Its
// registers and its measurements are in C++ (sensors.hpp), which is called when a conversion ends
// and for each access of the DRP, and not in between.

module SYSMONE4 #(
    parameter [15:0] INIT_40 = 0, INIT_41 = 0, INIT_42 = 0, INIT_46 = 0, INIT_47 = 0, INIT_48 = 0,
    parameter [15:0] INIT_49 = 0, INIT_4A = 0, INIT_4B = 0, INIT_4C = 0, INIT_4D = 0, INIT_4E = 0,
    parameter [15:0] INIT_4F = 0, INIT_50 = 0, INIT_51 = 0, INIT_52 = 0, INIT_53 = 0, INIT_54 = 0,
    parameter [15:0] INIT_55 = 0, INIT_56 = 0, INIT_57 = 0, INIT_58 = 0, INIT_5C = 0,
    parameter SIM_DEVICE = "ULTRASCALE_PLUS"
) (
    input             DCLK,
    input             RESET,
    input             CONVST,
    input             CONVSTCLK,
    input             VP,
    input             VN,
    input      [15:0] VAUXP,
    input      [15:0] VAUXN,
    input             DEN,
    input             DWE,
    input      [7:0]  DADDR,
    input      [15:0] DI,
    output reg [15:0] DO,
    output reg        DRDY,
    output reg        EOC,
    output reg        EOS,
    output reg        BUSY,
    output reg [5:0]  CHANNEL,
    output reg [15:0] ALM,
    output reg        OT
);
    import "DPI-C" context function chandle parts_bind();
    import "DPI-C" function void sensors_write(input chandle parts, input int number, input int value);
    import "DPI-C" function int sensors_read(input chandle parts, input int number);
    import "DPI-C" function void sensors_convert(
        input chandle parts, output int channel, output int last, output int cycles,
        output int alarms, output int hot);

    // The DRP answers an access this many cycles after DEN.
    localparam DRP_CYCLES = 4;
    // The first conversion ends this long after the reset, in cycles of DCLK.
    localparam START_CYCLES = 256;

    chandle parts = null;
    reg [31:0] left = START_CYCLES;
    reg [2:0]  drp  = 0;
    int channel, last, cycles, alarms, hot;

    initial begin
        DRDY = 0; EOC = 0; EOS = 0; BUSY = 0; CHANNEL = 0; ALM = 0; OT = 0; DO = 0;
    end

    task automatic power_on;
        parts = parts_bind();
        sensors_write(parts, 'h40, INIT_40); sensors_write(parts, 'h41, INIT_41);
        sensors_write(parts, 'h42, INIT_42); sensors_write(parts, 'h46, INIT_46);
        sensors_write(parts, 'h47, INIT_47); sensors_write(parts, 'h48, INIT_48);
        sensors_write(parts, 'h50, INIT_50); sensors_write(parts, 'h51, INIT_51);
        sensors_write(parts, 'h52, INIT_52); sensors_write(parts, 'h53, INIT_53);
        sensors_write(parts, 'h54, INIT_54); sensors_write(parts, 'h55, INIT_55);
        sensors_write(parts, 'h56, INIT_56); sensors_write(parts, 'h57, INIT_57);
        sensors_write(parts, 'h58, INIT_58); sensors_write(parts, 'h5c, INIT_5C);
    endtask

    always @(posedge DCLK) begin
        if (parts == null) power_on();
        EOC <= 1'b0;
        EOS <= 1'b0;
        if (RESET) begin
            left <= START_CYCLES;
        end else if (left != 0) begin
            left <= left - 1;
        end else begin
            sensors_convert(parts, channel, last, cycles, alarms, hot);
            CHANNEL <= channel[5:0];
            EOC     <= 1'b1;
            EOS     <= last[0];
            ALM     <= alarms[15:0];
            OT      <= hot[0];
            left    <= cycles - 1;
        end

        DRDY <= drp == 1;
        if (drp != 0) drp <= drp - 1;
        if (DEN) begin
            if (DWE) sensors_write(parts, {24'd0, DADDR}, {16'd0, DI});
            DO  <= sensors_read(parts, {24'd0, DADDR});
            drp <= DRP_CYCLES - 1;
        end
    end
endmodule
