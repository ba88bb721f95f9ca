// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

  // A tag that was given back is in the pool once, until a read gets it, and no read gets one that
  // is not there: for any tag of the lower half, which stands in its queue or in the register
  // behind it. Assumed is that nobody gives back what is in the pool, and that 32 tags, each in
  // once, do not overfill a queue of 32. The upper half is the same logic.

  (* anyconst *) reg [5:0] tag;
  wire frees = io_free_valid && io_free_payload_tag == tag;
  wire takes = io_pop_valid && io_pop_ready && io_pop_payload_tag == tag;
  wire held  = lowerHalf_queue_io_pop_rValid && lowerHalf_queue_io_pop_rData_tag == tag;
  wire moves = \lowerHalf_queue.logic_ptr_doPop ;

  reg       started = 0;
  reg       in_pool = 0; // As seen from outside;
  reg       queued  = 0; // it is in the queue,
  reg [4:0] at      = 0; // here.
  wire [5:0] lower = \lowerHalf_queue.logic_ptr_push  - \lowerHalf_queue.logic_ptr_pop ;
  wire [5:0] upper = \upperHalf_queue.logic_ptr_push  - \upperHalf_queue.logic_ptr_pop ;

  // Places of either queue that hold something: once it is known that these are those between the
  // pointers, nothing else needs arithmetic.
  reg [31:0] full  = 0;
  reg [31:0] other = 0;
  reg        once, apart, lowers, uppers;
  reg [4:0]  place;
  integer    i;

  always @* begin
    once   = 1;
    lowers = 1;
    uppers = 1;
    apart  = !(upperHalf_queue_io_pop_rValid && upperHalf_queue_io_pop_rData_tag == tag);
    for (i = 0; i < 32; i = i + 1) begin
      if ((full[i] && \lowerHalf_queue.logic_ram [i][5:0] == tag) != (queued && at == i))
        once = 0;
      if (other[i] && \upperHalf_queue.logic_ram [i][5:0] == tag) apart = 0;
      place = i - \lowerHalf_queue.logic_ptr_pop [4:0];
      if (full[i] != (place < lower)) lowers = 0;
      place = i - \upperHalf_queue.logic_ptr_pop [4:0];
      if (other[i] != (place < upper)) uppers = 0;
    end
  end

  always @(posedge clk) begin
    started <= 1;
    if (started) begin
      in_pool <= (in_pool || frees) && !takes;
      if (moves) full[\lowerHalf_queue.logic_ptr_pop [4:0]] <= 0;
      if (\lowerHalf_queue.logic_ptr_doPush ) full[\lowerHalf_queue.logic_ptr_push [4:0]] <= 1;
      if (\upperHalf_queue.logic_ptr_doPop ) other[\upperHalf_queue.logic_ptr_pop [4:0]] <= 0;
      if (\upperHalf_queue.logic_ptr_doPush ) other[\upperHalf_queue.logic_ptr_push [4:0]] <= 1;
      if (moves && at == \lowerHalf_queue.logic_ptr_pop [4:0]) queued <= 0;
      if (frees) begin
        queued <= 1;
        at     <= \lowerHalf_queue.logic_ptr_push [4:0];
      end
    end
  end

  always @* begin
    assume (reset == !started);
    assume (!tag[5]);
    if (!started) assume (!io_free_valid);
    assume (!(frees && in_pool));
    if (io_free_valid && !io_free_payload_tag[5]) assume (lower < 32);
    if (io_free_valid && io_free_payload_tag[5]) assume (upper < 32);
    if (started) begin
      assert (once);
      assert (apart);
      assert (lowers);
      assert (uppers);
      assert (!(queued && held));
      assert (in_pool == (queued || held));
      assert (lower <= 32 && upper <= 32);
      assert (!takes || in_pool);
    end
  end
