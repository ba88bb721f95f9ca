// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

  // Property: the completions of all outstanding reads together never need more room than the hard
  // block has, which is 256 headers and 2048 units of 16 bytes. `all_headers` and `all_data` count
  // that room here, independently of the module.
  //
  // Assumed of ReadClaims: a read that is offered stays the same until it is taken, and it is taken
  // in the cycle after `fits`. Assumed of ReadTable: it gives back no more room than was taken and
  // counted.

  reg        started = 0;
  reg        fitted  = 0;
  reg        waiting = 0;
  reg [16:0] waited_for = 0;
  reg [11:0] all_headers = 0;
  reg [15:0] all_data    = 0;

  // Returns how many units of `size` dwords a read takes up that goes from dword address `from` to
  // dword address `to`. With `whole` a last unit that is not full counts, too.
  function [9:0] units(input [7:0] from, input [7:0] to, input [9:0] size, input whole);
    reg [9:0] stop;
    begin
      stop  = {2'b0, from} + {2'b0, to - from};
      units = (stop + (whole ? size - 10'd1 : 10'd0)) / size - {2'b0, from} / size;
    end
  endfunction

  wire [16:0] taken =
    {io_take_payload_rcb128, io_take_payload_address, io_take_payload_dwords};
  wire [16:0] offered =
    {io_offered_payload_rcb128, io_offered_payload_address, io_offered_payload_dwords};
  wire [9:0] take_rcb  = io_take_payload_rcb128 ? 10'd32 : 10'd16;
  wire [9:0] give_rcb  = io_give_payload_rcb128 ? 10'd32 : 10'd16;
  wire [7:0] take_from = io_take_payload_address;
  wire [7:0] take_to   = io_take_payload_address + io_take_payload_dwords;
  wire [7:0] give_from = io_give_payload_from;
  wire       to_end    = io_give_payload_all;
  wire [7:0] give_to   = to_end ? io_give_payload_end : io_give_payload_to;
  wire [7:0] given     = give_to - give_from;

  wire [9:0] more_headers = io_take_valid ? units(take_from, take_to, take_rcb, 1'b1) : 0;
  wire [9:0] more_data    = io_take_valid ? units(take_from, take_to, 10'd4, 1'b1) : 0;
  wire [9:0] less_headers = io_give_valid ? units(give_from, give_to, give_rcb, to_end) : 0;
  wire [9:0] less_data    = io_give_valid ? units(give_from, give_to, 10'd4, to_end) : 0;
  wire [9:0] coming_headers = takes ? taking_headers : 0;
  wire [9:0] coming_data    = takes ? taking_data : 0;
  wire [9:0] going_headers  = gives ? giving_headers : 0;
  wire [9:0] going_data     = gives ? giving_data : 0;

  always @(posedge clk) begin
    started    <= 1;
    fitted     <= io_fits;
    waiting    <= io_offered_valid;
    waited_for <= offered;
    if (started) begin
      all_headers <= all_headers + more_headers - less_headers;
      all_data    <= all_data + more_data - less_data;
    end
  end

  always @* begin
    assume (reset == !started);
    if (!started) assume (!io_take_valid && !io_offered_valid && !io_give_valid);
    assume (io_take_payload_dwords >= 1 && io_take_payload_dwords <= 128);
    assume (offered == taken);
    assume (!(io_take_valid && io_offered_valid));
    assume (!io_take_valid || fitted);
    if (waiting) assume ((io_take_valid || io_offered_valid) && offered == waited_for);
    if (io_give_valid) begin
      assume (given <= 128);
      assume (less_headers + going_headers <= headers);
      assume (less_data + going_data <= data);
    end
    if (started) begin
      assert (all_headers == headers + coming_headers - going_headers);
      assert (all_data == data + coming_data - going_data);
      assert (all_headers <= 256);
      assert (all_data <= 2048);
    end
  end
