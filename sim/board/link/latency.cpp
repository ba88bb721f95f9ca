// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "link/latency.hpp"

#include <algorithm>
#include <stdexcept>

#include "text/words.hpp"

namespace lanebox {

namespace {

// The longest latency in ns that --read-latency accepts: one second. The timeouts of the card's
// reads are shorter after reset: 20 ms in the endpoint, 50 ms in the hard block.
constexpr uint64_t kLongest = 1'000'000'000;
constexpr uint64_t kHeaviest = 1'000'000'000;

std::optional<uint64_t> number_within(const std::string &text, uint64_t low, uint64_t high) {
    std::optional<uint64_t> value = number(text);
    return value && *value >= low && *value <= high ? value : std::nullopt;
}

// Returns the words with a space between them.
std::string joined(const std::vector<std::string> &words) {
    std::string text;
    for (const std::string &word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

}  // namespace

Latency Latency::from_file(const std::string &path) {
    Latency latency;
    uint64_t total = 0;
    each_line(path, "latencies in", [&](const std::vector<std::string> &words) {
        std::optional<uint64_t> ns = number_within(words[0], 0, kLongest), weight;
        if (words.size() == 2) weight = number_within(words[1], 1, kHeaviest);
        if (!ns || !weight)
            throw std::invalid_argument("'" + joined(words) + "' must be nanoseconds (0 to " +
                                        std::to_string(kLongest) + ") and a weight (1 to " +
                                        std::to_string(kHeaviest) + ")");
        total += *weight;
        latency.steps_.push_back({*ns * kNanosecond, *ns * kNanosecond, total});
    });
    if (latency.steps_.empty())
        throw std::invalid_argument(path + " has no line with a latency and a weight");
    return latency;
}

Latency Latency::parse(const std::string &spec) {
    constexpr const char *kFile = "file:";
    if (spec.rfind(kFile, 0) == 0) return from_file(spec.substr(5));
    if (auto ns = number_within(spec, 0, kLongest)) return Latency(*ns * kNanosecond);
    std::vector<std::string> parts = parts_of(spec);
    if (parts.size() == 3 && parts[0] == "uniform") {
        auto low = number_within(parts[1], 0, kLongest);
        auto high = number_within(parts[2], low.value_or(0), kLongest);
        if (low && high) {
            Latency latency;
            latency.steps_.push_back({*low * kNanosecond, *high * kNanosecond, 1});
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
    std::vector<std::string> parts = parts_of(spec);
    std::optional<double> percent = fraction(parts[0]);
    std::optional<uint64_t> ns;
    if (parts.size() == 2) ns = number_within(parts[1], 0, longest);
    if (!percent || *percent > 100 || !ns)
        throw std::invalid_argument("must be PERCENT:NS with at most 100 percent and " +
                                    std::to_string(longest) + " ns");
    return {*percent, *ns * kNanosecond};
}

Time Chance::sample(Random &random) const {
    if (percent <= 0) return 0;
    constexpr uint64_t kSteps = 1'000'000;
    return random() % kSteps < static_cast<uint64_t>(percent / 100 * kSteps) ? lasts : 0;
}

}  // namespace lanebox
