// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "faults/fault_script.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace lanebox {

namespace {

constexpr uint64_t kNever = ~uint64_t{0};

uint64_t number(const std::string &text) {
    bool digits = !text.empty() && text.size() <= 15 &&
                  text.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) throw std::invalid_argument("'" + text + "' must be a number");
    return std::stoull(text);
}

double rate(const std::string &text) {
    size_t used = 0;
    double value = 0;
    try {
        value = std::stod(text, &used);
    } catch (const std::exception &) {
        used = 0;
    }
    if (used == 0 || used != text.size())
        throw std::invalid_argument("'" + text + "' must be a rate from 0 to 1");
    return value;
}

}  // namespace

FaultScript::FaultScript(const std::string &path, Faults &faults) : faults_(faults) {
    if (path.empty()) return;
    std::ifstream file(path);
    if (!file) throw std::invalid_argument("cannot read the fault script " + path);
    unsigned number = 0;
    for (std::string line; std::getline(file, line);) {
        number++;
        std::istringstream stream(line.substr(0, line.find('#')));
        std::vector<std::string> words;
        for (std::string word; stream >> word;) words.push_back(word);
        try {
            if (!words.empty()) read_line(std::move(words));
        } catch (const std::invalid_argument &error) {
            throw std::invalid_argument(path + " line " + std::to_string(number) + ": " +
                                        error.what());
        }
    }
    find_next();
}

void FaultScript::read_line(std::vector<std::string> words) {
    if (words[0] == "random" && words.size() == 3)
        return faults_.arm_random(words[1], rate(words[2]));
    bool by_time = words[0] == "at";
    if ((!by_time && words[0] != "tlp") || words.size() < 3 || words.size() > 4)
        throw std::invalid_argument(
            "must be `at NS FAULT [ARGUMENT]`, `tlp N FAULT [ARGUMENT]` or `random FAULT RATE`");
    std::string fault = words[2] + (words.size() == 4 ? ":" + words[3] : "");
    Faults().arm(fault);  // throws if the fault is wrong: now, and not only when it is due
    uint64_t when = number(words[1]);
    lines_.push_back({by_time, by_time ? when * kNanosecond : when, fault});
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
