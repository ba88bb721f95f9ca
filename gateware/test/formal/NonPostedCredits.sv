// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

  // Property: `io_lent` is the number of non-posted credits that the host holds or has turned into
  // requests inside the card. It is never more than 32. A credit that came back is lent again as
  // soon as the limit allows. The register `borrowed` counts the same credits here, independently.

  reg       started  = 0;
  reg       below    = 0;
  reg [6:0] borrowed = 0;

  always @(posedge clk) begin
    started <= 1;
    below   <= started && lent < limit;
    if (started) borrowed <= borrowed + io_grant - io_returned;
  end

  always @* begin
    assume (reset == !started);
    if (started) begin
      assume (!(io_returned && borrowed == 0));
      assert (io_lent == borrowed + io_grant);
      assert (io_lent <= 32);
      assert (!below || io_grant);
    end
  end
