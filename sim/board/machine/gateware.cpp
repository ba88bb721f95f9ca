// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "gateware.hpp"

#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "Vlanebox.h"
#include "svdpi.h"
#include "verilated.h"
#include "verilated_syms.h"
#if VM_TRACE
#include "verilated_fst_c.h"
#else
class VerilatedFstC {};
#endif

namespace lanebox {

namespace {

constexpr unsigned kResetCycles = 32;
int user_data_key;  // its address is the key under which the instance finds its Gateware

uint32_t exponent(unsigned value) {
    uint32_t code = 0;
    while (1u << code < value) code++;
    return code;
}

uint32_t size_code(unsigned bytes) {  // 128 -> 0, 256 -> 1, ...
    return exponent(bytes / 128);
}

// cfg_function_power_state (PG213): 0 is D0 uninitialised, 1 is D0 active, 4 is D3hot.
uint32_t power_code(const ConfigSpace &config) {
    if (config.power_state() == PowerState::D3hot) return 4;
    return config.memory_enabled() || config.bus_master();
}

// The Verilog reads its memory images from the current directory on the first evaluation. They lie
// beside the executable, so its folder is the current directory while this object lives.
class BesideExecutable {
public:
    BesideExecutable() : before_(std::filesystem::current_path()) {
        std::filesystem::current_path(
            std::filesystem::read_symlink("/proc/self/exe").parent_path());
    }
    ~BesideExecutable() { std::filesystem::current_path(before_); }

private:
    std::filesystem::path before_;
};

// Every scope gets the pointer, since the name and the place of the pcie_usp instance, which asks
// for it in pcie4_bind(), depend on the design.
void bind_scopes(VerilatedContext &context, Gateware *gateware) {
    for (const auto &[name, scope] : *context.scopeNameMap())
        svPutUserData(const_cast<VerilatedScope *>(scope), &user_data_key, gateware);
}

}  // namespace

Gateware::Gateware(HardBlock &hard_block, ConfigSpace &config, const Waves &waves, uint64_t seed)
    : hard_block_(hard_block),
      config_(config),
      waves_(waves),
      context_(std::make_unique<VerilatedContext>()) {
    context_->randReset(2);
    context_->randSeed(static_cast<int>(seed % 0x7fffffff) + 1);
    context_->traceEverOn(!waves.path.empty());
    top_ = std::make_unique<Vlanebox>(context_.get());
    bind_scopes(*context_, this);
    if (!waves.path.empty()) {
#if VM_TRACE
        trace_ = std::make_unique<VerilatedFstC>();
        top_->trace(trace_.get(), 99);
        trace_->open(waves.path.c_str());
        if (!trace_->isOpen()) throw std::runtime_error("cannot write waves to " + waves.path);
#else
        throw std::runtime_error("this board was built without waves; build it with --waves");
#endif
    }
    BesideExecutable here;
    reset();
}

Gateware::~Gateware() {
#if VM_TRACE
    if (trace_) trace_->close();
#endif
    top_->final();
}

// The configuration state in one word, which pcie_usp.sv unpacks to the cfg_* pins.
uint32_t Gateware::pack() {
    const ConfigSpace &config = config_;
    return size_code(config.mps()) | size_code(config.mrrs()) << 4 |
           uint32_t{config.msi_enabled()} << 8 | uint32_t{config.memory_enabled()} << 9 |
           uint32_t{config.bus_master()} << 10 | uint32_t{config.rcb() == 128} << 11 |
           exponent(config.link().width) << 12 | (config.link().generation - 1) << 15 |
           uint32_t{config.flr_in_process()} << 17 | uint32_t{link_ != Link::Up} << 18 |
           uint32_t{link_ == Link::HotReset} << 19 | uint32_t{config.msix_enabled()} << 20 |
           uint32_t{config.msix_masked()} << 21 | power_code(config) << 22 |
           uint32_t{config.power_change_pending()} << 25 |
           uint32_t{config_.take_error_messages()} << 26;
}

void Gateware::dump(Time at) {
#if VM_TRACE
    if (trace_ && at >= waves_.from && at <= waves_.to) trace_->dump(at / (kNanosecond / 1000));
#else
    (void)at;
#endif
}

void Gateware::tick() {
    top_->pcie_x8_clk_p = 1;
    top_->eval();
    dump(now());
    top_->pcie_x8_clk_p = 0;
    top_->eval();
    dump(now() + kCycle / 2);
    slot_.sample(top_->user_slot, cycles_);
    cycles_++;
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Gateware::reset() {
    top_->pcie_x8_rst_n = 0;
    for (unsigned i = 0; i < kResetCycles; i++) tick();
    hard_block_.reset();
    top_->pcie_x8_rst_n = 1;
    for (unsigned i = 0; i < kResetCycles; i++) tick();
}

void Gateware::link_down(bool hot_reset) {
    set_link(hot_reset ? Link::HotReset : Link::Down);
    hard_block_.reset();
}

void Gateware::set_link(Link link) {
    link_ = link;
    packed_changes_ = ~uint64_t{0};
}

bool Gateware::busy() const {
    return top_->busy;
}

void Gateware::step(const PinsIn &in, PinsOut &out, uint32_t &config_state, bool in_reset) {
    if (packed_changes_ != config_.changes()) {
        packed_changes_ = config_.changes();
        packed_ = pack();
    }
    config_state = packed_;
    if (in_reset || failure_ || link_ != Link::Up) return;
    try {
        hard_block_.step(now(), in, out);
    } catch (...) {
        // tick() throws it again: no exception may pass through the Verilated code in between.
        failure_ = std::current_exception();
    }
}

uint32_t Gateware::manage(unsigned dword, bool write, uint32_t data) {
    if (failure_) return 0;
    try {
        return hard_block_.manage(dword, write, data);
    } catch (...) {
        failure_ = std::current_exception();
        return 0;
    }
}

}  // namespace lanebox

// --- DPI -----------------------------------------------------------------------------------------

namespace {

lanebox::Beat beat_in(bool valid, bool last, const svBitVecVal *data, int keep) {
    lanebox::Beat beat;
    beat.valid = valid;
    beat.last = last;
    beat.keep = static_cast<uint8_t>(keep);
    if (valid) memcpy(beat.data.data(), data, sizeof beat.data);
    return beat;
}

int sequence_bits(const lanebox::SeqNum &number) {
    return number.value | number.valid << 6;
}

}  // namespace

extern "C" void *pcie4_bind() {
    return svGetUserData(svGetScope(), &lanebox::user_data_key);
}

extern "C" int pcie4_manage(void *model, int dword, int is_write, int data) {
    auto *gateware = static_cast<lanebox::Gateware *>(model);
    return static_cast<int>(
        gateware->manage(static_cast<unsigned>(dword), is_write != 0, static_cast<uint32_t>(data)));
}

extern "C" void pcie4_step(void *model, int in_flags, const svBitVecVal *rq_data, int rq_keep,
                           int rq_user, const svBitVecVal *cc_data, int cc_keep, int msi_int,
                           int *out_flags, svBitVecVal *cq_data, int *cq_keep, int *cq_enables,
                           int *cq_byte_en, svBitVecVal *rc_data, int *rc_keep, int *rc_byte_en,
                           int *config_state, int *rq_state, int *fc_headers, int *fc_requests,
                           int *fc_completions) {
    auto flag = [in_flags](int bit) { return (in_flags >> bit & 1) != 0; };
    lanebox::PinsIn in;
    in.np_req = static_cast<uint8_t>(in_flags & 3);
    in.rq = beat_in(flag(2), flag(3), rq_data, rq_keep);
    in.cc = beat_in(flag(4), flag(5), cc_data, cc_keep);
    in.rq_first_be = static_cast<uint8_t>(rq_user & 0xf);
    in.rq_last_be = static_cast<uint8_t>(rq_user >> 4 & 0xf);
    in.rq_seq_num = static_cast<uint8_t>(rq_user >> 8 & 0x3f);
    in.fc_sel = static_cast<uint8_t>(in_flags >> 9 & 7);
    in.flr_done = flag(12);
    in.power_ack = flag(13);
    in.cq_ready = flag(6);
    in.rc_ready = flag(7);
    in.msi_int = static_cast<uint32_t>(msi_int);

    lanebox::PinsOut out;
    uint32_t state = 0;
    static_cast<lanebox::Gateware *>(model)->step(in, out, state, flag(8));

    *config_state = static_cast<int>(state);
    *out_flags = out.rq_ready | out.cc_ready << 1 | out.cq.valid << 2 | out.cq.last << 3 |
                 out.rc.valid << 4 | out.rc.last << 5 | out.msi_sent << 6 | out.msi_fail << 7 |
                 (out.cq.valid && out.cq_first) << 8 | out.rc_sof << 9 | out.np_credits << 16 |
                 (out.rc_eof0 | out.rc_eof1 << 4) << 24;
    memcpy(cq_data, out.cq.data.data(), sizeof out.cq.data);
    *cq_keep = out.cq.keep;
    *cq_enables = out.cq_first_be | out.cq_last_be << 4;
    *cq_byte_en = static_cast<int>(out.cq_byte_en);
    memcpy(rc_data, out.rc.data.data(), sizeof out.rc.data);
    *rc_keep = out.rc.keep;
    *rc_byte_en = static_cast<int>(out.rc_byte_en);
    *rq_state = sequence_bits(out.seq_num[0]) | sequence_bits(out.seq_num[1]) << 7 |
                out.tag_av << 14 | out.nph_av << 18 | out.npd_av << 22;
    *fc_headers = out.fc.ph | out.fc.nph << 8 | out.fc.cplh << 16;
    *fc_requests = out.fc.pd | out.fc.npd << 12;
    *fc_completions = out.fc.cpld;
}
