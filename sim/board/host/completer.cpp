// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "host/completer.hpp"

#include <algorithm>
#include <utility>

namespace lanebox {

Tlp Completer::take() {
    Tlp tlp = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    return tlp;
}

void Completer::reset() {
    waiting_.clear();
    not_before_ = 0;
}

// Schedules a completion. It does not leave before its read has arrived, however short the random
// latency is.
void Completer::answer(Tlp completion, Time now) {
    Time drawn = translated_ + timing_.read_latency.sample(random_);
    Time at = std::max({drawn, now + downstream_.duration(completion), not_before_});
    not_before_ = at;
    faults_.on_completion(completion);
    if (faults_.unexpected()) waiting_.emplace(at, stray(completion));
    bool twice = completion.request_done && faults_.duplicate();
    if (twice) {
        Tlp again = completion;
        again.rc_error = kRcInvalidTag;
        waiting_.emplace(at, std::move(completion));
        waiting_.emplace(at, std::move(again));
    } else {
        waiting_.emplace(at, std::move(completion));
    }
}

// Makes a completion that answers no read. Its tag differs from that of `completion` in the highest
// bit, and the hard block reports an invalid tag (error code 6).
Tlp Completer::stray(const Tlp &completion) {
    Tlp tlp = completion;
    tlp.tag ^= 0x80;
    tlp.rc_error = kRcInvalidTag;
    return tlp;
}

void Completer::begin(const Tlp &read) {
    if (timing_.reorder) not_before_ = 0;
    translated_ = read.pins_at + timing_.iommu_miss.sample(random_);
}

void Completer::refuse(const Tlp &read, CplStatus status, Time now) {
    begin(read);
    Tlp completion;
    completion.type = TlpType::Completion;
    completion.address = (read.address + first_enabled(read.first_be)) & 0xfff;
    completion.status = static_cast<uint8_t>(status);
    completion.byte_count = bytes_enabled(read.first_be, read.last_be, read.dwords);
    completion.requester = read.requester;
    completion.tag = read.tag;
    completion.attributes = read.attributes;
    completion.request_done = true;
    answer(std::move(completion), now);
}

void Completer::lose(const Tlp &read) {
    Time timeout = config_.completion_timeout();
    if (timeout == 0) return;
    Tlp end;
    end.type = TlpType::Completion;
    end.tag = read.tag;
    end.request_done = true;
    end.rc_error = kRcTimeout;
    // By PG213 all other fields are invalid. They are set to ones, so that gateware that relies on
    // them fails.
    end.address = 0xfff;
    end.dwords = 0x7ff;
    end.byte_count = 0x1fff;
    end.status = 7;
    waiting_.emplace(read.pins_at + timeout, std::move(end));
}

// Returns how many bytes the completion has that begins at `address`, if `left` bytes of the read
// are to come. The completion ends at a boundary at which a completion may end (base specification
// 2.3.1.1), and has at most MPS bytes.
unsigned Completer::piece(uint64_t address, unsigned left) {
    unsigned mps = config_.mps(), rcb = config_.rcb(), unit = mps;
    if (timing_.split == Split::Rcb) unit = rcb;
    if (timing_.split == Split::Size && timing_.completion_size)
        unit = std::max(std::min(timing_.completion_size, mps), rcb);
    if (timing_.split != Split::Random)
        return std::min(left, unit - static_cast<unsigned>(address % unit));
    unsigned first = rcb - static_cast<unsigned>(address % rcb);
    if (left <= first) return left;
    unsigned longest = std::min(left, mps);
    // The number of multiples of RCB at which the completion may end.
    unsigned ends = (longest - first) / rcb + 1;
    // The completion may also end where the read ends, if that is no multiple of RCB.
    bool whole = left <= mps && (left - first) % rcb != 0;
    unsigned chosen = static_cast<unsigned>(random_() % (ends + whole));
    return chosen == ends ? left : first + chosen * rcb;
}

void Completer::complete(const Tlp &read, const std::vector<uint32_t> &data, Time now) {
    begin(read);
    bool malformed = faults_.malformed_completion();
    unsigned skip = first_enabled(read.first_be);
    unsigned bytes = bytes_enabled(read.first_be, read.last_be, read.dwords);
    for (unsigned at = 0; at < read.dwords;) {
        uint64_t address = read.address + at * 4;
        unsigned count = piece(address, (read.dwords - at) * 4) / 4;
        Tlp completion;
        completion.type = TlpType::Completion;
        completion.address = (at ? address : address + skip) & 0xfff;
        completion.dwords = count;
        completion.byte_count = at ? bytes + skip - at * 4 : bytes;
        completion.requester = read.requester;
        completion.tag = read.tag;
        completion.attributes = read.attributes;
        completion.request_done = at + count == read.dwords;
        completion.payload.assign(data.begin() + at, data.begin() + at + count);
        completion.malformed = malformed;
        answer(std::move(completion), now);
        // The hard block drops the malformed completion, and no further one of this read follows.
        if (malformed) return lose(read);
        at += count;
    }
}

}  // namespace lanebox
