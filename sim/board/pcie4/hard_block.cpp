// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "pcie4/hard_block.hpp"

#include <algorithm>
#include <utility>

#include "pcie4/descriptor.hpp"

namespace lanebox {

namespace {

constexpr unsigned kBar0ApertureBits = 17;     // 128 KiB
constexpr unsigned kDefaultTags = 32;          // without extended tags
constexpr unsigned kCompletionsInFlight = 64;  // PG213, 256 bit without straddle
constexpr Time kDrain = 256 * kCycle;          // longer than any path into the gateware
constexpr Time kSettle = 4 * kCycle;           // for what leaves it: nothing comes after it

void count_tlp(StreamCounters &counters, const Tlp &tlp) {
    counters.tlps++;
    counters.payload_bytes += tlp.payload_bytes();
}

// Base specification 2.2.5: two quadword-aligned dwords may have holes, more may not.
bool legal_enables(const Tlp &tlp) {
    if (tlp.dwords <= 1) return tlp.last_be == 0;
    unsigned first = tlp.first_be, last = tlp.last_be;
    if (first == 0 || last == 0) return false;
    if (tlp.dwords == 2 && tlp.address % 8 == 0) return true;
    return ((first | (first - 1)) & 0xf) == 0xf && (last & (last + 1)) == 0;
}

}  // namespace

HardBlock::HardBlock(RootComplex &root, const ConfigSpace &config, Rules &rules, TlpLog &log,
                     const Settings &settings)
    : root_(root),
      config_(config),
      rules_(rules),
      log_(log),
      settings_(settings),
      random_(settings.seed) {
    reset();
}

void HardBlock::reset() {
    rq_sink_.reset();
    cc_sink_.reset();
    cq_source_ = {};
    rc_source_ = {};
    rq_ready_ = cc_ready_ = false;
    np_credits_ = 0;
    tags_.clear();
}

void HardBlock::clear_counters() {
    cq_ = cc_ = rq_ = rc_ = {};
}

bool HardBlock::held_back() {
    return settings_.stall_percent && random_() % 100 < settings_.stall_percent;
}

bool HardBlock::idle(Time now) const {
    return root_.idle() && now >= quiet_from_;
}

void HardBlock::active(Time now, Time lasting) {
    quiet_from_ = std::max(quiet_from_, now + lasting);
}

// --- from the gateware ---------------------------------------------------------------------------

void HardBlock::accept_rq(Time now, const PinsIn &in) {
    if (!in.rq.valid) {
        rules_.check(!rq_sink_.mid_packet(), Rule::TvalidGap, {}, "s_axis_rq_tvalid fell mid-TLP");
        return;
    }
    active(now, kSettle);
    if (!rq_ready_) {
        rq_.stalls++;
        return;
    }
    rq_.beats++;
    if (!rq_sink_.mid_packet()) {
        rq_first_be_ = in.rq_first_be;
        rq_last_be_ = in.rq_last_be;
    }
    if (!rq_sink_.accept(in.rq)) return;
    bool keep_broken = rq_sink_.keep_broken();
    Tlp tlp = decode_rq(rq_sink_.take(), rq_first_be_, rq_last_be_);
    tlp.pins_at = now;
    unsigned expected = tlp.type == TlpType::MemWrite ? tlp.dwords : 0;
    rules_.check(!keep_broken && tlp.payload.size() == expected, Rule::KeepMismatch, tlp,
                 "s_axis_rq_tkeep does not cover descriptor and dword count exactly");
    check_request(tlp);
    count_tlp(rq_, tlp);
    log_.write("RQ", now, tlp);
    root_.receive(std::move(tlp));
}

void HardBlock::check_request(const Tlp &tlp) {
    bool known = tlp.type == TlpType::MemRead || tlp.type == TlpType::MemWrite;
    rules_.check(known, Rule::RequestType, tlp, "neither a memory read nor a memory write");
    if (!known) return;
    rules_.check(config_.bus_master(), Rule::BusMasterOff, tlp, "COMMAND has bus master off");
    rules_.check((tlp.address & 0xfff) + tlp.dwords * 4 <= 0x1000, Rule::Crosses4k, tlp,
                 "address and length cross a 4 KiB boundary");
    rules_.check(legal_enables(tlp), Rule::ByteEnables, tlp, "illegal first or last byte enables");
    if (tlp.type == TlpType::MemRead) return check_read(tlp);
    rules_.check(tlp.dwords * 4 <= config_.mps(), Rule::PayloadAboveMps, tlp,
                 "payload above Device Control's MPS");
}

void HardBlock::check_read(const Tlp &tlp) {
    rules_.check(tlp.dwords * 4 <= config_.mrrs(), Rule::ReadAboveMrrs, tlp,
                 "length above Device Control's MRRS");
    rules_.check(tlp.tag < kDefaultTags || config_.extended_tags(), Rule::TagRange, tlp,
                 "tag above 31 while extended tags are off");
    rules_.check(tags_.insert(tlp.tag).second, Rule::TagInUse, tlp,
                 "the tag belongs to a read that is outstanding");
}

void HardBlock::accept_cc(Time now, const PinsIn &in) {
    if (!in.cc.valid) {
        rules_.check(!cc_sink_.mid_packet(), Rule::TvalidGap, {}, "s_axis_cc_tvalid fell mid-TLP");
        return;
    }
    active(now, kSettle);
    if (!cc_ready_) {
        cc_.stalls++;
        return;
    }
    cc_.beats++;
    if (!cc_sink_.accept(in.cc)) return;
    bool keep_broken = cc_sink_.keep_broken();
    Tlp tlp = decode_cc(cc_sink_.take());
    tlp.pins_at = now;
    rules_.check(!keep_broken, Rule::KeepMismatch, tlp, "s_axis_cc_tkeep has holes");
    check_completion(tlp);
    count_tlp(cc_, tlp);
    log_.write("CC", now, tlp);
    root_.receive(std::move(tlp));
}

void HardBlock::check_completion(const Tlp &tlp) {
    constexpr unsigned kRequestInformation = 5;  // dwords that follow a UR or CA descriptor
    if (tlp.status == static_cast<uint8_t>(CplStatus::Success)) {
        rules_.check(tlp.payload.size() == tlp.dwords, Rule::KeepMismatch, tlp,
                     "s_axis_cc_tkeep does not cover descriptor and dword count exactly");
    } else {
        rules_.check(tlp.payload.size() == kRequestInformation, Rule::CplErrorForm, tlp,
                     "an error completion must carry the request's information, 8 dwords in all");
    }
}

void HardBlock::take_interrupt(Time now, const PinsIn &in, PinsOut &out) {
    out.msi_sent = out.msi_fail = false;
    if (!in.msi_int) return;
    active(now, kDrain);
    Tlp message;
    message.type = TlpType::MemWrite;
    message.interrupt = true;
    message.dwords = 1;
    message.pins_at = now;
    message.payload = {0};
    bool enabled = config_.msi_enabled() && config_.bus_master();
    rules_.check(enabled, Rule::MsiDisabled, message, "MSI or bus master is disabled");
    (enabled ? out.msi_sent : out.msi_fail) = true;
    if (!enabled) return;
    log_.write("RQ", now, message);
    root_.receive(std::move(message));
}

// --- to the gateware -----------------------------------------------------------------------------

void HardBlock::show_cq(Time now, const PinsIn &in, PinsOut &out) {
    if (in.np_req & 1) np_credits_ = std::min(np_credits_ + 1, settings_.np_credits);
    if (cq_source_.active()) {
        active(now, kDrain);
        cq_.beats += in.cq_ready;
        cq_.stalls += !in.cq_ready;
        if (in.cq_ready) cq_source_.taken();
    }
    bool credit = root_.request_arrived(now) && (root_.next_request().posted() || np_credits_ > 0);
    if (!cq_source_.active() && credit && !held_back()) {
        Tlp tlp = root_.take_request();
        tlp.pins_at = now;
        if (!tlp.posted()) np_credits_--;
        cq_first_be_ = tlp.first_be;
        cq_last_be_ = tlp.last_be;
        count_tlp(cq_, tlp);
        log_.write("CQ", now, tlp);
        cq_source_.load(encode_cq(tlp, kBar0ApertureBits), kRequestDescriptorDwords, tlp.first_be,
                        tlp.last_be);
    }
    out.cq = cq_source_.beat();
    out.cq_first = cq_source_.first();
    out.cq_first_be = cq_first_be_;
    out.cq_last_be = cq_last_be_;
    out.cq_byte_en = cq_source_.byte_enables();
    out.np_credits = static_cast<uint8_t>(np_credits_);
}

void HardBlock::show_rc(Time now, const PinsIn &in, PinsOut &out) {
    if (rc_source_.active()) {
        active(now, kDrain);
        rc_.beats += in.rc_ready;
        rc_.stalls += !in.rc_ready;
        if (in.rc_ready) rc_source_.taken();
    }
    if (!rc_source_.active() && root_.completion_arrived(now) && !held_back()) {
        bool overflow = root_.completions_waiting(now) >= kCompletionsInFlight;
        Tlp tlp = root_.take_completion();
        tlp.pins_at = now;
        rules_.check(!overflow, Rule::RcCompletions, tlp, "64 or more completions wait for RC");
        if (tlp.request_done) tags_.erase(tlp.tag);
        count_tlp(rc_, tlp);
        log_.write("RC", now, tlp);
        rc_source_.load(encode_rc(tlp), kCompletionDescriptorDwords);
    }
    out.rc = rc_source_.beat();
    out.rc_first = rc_source_.first();
    out.rc_byte_en = rc_source_.byte_enables();
}

void HardBlock::show_ready(Time now, PinsOut &out) {
    bool room = !root_.transmit_full(now);
    out.rq_ready = rq_ready_ = room && !held_back();
    out.cc_ready = cc_ready_ = room && !held_back();
}

void HardBlock::step(Time now, const PinsIn &in, PinsOut &out) {
    accept_rq(now, in);
    accept_cc(now, in);
    take_interrupt(now, in, out);
    root_.run(now);
    show_cq(now, in, out);
    show_rc(now, in, out);
    show_ready(now, out);
}

}  // namespace lanebox
