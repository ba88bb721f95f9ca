// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

  // Property: every place between the pointers of a queue of the upper half holds a tag of the
  // upper half. So a tag that leaves such a queue is a tag of the upper half, too. Assumed: 224
  // tags, each in the pool once, do not overfill a queue of 256.

  (* anyconst *) reg [7:0] place;
  reg        started = 0;
  wire [8:0] queued  = \upper_queue.logic_ptr_push  - \upper_queue.logic_ptr_pop ;
  wire [8:0] resting = \upperSuspect_queue.logic_ptr_push  - \upperSuspect_queue.logic_ptr_pop ;
  wire [7:0] behind  = place - \upper_queue.logic_ptr_pop [7:0];
  wire [7:0] further = place - \upperSuspect_queue.logic_ptr_pop [7:0];

  always @(posedge clk) started <= 1;

  always @* begin
    assume (reset == !started);
    if (!started) assume (!io_free_valid);
    if (io_free_valid && io_free_payload_tag >= 32) assume ((io_suspect ? resting : queued) < 256);
    if (started) begin
      assert (queued <= 256 && resting <= 256);
      assert (behind >= queued || \upper_queue.logic_ram [place][7:0] >= 32);
      assert (further >= resting || \upperSuspect_queue.logic_ram [place][7:0] >= 32);
      assert (!\upper_queue.logic_ptr_doPop  || queued != 0);
      assert (!\upperSuspect_queue.logic_ptr_doPop  || resting != 0);
    end
  end
