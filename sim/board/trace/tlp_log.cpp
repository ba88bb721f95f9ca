// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "trace/tlp_log.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "trace/trace_file.hpp"
#include "trace/trace_pcapng.hpp"

namespace lanebox {

namespace {

// Computes read latencies. For each tag it keeps the time at which the read that waits for
// completions was sent.
class Latencies {
public:
    void request(uint8_t tag, Time at) { since_[tag] = at; }
    // Computes the latency of a completion into `latency`. false: no read waits for this
    // completion. The last completion of a read ends the read.
    bool completion(const Tlp &tlp, Time at, Time &latency) {
        Time since = since_[tlp.tag];
        if (since == kNone) return false;
        unsigned covered = tlp.dwords * 4 - static_cast<unsigned>(tlp.address & 3);
        if (tlp.status || tlp.byte_count <= covered) since_[tlp.tag] = kNone;
        latency = at - since;
        return true;
    }
    Latencies() { since_.fill(kNone); }

private:
    static constexpr Time kNone = ~Time{0};
    std::array<Time, 256> since_;
};

class TextTrace : public TlpLog::Sink {
public:
    explicit TextTrace(const std::string &path) : file_(open_trace(path)) {}

    void write(const char *interface, Time at, Time span, const Tlp &tlp) override {
        fprintf(file_.get(), "%12.3f ns %s %s", nanoseconds(at), interface, describe(tlp).c_str());
        Latencies &reads = strcmp(interface, "RQ") && strcmp(interface, "RC") ? host_ : card_;
        Time latency;
        if (tlp.type == TlpType::MemRead)
            reads.request(tlp.tag, at);
        else if (tlp.type == TlpType::Completion && reads.completion(tlp, at, latency))
            fprintf(file_.get(), " latency %.3f ns", nanoseconds(latency));
        if (span && span != unhindered(interface, tlp))
            fprintf(file_.get(), " pins %.3f ns", nanoseconds(span));
        fputc('\n', file_.get());
    }

private:
    static double nanoseconds(Time time) { return static_cast<double>(time) / kNanosecond; }

    TraceFile file_;
    // The reads of the host and of the card are kept apart, since a tag is unique for one requester
    // only.
    Latencies host_, card_;
};

bool ends_with(const std::string &text, const std::string &tail) {
    return text.size() >= tail.size() &&
           text.compare(text.size() - tail.size(), tail.size(), tail) == 0;
}

std::unique_ptr<TlpLog::Sink> make_sink(const std::string &path) {
    if (path.empty()) return nullptr;
    if (ends_with(path, ".pcapng")) return std::make_unique<PcapngTrace>(path);
    return std::make_unique<TextTrace>(path);
}

}  // namespace

Time unhindered(const char *interface, const Tlp &tlp) {
    bool request = strcmp(interface, "CQ") == 0 || strcmp(interface, "RQ") == 0;
    unsigned head = request ? kRequestDescriptorDwords : kCompletionDescriptorDwords;
    auto dwords = tlp.interrupt ? 0 : head + static_cast<unsigned>(tlp.payload.size());
    return std::max((dwords + kBeatDwords - 1) / kBeatDwords, 1u) * kCycle;
}

TlpLog::TlpLog(const std::string &path) : sink_(make_sink(path)) {}

void TlpLog::put(Entry entry) {
    waiting_.push_back(std::move(entry));
    flush();
}

void TlpLog::close(const char *interface, Time at) {
    for (Entry &entry : waiting_) {
        if (!entry.open || strcmp(entry.interface, interface) != 0) continue;
        entry.open = false;
        entry.span = at - entry.at;
        break;
    }
    flush();
}

void TlpLog::flush() {
    while (!waiting_.empty() && !waiting_.front().open) {
        const Entry &entry = waiting_.front();
        sink_->write(entry.interface, entry.at, entry.span, entry.tlp);
        waiting_.pop_front();
    }
}

void TlpLog::abandon() {
    for (Entry &entry : waiting_) entry.open = false;
    flush();
}

}  // namespace lanebox
