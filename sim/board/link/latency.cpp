// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "link/latency.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace lanebox {

namespace {

constexpr uint64_t kLongest = 1'000'000'000;  // ns: a second, longer than every timeout
constexpr uint64_t kHeaviest = 1'000'000'000;

bool number(const std::string &text, uint64_t low, uint64_t high, uint64_t &value) {
    if (text.empty() || text.size() > 18) return false;
    if (text.find_first_not_of("0123456789") != std::string::npos) return false;
    value = std::stoull(text);
    return value >= low && value <= high;
}

std::vector<std::string> words_of(std::string line) {
    line = line.substr(0, line.find('#'));
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

}  // namespace

Latency Latency::from_file(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw std::invalid_argument("cannot read the latencies in " + path);
    Latency latency;
    uint64_t total = 0;
    unsigned line_number = 0;
    for (std::string line; std::getline(file, line);) {
        line_number++;
        std::vector<std::string> words = words_of(line);
        if (words.empty()) continue;
        uint64_t ns, weight;
        if (words.size() != 2 || !number(words[0], 0, kLongest, ns) ||
            !number(words[1], 1, kHeaviest, weight))
            throw std::invalid_argument(path + " line " + std::to_string(line_number) + ": '" +
                                        line + "' must be nanoseconds (0 to " +
                                        std::to_string(kLongest) + ") and a weight (1 to " +
                                        std::to_string(kHeaviest) + ")");
        total += weight;
        latency.steps_.push_back({ns * kNanosecond, ns * kNanosecond, total});
    }
    if (latency.steps_.empty())
        throw std::invalid_argument(path + " has no line with a latency and a weight");
    return latency;
}

Latency Latency::parse(const std::string &spec) {
    constexpr const char *kUniform = "uniform:", *kFile = "file:";
    uint64_t low, high;
    if (number(spec, 0, kLongest, low)) return Latency(low * kNanosecond);
    if (spec.rfind(kFile, 0) == 0) return from_file(spec.substr(5));
    if (spec.rfind(kUniform, 0) == 0) {
        std::string range = spec.substr(8);
        size_t colon = range.find(':');
        if (colon != std::string::npos && number(range.substr(0, colon), 0, kLongest, low) &&
            number(range.substr(colon + 1), low, kLongest, high)) {
            Latency latency;
            latency.steps_.push_back({low * kNanosecond, high * kNanosecond, 1});
            return latency;
        }
    }
    throw std::invalid_argument(
        "must be a number from 0 to " + std::to_string(kLongest) +
        " (nanoseconds), uniform:LOW:HIGH with LOW not above HIGH, or file:PATH");
}

Time Latency::sample(Random &random) const {
    const Step *step = &steps_.front();
    if (steps_.size() > 1) {
        uint64_t at = random() % steps_.back().weights_so_far;
        step = &*std::upper_bound(
            steps_.begin(), steps_.end(), at,
            [](uint64_t value, const Step &s) { return value < s.weights_so_far; });
    }
    if (step->low == step->high) return step->low;
    return step->low + random() % ((step->high - step->low) / kNanosecond + 1) * kNanosecond;
}

Chance Chance::parse(const std::string &spec, uint64_t longest) {
    size_t colon = spec.find(':');
    std::string percent = spec.substr(0, colon);
    uint64_t ns = 0;
    bool right = colon != std::string::npos && number(spec.substr(colon + 1), 0, longest, ns) &&
                 !percent.empty() &&
                 percent.find_first_not_of("0123456789.") == std::string::npos &&
                 std::count(percent.begin(), percent.end(), '.') <= 1 && percent != ".";
    double value = right ? strtod(percent.c_str(), nullptr) : 0;
    if (!right || value > 100)
        throw std::invalid_argument("must be PERCENT:NS with at most 100 percent and " +
                                    std::to_string(longest) + " ns");
    return {value, ns * kNanosecond};
}

Time Chance::sample(Random &random) const {
    if (percent <= 0) return 0;
    constexpr uint64_t kSteps = 1'000'000;
    return random() % kSteps < static_cast<uint64_t>(percent / 100 * kSteps) ? lasts : 0;
}

}  // namespace lanebox
