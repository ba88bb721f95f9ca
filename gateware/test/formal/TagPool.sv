// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

  // Property, for any tag of the lower half of the tags: after a tag was given back it is in the
  // pool exactly once, until a read gets it. No read gets a tag that is not in the pool. The pool
  // holds each tag in one of two queues, or in the register behind that queue. The tag of a read
  // that timed out is in the second queue (`lowerSuspect`). No read gets it while a first queue has
  // a tag.
  //
  // Assumed: no tag is given back that is in the pool already. 32 tags, each in the pool once, do
  // not overfill a queue of 32. The property that TagPoolUpper.sv proves is assumed, too. The upper
  // half of the tags has the same logic, so it is not proven again.

  (* anyconst *) reg [7:0] tag;
  wire frees = io_free_valid && io_free_payload_tag == tag;
  wire takes = io_pop_valid && io_pop_ready && io_pop_payload_tag == tag;
  wire held  = lower_queue_io_pop_rValid && lower_queue_io_pop_rData_tag == tag;
  wire rests = lowerSuspect_queue_io_pop_rValid && lowerSuspect_queue_io_pop_rData_tag == tag;
  wire moves = \lower_queue.logic_ptr_doPop ;
  wire steps = \lowerSuspect_queue.logic_ptr_doPop ;

  reg       started = 0;
  // The tag is in the pool of free tags, judged by the module's ports alone.
  reg       in_pool = 0;
  // The last read that had the tag timed out.
  reg       suspect = 0;
  // The tag is in the memory of its FIFO of free tags: lower_queue, or lowerSuspect_queue if its
  // last read timed out. It has not moved on to the register at that FIFO's output.
  reg       queued  = 0;
  // The place of the tag in its FIFO of free tags, 0 to 31.
  reg [4:0] at      = 0;
  wire [5:0] lower = \lower_queue.logic_ptr_push  - \lower_queue.logic_ptr_pop ;
  wire [5:0] lowest =
    \lowerSuspect_queue.logic_ptr_push  - \lowerSuspect_queue.logic_ptr_pop ;

  // `full` and `late` say for each place of the two FIFOs whether it holds a tag. `lowers` and
  // `lates` say that these are the places between the FIFO's pointers. The other assertions then
  // need no arithmetic, which keeps the proof short. Bit n of `full`: place n of lower_queue holds
  // a tag.
  reg [31:0] full = 0;
  // Bit n: place n of lowerSuspect_queue, for tags whose reads timed out, holds a tag.
  reg [31:0] late = 0;
  reg        once, lowers, lates;
  reg [4:0]  place;
  integer    i;

  always @* begin
    once   = 1;
    lowers = 1;
    lates  = 1;
    for (i = 0; i < 32; i = i + 1) begin
      if ((full[i] && \lower_queue.logic_ram [i][7:0] == tag) !=
        (queued && !suspect && at == i)) once = 0;
      if ((late[i] && \lowerSuspect_queue.logic_ram [i][7:0] == tag) !=
        (queued && suspect && at == i)) once = 0;
      place = i - \lower_queue.logic_ptr_pop [4:0];
      if (full[i] != (place < lower)) lowers = 0;
      place = i - \lowerSuspect_queue.logic_ptr_pop [4:0];
      if (late[i] != (place < lowest)) lates = 0;
    end
  end

  always @(posedge clk) begin
    started <= 1;
    if (started) begin
      in_pool <= (in_pool || frees) && !takes;
      if (moves) full[\lower_queue.logic_ptr_pop [4:0]] <= 0;
      if (\lower_queue.logic_ptr_doPush ) full[\lower_queue.logic_ptr_push [4:0]] <= 1;
      if (steps) late[\lowerSuspect_queue.logic_ptr_pop [4:0]] <= 0;
      if (\lowerSuspect_queue.logic_ptr_doPush )
        late[\lowerSuspect_queue.logic_ptr_push [4:0]] <= 1;
      if (moves && !suspect && at == \lower_queue.logic_ptr_pop [4:0]) queued <= 0;
      if (steps && suspect && at == \lowerSuspect_queue.logic_ptr_pop [4:0]) queued <= 0;
      if (frees) begin
        queued  <= 1;
        suspect <= io_suspect;
        at <= io_suspect ? \lowerSuspect_queue.logic_ptr_push [4:0] :
          \lower_queue.logic_ptr_push [4:0];
      end
    end
  end

  always @* begin
    assume (reset == !started);
    assume (tag < 32);
    if (!started) assume (!io_free_valid);
    assume (!(frees && in_pool));
    if (io_free_valid && io_free_payload_tag < 32) assume ((io_suspect ? lowest : lower) < 32);
    if (\upper_queue.logic_ptr_doPop )
      assume (\upper_queue.logic_ram [\upper_queue.logic_ptr_pop [7:0]][7:0] >= 32);
    if (\upperSuspect_queue.logic_ptr_doPop )
      assume (\upperSuspect_queue.logic_ram [\upperSuspect_queue.logic_ptr_pop [7:0]][7:0] >= 32);
    if (started) begin
      assert (once);
      assert (lowers);
      assert (lates);
      assert (!(queued && (held || rests)));
      assert (!(held && (rests || suspect)));
      assert (!(rests && !suspect));
      assert (in_pool == (queued || held || rests));
      assert (lower <= 32 && lowest <= 32);
      assert (!upper_queue_io_pop_rValid || upper_queue_io_pop_rData_tag >= 32);
      assert (!upperSuspect_queue_io_pop_rValid || upperSuspect_queue_io_pop_rData_tag >= 32);
      assert (!takes || in_pool);
      assert (!(takes && suspect && lower_queue_io_pop_rValid));
      assert (!(takes && suspect && io_extended && upper_queue_io_pop_rValid));
    end
  end
