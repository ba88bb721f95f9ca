// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The commands of the control socket, one a line. A command given by `at` waits for its cycle.
//
//   stats | clear | quit | mark
//   set OPTION VALUE                  sets an option that may change while the board runs
//   fault NAME[:N]                    arms a fault (faults/faults.hpp)
//   write OFFSET VALUE                writes a dword of BAR0, as the host's processor does
//   peer read|write [bar0|bar2] OFFSET SIZE COUNT TAGS [GAP_NS]
//   pause NS                          begins a write stall: the host takes no posted write
//   step CYCLES                       lets so many cycles of device time pass now, work or not, and
//                                     then holds device time
//   resume                            ends that: device time runs again while there is work
//   at CYCLE write|mark|peer|pause ...  carries out the command in that cycle of device time
#pragma once

#include <functional>
#include <istream>
#include <string>
#include <utility>

#include "control/plan.hpp"
#include "control/statistics.hpp"
#include "machine/function.hpp"
#include "machine/machine.hpp"

namespace lanebox {

class Commands {
public:
    // `tick` lets one cycle of device time pass.
    Commands(Machine &machine, Function &function, std::function<void()> tick)
        : machine_(machine), function_(function), tick_(std::move(tick)), statistics_(machine) {}

    // Carries out a command line. Returns, as JSON, the statistics after it, or {"error": ...}.
    std::string answer(const std::string &line);
    std::string stats() const { return statistics_.text(plan_.size()); }
    void run() {  // Carries out planned commands that are due. Call it once a cycle.
        if (!plan_.empty()) run_plan();
    }
    bool waiting() const { return !plan_.empty(); }  // Some planned command is not carried out yet.
    void forget() { plan_.clear(); }                 // Drops all planned commands.
    bool quit() const { return quit_; }              // The command `quit` has come.
    bool held() const { return held_; }              // Device time passes only by `step`.

private:
    bool obey(const std::string &verb, std::istream &words);
    void set(const std::string &name, const std::string &value);
    void clear();
    void plan(std::istream &words);
    void run_plan();
    void write_register(std::istream &words);
    void start_peer(std::istream &words);
    void pause(std::istream &words);
    void step(std::istream &words);

    Machine &machine_;
    Function &function_;
    std::function<void()> tick_;
    Statistics statistics_;
    Plan plan_;
    bool quit_ = false, held_ = false;
};

}  // namespace lanebox
