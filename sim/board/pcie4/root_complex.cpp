// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "pcie4/root_complex.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lanebox {

namespace {

constexpr Time kMmioTimeout = 50'000 * kNanosecond;   // the shortest a real root complex waits
constexpr uint16_t kHostId = 0x00a0;                  // bus 0, device 20: any value but the card's
constexpr Time kTransmitBuffer = 2048 * kSymbol / 8;  // 2 KiB of wire time behind the user pins
constexpr unsigned kPostedCredits = 64;               // TLPs that the receive buffer takes
constexpr unsigned kNonPostedCredits = 64;
constexpr unsigned kMmioReads = 32;  // in flight: few enough that the last one meets its deadline
constexpr Time kNotSent = ~Time{0};  // the deadline of a read that waits for the link

}  // namespace

Tlp RootComplex::take(std::deque<Timed> &queue) {
    Tlp tlp = std::move(queue.front().tlp);
    queue.pop_front();
    return tlp;
}

Tlp RootComplex::take_request() {
    Tlp tlp = take(requests_in_);
    --(tlp.posted() ? posted_in_ : non_posted_in_);
    return tlp;
}

// --- the CPU's side ------------------------------------------------------------------------------

void RootComplex::mmio_read(uint64_t offset, unsigned bytes, ReadDone done) {
    counters.mmio_reads++;
    while (mmio_.count(next_tag_)) next_tag_++;
    uint8_t tag = next_tag_++;
    uint64_t address = config_.bar0() + offset;
    ByteEnables enables = byte_enables(address, bytes);
    Tlp tlp;
    tlp.type = TlpType::MemRead;
    tlp.address = address & ~uint64_t{3};
    tlp.dwords = enables.dwords;
    tlp.first_be = enables.first;
    tlp.last_be = enables.last;
    tlp.requester = kHostId;
    tlp.tag = tag;
    Time ready = now_ + timing.mmio_rtt / 2;
    requests_out_.push_back({ready, std::move(tlp)});
    mmio_[tag] = {address, bytes, kNotSent, std::move(done)};
}

void RootComplex::mmio_write(uint64_t offset, const void *data, unsigned bytes) {
    counters.mmio_writes++;
    uint64_t address = config_.bar0() + offset;
    ByteEnables enables = byte_enables(address, bytes);
    Tlp tlp;
    tlp.type = TlpType::MemWrite;
    tlp.address = address & ~uint64_t{3};
    tlp.dwords = enables.dwords;
    tlp.first_be = enables.first;
    tlp.last_be = enables.last;
    tlp.requester = kHostId;
    tlp.payload.assign(enables.dwords, 0);
    memcpy(reinterpret_cast<uint8_t *>(tlp.payload.data()) + (address & 3), data, bytes);
    faults_.on_mmio_write(tlp);
    requests_out_.push_back({now_ + timing.mmio_rtt / 2, std::move(tlp)});
}

void RootComplex::finish(MmioRead read, const Tlp *completion, Time at) {
    Finished finished{at, {}, completion != nullptr, std::move(read.done)};
    if (completion) {
        memcpy(finished.data.data(),
               reinterpret_cast<const uint8_t *>(completion->payload.data()) + (read.address & 3),
               read.bytes);
    } else {
        finished.data.fill(0xff);
        counters.mmio_errors++;
    }
    finished_.push_back(std::move(finished));
}

void RootComplex::expire_reads() {
    for (auto entry = mmio_.begin(); entry != mmio_.end();) {
        if (entry->second.deadline > now_) {
            ++entry;
            continue;
        }
        counters.completion_timeouts++;
        finish(std::move(entry->second), nullptr, now_);
        entry = mmio_.erase(entry);
    }
}

// --- the card's requests and completions ---------------------------------------------------------

void RootComplex::receive(Tlp tlp) {
    Time at = upstream.send(tlp.pins_at, tlp);
    upstream_.push_back({at, std::move(tlp)});
}

bool RootComplex::transmit_full(Time now) const {
    return upstream.free_at() > now + kTransmitBuffer;
}

void RootComplex::handle(Tlp tlp) {
    switch (tlp.type) {
        case TlpType::MemWrite: return card_writes(tlp);
        case TlpType::MemRead: return card_reads(tlp);
        case TlpType::Completion: return card_completes(tlp);
        case TlpType::Other: return;
    }
}

void RootComplex::card_writes(Tlp &write) {
    if (write.interrupt) {
        if (faults_.lose_msi()) return;
        ++(host_.interrupt() ? counters.msi : counters.msi_lost);
        return;
    }
    if (write.payload.empty()) return;
    faults_.on_c2h_write(write);
    counters.bytes_written += write.payload_bytes();
    if (!store(write)) counters.unmapped++;
}

// Only the bytes that are enabled: up to two dwords may have holes, and one may have none enabled.
bool RootComplex::store(const Tlp &write) {
    const auto *data = reinterpret_cast<const uint8_t *>(write.payload.data());
    if (write.payload.size() > 2) {
        unsigned skip = first_enabled(write.first_be);
        unsigned bytes = bytes_enabled(write.first_be, write.last_be, write.dwords);
        bytes = std::min(bytes, write.payload_bytes() - skip);
        return host_.memory_write(write.address + skip, data + skip, bytes);
    }
    bool stored = true;
    for (unsigned i = 0; i < write.payload_bytes(); i++) {
        uint8_t enables = i < 4 ? write.first_be : write.last_be;
        if (enables >> i % 4 & 1) stored &= host_.memory_write(write.address + i, data + i, 1);
    }
    return stored;
}

void RootComplex::card_reads(const Tlp &read) {
    if (faults_.drop_completion()) return;
    std::vector<uint32_t> data(read.dwords);
    bool mapped = host_.memory_read(read.address, data.data(), read.dwords * 4);
    if (!mapped) counters.unmapped++;
    if (!mapped || faults_.unsupported()) return refuse_read(read);
    counters.bytes_read += read.dwords * 4;
    complete_read(read, data);
}

// No answer leaves before its request has arrived, however short a latency was asked for.
void RootComplex::answer(const Tlp &read, Tlp completion) {
    Time earliest = now_ + downstream.duration(completion);
    Time at = std::max(read.pins_at + timing.read_latency, earliest);
    completions_out_.push_back({at, std::move(completion)});
}

void RootComplex::refuse_read(const Tlp &read) {
    Tlp completion;
    completion.type = TlpType::Completion;
    completion.address = (read.address + first_enabled(read.first_be)) & 0xfff;
    completion.status = static_cast<uint8_t>(CplStatus::UnsupportedRequest);
    completion.byte_count = bytes_enabled(read.first_be, read.last_be, read.dwords);
    completion.tag = read.tag;
    completion.request_done = true;
    answer(read, std::move(completion));
}

void RootComplex::complete_read(const Tlp &read, const std::vector<uint32_t> &data) {
    unsigned mps = config_.mps();
    unsigned chunk = timing.completion_size ? std::min(timing.completion_size, mps) : mps;
    chunk = std::max(chunk, config_.rcb());
    unsigned skip = first_enabled(read.first_be);
    unsigned bytes = bytes_enabled(read.first_be, read.last_be, read.dwords);
    for (unsigned at = 0; at < read.dwords;) {
        uint64_t address = read.address + at * 4;
        unsigned to_boundary = chunk - static_cast<unsigned>(address % chunk);
        unsigned count = std::min(read.dwords - at, to_boundary / 4);
        Tlp completion;
        completion.type = TlpType::Completion;
        completion.address = (at ? address : address + skip) & 0xfff;
        completion.dwords = count;
        completion.byte_count = at ? bytes + skip - at * 4 : bytes;
        completion.tag = read.tag;
        completion.request_done = at + count == read.dwords;
        completion.payload.assign(data.begin() + at, data.begin() + at + count);
        faults_.on_completion(completion);
        answer(read, std::move(completion));
        at += count;
    }
}

bool RootComplex::completion_right(const MmioRead &read, const Tlp &completion) {
    ByteEnables enables = byte_enables(read.address, read.bytes);
    if (completion.status != static_cast<uint8_t>(CplStatus::Success)) return false;
    bool right = completion.dwords == enables.dwords &&
                 completion.payload.size() == enables.dwords &&
                 completion.byte_count == read.bytes &&
                 completion.address == (read.address & 0x7f) && completion.requester == kHostId;
    if (!right) {
        rules_.broken(Rule::CplByteCount, completion,
                      "the read asked for " + std::to_string(enables.dwords) + " dw, byte count " +
                          std::to_string(read.bytes) + ", lower address " +
                          std::to_string(read.address & 0x7f));
    }
    return right;
}

void RootComplex::card_completes(const Tlp &completion) {
    auto entry = mmio_.find(completion.tag);
    rules_.check(entry != mmio_.end(), Rule::UnexpectedCpl, completion,
                 "no read with this tag is outstanding");
    if (entry == mmio_.end()) return;
    MmioRead read = std::move(entry->second);
    mmio_.erase(entry);
    bool right = completion_right(read, completion);
    finish(std::move(read), right ? &completion : nullptr, now_ + timing.mmio_rtt / 2);
}

// --- the link ------------------------------------------------------------------------------------

bool RootComplex::request_credit(const Tlp &request) const {
    return request.posted() ? posted_in_ < kPostedCredits : non_posted_in_ < kNonPostedCredits;
}

void RootComplex::send_downstream() {
    for (;;) {
        auto due = [this](const std::deque<Timed> &queue) {
            return !queue.empty() &&
                   queue.front().at <= now_ + downstream.duration(queue.front().tlp);
        };
        bool completion = due(completions_out_);
        bool request = due(requests_out_) && request_credit(requests_out_.front().tlp);
        if (completion && request)
            completion = completions_out_.front().at <= requests_out_.front().at;
        else if (!completion && !request)
            return;
        auto &from = completion ? completions_out_ : requests_out_;
        Time ready = from.front().at;
        Tlp tlp = take(from);
        Time start = ready - std::min(ready, downstream.duration(tlp));
        Time at = downstream.send(completion ? start : ready, tlp);
        if (!completion) ++(tlp.posted() ? posted_in_ : non_posted_in_);
        if (tlp.type == TlpType::MemRead) mmio_.at(tlp.tag).deadline = at + kMmioTimeout;
        (completion ? completions_in_ : requests_in_).push_back({at, std::move(tlp)});
    }
}

void RootComplex::run(Time now) {
    now_ = now;
    while (arrived(upstream_, now)) handle(take(upstream_));
    if (!completions_out_.empty() || !requests_out_.empty()) send_downstream();
    if (!mmio_.empty()) expire_reads();
    while (!finished_.empty() && finished_.front().at <= now) {
        Finished finished = std::move(finished_.front());
        finished_.pop_front();
        finished.done(finished.data.data(), finished.ok);
    }
}

size_t RootComplex::completions_waiting(Time now) const {
    auto later = [](Time time, const Timed &timed) { return time < timed.at; };
    auto end = std::upper_bound(completions_in_.begin(), completions_in_.end(), now, later);
    return static_cast<size_t>(end - completions_in_.begin());
}

bool RootComplex::mmio_full() const {
    return mmio_.size() >= kMmioReads;
}

bool RootComplex::idle() const {
    return upstream_.empty() && completions_out_.empty() && requests_out_.empty() &&
           completions_in_.empty() && requests_in_.empty() && finished_.empty() && mmio_.empty();
}

void RootComplex::configure() {
    upstream.set_mps(config_.mps());
    downstream.set_mps(config_.mps());
}

void RootComplex::reset() {
    upstream_.clear();
    completions_out_.clear();
    requests_out_.clear();
    completions_in_.clear();
    requests_in_.clear();
    posted_in_ = non_posted_in_ = 0;
    for (auto &[tag, read] : mmio_) finish(std::move(read), nullptr, now_);
    mmio_.clear();
    configure();
}

}  // namespace lanebox
