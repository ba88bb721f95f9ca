// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Obeys lines on standard input for test_plan.py. `add NOW CYCLE COMMAND` answers "added", or why
// the command was not added. `take NOW` answers with every command whose cycle has come, one a
// line, and then with a line ".".

#include "plan.hpp"

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
