// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A test program for plan.cpp, the board's plan of commands. Each line on stdin is answered on
// stdout. `add NOW CYCLE COMMAND` adds COMMAND for CYCLE in cycle NOW; the answer is "added", or
// why it was refused. `take NOW` is answered by every command that is due at cycle NOW, one a line,
// and a line ".".

#include "control/plan.hpp"

#include <iostream>
#include <stdexcept>

int main() {
    lanebox::Plan plan;
    std::string verb, command;
    uint64_t now = 0, cycle = 0;
    while (std::cin >> verb >> now) {
        if (verb == "take") {
            while (std::optional<std::string> due = plan.take(now)) std::cout << *due << "\n";
            std::cout << "." << std::endl;
            continue;
        }
        std::cin >> cycle >> command;
        try {
            plan.add(now, cycle, command);
            std::cout << "added" << std::endl;
        } catch (const std::invalid_argument &error) {
            std::cout << error.what() << std::endl;
        }
    }
}
