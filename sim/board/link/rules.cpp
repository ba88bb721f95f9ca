// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "link/rules.hpp"

#include <cstdio>
#include <numeric>

namespace lanebox {

namespace {

constexpr uint64_t kReportsPerRule =
    // The board writes this many reports of each broken rule. It only counts later
    // breaches of the rule, since a bug can break the rule with every TLP.
    3;

std::string report(Rule rule, const Tlp &tlp, const std::string &detail) {
    return std::string("rule ") + rule_name(rule) + " broken by " + describe(tlp) + " at " +
           std::to_string(tlp.pins_at / kNanosecond) + " ns: " + detail;
}

}  // namespace

const char *rule_name(Rule rule) {
    static const char *const names[] = {"tvalid-gap",
                                        "tkeep-mismatch",
                                        "request-type",
                                        "byte-enables",
                                        "crosses-4k",
                                        "payload-above-mps",
                                        "read-above-mrrs",
                                        "tag-in-use",
                                        "tag-range",
                                        "bus-master-off",
                                        "msi-disabled",
                                        "unexpected-completion",
                                        "completion-byte-count",
                                        "completion-error-form",
                                        "rc-completions",
                                        "completion-space",
                                        "rc-backpressure",
                                        "offered-beat",
                                        "zero-length",
                                        "reserved-fields",
                                        "user-config-space",
                                        "flr-timeout",
                                        "power-state",
                                        "power-state-ack"};
    static_assert(sizeof names / sizeof *names == static_cast<unsigned>(Rule::kCount));
    return names[static_cast<unsigned>(rule)];
}

void Rules::broken(Rule rule, const Tlp &tlp, const std::string &detail) {
    if (mode_ == Mode::Off) return;
    if (mode_ == Mode::Warn) return count(rule, tlp, detail);
    ++counts_[static_cast<unsigned>(rule)];
    throw RuleBroken(report(rule, tlp, detail));
}

void Rules::count(Rule rule, const Tlp &tlp, const std::string &detail) {
    if (++counts_[static_cast<unsigned>(rule)] <= kReportsPerRule)
        fprintf(stderr, "board: %s\n", report(rule, tlp, detail).c_str());
}

uint64_t Rules::total() const {
    return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0});
}

}  // namespace lanebox
