// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "text/words.hpp"

#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace lanebox {

std::optional<uint64_t> number(const std::string &text) {
    bool hex = text.rfind("0x", 0) == 0;
    const char *first = text.data() + (hex ? 2 : 0), *last = text.data() + text.size();
    uint64_t value = 0;
    auto [end, error] = std::from_chars(first, last, value, hex ? 16 : 10);
    if (error != std::errc() || end != last) return {};
    return value;
}

std::optional<double> fraction(const std::string &text) {
    const char *last = text.data() + text.size();
    double value = 0;
    auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc() || end != last || !(value >= 0) || std::isinf(value)) return {};
    return value;
}

std::vector<std::string> parts_of(const std::string &text) {
    std::vector<std::string> parts;
    std::istringstream stream(text + ":");
    for (std::string part; std::getline(stream, part, ':');) parts.push_back(part);
    return parts;
}

void each_line(const std::string &path, const std::string &what,
               const std::function<void(const std::vector<std::string> &)> &take) {
    std::ifstream file(path);
    if (!file) throw std::invalid_argument("cannot read the " + what + " " + path);
    unsigned line_number = 0;
    for (std::string line; std::getline(file, line);) {
        line_number++;
        std::istringstream stream(line.substr(0, line.find('#')));
        std::vector<std::string> words;
        for (std::string word; stream >> word;) words.push_back(word);
        try {
            if (!words.empty()) take(words);
        } catch (const std::invalid_argument &error) {
            throw std::invalid_argument(path + " line " + std::to_string(line_number) + ": " +
                                        error.what());
        }
    }
}

}  // namespace lanebox
