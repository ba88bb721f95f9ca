// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Device time by the client's own work (--pace client:N): N cycles pass for each microsecond that
// its processor spends on it, so that a simulated card meets a client that is as fast as a real
// one, however slow the simulation is.
//
// While the client works the board keeps to its CPU time: it catches up before it serves the next
// message, and waits when it is ahead. A client that sleeps takes no CPU; then the board runs as
// fast as it can, since only what it does can end that sleep.
//
// The kernel counts the time of another process by its clock ticks while that runs, and exactly
// when it sleeps: a burst between two sleeps is always paid, perhaps a few milliseconds late.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

namespace lanebox {

class ClientPace {
public:
    // 0: the client's work takes no time.
    void set(uint64_t cycles_per_us) { cycles_per_us_ = cycles_per_us; }
    // Whoever is at the other end of this socket from now on; -1: nobody.
    void follow(int socket, uint64_t cycles);

    // Looks at the client when the board has run so many cycles in all.
    void look(uint64_t cycles);
    bool behind() const { return owed_ > 0; }  // the board must run before it may listen
    bool ahead() const { return owed_ < 0; }   // and here it must not run

private:
    bool on() const { return cycles_per_us_ && process_ > 0; }
    double cpu_us() const;
    bool asleep() const;

    uint64_t cycles_per_us_ = 0;
    int process_ = 0;
    clockid_t clock_ = 0;
    double seen_us_ = 0;        // of CPU, at the last look
    uint64_t seen_cycles_ = 0;  // of the board
    double owed_ = 0;           // cycles of the client's work that the board has not run
};

}  // namespace lanebox
