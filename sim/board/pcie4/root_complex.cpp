// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "pcie4/root_complex.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lanebox {

namespace {

constexpr Time kMmioTimeout = 50'000 * kNanosecond;  // the shortest a real root complex waits
constexpr uint16_t kHostId = 0x00a0;                 // bus 0, device 20: any value but the card's
constexpr unsigned kTransmitBuffer = 2048;           // bytes behind the user pins
constexpr size_t kTransmitTlps = 32;                 // TLPs that wait for credits
constexpr unsigned kMmioReads = 32;  // in flight: few enough that the last one meets its deadline
// How long after MSI-X is masked at the pins a message may still appear on RQ: the card's own
// registers delay the mask. A message that has appeared stays, however long RQ is held off.
constexpr Time kMessageOnItsWay = 4 * kCycle;
constexpr size_t kLateReads = 128;   // timed-out reads whose late completions are recognised
constexpr Time kNotSent = ~Time{0};  // the deadline of a read that waits for the link

// Bytes of the request that begins at `address` of an access with `left` bytes to go: its dwords
// hold at most `most` bytes, and it does not cross a 4 KiB boundary.
unsigned request_bytes(uint64_t address, unsigned left, unsigned most) {
    constexpr unsigned kPage = 4096;
    unsigned to_page = kPage - static_cast<unsigned>(address % kPage);
    return std::min({left, most - static_cast<unsigned>(address % 4), to_page});
}

bool of_user(const Tlp &tlp) {  // a request from RQ
    return tlp.type != TlpType::Completion && !tlp.interrupt;
}

}  // namespace

Tlp RootComplex::take(std::deque<Timed> &queue) {
    Tlp tlp = std::move(queue.front().tlp);
    queue.pop_front();
    return tlp;
}

size_t RootComplex::deliverable(Time now, bool reads) const {
    for (size_t i = 0; i < requests_in_.size() && requests_in_[i].at <= now; i++)
        if (reads || requests_in_[i].tlp.posted()) return i;
    return kNone;
}

Tlp RootComplex::take_request(Time now, bool reads) {
    auto found = requests_in_.begin() + static_cast<std::ptrdiff_t>(deliverable(now, reads));
    Tlp tlp = std::move(found->tlp);
    requests_in_.erase(found);
    downstream_credits.release(tlp, now + upstream.update_latency());
    return tlp;
}

// --- the CPU's side ------------------------------------------------------------------------------

Tlp RootComplex::host_request(TlpType type, uint64_t address, unsigned bytes) {
    ByteEnables enables = byte_enables(address, bytes);
    Tlp tlp;
    tlp.type = type;
    tlp.address = address & ~uint64_t{3};
    tlp.dwords = enables.dwords;
    tlp.first_be = enables.first;
    tlp.last_be = enables.last;
    tlp.requester = kHostId;
    return tlp;
}

uint8_t RootComplex::free_tag() {
    if (late_.size() > kLateReads) late_.clear();
    while (mmio_.count(next_tag_) || late_.count(next_tag_)) next_tag_++;
    return next_tag_++;
}

void RootComplex::mmio_read(unsigned bar, uint64_t offset, unsigned bytes, ReadDone done) {
    uint64_t address = config_.bar(bar).base + offset;
    auto access = std::make_shared<Access>();
    access->data.assign(bytes, 0xff);
    access->reads = 0;
    access->done = std::move(done);
    for (unsigned at = 0; at < bytes;) {
        unsigned count = request_bytes(address + at, bytes - at, config_.mrrs());
        counters.mmio_reads++;
        Tlp tlp = host_request(TlpType::MemRead, address + at, count);
        tlp.tag = free_tag();
        mmio_.insert({tlp.tag, {{address + at, count}, at, count, kNotSent, access}});
        access->reads++;
        requests_out_.push_back({now_ + timing.mmio_rtt / 2, std::move(tlp)});
        at += count;
    }
}

void RootComplex::mmio_write(unsigned bar, uint64_t offset, const void *data, unsigned bytes) {
    uint64_t address = config_.bar(bar).base + offset;
    for (unsigned at = 0; at < bytes;) {
        unsigned count = request_bytes(address + at, bytes - at, config_.mps());
        counters.mmio_writes++;
        Tlp tlp = host_request(TlpType::MemWrite, address + at, count);
        tlp.payload.assign(tlp.dwords, 0);
        memcpy(reinterpret_cast<uint8_t *>(tlp.payload.data()) + (address + at) % 4,
               static_cast<const uint8_t *>(data) + at, count);
        faults_.on_mmio_write(tlp);
        requests_out_.push_back({now_ + timing.mmio_rtt / 2, std::move(tlp)});
        at += count;
    }
}

void RootComplex::request(Tlp request) {
    others_out_.push_back({now_, std::move(request)});
}

void RootComplex::finish(const MmioRead &read, bool ok, Time at) {
    Access &access = *read.access;
    if (!ok) {
        std::fill_n(access.data.begin() + read.at, read.bytes, uint8_t{0xff});
        access.ok = false;
        counters.mmio_errors++;
    }
    if (--access.reads == 0) finished_.push_back({at, read.access});
}

void RootComplex::end_mmio() {
    for (const auto &[tag, read] : mmio_) finish(read, false, now_);
    mmio_.clear();
}

void RootComplex::expire_reads() {
    for (auto entry = mmio_.begin(); entry != mmio_.end();) {
        if (entry->second.deadline > now_) {
            ++entry;
            continue;
        }
        counters.completion_timeouts++;
        finish(entry->second, false, now_);
        late_.insert({entry->first, entry->second.progress});
        entry = mmio_.erase(entry);
    }
}

// --- the card's requests and completions ---------------------------------------------------------

void RootComplex::receive(Tlp tlp) {
    received_++;
    if (!link_up_) {
        requests_sent_ += of_user(tlp);
        return;
    }
    transmit_bytes_ += tlp.payload_bytes();
    transmit_.push_back(std::move(tlp));
    send_upstream();
}

// TLPs leave in order. Only completions, which need no credit, pass requests that wait for one.
void RootComplex::send_upstream() {
    bool blocked = false;
    for (auto tlp = transmit_.begin(); tlp != transmit_.end();) {
        blocked |= !upstream_credits.allows(*tlp);
        if (blocked && tlp->type != TlpType::Completion) {
            ++tlp;
            continue;
        }
        upstream_credits.consume(*tlp);
        requests_sent_ += of_user(*tlp);
        if (faults_.replay_up()) upstream.corrupt_next();
        transmit_bytes_ -= tlp->payload_bytes();
        Time at = upstream.send(std::max(tlp->pins_at, now_), *tlp);
        upstream_.push_back({at, std::move(*tlp)});
        if (upstream_.back().tlp.relaxed()) overtake();
        tlp = transmit_.erase(tlp);
    }
}

// Base specification, ordering table: a posted request with relaxed ordering may pass whatever is
// before it. Here it overtakes a random number of the TLPs that are on the wire before it.
void RootComplex::overtake() {
    if (!timing.reorder || !config_.relaxed_ordering() || !upstream_.back().tlp.posted()) return;
    for (size_t i = upstream_.size() - 1; i > 0 && random_() % 2; i--) {
        std::swap(upstream_[i].tlp, upstream_[i - 1].tlp);
        counters.overtaken++;
    }
}

bool RootComplex::stalled() const {
    return now_ < writes_from_ && upstream_.front().tlp.posted();
}

bool RootComplex::transmit_full(Time now, bool requests) const {
    bool waiting = transmit_bytes_ >= kTransmitBuffer || transmit_.size() >= kTransmitTlps;
    if (requests && waiting) return true;
    return upstream.free_at() > now + upstream.bytes(kTransmitBuffer);
}

void RootComplex::handle(Tlp tlp) {
    if (tlp.pins_at < lost_before_ && !tlp.posted()) return;
    switch (tlp.type) {
        case TlpType::MemWrite: return card_writes(tlp);
        case TlpType::MemRead: return card_reads(tlp);
        case TlpType::Completion: return card_completes(tlp);
        case TlpType::Other: return;
    }
}

void RootComplex::card_writes(Tlp &write) {
    if (Time stall = timing.write_stall.sample(random_)) {
        writes_from_ = now_ + stall;
        counters.write_stalls++;
    }
    if (write.interrupt) {
        if (faults_.lose_msi()) return;
        ++(host_.interrupt() ? counters.msi : counters.msi_lost);
        return;
    }
    if (write.payload.empty()) return;
    if (write.dwords == 1 && message(write)) return;
    faults_.on_c2h_write(write);
    counters.bytes_written += write.payload_bytes();
    if (!store(write)) counters.unmapped++;
}

// An MSI-X message is a write like any other; only its address says that it is one.
bool RootComplex::message(const Tlp &write) {
    std::optional<unsigned> vector = host_.vector_of(write.address, write.payload.front());
    if (!vector) return false;
    rules_.check(write.shown_at <= messages_until_, Rule::MsiDisabled, write,
                 "MSI-X was disabled or masked before RQ was shown the message");
    if (faults_.lose_msi()) return true;
    ++(host_.interrupt(*vector) ? counters.msi : counters.msi_lost);
    return true;
}

// Stores the enabled bytes only. The byte enables of one or two dwords may have holes; those of one
// dword may all be 0.
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
    if (faults_.drop_completion()) return completer_.lose(read);
    std::vector<uint32_t> data(read.dwords);
    bool mapped = host_.memory_read(read.address, data.data(), read.dwords * 4);
    if (!mapped) counters.unmapped++;
    if (!mapped || faults_.unsupported())
        return completer_.refuse(read, CplStatus::UnsupportedRequest, now_);
    if (faults_.abort()) return completer_.refuse(read, CplStatus::CompleterAbort, now_);
    counters.bytes_read += read.dwords * 4;
    completer_.complete(read, data, now_);
}

bool RootComplex::completion_right(const MmioRead &read, const Tlp &completion) {
    if (completion.status != static_cast<uint8_t>(CplStatus::Success)) return false;
    std::string what = read.progress.wrong(completion, config_.mps());
    if (what.empty() && completion.requester != kHostId)
        what = "requester must be " + std::to_string(kHostId);
    if (!what.empty()) rules_.broken(Rule::CplByteCount, completion, what);
    return what.empty();
}

// The answer to a read that the host has given up; a real root complex drops it as well.
bool RootComplex::came_late(const Tlp &completion) {
    auto entry = late_.find(completion.tag);
    if (entry == late_.end()) return false;
    ReadProgress &read = entry->second;
    if (completion.status || !read.wrong(completion, config_.mps()).empty())
        late_.erase(entry);
    else if (read.advance(completion); !read.left())
        late_.erase(entry);
    return true;
}

void RootComplex::card_completes(const Tlp &completion) {
    auto other = answers_.find(completion.requester);
    if (other != answers_.end()) return other->second(completion);
    if (came_late(completion)) return;
    auto entry = mmio_.find(completion.tag);
    rules_.check(entry != mmio_.end(), Rule::UnexpectedCpl, completion,
                 "no read with this tag is outstanding");
    if (entry == mmio_.end()) return;
    MmioRead &read = entry->second;
    bool right = completion_right(read, completion);
    if (right) {
        auto *data = read.access->data.data() + (read.at + read.bytes - read.progress.left());
        memcpy(
            data,
            reinterpret_cast<const uint8_t *>(completion.payload.data()) + read.progress.next() % 4,
            read.progress.brings(completion));
        read.progress.advance(completion);
        if (read.progress.left()) return;
    }
    finish(read, right, now_ + timing.mmio_rtt / 2);
    mmio_.erase(entry);
}

// --- the link ------------------------------------------------------------------------------------

bool RootComplex::due(std::deque<Timed> &queue) {
    if (queue.empty()) return false;
    Timed &next = queue.front();
    if (next.at > now_ + downstream.duration(next.tlp)) return false;
    bool allowed = downstream_credits.allows(next.tlp);
    next.held |= !allowed;
    return allowed;
}

void RootComplex::send(Time ready, Tlp tlp) {
    bool completion = tlp.type == TlpType::Completion;
    downstream_credits.consume(tlp);
    tlp.replayed = faults_.replay_down();
    tlp.malformed |= !completion && faults_.malformed();
    if (tlp.replayed) downstream.corrupt_next();
    Time at = downstream.send(ready, tlp);
    if (tlp.type == TlpType::MemRead && tlp.requester == kHostId)
        mmio_.at(tlp.tag).deadline = at + kMmioTimeout;
    (completion ? completions_in_ : requests_in_).push_back({at, std::move(tlp)});
}

// The hard block's own report of a completion timeout, which does not cross the link. It waits
// behind the completions that have arrived.
bool RootComplex::report(Tlp end) {
    Time at = completions_in_.empty() ? now_ : std::max(now_, completions_in_.back().at);
    completions_in_.push_back({at, std::move(end)});
    return true;
}

// Sends the TLP that has been ready for longest; a completion goes first in a tie. false: no TLP is
// due.
bool RootComplex::send_next() {
    std::deque<Timed> *from = nullptr;
    for (auto *queue : {&requests_out_, &others_out_})
        if (due(*queue) && (!from || queue->front().at < from->front().at)) from = queue;
    if (!completer_.empty() && (!from || completer_.next_at() <= from->front().at)) {
        Time ready = completer_.next_at(), duration = downstream.duration(completer_.next());
        bool timeout = completer_.next().rc_error == kRcTimeout;
        if (ready <= now_ + (timeout ? 0 : duration)) {
            if (timeout) return report(completer_.take());
            send(ready - std::min(ready, duration), completer_.take());
            return true;
        }
    }
    if (!from) return false;
    Time ready = from->front().held ? std::max(from->front().at, now_) : from->front().at;
    send(ready, take(*from));
    return true;
}

void RootComplex::run(Time now) {
    now_ = now;
    upstream_credits.update(now);
    downstream_credits.update(now);
    if (!transmit_.empty()) send_upstream();
    while (arrived(upstream_, now) && !stalled()) {
        Time latency = downstream.update_latency();
        upstream_credits.release(upstream_.front().tlp, now + latency);
        handle(take(upstream_));
    }
    while (send_next()) {
    }
    if (!mmio_.empty()) expire_reads();
    while (!finished_.empty() && finished_.front().at <= now) {
        Finished finished = std::move(finished_.front());
        finished_.pop_front();
        finished.access->done(finished.access->data.data(), finished.access->ok);
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
    return transmit_.empty() && upstream_.empty() && completer_.empty() && requests_out_.empty() &&
           others_out_.empty() && completions_in_.empty() && requests_in_.empty() &&
           finished_.empty() && mmio_.empty();
}

void RootComplex::configure() {
    if (config_.msix_enabled() && !config_.msix_masked())
        messages_until_ = ~Time{0};
    else if (messages_until_ == ~Time{0})
        messages_until_ = now_ + kMessageOnItsWay;
    upstream.train(config_.link());
    downstream.train(config_.link());
    upstream.set_mps(config_.mps());
    downstream.set_mps(config_.mps());
}

void RootComplex::reset() {
    upstream_.clear();
    completer_.reset();
    requests_out_.clear();
    others_out_.clear();
    writes_from_ = 0;
    completions_in_.clear();
    requests_in_.clear();
    transmit_.clear();
    transmit_bytes_ = 0;
    upstream_credits.reset();
    downstream_credits.reset();
    end_mmio();
    late_.clear();
    configure();
}

void RootComplex::function_reset() {
    lost_before_ = now_ + 1;
    completer_.reset();
    requests_out_.clear();
    others_out_.clear();
    completions_in_.clear();
    for (const Timed &lost : requests_in_)
        downstream_credits.release(lost.tlp, now_ + upstream.update_latency());
    requests_in_.clear();
    end_mmio();
    late_.clear();
}

}  // namespace lanebox
