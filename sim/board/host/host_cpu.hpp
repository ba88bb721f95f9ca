// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The host's processor. It turns software's accesses to the card's BARs into TLPs, and takes the
// answers to them.
//
// An access becomes as few TLPs as are legal: each is as long as MPS (writes) or MRRS (reads, the
// host's own choice) and the next 4 KiB boundary allow, with exact byte enables. A TLP spends half
// of `mmio_rtt` on its way to the link, and an answer half of it on its way back. A read without an
// answer ends with all ones after 50 us.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "faults/faults.hpp"
#include "host/host_counters.hpp"
#include "host/host_link.hpp"
#include "host/host_timing.hpp"
#include "host/read_progress.hpp"
#include "link/config_space.hpp"
#include "link/rules.hpp"

namespace lanebox {

// The requester of the host's MMIO accesses, with the ID kProcessorId. It takes accesses from the
// vfio-user client, and RootComplex sends its requests and gives it the card's completions.
class HostCpu {
public:
    // Called when a read is done. `data` has the bytes read. They are all ones in each part of the
    // read that failed; `ok` is then false.
    using ReadDone = std::function<void(const uint8_t *data, bool ok)>;

    HostCpu(const ConfigSpace &config, const HostTiming &timing, HostCounters &counters,
            Rules &rules, Faults &faults, const Time &now)
        : config_(config),
          timing_(timing),
          counters_(counters),
          rules_(rules),
          faults_(faults),
          now_(now) {}

    // Begin a read or write of BAR number `bar`, and return before the card has it. `bytes` is 1 to
    // 4096. `offset` counts bytes from the start of the BAR. The caller has checked that the access
    // ends inside the BAR. run() calls `done` once.
    void read(unsigned bar, uint64_t offset, unsigned bytes, ReadDone done);
    void write(unsigned bar, uint64_t offset, const void *data, unsigned bytes);
    // Returns true if 32 or more read TLPs are in flight. The board then takes no message of the
    // client until one of them is answered.
    bool full() const;
    // Returns true if no request waits to be sent, no read is unanswered, and no answer is on its
    // way back to software.
    bool idle() const { return requests.empty() && finished_.empty() && reads_.empty(); }

    // Call it when a request was sent on the link and arrives at the card at `at`. The 50 us after
    // which an MMIO read ends without an answer are counted from `at`.
    void sent(const Tlp &request, Time at);
    // Takes a completion by the card. A completion that does not fit an outstanding read, or that
    // no read asked for, breaks a rule (base specification 2.2.9). A late answer to a read that has
    // timed out is dropped and breaks no rule. A completion with an error status, or one that is
    // wrong, ends its read with all ones.
    void completion(const Tlp &completion);
    void run();  // Ends MMIO reads that have timed out, and hands finished reads to software.
    // Ends outstanding MMIO reads with all ones, and drops requests that were not sent yet.
    void lose();

    // MMIO requests that wait at the root complex until they are ready to be sent to the card.
    std::deque<Timed> requests;

private:
    struct Access {  // A read by software, which becomes one read TLP or several.
        std::vector<uint8_t> data;
        unsigned reads;  // the number of the access's read TLPs that are not answered yet
        bool ok = true;
        ReadDone done;
    };
    using AccessRef = std::shared_ptr<Access>;
    struct Read {
        ReadProgress progress;
        // The part of software's access that this read TLP covers: offset and size in bytes.
        unsigned at, bytes;
        Time deadline;
        AccessRef access;
    };
    struct Finished {
        Time at;
        AccessRef access;
    };
    // A read TLP that timed out. It is kept to recognise its completion if that comes late.
    struct Late {
        uint8_t tag;
        ReadProgress progress;
    };

    static Tlp request(TlpType type, uint64_t address, unsigned bytes);
    uint8_t free_tag();
    std::deque<Late>::iterator late(uint8_t tag);
    bool came_late(const Tlp &completion);
    bool right(const Read &read, const Tlp &completion);
    void finish(const Read &read, bool ok, Time at);
    void expire();

    const ConfigSpace &config_;
    const HostTiming &timing_;
    HostCounters &counters_;
    Rules &rules_;
    Faults &faults_;
    const Time &now_;

    // Accesses that are answered, on their way back to the processor.
    std::deque<Finished> finished_;
    std::map<uint8_t, Read> reads_;  // The read TLPs of the host that are not answered yet, by tag.
    // Read TLPs that timed out, the oldest first. A late answer to one of them breaks no rule.
    std::deque<Late> late_;
    uint8_t next_tag_ = 0;
};

}  // namespace lanebox
