// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// How long the host takes to answer: a distribution of latencies, and rare events that add to a
// latency.
//
// Random numbers come from the caller's generator. A fixed latency takes no random number, so it
// does not change the numbers that the other distributions get.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "link/units.hpp"

namespace lanebox {

using Random = std::mt19937_64;

class Latency {
public:
    // Every sample has the value `fixed`.
    explicit Latency(Time fixed) : steps_{{fixed, fixed, 1}} {}
    // Parses "600", "uniform:LOW:HIGH" or "file:PATH", in nanoseconds. A line of the file has a
    // latency and its weight. Throws std::invalid_argument, whose text names the wrong value, its
    // line and the rule.
    static Latency parse(const std::string &spec);

    // Returns a latency, drawn at random from the distribution that parse() has read.
    Time sample(Random &random) const;

private:
    struct Step {
        // All whole nanoseconds from `low` to `high` are equally likely as the latency.
        Time low, high;
        uint64_t weights_so_far;
    };

    Latency() = default;
    static Latency from_file(const std::string &path);

    std::vector<Step> steps_;
};

// An event that happens with a chance of `percent` and then lasts for the time `lasts`.
struct Chance {
    double percent = 0;
    Time lasts = 0;

    // Parses "PERCENT:NS". The percentage may have a fraction; NS may be at most `longest`
    // nanoseconds. Throws std::invalid_argument, which names the wrong value and the rule.
    static Chance parse(const std::string &spec, uint64_t longest);
    // Returns how long the event takes this time. 0: the event does not happen.
    Time sample(Random &random) const;
};

}  // namespace lanebox
