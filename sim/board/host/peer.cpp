// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "host/peer.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "link/numbers.hpp"

namespace lanebox {

namespace {

// Timeout of a read by the peer. It is as long as 1 ms, since 256 reads may queue up.
constexpr Time kTimeout = 1'000'000 * kNanosecond;
// The most requests of the peer that wait at the root complex. The peer sends no further one until
// the number falls below this limit.
constexpr size_t kQueue = 4;
constexpr unsigned kPage = numbers::kPageBytes;

void require(bool holds, const std::string &rule) {
    if (!holds) throw std::invalid_argument("peer: " + rule);
}

}  // namespace

uint32_t peer_pattern(uint64_t offset) {
    return (static_cast<uint32_t>(offset / 4) + 1) * 0x9e3779b1u;
}

Peer::Peer(RootComplex &root, const ConfigSpace &config, Rules &rules)
    : root_(root), config_(config), rules_(rules) {
    root.answer_to(kPeerId, [this](const Tlp &completion) { answered(completion); });
}

void Peer::start(const Job &job) {
    uint64_t bar_bytes = config_.bar(job.bar).bytes;
    unsigned most = job.write ? config_.mps() : config_.mrrs();
    require(idle(), "the job before is not done yet");
    require(config_.memory_enabled(), "COMMAND has memory space off, the card has no address");
    require(bar_bytes, "BAR" + std::to_string(job.bar) + " does not exist");
    require(job.size >= 4 && job.size <= most && job.size % 4 == 0,
            "SIZE " + std::to_string(job.size) + " must be a multiple of 4 from 4 to " +
                std::to_string(most) + (job.write ? " (MPS)" : " (MRRS)"));
    require(job.offset % 4 == 0 && job.offset < bar_bytes && job.offset % kPage + job.size <= kPage,
            "OFFSET " + std::to_string(job.offset) +
                " must be a multiple of 4 in the BAR, and the request inside its 4 KiB page");
    require(job.count >= 1, "COUNT must be 1 or more");
    require(job.tags >= 1 && job.tags <= numbers::kReadTags,
            "TAGS must be from 1 to " + std::to_string(numbers::kReadTags));
    job_ = job;
    counters_ = {};
    left_ = job.count;
    at_ = job.offset;
    next_at_ = 0;
    free_tags_.clear();
    for (unsigned tag = job.tags; tag-- > 0;) free_tags_.push_back(static_cast<uint8_t>(tag));
}

void Peer::reset() {
    counters_.errors += reads_.size();
    reads_.clear();
    left_ = 0;
}

bool Peer::may_issue() const {
    return left_ && now_ >= next_at_ && root_.others_waiting() < kQueue &&
           (job_.write || !free_tags_.empty());
}

Tlp Peer::request(uint64_t address) const {
    Tlp tlp;
    tlp.type = job_.write ? TlpType::MemWrite : TlpType::MemRead;
    tlp.address = address;
    tlp.dwords = job_.size / 4;
    tlp.last_be = tlp.dwords > 1 ? 0xf : 0;
    tlp.requester = kPeerId;
    for (unsigned i = 0; job_.write && i < tlp.dwords; i++)
        tlp.payload.push_back(peer_pattern(at_ + 4 * i));
    return tlp;
}

void Peer::issue() {
    Tlp tlp = request(config_.bar(job_.bar).base + at_);
    if (!job_.write) {
        tlp.tag = free_tags_.back();
        free_tags_.pop_back();
        reads_.insert({tlp.tag, {{tlp.address, job_.size}, now_ + kTimeout}});
    }
    if (counters_.issued++ == 0) counters_.first = now_;
    if (job_.write) {
        counters_.completed++;
        counters_.bytes += job_.size;
        counters_.last = now_;
    }
    root_.request(std::move(tlp));
    left_--;
    next_at_ = now_ + job_.gap;
    at_ += job_.size;
    if (at_ % kPage + job_.size > kPage || at_ / kPage != job_.offset / kPage) at_ = job_.offset;
}

void Peer::run(Time now) {
    now_ = now;
    while (may_issue()) issue();
    if (!reads_.empty()) expire();
}

void Peer::expire() {
    for (auto entry = reads_.begin(); entry != reads_.end();) {
        auto read = entry++;
        if (read->second.deadline > now_) continue;
        counters_.timeouts++;
        finish(read->first);
    }
}

void Peer::finish(uint8_t tag) {
    reads_.erase(tag);
    free_tags_.push_back(tag);
    counters_.last = now_;
}

void Peer::compare(const ReadProgress &read, const Tlp &completion) {
    uint64_t offset = read.next() - config_.bar(job_.bar).base;
    for (unsigned i = 0; i < completion.dwords; i++)
        counters_.mismatches += completion.payload[i] != peer_pattern(offset + 4 * i);
}

void Peer::answered(const Tlp &completion) {
    auto entry = reads_.find(completion.tag);
    if (entry == reads_.end()) {
        counters_.errors++;
        return rules_.broken(Rule::UnexpectedCpl, completion, "the peer has no read with this tag");
    }
    ReadProgress &read = entry->second.progress;
    std::string what = completion.status ? "status " + std::to_string(completion.status)
                                         : read.wrong(completion, config_.mps());
    if (!what.empty()) {
        counters_.errors++;
        finish(completion.tag);
        if (!completion.status) rules_.broken(Rule::CplByteCount, completion, "peer: " + what);
        return;
    }
    compare(read, completion);
    counters_.bytes += read.brings(completion);
    read.advance(completion);
    if (read.left()) return;
    counters_.completed++;
    finish(completion.tag);
}

}  // namespace lanebox
