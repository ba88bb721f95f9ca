// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The root complex: connects the host's processor, its memory and other devices to the link.
//
//   HostCpu                     HostMemory                   Peer, or any other requester
//     | requests  ^ completion    ^ write  | completer         | request()  ^ Answer
//     |           |               | read   |                   |            |
//     |           +---- handle ---+        |                   |            |
//     |                   ^   |            |                   |            |
//     |                   |   +------------|-------------------|------------+
//     +---------> send_next <--------------+-------------------+
//                   |     ^
//                   v     |
//                  HostLink     both directions, credits, what is on the wire
//                   |     ^
//        requests,  |     |  to_host()
//      completions  v     |
//              block/HardBlock, its TransmitBuffer
//
// Towards the card the TLP that has been ready for longest goes first, and a completion goes first
// in a tie. From the card, reads and completions never pass posted writes.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "host/host_cpu.hpp"
#include "host/host_link.hpp"
#include "host/host_memory.hpp"

namespace lanebox {

class RootComplex {
public:
    RootComplex(Host &host, const ConfigSpace &config, Rules &rules, Faults &faults)
        : link(config, timing, counters, faults, random_, now_),
          cpu(config, timing, counters, rules, faults, now_),
          memory(host, config, timing, counters, rules, faults, random_, link.downstream, now_) {}

    void seed(uint64_t seed) { random_.seed(seed); }

    // For requesters behind the root complex other than the processor, for example a peer device.
    // request() sends a TLP unchanged, with the requester's own ID and tag. Completions with that
    // ID go unchanged to the function that answer_to() has set.
    using Answer = std::function<void(const Tlp &completion)>;
    void request(Tlp request) { others_.push_back({now_, std::move(request)}); }
    // Returns how many requests of such requesters have not been sent on the link yet.
    size_t others_waiting() const { return others_.size(); }
    void answer_to(uint16_t requester, Answer answer) { answers_[requester] = std::move(answer); }

    void run(Time now);  // Carries out everything in the root complex that is due by `now`.
    // Returns true if a request to the card waits at the host, is on the link, or waits in the hard
    // block's buffer.
    bool requests_waiting() const {
        return !cpu.requests.empty() || !others_.empty() || link.requests_under_way();
    }
    // Returns true if no TLP is on the link or waits at the host, and software has the answers to
    // all its BAR reads.
    bool idle() const {
        return link.idle() && cpu.idle() && others_.empty() && memory.completer.empty();
    }
    // Resets the root complex: all TLPs on the link and all requests of the host are lost, and
    // outstanding MMIO reads end with all ones.
    void reset();
    // Call it when the card's function was reset. Requests that have not reached it are lost, and
    // MMIO reads end with all ones. Of the TLPs that the card sent before, only posted writes are
    // still carried out.
    void function_reset();
    // Call it when configuration space was written, so that the root complex follows it.
    void configure();

    HostTiming timing;
    HostCounters counters;
    HostLink link;
    HostCpu cpu;
    HostMemory memory;

private:
    void handle(Tlp tlp);
    void completion(const Tlp &completion);
    std::deque<Timed> *next_request();
    bool send_completion(Time before);
    bool send_next();

    Random random_;
    Time now_ = 0;
    // TLPs that the card sent before this time are lost, except posted writes.
    Time lost_before_ = 0;
    // requests to the card from a peer device or another requester
    std::deque<Timed> others_;
    // The function that gets the completions of a requester other than the processor, by its ID.
    std::map<uint16_t, Answer> answers_;
};

}  // namespace lanebox
