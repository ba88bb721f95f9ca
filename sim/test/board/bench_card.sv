// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The bench card: a card for tests of the board, which takes the place of the gateware. Both BARs
// are memory that answers every access correctly. Through registers in BAR0 a test drives the hard
// block's pins as it wants, also against PG213's rules.
//
// The card cannot be synthesised, and it is not fast. BAR0 has 128 KiB, BAR2 has 64 KiB. The first
// 4 KiB of BAR0 are these registers:
//
//   0x00  R  0x0bec4a4d, which identifies this card
//   0x04  R  state of input pins, see `pins` below              0x08  R  resets since power on
//   0x0c  W  dword to read through cfg_mgmt; R its value
//   0x10  R  cycles that the last access through cfg_mgmt took
//   0x14  RW bit 0: acknowledge FLR, bit 1: acknowledge power states, bit 2: drive `busy`,
//            bit 3: answer no read, bit 4: acknowledge FLR after 4096 cycles only
//   0x18  W  send the packet at 0x1000 on RQ: {16'd0, last_be[3:0], first_be[3:0], dwords[7:0]}
//   0x1c  W  send the packet at 0x1000 on CC: {24'd0, dwords[7:0]}
//   0x20  R  number of dwords that came on RC, of which the last 1024 are kept from 0x2000 on;
//            a write sets the number to 0
//   0x24  W  dword to write through cfg_mgmt, with the value at 0x28
//   0x28  RW value for 0x24
//   0x2c  R  events since power on: {0, FLRs, hot resets, changes of the power state}
//   0x30  W  answer reads outside these 4 KiB with this completion status (0: with data)
//   0x34  W  clear the bits of 0x04 that say which error pins have pulsed
//   0x38  W  number of cycles, from now on, in which no packet begins on RQ and CC
//   0x3c  W  the number for 0x38, but counted from the next change of the MSI-X enable or mask
//            pin; it then replaces what is left of 0x38
//
// All other addresses in the BARs are memory. A reset keeps the memory and the counts at 0x08 and
// 0x2c.

module lanebox (
    input  pcie_x8_clk_p, pcie_x8_rst_n,
    output busy,
    output [5:0] user_slot
);
    // The bench card has no user slot, so it reports valid, ready and last of the slot's two
    // streams as 0.
    assign user_slot = 6'd0;
    // Dwords in a beat of the hard block's interfaces CQ, CC, RQ and RC.
    localparam BEAT = 8;

    wire         clk = pcie_x8_clk_p;
    wire         user_reset, lnk_up;
    wire [255:0] cq_data, rc_data;
    wire [7:0]   cq_keep, rc_keep;
    wire [87:0]  cq_user;
    wire         cq_last, cq_valid, rc_last, rc_valid;
    wire [3:0]   rq_ready, cc_ready;
    wire [3:0]   flr, msix_enable, msix_mask;
    wire [11:0]  power_state;
    wire         power_change, hot_reset, link_down, err_cor, err_nonfatal, err_fatal;
    wire [31:0]  manage_data;
    wire         manage_done;

    reg          rq_valid = 1'b0, rq_last, cc_valid = 1'b0, cc_last;
    reg  [255:0] rq_data, cc_data;
    reg  [7:0]   rq_keep, cc_keep, rq_enables;
    reg          manage_read = 1'b0, manage_write = 1'b0;
    reg  [9:0]   manage_dword;
    reg  [31:0]  manage_value = 32'd0, manage_write_value = 32'd0;
    int          manage_cycles = 0, hold = 0, hold_then = -1, flr_cycles = 0;
    reg  [1:0]   msix_seen = 2'd0;
    reg  [4:0]   control = 5'b00011;
    reg          flr_done = 1'b0, flr_seen = 1'b0, hot_reset_seen = 1'b0, power_seen = 1'b0;
    reg          power_ack = 1'b0;
    byte unsigned resets = 0, flrs = 0, hot_resets = 0, power_changes = 0;
    reg          in_reset = 1'b1;
    reg  [2:0]   refuse = 3'd0;
    reg  [2:0]   errors_seen = 3'd0;
    assign busy = control[2];

    // memory[0] holds the bench card's dwords behind BAR0, memory[1] those behind BAR2.
    bit [31:0]   memory [2][32768];
    // cq_packet has the dwords of the request that is arriving on CQ. In rq_packets and cc_packets
    // each packet begins with a dword that has the packet's length in dwords in bits 7:0. On RQ
    // bits 15:8 of that dword are the byte enables {last_be, first_be}.
    int unsigned cq_packet [$], rq_packets [$], cc_packets [$];
    // rc_count is the register at 0x20. rq_left and cc_left are the dwords of the packet being sent
    // on RQ or CC that have not yet been put on the pins.
    int unsigned rc_count = 0, rq_left = 0, cc_left = 0;

    // errors_seen is {fatal, nonfatal, correctable}. The first pulse of an error pin sets its bit,
    // which stays set until a write to 0x34 or user_reset.
    wire [31:0] pins = {errors_seen, 3'd0, link_down, hot_reset, msix_mask, msix_enable,
                        power_state[3:0], flr, 7'd0, lnk_up};

    pcie_usp pcie_usp_i (
        .sys_clk_gt (clk), .sys_clk (clk), .sys_reset (pcie_x8_rst_n),
        .user_reset (user_reset), .user_lnk_up (lnk_up),
        .s_axis_rq_tvalid (rq_valid), .s_axis_rq_tlast (rq_last), .s_axis_rq_tready (rq_ready),
        .s_axis_rq_tkeep (rq_keep), .s_axis_rq_tdata (rq_data),
        .s_axis_rq_tuser ({54'd0, rq_enables}),
        .m_axis_rc_tdata (rc_data), .m_axis_rc_tkeep (rc_keep), .m_axis_rc_tlast (rc_last),
        .m_axis_rc_tvalid (rc_valid), .m_axis_rc_tready (1'b1),
        .m_axis_cq_tdata (cq_data), .m_axis_cq_tkeep (cq_keep), .m_axis_cq_tuser (cq_user),
        .m_axis_cq_tlast (cq_last), .m_axis_cq_tvalid (cq_valid), .m_axis_cq_tready (1'b1),
        .s_axis_cc_tvalid (cc_valid), .s_axis_cc_tlast (cc_last), .s_axis_cc_tready (cc_ready),
        .s_axis_cc_tkeep (cc_keep), .s_axis_cc_tdata (cc_data),
        .pcie_cq_np_req (2'b01), .cfg_interrupt_msi_int (32'd0), .cfg_fc_sel (3'd0),
        .cfg_mgmt_addr (manage_dword), .cfg_mgmt_read (manage_read),
        .cfg_mgmt_write (manage_write), .cfg_mgmt_write_data (manage_write_value),
        .cfg_mgmt_read_data (manage_data), .cfg_mgmt_read_write_done (manage_done),
        .cfg_flr_in_process (flr), .cfg_flr_done ({3'd0, flr_done}),
        .cfg_hot_reset_out (hot_reset), .cfg_phy_link_down (link_down),
        .cfg_function_power_state (power_state),
        .cfg_power_state_change_interrupt (power_change), .cfg_power_state_change_ack (power_ack),
        .cfg_interrupt_msix_enable (msix_enable), .cfg_interrupt_msix_mask (msix_mask),
        .cfg_err_cor_out (err_cor), .cfg_err_nonfatal_out (err_nonfatal),
        .cfg_err_fatal_out (err_fatal)
    );

    function automatic bit [31:0] merged(bit [31:0] old, bit [31:0] value, bit [3:0] enables);
        for (int i = 0; i < 4; i++) merged[8*i +: 8] = enables[i] ? value[8*i +: 8] : old[8*i +: 8];
    endfunction

    function automatic bit [31:0] register(int unsigned index);
        case (index)
            0: return 32'h0bec4a4d;
            1: return pins;
            2: return {24'd0, resets};
            3: return manage_value;
            4: return manage_cycles;
            5: return {27'd0, control};
            8: return rc_count;
            10: return manage_write_value;
            11: return {8'd0, flrs, hot_resets, power_changes};
            default: return 32'd0;
        endcase
    endfunction

    task automatic send(bit on_rq, bit [31:0] what);
        if (on_rq) rq_packets.push_back({16'd0, what[15:0]});
        else cc_packets.push_back({16'd0, what[15:0]});
        for (int i = 0; i < what[7:0]; i++)
            if (on_rq) rq_packets.push_back(memory[0][1024 + i]);
            else cc_packets.push_back(memory[0][1024 + i]);
    endtask

    task automatic write_register(int unsigned index, bit [31:0] value);
        case (index)
            3: begin manage_dword <= value[9:0]; manage_read <= 1'b1; manage_cycles <= 0; end
            5: control <= value[4:0];
            6: send(1, {16'd0, value[15:8], value[7:0]});
            7: send(0, {24'd0, value[7:0]});
            8: rc_count = 0;
            9: begin manage_dword <= value[9:0]; manage_write <= 1'b1; manage_cycles <= 0; end
            10: manage_write_value <= value;
            12: refuse <= value[2:0];
            13: errors_seen <= 3'd0;
            14: hold <= value;
            15: hold_then = value;
            default: ;
        endcase
    endtask

    // Queue the completions that answer a host read with data. They are split at multiples of 128
    // bytes, the card's RCB.
    task automatic answer(bit bar2, int unsigned address, int unsigned dwords, bit [3:0] first_be,
                          bit [3:0] last_be, bit [31:0] d2, bit [31:0] d3);
        int unsigned skip = 0, unused = 0, left, done = 0, count;
        bit [3:0] top = dwords == 1 ? first_be : last_be;
        while (skip < 3 && !first_be[skip]) skip++;
        while (unused < 3 && !top[3 - unused]) unused++;
        // PCIe demands the byte count 1 in the completion of a zero-length read (no byte enabled).
        if (first_be == 0) begin skip = 0; unused = 3; end
        left = dwords * 4 - skip - unused;
        while (done < dwords) begin
            count = 32 - ((address / 4 + done) % 32);
            if (count > dwords - done) count = dwords - done;
            cc_packets.push_back(3 + count);
            cc_packets.push_back(((address + done * 4 + (done == 0 ? skip : 0)) & 32'h7f) |
                                 left << 16);
            cc_packets.push_back(count | (d2 & 32'hffff0000));
            cc_packets.push_back(d3 & 32'h700000ff);
            for (int i = 0; i < count; i++)
                cc_packets.push_back(read_dword(bar2, address / 4 + done + i));
            left = left - count * 4 + (done == 0 ? skip : 0);
            done += count;
        end
    endtask

    function automatic bit [31:0] read_dword(bit bar2, int unsigned index);
        return !bar2 && index < 1024 ? register(index) : memory[bar2][index % 32768];
    endfunction

    // Queue a completion that answers a host read with the error status in `refuse`. By PG213 it
    // has, behind its own descriptor, the byte enables and the descriptor of the request.
    task automatic refuse_read(bit [7:0] enables);
        cc_packets.push_back(8);
        cc_packets.push_back(32'd4 << 16);
        cc_packets.push_back({29'd0, refuse} << 11 | (cq_packet[2] & 32'hffff0000));
        cc_packets.push_back(cq_packet[3] & 32'hff);
        cc_packets.push_back({24'd0, enables});
        for (int i = 0; i < 4; i++) cc_packets.push_back(cq_packet[i]);
    endtask

    task automatic request(bit [7:0] enables);
        bit          bar2   = cq_packet[3][18:16] == 3'd2;
        int unsigned bits   = cq_packet[3][24:19];
        int unsigned at     = cq_packet[0] & ((32'd1 << bits) - 1) & ~32'd3;
        int unsigned dwords = cq_packet[2][10:0];
        if (cq_packet[2][14:11] == 4'd0) begin
            if (refuse != 0 && (bar2 || at >= 4096)) refuse_read(enables);
            else if (!control[3]) answer(bar2, at, dwords, enables[3:0], enables[7:4], cq_packet[2],
                                         cq_packet[3]);
        end else begin
            for (int i = 0; i < dwords; i++) begin
                bit [3:0] be = i == 0 ? enables[3:0] : i == dwords - 1 ? enables[7:4] : 4'hf;
                if (!bar2 && at / 4 + i < 1024) write_register(at / 4 + i, cq_packet[4 + i]);
                else memory[bar2][(at / 4 + i) % 32768] =
                    merged(memory[bar2][(at / 4 + i) % 32768], cq_packet[4 + i], be);
            end
        end
    endtask

    reg [7:0]   cq_enables;
    bit [255:0] beat;
    bit [7:0]   ones;
    always @(posedge clk) begin
        if (cq_valid && !user_reset) begin
            if (cq_packet.size() == 0) cq_enables = cq_user[7:0];
            for (int i = 0; i < BEAT; i++) if (cq_keep[i]) cq_packet.push_back(cq_data[32*i +: 32]);
            if (cq_last) begin
                request(cq_enables);
                cq_packet.delete();
            end
        end
        if (rc_valid && !user_reset)
            for (int i = 0; i < BEAT; i++) if (rc_keep[i]) begin
                memory[0][2048 + rc_count % 1024] = rc_data[32*i +: 32];
                rc_count++;
            end

        if (!rq_valid || rq_ready[0]) begin
            rq_valid <= rq_left != 0 || (rq_packets.size() != 0 && hold == 0);
            if (rq_left == 0 && rq_packets.size() != 0 && hold == 0) begin
                rq_left    = rq_packets.pop_front();
                rq_enables <= rq_left[15:8];
                rq_left    = rq_left & 32'hff;
            end
            ones = 8'd0;
            for (int i = 0; i < BEAT && rq_left != 0; i++) begin
                ones[i] = 1'b1;
                beat[32*i +: 32] = rq_packets.pop_front();
                rq_left--;
            end
            rq_keep <= ones;
            rq_data <= beat;
            rq_last <= rq_left == 0;
        end
        if (!cc_valid || cc_ready[0]) begin
            cc_valid <= cc_left != 0 || (cc_packets.size() != 0 && hold == 0);
            if (cc_left == 0 && cc_packets.size() != 0 && hold == 0)
                cc_left = cc_packets.pop_front();
            ones = 8'd0;
            for (int i = 0; i < BEAT && cc_left != 0; i++) begin
                ones[i] = 1'b1;
                beat[32*i +: 32] = cc_packets.pop_front();
                cc_left--;
            end
            cc_keep <= ones;
            cc_data <= beat;
            cc_last <= cc_left == 0;
        end

        if (hold != 0) hold <= hold - 1;
        msix_seen <= {msix_enable[0], msix_mask[0]};
        if (msix_seen != {msix_enable[0], msix_mask[0]} && hold_then >= 0) begin
            hold      <= hold_then;
            hold_then = -1;
        end
        if (manage_read || manage_write) manage_cycles <= manage_cycles + 1;
        if (manage_done) begin
            if (manage_read) manage_value <= manage_data;
            manage_read  <= 1'b0;
            manage_write <= 1'b0;
        end

        // A function level reset clears the card's state, as it does in user logic. Then the card
        // pulses cfg_flr_done.
        flr_seen <= flr[0];
        flr_done <= 1'b0;
        if (flr[0] && !flr_seen) flrs++;
        flr_cycles <= flr[0] ? flr_cycles + 1 : 0;
        if (flr[0] && control[0] && !flr_done && (!control[4] || flr_cycles > 4096)) begin
            restart();
            control  <= 5'b00011;
            flr_done <= 1'b1;
        end
        power_seen <= power_change;
        if (power_change && !power_seen) power_changes++;
        power_ack <= power_change && control[1];
        hot_reset_seen <= hot_reset;
        if (hot_reset && !hot_reset_seen) hot_resets++;
        if ({err_fatal, err_nonfatal, err_cor} != 0)
            errors_seen <= errors_seen | {err_fatal, err_nonfatal, err_cor};

        in_reset <= user_reset;
        if (user_reset) begin
            if (!in_reset) resets++;
            restart();
            control <= 5'b00011;
            errors_seen <= 3'd0;
        end
    end

    task automatic restart();
        cq_packet.delete();
        rq_packets.delete();
        cc_packets.delete();
        rq_left  = 0;
        cc_left  = 0;
        rq_valid <= 1'b0;
        cc_valid <= 1'b0;
        refuse   <= 3'd0;
        rc_count = 0;
        manage_read  <= 1'b0;
        manage_write <= 1'b0;
    endtask
endmodule
