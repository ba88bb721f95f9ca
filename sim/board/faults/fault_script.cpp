// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "faults/fault_script.hpp"

#include <algorithm>
#include <stdexcept>

#include "text/words.hpp"

namespace lanebox {

namespace {

constexpr uint64_t kNever = ~uint64_t{0};
// The largest number of nanoseconds or of TLPs that a line of a fault script may name.
constexpr uint64_t kLatest = 1'000'000'000'000'000;

}  // namespace

FaultScript::FaultScript(const std::string &path, Faults &faults) : faults_(faults) {
    if (path.empty()) return;
    each_line(path, "fault script",
              [this](const std::vector<std::string> &words) { read_line(words); });
    find_next();
}

void FaultScript::read_line(const std::vector<std::string> &words) {
    if (words[0] == "random" && words.size() == 3) {
        std::optional<double> rate = fraction(words[2]);
        if (!rate) throw std::invalid_argument("'" + words[2] + "' must be a rate from 0 to 1");
        return faults_.arm_random(words[1], *rate);
    }
    bool by_time = words[0] == "at";
    if ((!by_time && words[0] != "tlp") || words.size() < 3 || words.size() > 4)
        throw std::invalid_argument(
            "must be `at NS FAULT [ARGUMENT]`, `tlp N FAULT [ARGUMENT]` or `random FAULT RATE`");
    std::string fault = words[2] + (words.size() == 4 ? ":" + words[3] : "");
    // This call throws if the fault is wrong, so the script is refused now and not when the fault
    // is due.
    Faults().arm(fault);
    std::optional<uint64_t> when = number(words[1]);
    if (!when || *when > kLatest)
        throw std::invalid_argument("'" + words[1] + "' must be a number");
    lines_.push_back({by_time, by_time ? *when * kNanosecond : *when, fault});
}

void FaultScript::find_next() {
    next_time_ = next_tlp_ = kNever;
    for (const Line &line : lines_) {
        uint64_t &next = line.by_time ? next_time_ : next_tlp_;
        next = std::min(next, line.when);
    }
}

void FaultScript::arm(Time now, uint64_t tlps) {
    for (auto line = lines_.begin(); line != lines_.end();) {
        if ((line->by_time ? now : tlps) < line->when) {
            ++line;
            continue;
        }
        faults_.arm(line->fault);
        line = lines_.erase(line);
    }
    find_next();
}

}  // namespace lanebox
