// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "control/plan.hpp"

#include <stdexcept>

namespace lanebox {

void Plan::add(uint64_t now, uint64_t cycle, const std::string &command) {
    if (cycle <= now)
        throw std::invalid_argument("cycle " + std::to_string(cycle) + " is not ahead: it is " +
                                    std::to_string(now));
    waiting_.emplace(cycle, command);
}

std::optional<std::string> Plan::take(uint64_t now) {
    if (waiting_.empty() || waiting_.begin()->first > now) return {};
    std::string command = waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    return command;
}

}  // namespace lanebox
