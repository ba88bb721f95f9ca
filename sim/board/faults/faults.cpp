// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "faults/faults.hpp"

#include <optional>
#include <stdexcept>

#include "text/words.hpp"

namespace lanebox {

namespace {

constexpr unsigned kByteCountError = 64;
constexpr uint64_t kLowerAddressError = 0x20;
constexpr uint8_t kNoSnoop = 1;
// The shortest hot reset in ns that base specification 6.6.1 allows: 1 ms.
constexpr uint64_t kHotReset = 1'000'000;

bool takes_argument(Event::Kind kind) {
    return kind == Event::HotReset || kind == Event::LinkDown || kind == Event::DeviceControl ||
           kind == Event::Command;
}

// Returns the number that follows the fault's name in `spec`, or the default of an event that may
// stand without one. Returns nothing if the number is missing, is no number, or must not be there.
std::optional<uint64_t> argument_of(Event::Kind kind, const std::string &spec) {
    size_t colon = spec.find(':');
    if (colon != std::string::npos) {
        if (!takes_argument(kind)) return {};
        return number(spec.substr(colon + 1));
    }
    if (kind == Event::HotReset) return kHotReset;
    if (!takes_argument(kind)) return 0;
    return {};
}

Event event_of(Event::Kind kind, const std::string &spec) {
    std::optional<uint64_t> argument = argument_of(kind, spec);
    bool time = kind == Event::LinkDown || kind == Event::HotReset;
    uint64_t highest = time ? 1'000'000'000 : 0xffff;
    if (!argument || *argument > highest)
        throw std::invalid_argument(
            "fault '" + spec + "': " +
            (takes_argument(kind) ? "needs a number up to " + std::to_string(highest) + " after ':'"
                                  : "takes no argument"));
    return {kind, *argument};
}

}  // namespace

const char *Faults::name(unsigned kind) {
    static const char *const names[] = {"flip-c2h",        "c2h-be",
                                        "flip-h2c",        "wrong-be",
                                        "lose-msi",        "ur",
                                        "drop-completion", "ca",
                                        "poison",          "unexpected",
                                        "duplicate",       "byte-count",
                                        "replay-up",       "replay-down",
                                        "malformed",       "attributes",
                                        "lower-address",   "malformed-completion",
                                        "hole-be"};
    static_assert(sizeof names / sizeof *names == kKinds);
    return names[kind];
}

const char *Faults::event_name(unsigned kind) {
    static const char *const names[] = {"hot-reset", "link-down", "remove",
                                        "insert",    "devctl",    "command"};
    static_assert(sizeof names / sizeof *names == Event::kKinds);
    return names[kind];
}

Faults::Kind Faults::kind_of(const std::string &wanted) {
    std::string known;
    for (unsigned kind = 0; kind < kKinds; kind++) {
        if (wanted == name(kind)) return static_cast<Kind>(kind);
        known += std::string(kind ? ", " : "") + name(kind);
    }
    for (unsigned kind = 0; kind < Event::kKinds; kind++)
        known += std::string(", ") + event_name(kind);
    throw std::invalid_argument("fault '" + wanted + "' is unknown; there are " + known);
}

void Faults::arm(const std::string &spec) {
    size_t colon = spec.find(':');
    std::string wanted = spec.substr(0, colon);
    for (unsigned kind = 0; kind < Event::kKinds; kind++)
        if (wanted == event_name(kind))
            return events_.push_back(event_of(static_cast<Event::Kind>(kind), spec));
    Kind kind = kind_of(wanted);
    std::optional<uint64_t> count = 1;
    if (colon != std::string::npos) count = number(spec.substr(colon + 1));
    if (!count || *count == 0)
        throw std::invalid_argument("fault '" + spec + "': the count after ':' must be 1 or more");
    countdown_[kind] = *count;
}

void Faults::arm_random(const std::string &name, double rate) {
    for (unsigned kind = 0; kind < Event::kKinds; kind++)
        if (name == event_name(kind))
            throw std::invalid_argument(
                "fault '" + name + "' has no opportunities at which it could strike at random");
    Kind kind = kind_of(name);
    if (!(rate >= 0 && rate <= 1))
        throw std::invalid_argument("fault '" + name + "': its rate must be from 0 to 1");
    rate_[kind] = rate;
}

bool Faults::strikes(Kind kind) {
    bool hit = countdown_[kind] != 0 && --countdown_[kind] == 0;
    if (rate_[kind] > 0) hit |= static_cast<double>(random_() >> 11) * 0x1p-53 < rate_[kind];
    struck_ += hit;
    struck_of_[kind] += hit;
    return hit;
}

std::vector<std::pair<const char *, uint64_t>> Faults::struck_by_name() const {
    std::vector<std::pair<const char *, uint64_t>> found;
    for (unsigned kind = 0; kind < kKinds; kind++)
        if (struck_of_[kind]) found.emplace_back(name(kind), struck_of_[kind]);
    return found;
}

Event Faults::take_event() {
    Event event = events_.front();
    events_.pop_front();
    struck_++;
    return event;
}

void Faults::on_c2h_write(Tlp &write) {
    if (strikes(FlipC2h)) write.payload.front() ^= 1u << 5;
    if (strikes(C2hBe)) write.first_be = 0x8;
}

void Faults::on_completion(Tlp &completion) {
    if (!completion.has_data()) return;
    if (strikes(FlipH2c)) completion.payload.back() ^= 1u << 17;
    if (strikes(Poison)) completion.poisoned = true;
    if (strikes(ByteCount)) {
        completion.byte_count += kByteCountError;
        completion.rc_error = kRcByteCount;
    }
    if (strikes(Attributes)) {
        completion.attributes ^= kNoSnoop;
        completion.rc_error = kRcAttributes;
    }
    if (strikes(LowerAddress)) {
        completion.address ^= kLowerAddressError;
        completion.rc_error = kRcLowerAddress;
    }
}

void Faults::on_mmio_write(Tlp &write) {
    if (strikes(WrongBe)) write.first_be ^= 0x8;
    if (strikes(HoleBe)) write.first_be &= 0xd;
}

bool Faults::lose_msi() {
    return strikes(LoseMsi);
}
bool Faults::unsupported() {
    return strikes(Ur);
}
bool Faults::abort() {
    return strikes(Ca);
}
bool Faults::drop_completion() {
    return strikes(DropCompletion);
}
bool Faults::unexpected() {
    return strikes(Unexpected);
}
bool Faults::duplicate() {
    return strikes(Duplicate);
}

bool Faults::replay_up() {
    return strikes(ReplayUp);
}

bool Faults::malformed() {
    return strikes(Malformed);
}

bool Faults::malformed_completion() {
    return strikes(MalformedCompletion);
}

bool Faults::replay_down() {
    return strikes(ReplayDown);
}

}  // namespace lanebox
