// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "block/hard_block.hpp"

#include <algorithm>
#include <utility>

#include "block/descriptor.hpp"
#include "block/fc_pins.hpp"

namespace lanebox {

namespace {

// Without straddle, fewer completions than this may be in flight on RC (PG213).
constexpr unsigned kCompletionsInFlight = 64;
// The hard block counts as busy for this time after it has shown a TLP. The gateware takes less
// time to react to the TLP.
constexpr Time kDrain = 256 * kCycle;
// The gateware must end a function level reset within 100 ms (base specification 6.6.2).
constexpr Time kFlrTime = 100'000'000 * kNanosecond;
// The gateware must acknowledge a new power state within 50 us. This limit is the model's own,
// since PG213 states none.
constexpr Time kPowerAckTime = 50'000 * kNanosecond;
// HardBlock::idle() stays false for this time after a beat on RQ or CC.
constexpr Time kSettle = 4 * kCycle;

void count_tlp(StreamCounters &counters, const Tlp &tlp) {
    counters.tlps++;
    counters.payload_bytes += tlp.payload_bytes();
}

// Returns the value of a 4-bit pin, on which 15 means 15 or more.
uint8_t saturated(unsigned count) {
    return static_cast<uint8_t>(std::min(count, 15u));
}

// Returns whether a request's byte enables are legal. By base specification 2.2.5 those of two
// quadword-aligned dwords may have holes, and those of longer requests may not.
bool legal_enables(const Tlp &tlp) {
    if (tlp.dwords <= 1) return tlp.last_be == 0;
    unsigned first = tlp.first_be, last = tlp.last_be;
    if (first == 0 || last == 0) return false;
    if (tlp.dwords == 2 && tlp.address % 8 == 0) return true;
    return ((first | (first - 1)) & 0xf) == 0xf && (last & (last + 1)) == 0;
}

}  // namespace

HardBlock::HardBlock(RootComplex &root, ConfigSpace &config, Rules &rules, TlpLog &log,
                     const Settings &settings)
    : root_(root),
      config_(config),
      rules_(rules),
      log_(log),
      settings_(settings),
      random_(settings.seed),
      transmit_(root.link),
      rc_source_(settings.straddle) {
    reset();
}

void HardBlock::reset() {
    rq_sink_.reset();
    cc_sink_.reset();
    rq_offer_.reset();
    cc_offer_.reset();
    cq_source_ = {};
    rc_source_ = CompletionSource(settings_.straddle);
    log_.abandon();
    rq_from_ = cc_from_ = 0;
    rc_blocked_ = rq_ready_ = cc_ready_ = false;
    np_credits_ = 0;
    power_change_until_ = 0;
    reads_.reset();
    sequence_.clear();
    requests_shown_ = transmit_.requests_sent();
}

void HardBlock::clear_counters() {
    cq_ = cc_ = rq_ = rc_ = {};
}

void HardBlock::begin_flr(Time now) {
    flr_until_ = now + kFlrTime;
    flr_late_ = false;
    power_change_until_ = 0;
    reads_.reset();
    root_.function_reset();
}

// Ends a function level reset when the user drives cfg_flr_done. If the user never does, a real
// host would hang; in the model the reset ends after 100 ms, with a broken rule.
void HardBlock::end_of_flr(Time now, const PinsIn &in) {
    bool late = now >= flr_until_;
    if (!in.flr_done && !late) return;
    flr_late_ = late;
    config_.end_flr();
    rules_.check(!late, Rule::FlrTimeout, {}, "cfg_flr_done did not come within 100 ms");
}

void HardBlock::power_change(Time now, const PinsIn &in) {
    if (!power_change_until_) power_change_until_ = now + kPowerAckTime;
    bool late = now >= power_change_until_;
    if (!in.power_ack && !late) return;
    config_.acknowledge_power_change();
    power_change_until_ = 0;
    rules_.check(!late, Rule::PowerAck, {}, "cfg_power_state_change_ack did not come within 50 us");
}

uint32_t HardBlock::manage(unsigned dword, bool write, uint32_t data) {
    unsigned offset = dword * 4;
    if (write) {
        bool own = (offset >= 0xb0 && offset < 0xc0) || (offset >= 0x480 && offset < 0x500);
        Tlp access;
        access.type = TlpType::Other;
        access.address = offset;
        access.dwords = 1;
        access.payload = {data};
        rules_.check(own, Rule::UserConfig, access, "cfg_mgmt_write outside the user's windows");
    }
    uint32_t value = 0;
    if (offset < ConfigSpace::kSize) config_.read(offset, &value, sizeof value);
    return value;
}

bool HardBlock::idle(Time now) const {
    return root_.idle() && transmit_.empty() && now >= quiet_from_;
}

void HardBlock::active(Time now, Time lasting) {
    quiet_from_ = std::max(quiet_from_, now + lasting);
}

// --- from the gateware ---------------------------------------------------------------------------

void HardBlock::accept_rq(Time now, const PinsIn &in) {
    bool kept = rq_offer_.kept(in.rq, rq_ready_);
    if (!in.rq.valid) {
        rules_.check(!rq_sink_.mid_packet(), Rule::TvalidGap, {}, "s_axis_rq_tvalid fell mid-TLP");
        kept |= rq_sink_.mid_packet();
    }
    rules_.check(kept, Rule::OfferedBeat, {}, "a beat on RQ changed before it was taken");
    if (!in.rq.valid) return;
    if (!rq_from_) rq_from_ = now - kCycle;
    active(now, kSettle);
    if (!rq_ready_) {
        rq_.stalls++;
        return;
    }
    rq_.beats++;
    if (!rq_sink_.mid_packet()) {
        rq_first_be_ = in.rq_first_be;
        rq_last_be_ = in.rq_last_be;
        rq_seq_num_ = in.rq_seq_num;
        rq_lost_ = config_.flr_in_process();
    }
    if (!rq_sink_.accept(in.rq)) return;
    Time from = std::exchange(rq_from_, 0);
    bool keep_broken = rq_sink_.keep_broken();
    Tlp tlp = decode_rq(rq_sink_.take(), rq_first_be_, rq_last_be_);
    tlp.shown_at = from;
    tlp.pins_at = now;
    if (rq_lost_ || config_.flr_in_process()) return;
    unsigned expected = tlp.type == TlpType::MemWrite ? tlp.dwords : 0;
    // Only for a read or a write is it known how many dwords of payload must follow the descriptor.
    bool known = tlp.type != TlpType::Other;
    rules_.check(!keep_broken && (!known || tlp.payload.size() == expected), Rule::KeepMismatch,
                 tlp, "s_axis_rq_tkeep does not cover descriptor and dword count exactly");
    check_request(tlp);
    // The link cannot carry a request of no dwords, so the model drops it.
    if (tlp.dwords == 0) return;
    if (tlp.poisoned && tlp.posted()) config_.report(CardError::PoisonedWrite, nullptr);
    count_tlp(rq_, tlp);
    log_.write("RQ", from, now, tlp);
    sequence_.push_back(rq_seq_num_);
    transmit_.push(std::move(tlp));
}

void HardBlock::check_request(const Tlp &tlp) {
    bool known = tlp.type == TlpType::MemRead || tlp.type == TlpType::MemWrite;
    rules_.check(known, Rule::RequestType, tlp, "neither a memory read nor a memory write");
    rules_.check(!tlp.reserved, Rule::ReservedFields, tlp, "RQ descriptor: a bit that must be 0");
    if (!known) return;
    rules_.check(tlp.dwords != 0, Rule::ZeroLength, tlp, "a request of no dwords");
    if (tlp.dwords == 0) return;
    rules_.check(config_.power_state() == PowerState::D0, Rule::PowerState, tlp,
                 "the function is in D3hot");
    rules_.check(config_.bus_master(), Rule::BusMasterOff, tlp, "COMMAND has bus master off");
    rules_.check(tlp.address % numbers::kPageBytes + tlp.dwords * 4 <= numbers::kPageBytes,
                 Rule::Crosses4k, tlp, "address and length cross a 4 KiB boundary");
    rules_.check(legal_enables(tlp), Rule::ByteEnables, tlp, "illegal first or last byte enables");
    if (tlp.type == TlpType::MemRead) return check_read(tlp);
    rules_.check(tlp.dwords * 4 <= config_.mps(), Rule::PayloadAboveMps, tlp,
                 "payload above Device Control's MPS");
}

void HardBlock::check_read(const Tlp &tlp) {
    rules_.check(tlp.dwords * 4 <= config_.mrrs(), Rule::ReadAboveMrrs, tlp,
                 "length above Device Control's MRRS");
    rules_.check(tlp.tag < numbers::kShortReadTags || config_.extended_tags(), Rule::TagRange, tlp,
                 "tag above 31 while extended tags are off");
    // If the host has disabled the block's completion timeout, the user gives up reads by itself
    // and may then use their tags again. So a tag that is in use breaks no rule then.
    bool given_up = config_.completion_timeout() == 0;
    rules_.check(reads_.reserve(tlp, config_.rcb()) || given_up, Rule::TagInUse, tlp,
                 "the tag belongs to a read that is outstanding");
    rules_.check(
        reads_.fits(settings_.completion_pool), Rule::CompletionSpace, tlp,
        settings_.completion_pool
            ? "outstanding reads may bring more than 2048 headers and data credits together"
            : "outstanding reads may bring more than 256 headers or 2048 data credits");
}

void HardBlock::accept_cc(Time now, const PinsIn &in) {
    bool kept = cc_offer_.kept(in.cc, cc_ready_);
    if (!in.cc.valid) {
        rules_.check(!cc_sink_.mid_packet(), Rule::TvalidGap, {}, "s_axis_cc_tvalid fell mid-TLP");
        kept |= cc_sink_.mid_packet();
    }
    rules_.check(kept, Rule::OfferedBeat, {}, "a beat on CC changed before it was taken");
    if (!in.cc.valid) return;
    if (!cc_from_) cc_from_ = now - kCycle;
    active(now, kSettle);
    if (!cc_ready_) {
        cc_.stalls++;
        return;
    }
    cc_.beats++;
    if (!cc_sink_.mid_packet()) cc_lost_ = config_.flr_in_process();
    if (!cc_sink_.accept(in.cc)) return;
    Time from = std::exchange(cc_from_, 0);
    bool keep_broken = cc_sink_.keep_broken();
    Tlp tlp = decode_cc(cc_sink_.take());
    tlp.pins_at = now;
    if (cc_lost_ || config_.flr_in_process()) return;
    rules_.check(!keep_broken, Rule::KeepMismatch, tlp, "s_axis_cc_tkeep has holes");
    check_completion(tlp);
    // An error completion carries the request's information on CC, but no data on the link.
    if (tlp.status) tlp.payload.clear();
    count_tlp(cc_, tlp);
    log_.write("CC", from, now, tlp);
    transmit_.push(std::move(tlp));
}

void HardBlock::check_completion(const Tlp &tlp) {
    // A UR or CA completion on CC repeats five dwords of its request behind the descriptor (PG213).
    constexpr unsigned kRequestInformation = 5;
    rules_.check(!tlp.reserved, Rule::ReservedFields, tlp,
                 "CC descriptor: a bit that must be 0, or a status that does not exist");
    if (tlp.status == static_cast<uint8_t>(CplStatus::Success)) {
        rules_.check(tlp.payload.size() == tlp.dwords, Rule::KeepMismatch, tlp,
                     "s_axis_cc_tkeep does not cover descriptor and dword count exactly");
    } else {
        rules_.check(tlp.payload.size() == kRequestInformation, Rule::CplErrorForm, tlp,
                     "an error completion must carry the request's information, 8 dwords in all");
        Tlp request = refused_request(tlp);
        bool aborted = tlp.status == static_cast<uint8_t>(CplStatus::CompleterAbort);
        config_.report(aborted ? CardError::CompleterAbort : CardError::UnsupportedRequest,
                       &request);
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
    if (config_.flr_in_process()) return;
    bool awake = config_.power_state() == PowerState::D0;
    rules_.check(awake, Rule::PowerState, message, "the function is in D3hot");
    bool enabled = awake && config_.msi_enabled() && config_.bus_master();
    rules_.check(enabled || !awake, Rule::MsiDisabled, message, "MSI or bus master is disabled");
    (enabled ? out.msi_sent : out.msi_fail) = true;
    if (!enabled) return;
    log_.write("RQ", now - kCycle, now, message);
    transmit_.push(std::move(message));
}

// --- to the gateware -----------------------------------------------------------------------------

void HardBlock::show_cq(Time now, const PinsIn &in, PinsOut &out) {
    if (in.np_req & 1) np_credits_ = std::min(np_credits_ + 1, settings_.np_credits);
    if (cq_source_.active()) {
        active(now, kDrain);
        cq_.beats += in.cq_ready;
        cq_.stalls += !in.cq_ready;
        if (in.cq_ready) cq_source_.taken();
        if (!cq_source_.active()) log_.end("CQ", now);
    }
    bool reads = np_credits_ > 0;
    if (!cq_source_.active() && root_.link.request_at_card(reads) && !held_back())
        load_cq(now, root_.link.take_request(reads));
    out.cq = cq_source_.beat();
    out.cq_first = cq_source_.first();
    out.cq_first_be = cq_first_be_;
    out.cq_last_be = cq_last_be_;
    out.cq_byte_en = cq_source_.byte_enables();
    out.np_credits = static_cast<uint8_t>(np_credits_);
}

void HardBlock::load_cq(Time now, Tlp tlp) {
    tlp.pins_at = now;
    if (tlp.replayed) config_.report(CardError::BadTlp, nullptr);
    if (tlp.malformed) return config_.report(CardError::MalformedTlp, &tlp);
    if (!tlp.posted()) np_credits_--;
    cq_first_be_ = tlp.first_be;
    cq_last_be_ = tlp.last_be;
    count_tlp(cq_, tlp);
    log_.begin("CQ", now, tlp);
    ConfigSpace::Bar bar = config_.claims(tlp.address);
    cq_source_.load(encode_cq(tlp, bar.id, bar.aperture_bits()), kRequestDescriptorDwords,
                    tlp.first_be, tlp.last_be);
}

void HardBlock::show_rc(Time now, const PinsIn &in, PinsOut &out) {
    if (rc_source_.showing()) {
        active(now, kDrain);
        rc_.beats += in.rc_ready;
        rc_.stalls += !in.rc_ready;
        if (in.rc_ready)
            for (unsigned i = rc_source_.taken(); i-- > 0;) log_.end("RC", now);
        else if (!rc_blocked_)
            rules_.flag(Rule::RcBackPressure, rc_last_, "m_axis_rc_tready was low");
        rc_blocked_ = !in.rc_ready;
    }
    while (rc_source_.room() && root_.link.completion_at_card() && !held_back()) load_rc(now);
    const RcBeat &shown = rc_source_.show();
    out.rc = shown.beat;
    out.rc_sof = shown.sof;
    out.rc_eof0 = shown.eof0;
    out.rc_eof1 = shown.eof1;
    out.rc_byte_en = shown.byte_en;
}

// Records in configuration space the errors of a completion that the card has received.
void HardBlock::report(const Tlp &tlp) {
    if (tlp.replayed) config_.report(CardError::BadTlp, nullptr);
    if (tlp.rc_error == kRcTimeout) return config_.report(CardError::CompletionTimeout, nullptr);
    if (tlp.rc_error == kRcInvalidTag) config_.report(CardError::UnexpectedCompletion, &tlp);
    if (tlp.poisoned) config_.report(CardError::PoisonedCompletion, &tlp);
    if (tlp.status == static_cast<uint8_t>(CplStatus::UnsupportedRequest))
        config_.report(CardError::RefusedByHost, nullptr);
    if (tlp.status == static_cast<uint8_t>(CplStatus::CompleterAbort))
        config_.report(CardError::AbortedByHost, nullptr);
}

void HardBlock::load_rc(Time now) {
    bool overflow = !settings_.straddle && root_.link.completions_at_card() >= kCompletionsInFlight;
    Tlp tlp = root_.link.take_completion();
    tlp.pins_at = now;
    if (tlp.malformed) return config_.report(CardError::MalformedTlp, &tlp);
    rules_.check(!overflow, Rule::RcCompletions, tlp, "64 or more completions wait for RC");
    reads_.release(tlp);
    if (tlp.rc_error || tlp.status || tlp.poisoned || tlp.replayed) report(tlp);
    count_tlp(rc_, tlp);
    log_.begin("RC", now, tlp);
    rc_source_.load(encode_rc(tlp), kCompletionDescriptorDwords);
    rc_last_ = std::move(tlp);
}

void HardBlock::show_ready(Time now, PinsOut &out) {
    out.rq_ready = rq_ready_ = !transmit_.full(now, true) && !held_back();
    out.cc_ready = cc_ready_ = !transmit_.full(now, false) && !held_back();
}

// Shows up to two sequence numbers a cycle, of requests that have left for the link. From then on
// no completion of the user passes the request (PG213, pcie_rq_seq_num).
void HardBlock::show_sequence(PinsOut &out) {
    for (SeqNum &shown : out.seq_num) {
        shown = {};
        if (requests_shown_ == transmit_.requests_sent() || sequence_.empty()) continue;
        shown = {sequence_.front(), true};
        sequence_.pop_front();
        requests_shown_++;
    }
}

void HardBlock::show_credits(const PinsIn &in, PinsOut &out) {
    unsigned tags = config_.extended_tags() ? numbers::kReadTags : numbers::kShortReadTags;
    out.tag_av = saturated(tags - std::min(tags, reads_.reads()));
    Credits reads = root_.link.upstream_credits.available(CreditType::NonPosted);
    out.nph_av = saturated(reads.headers);
    out.npd_av = saturated(reads.data);
    uint64_t changes =
        root_.link.upstream_credits.changes() + root_.link.downstream_credits.changes();
    if (changes != fc_changes_ || in.fc_sel != fc_select_)
        fc_ = fc_pins(root_.link.upstream_credits, root_.link.downstream_credits, in.fc_sel);
    fc_changes_ = changes;
    fc_select_ = in.fc_sel;
    out.fc = fc_;
}

void HardBlock::step(Time now, const PinsIn &in, PinsOut &out) {
    if (config_.flr_in_process()) end_of_flr(now, in);
    if (config_.power_change_pending()) power_change(now, in);
    accept_rq(now, in);
    accept_cc(now, in);
    take_interrupt(now, in, out);
    transmit_.run(now);
    root_.run(now);
    show_cq(now, in, out);
    show_rc(now, in, out);
    show_ready(now, out);
    show_sequence(out);
    show_credits(in, out);
}

}  // namespace lanebox
