// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "ideal/users.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "block/descriptor.hpp"

namespace lanebox {

namespace {

constexpr unsigned kPeerReads = 128;
// The host keeps this many requests to the card ready at the root complex.
constexpr size_t kAhead = 8;
constexpr uint32_t kMemRead = 0, kMemWrite = 1;

void expect(bool holds, const char *what, uint64_t address) {
    if (!holds) throw std::runtime_error(std::string(what) + " at " + std::to_string(address));
}

uint64_t place(uint64_t count) {
    return kAbove4G + count % kBufferBytes;
}

std::vector<uint32_t> request_packet(uint32_t type, uint64_t address, unsigned bytes, uint8_t tag) {
    return {static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32),
            bytes / 4 | type << 11, tag};
}

void append_pattern(std::vector<uint32_t> &packet, uint64_t address, unsigned bytes) {
    for (unsigned at = 0; at < bytes; at += 4) packet.push_back(pattern(address + at));
}

void check_pattern(const uint32_t *data, uint64_t address, unsigned bytes) {
    for (unsigned at = 0; at < bytes; at += 4)
        expect(data[at / 4] == pattern(address + at), "wrong data", address + at);
}

// Returns the beat that `source` offers at this clock edge. If the hard block is ready, the source
// goes on to its next beat.
Beat offer(BeatSource &source, bool ready) {
    Beat beat = source.beat();
    if (beat.valid && ready) source.taken();
    return beat;
}

void drive_rq(BeatSource &source, const PinsOut &out, PinsIn &in, unsigned bytes) {
    in.rq_first_be = 0xf;
    in.rq_last_be = bytes > 4 ? 0xf : 0;
    in.rq = offer(source, out.rq_ready);
}

Tlp peer_request(TlpType type, uint64_t address, unsigned bytes, uint8_t tag) {
    Tlp tlp;
    tlp.type = type;
    tlp.address = address;
    tlp.dwords = bytes / 4;
    tlp.last_be = bytes > 4 ? 0xf : 0;
    tlp.requester = kPeerId;
    tlp.tag = tag;
    if (type == TlpType::MemWrite) append_pattern(tlp.payload, address, bytes);
    return tlp;
}

}  // namespace

// --- RQ ------------------------------------------------------------------------------------------

void C2hUser::drive(const PinsOut &out, PinsIn &in) {
    if (!rq_.active()) {
        uint64_t address = place(written_);
        auto packet = request_packet(kMemWrite, address, bytes_, 0);
        append_pattern(packet, address, bytes_);
        rq_.load(std::move(packet), kRequestDescriptorDwords);
        written_ += bytes_;
    }
    drive_rq(rq_, out, in, bytes_);
}

// --- RC ------------------------------------------------------------------------------------------

H2cUser::H2cUser(unsigned reads, bool straddle) : straddle_(straddle) {
    for (unsigned tag = 0; tag < reads; tag++) free_tags_.push_back(static_cast<uint8_t>(tag));
}

void H2cUser::request(const PinsOut &out, PinsIn &in) {
    if (!rq_.active() && !free_tags_.empty()) {
        uint8_t tag = free_tags_.front();
        free_tags_.pop_front();
        next_address_[tag] = place(asked_);
        rq_.load(request_packet(kMemRead, next_address_[tag], kReadBytes, tag),
                 kRequestDescriptorDwords);
        asked_ += kReadBytes;
    }
    drive_rq(rq_, out, in, kReadBytes);
}

void H2cUser::append(const PinsOut &out, unsigned from, unsigned to) {
    packet_.insert(packet_.end(), out.rc.data.begin() + from, out.rc.data.begin() + to);
}

void H2cUser::finish_packet() {
    auto tag = static_cast<uint8_t>(packet_.at(2));
    unsigned bytes = (packet_[1] & 0x7ff) * 4;
    expect(packet_.size() == kCompletionDescriptorDwords + bytes / 4, "wrong length",
           next_address_[tag]);
    check_pattern(packet_.data() + kCompletionDescriptorDwords, next_address_[tag], bytes);
    next_address_[tag] += bytes;
    if (packet_[0] >> 30 & 1) free_tags_.push_back(tag);
    packet_.clear();
}

void H2cUser::take_beat(const PinsOut &out) {
    unsigned count = 0;
    while (count < kBeatDwords && (out.rc.keep >> count & 1)) count++;
    append(out, 0, count);
    if (out.rc.last) finish_packet();
}

// Takes a beat of RC with straddle: sof and eof say where completions begin and end; tkeep and
// tlast are constant.
void H2cUser::take_straddled(const PinsOut &out) {
    constexpr unsigned kSecond = 4;
    expect(out.rc.keep == 0xff && !out.rc.last, "tkeep or tlast driven while straddling", 0);
    bool continues = !packet_.empty();
    unsigned end0 = (out.rc_eof0 >> 1) + 1u, end1 = (out.rc_eof1 >> 1) + 1u;
    expect(continues || (out.rc_sof & 1), "a beat without a start", 0);
    append(out, 0, out.rc_eof0 & 1 ? end0 : kBeatDwords);
    if (!(out.rc_eof0 & 1)) return;
    finish_packet();
    bool second = continues ? out.rc_sof & 1 : out.rc_sof & 2;
    expect(!second || end0 <= kSecond, "a second start too early", 0);
    if (!second) return;
    append(out, kSecond, out.rc_eof1 & 1 ? end1 : kBeatDwords);
    if (out.rc_eof1 & 1) finish_packet();
}

void H2cUser::drive(const PinsOut &out, PinsIn &in) {
    if (out.rc.valid) straddle_ ? take_straddled(out) : take_beat(out);
    in.rc_ready = true;
    request(out, in);
}

// --- CC ------------------------------------------------------------------------------------------

Answerer::Answerer(RootComplex &root, unsigned bytes) : bytes_(bytes) {
    for (unsigned tag = 0; tag < kPeerReads; tag++) free_tags_.push_back(static_cast<uint8_t>(tag));
    root.answer_to(kPeerId, [this](const Tlp &completion) { check(completion); });
}

void Answerer::check(const Tlp &completion) {
    uint64_t address = address_[completion.tag];
    expect(completion.payload.size() * 4 == bytes_, "wrong length", address);
    check_pattern(completion.payload.data(), address, bytes_);
    free_tags_.push_back(completion.tag);
}

void Answerer::host(RootComplex &root) {
    while (root.others_waiting() < kAhead && !free_tags_.empty()) {
        uint8_t tag = free_tags_.front();
        free_tags_.pop_front();
        address_[tag] = place(asked_);
        root.request(peer_request(TlpType::MemRead, address_[tag], bytes_, tag));
        asked_ += bytes_;
    }
}

void Answerer::drive(const PinsOut &out, PinsIn &in) {
    if (out.cq.valid) {
        const auto &request = out.cq.data;
        uint64_t address = uint64_t{request[1]} << 32 | request[0];
        std::vector<uint32_t> packet = {(request[0] & 0x7f) | bytes_ << 16,
                                        bytes_ / 4 | uint32_t{kPeerId} << 16, request[3] & 0xff};
        append_pattern(packet, address, bytes_);
        answers_.push_back(std::move(packet));
    }
    in.cq_ready = true;
    in.np_req = 1;
    if (!cc_.active() && !answers_.empty()) {
        cc_.load(std::move(answers_.front()), kCompletionDescriptorDwords);
        answers_.pop_front();
    }
    in.cc = offer(cc_, out.cc_ready);
}

// --- CQ ------------------------------------------------------------------------------------------

void Target::host(RootComplex &root) {
    for (; root.others_waiting() < kAhead; sent_ += bytes_)
        root.request(peer_request(TlpType::MemWrite, place(sent_), bytes_, 0));
}

void Target::drive(const PinsOut &out, PinsIn &in) {
    in.cq_ready = true;
    if (!out.cq.valid || !cq_.accept(out.cq)) return;
    std::vector<uint32_t> packet = cq_.take();
    expect(packet.size() == kRequestDescriptorDwords + bytes_ / 4, "wrong length", taken_);
    check_pattern(packet.data() + kRequestDescriptorDwords, place(taken_), bytes_);
    taken_ += bytes_;
}

}  // namespace lanebox
