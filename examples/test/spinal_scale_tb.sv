// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Sends random traffic through SpinalScale. Every beat must be scaled and in order, none may be
// retracted, and without stalls there must be one beat in every cycle. Prints one line that begins
// with PASS or FAIL.

module spinal_scale_tb;
  localparam int Beats = 2000;

  logic         clk = 0, reset = 1;
  logic [4:0]   shift;
  logic         sink_valid = 0, sink_ready, source_valid, source_ready = 0;
  logic [255:0] sink_payload, source_payload;

  SpinalScale dut (.*);
  always #2 clk = ~clk;

  // Percentage of the cycles in which the testbench drives valid, or ready, high.
  int           density;
  int           sent, taken, cycles;
  logic [255:0] expected[$], next;
  logic         waiting = 0;
  logic [255:0] waiting_payload;

  function automatic logic [255:0] random_beat();
    for (int n = 0; n < 8; n++) random_beat[32*n +: 32] = $urandom;
  endfunction

  function automatic logic [255:0] scaled(logic [255:0] beat);
    for (int n = 0; n < 8; n++) scaled[32*n +: 32] = beat[32*n +: 32] << shift;
  endfunction

  task automatic fail(string reason);
    $display("FAIL shift %0d density %0d beat %0d: %s", shift, density, taken, reason);
    $finish;
  endtask

  function automatic logic chance();
    return $urandom_range(99) < density;
  endfunction

  always @(posedge clk) if (!reset) begin
    if (sink_valid && sink_ready) begin
      expected.push_back(scaled(sink_payload));
      sent++;
    end
    if (waiting && !(source_valid && source_payload == waiting_payload)) fail("beat retracted");
    waiting         <= source_valid && !source_ready;
    waiting_payload <= source_payload;
    if (source_valid && source_ready) begin
      if (expected.size() == 0) fail("a beat came that was not expected");
      // pop_front() is called outside of any condition: inside one, Verilator 5.006 would pop
      // twice.
      next = expected.pop_front();
      if (source_payload != next) fail("wrong beat");
      taken++;
    end
    if (!sink_valid || sink_ready) begin
      sink_valid   <= sent + 1 < Beats && chance();
      sink_payload <= random_beat();
    end
    source_ready <= chance();
    cycles++;
  end

  task automatic run(int with_shift, int with_density);
    reset = 1; shift = with_shift; density = with_density;
    sent = 0; taken = 0; cycles = 0; sink_valid = 0; waiting = 0; expected = {};
    repeat (3) @(negedge clk);
    reset = 0;
    while (taken < Beats - 1 && cycles < 20 * Beats) @(negedge clk);
    if (taken < Beats - 1) fail("not all beats came");
    if (density == 100 && cycles > Beats + 4) fail("cycles were lost without stalls");
  endtask

  initial begin
    run(0, 100);
    run(31, 50);
    run(7, 80);
    $display("PASS");
    $finish;
  end
endmodule
