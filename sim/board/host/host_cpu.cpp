// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "host/host_cpu.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "link/numbers.hpp"

namespace lanebox {

namespace {

// The host gives an MMIO read up after 50 us, the shortest timeout of a real root complex.
constexpr Time kTimeout = 50'000 * kNanosecond;
// While this many MMIO read TLPs are in flight, the board takes no further message of the client.
// One access of up to 4 KiB may become several read TLPs, so more than this many can be in flight.
// The limit is low enough that the last one is answered before its timeout.
constexpr unsigned kReads = 32;
// The number of timed-out reads that are kept, so that their late completions are recognised. An
// older read is forgotten, and its tag is used again.
constexpr size_t kLateReads = 128;
// The deadline of an MMIO read that has not been sent on the link yet: such a read never times out.
constexpr Time kNotSent = ~Time{0};

// Returns how many bytes the request has that begins at `address`, if `left` bytes of the access
// are to go. The dwords of the request hold at most `most` bytes, and it does not cross a 4 KiB
// boundary.
unsigned request_bytes(uint64_t address, unsigned left, unsigned most) {
    constexpr unsigned kPage = numbers::kPageBytes;
    unsigned to_page = kPage - static_cast<unsigned>(address % kPage);
    return std::min({left, most - static_cast<unsigned>(address % 4), to_page});
}

}  // namespace

Tlp HostCpu::request(TlpType type, uint64_t address, unsigned bytes) {
    ByteEnables enables = byte_enables(address, bytes);
    Tlp tlp;
    tlp.type = type;
    tlp.address = address & ~uint64_t{3};
    tlp.dwords = enables.dwords;
    tlp.first_be = enables.first;
    tlp.last_be = enables.last;
    tlp.requester = kProcessorId;
    return tlp;
}

std::deque<HostCpu::Late>::iterator HostCpu::late(uint8_t tag) {
    return std::find_if(late_.begin(), late_.end(), [tag](const Late &l) { return l.tag == tag; });
}

// Returns a tag that neither an outstanding read nor a remembered late read has.
uint8_t HostCpu::free_tag() {
    while (late_.size() > kLateReads) late_.pop_front();
    while (reads_.count(next_tag_) || late(next_tag_) != late_.end()) next_tag_++;
    return next_tag_++;
}

void HostCpu::read(unsigned bar, uint64_t offset, unsigned bytes, ReadDone done) {
    uint64_t address = config_.bar(bar).base + offset;
    auto access = std::make_shared<Access>();
    access->data.assign(bytes, 0xff);
    access->reads = 0;
    access->done = std::move(done);
    for (unsigned at = 0; at < bytes;) {
        unsigned count = request_bytes(address + at, bytes - at, config_.mrrs());
        counters_.mmio_reads++;
        Tlp tlp = request(TlpType::MemRead, address + at, count);
        tlp.tag = free_tag();
        reads_.insert({tlp.tag, {{address + at, count}, at, count, kNotSent, access}});
        access->reads++;
        requests.push_back({now_ + timing_.mmio_rtt / 2, std::move(tlp)});
        at += count;
    }
}

void HostCpu::write(unsigned bar, uint64_t offset, const void *data, unsigned bytes) {
    uint64_t address = config_.bar(bar).base + offset;
    for (unsigned at = 0; at < bytes;) {
        unsigned count = request_bytes(address + at, bytes - at, config_.mps());
        counters_.mmio_writes++;
        Tlp tlp = request(TlpType::MemWrite, address + at, count);
        tlp.payload.assign(tlp.dwords, 0);
        memcpy(reinterpret_cast<uint8_t *>(tlp.payload.data()) + (address + at) % 4,
               static_cast<const uint8_t *>(data) + at, count);
        faults_.on_mmio_write(tlp);
        requests.push_back({now_ + timing_.mmio_rtt / 2, std::move(tlp)});
        at += count;
    }
}

bool HostCpu::full() const {
    return reads_.size() >= kReads;
}

void HostCpu::sent(const Tlp &request, Time at) {
    if (request.type == TlpType::MemRead && request.requester == kProcessorId)
        reads_.at(request.tag).deadline = at + kTimeout;
}

// --- answers -------------------------------------------------------------------------------------

// Ends one read TLP. When it was the last one of its access, software gets the answer at time `at`.
// With `ok` false, software reads all ones in the bytes that this TLP covers.
void HostCpu::finish(const Read &read, bool ok, Time at) {
    Access &access = *read.access;
    if (!ok) {
        std::fill_n(access.data.begin() + read.at, read.bytes, uint8_t{0xff});
        access.ok = false;
        counters_.mmio_errors++;
    }
    if (--access.reads == 0) finished_.push_back({at, read.access});
}

void HostCpu::lose() {
    requests.clear();
    for (const auto &[tag, read] : reads_) finish(read, false, now_);
    reads_.clear();
    late_.clear();
}

// Ends with all ones each read TLP whose 50 us are over, and remembers its tag for a late answer.
void HostCpu::expire() {
    for (auto entry = reads_.begin(); entry != reads_.end();) {
        if (entry->second.deadline > now_) {
            ++entry;
            continue;
        }
        counters_.completion_timeouts++;
        finish(entry->second, false, now_);
        late_.push_back({entry->first, entry->second.progress});
        entry = reads_.erase(entry);
    }
}

// Returns true if a completion succeeded and is the one that must come next for `read`. A
// successful completion with wrong fields breaks the rule CplByteCount.
bool HostCpu::right(const Read &read, const Tlp &completion) {
    if (completion.status != static_cast<uint8_t>(CplStatus::Success)) return false;
    std::string what = read.progress.wrong(completion, config_.mps());
    if (what.empty() && completion.requester != kProcessorId)
        what = "requester must be " + std::to_string(kProcessorId);
    if (!what.empty()) rules_.broken(Rule::CplByteCount, completion, what);
    return what.empty();
}

// Returns true if the completion answers a read that has timed out. The completion is then dropped,
// as a real root complex does.
bool HostCpu::came_late(const Tlp &completion) {
    auto entry = late(completion.tag);
    if (entry == late_.end()) return false;
    ReadProgress &read = entry->progress;
    if (completion.status || !read.wrong(completion, config_.mps()).empty())
        late_.erase(entry);
    else if (read.advance(completion); !read.left())
        late_.erase(entry);
    return true;
}

void HostCpu::completion(const Tlp &completion) {
    if (came_late(completion)) return;
    auto entry = reads_.find(completion.tag);
    rules_.check(entry != reads_.end(), Rule::UnexpectedCpl, completion,
                 "no read with this tag is outstanding");
    if (entry == reads_.end()) return;
    Read &read = entry->second;
    bool ok = right(read, completion);
    if (ok) {
        auto *data = read.access->data.data() + (read.at + read.bytes - read.progress.left());
        memcpy(
            data,
            reinterpret_cast<const uint8_t *>(completion.payload.data()) + read.progress.next() % 4,
            read.progress.brings(completion));
        read.progress.advance(completion);
        if (read.progress.left()) return;
    }
    finish(read, ok, now_ + timing_.mmio_rtt / 2);
    reads_.erase(entry);
}

void HostCpu::run() {
    if (!reads_.empty()) expire();
    while (!finished_.empty() && finished_.front().at <= now_) {
        Finished finished = std::move(finished_.front());
        finished_.pop_front();
        finished.access->done(finished.access->data.data(), finished.access->ok);
    }
}

}  // namespace lanebox
