// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "machine/gateware.hpp"

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
// The address of this variable is the key under which pcie4_bind() finds the Gateware object.
int user_data_key;

uint32_t exponent(unsigned value) {
    uint32_t code = 0;
    while (1u << code < value) code++;
    return code;
}

// Returns PCIe's code for a size in bytes: 0 for 128, 1 for 256 and so on.
uint32_t size_code(unsigned bytes) {
    return exponent(bytes / 128);
}

// cfg_function_power_state (PG213): 0 is D0 uninitialised, 1 is D0 active, 4 is D3hot.
uint32_t power_code(const ConfigSpace &config) {
    if (config.power_state() == PowerState::D3hot) return 4;
    return config.memory_enabled() || config.bus_master();
}

// Makes a folder the current directory as long as this object lives. The compiled Verilog reads its
// memory images from the current directory when it is first evaluated.
class InFolder {
public:
    explicit InFolder(const std::filesystem::path &folder)
        : before_(std::filesystem::current_path()) {
        std::filesystem::current_path(folder);
    }
    ~InFolder() { std::filesystem::current_path(before_); }

private:
    std::filesystem::path before_;
};

Beat beat_in(uint32_t valid, uint32_t last, uint32_t keep, const uint32_t *data) {
    Beat beat;
    beat.valid = valid;
    beat.last = last;
    beat.keep = static_cast<uint8_t>(keep);
    if (valid) memcpy(beat.data.data(), data, sizeof beat.data);
    return beat;
}

PinsIn pins_in(const BorderInputs &from) {
    PinsIn in;
    in.rq = beat_in(from.s_axis_rq_tvalid, from.s_axis_rq_tlast, from.s_axis_rq_tkeep,
                    from.s_axis_rq_tdata);
    in.cc = beat_in(from.s_axis_cc_tvalid, from.s_axis_cc_tlast, from.s_axis_cc_tkeep,
                    from.s_axis_cc_tdata);
    in.rq_first_be = static_cast<uint8_t>(from.s_axis_rq_tuser_first_be);
    in.rq_last_be = static_cast<uint8_t>(from.s_axis_rq_tuser_last_be);
    in.rq_seq_num = static_cast<uint8_t>(from.s_axis_rq_tuser_sequence);
    in.cq_ready = from.m_axis_cq_tready;
    in.rc_ready = from.m_axis_rc_tready;
    in.msi_int = from.cfg_interrupt_msi_int;
    in.np_req = static_cast<uint8_t>(from.pcie_cq_np_req);
    in.fc_sel = static_cast<uint8_t>(from.cfg_fc_sel);
    in.flr_done = from.cfg_flr_done & 1;
    in.power_ack = from.cfg_power_state_change_ack;
    return in;
}

void show_cq(const PinsOut &out, BorderOutputs &to) {
    to.m_axis_cq_tvalid = out.cq.valid;
    to.m_axis_cq_tlast = out.cq.last;
    to.m_axis_cq_tkeep = out.cq.keep;
    memcpy(to.m_axis_cq_tdata, out.cq.data.data(), sizeof out.cq.data);
    to.m_axis_cq_tuser_first_be = out.cq_first_be;
    to.m_axis_cq_tuser_last_be = out.cq_last_be;
    to.m_axis_cq_tuser_byte_enable = out.cq_byte_en;
    to.m_axis_cq_tuser_start = out.cq.valid && out.cq_first;
}

void show_rc(const PinsOut &out, BorderOutputs &to) {
    to.m_axis_rc_tvalid = out.rc.valid;
    to.m_axis_rc_tlast = out.rc.last;
    to.m_axis_rc_tkeep = out.rc.keep;
    memcpy(to.m_axis_rc_tdata, out.rc.data.data(), sizeof out.rc.data);
    to.m_axis_rc_tuser_byte_enable = out.rc_byte_en;
    to.m_axis_rc_tuser_start_0 = out.rc_sof & 1;
    to.m_axis_rc_tuser_start_1 = out.rc_sof >> 1;
    to.m_axis_rc_tuser_end_0_valid = out.rc_eof0 & 1;
    to.m_axis_rc_tuser_end_0_dword = out.rc_eof0 >> 1;
    to.m_axis_rc_tuser_end_1_valid = out.rc_eof1 & 1;
    to.m_axis_rc_tuser_end_1_dword = out.rc_eof1 >> 1;
}

void show_credits(const PinsOut &out, BorderOutputs &to) {
    to.pcie_cq_np_req_count = out.np_credits;
    to.pcie_rq_tag_av = out.tag_av;
    to.pcie_rq_seq_num0 = out.seq_num[0].value;
    to.pcie_rq_seq_num_vld0 = out.seq_num[0].valid;
    to.pcie_rq_seq_num1 = out.seq_num[1].value;
    to.pcie_rq_seq_num_vld1 = out.seq_num[1].valid;
    to.pcie_tfc_nph_av = out.nph_av;
    to.pcie_tfc_npd_av = out.npd_av;
    to.cfg_fc_ph = out.fc.ph;
    to.cfg_fc_nph = out.fc.nph;
    to.cfg_fc_cplh = out.fc.cplh;
    to.cfg_fc_pd = out.fc.pd;
    to.cfg_fc_npd = out.fc.npd;
    to.cfg_fc_cpld = out.fc.cpld;
}

void show(const PinsOut &out, BorderOutputs &to) {
    to.s_axis_rq_tready = out.rq_ready;
    to.s_axis_cc_tready = out.cc_ready;
    show_cq(out, to);
    show_rc(out, to);
    show_credits(out, to);
    to.cfg_interrupt_msi_sent = out.msi_sent;
    to.cfg_interrupt_msi_fail = out.msi_fail;
}

// Gives the Gateware pointer to every scope of the Verilated design. The pcie_usp instance asks for
// the pointer in pcie4_bind(), and the name and place of that instance depend on the design.
void bind_scopes(VerilatedContext &context, Gateware *gateware) {
    for (const auto &[name, scope] : *context.scopeNameMap())
        svPutUserData(const_cast<VerilatedScope *>(scope), &user_data_key, gateware);
}

}  // namespace

std::filesystem::path executable_folder() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

Gateware::Gateware(HardBlock &hard_block, ConfigSpace &config, CardPins &card, CardParts &parts,
                   Wire &wire, const Waves &waves, uint64_t seed)
    : hard_block_(hard_block),
      config_(config),
      card_(card),
      parts_(parts),
      wire_(wire),
      waves_(waves),
      seed_(seed) {
    elaborate();
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
    InFolder here(executable_folder());
    reset();
}

// Makes the Verilated design, with values at power-on that the seed decides.
void Gateware::elaborate() {
    context_ = std::make_unique<VerilatedContext>();
    context_->randReset(2);
    context_->randSeed(static_cast<int>(seed_ % 0x7fffffff) + 1);
    context_->traceEverOn(!waves_.path.empty());
    top_ = std::make_unique<Vlanebox>(context_.get());
    bind_scopes(*context_, this);
    card_.bind(*context_);
}

void Gateware::configure(const std::filesystem::path &folder) {
#if VM_TRACE
    if (trace_) trace_->close();
    trace_.reset();
#endif
    top_->final();
    top_.reset();
    elaborate();
    InFolder here(folder);
    reset();
}

Gateware::~Gateware() {
#if VM_TRACE
    if (trace_) trace_->close();
#endif
    top_->final();
}

// Sets the hard block's pins that show configuration space. An error message (cfg_err_*_out) is
// shown for one cycle.
void Gateware::show_configuration(BorderOutputs &pins) {
    const ConfigSpace &config = config_;
    pins.cfg_max_payload = size_code(config.mps());
    pins.cfg_max_read_req = size_code(config.mrrs());
    pins.cfg_rcb_status = config.rcb() == 128;
    // In cfg_function_status bit 1 is memory space enable, and bit 2 is bus master enable (PG213).
    pins.cfg_function_status = config.memory_enabled() << 1 | config.bus_master() << 2;
    pins.cfg_function_power_state = power_code(config);
    pins.cfg_negotiated_width = exponent(config.link().width);
    pins.cfg_current_speed = config.link().generation - 1;
    pins.cfg_phy_link_down = link_ != Link::Up;
    pins.cfg_hot_reset_out = link_ == Link::HotReset;
    pins.cfg_flr_in_process = config.flr_in_process();
    pins.cfg_power_state_change_interrupt = config.power_change_pending();
    pins.cfg_interrupt_msi_enable = config.msi_enabled();
    pins.cfg_interrupt_msix_enable = config.msix_enabled();
    pins.cfg_interrupt_msix_mask = config.msix_masked();
    unsigned errors = config_.take_error_messages();
    pins.cfg_err_cor_out = errors & 1;
    pins.cfg_err_nonfatal_out = errors >> 1 & 1;
    pins.cfg_err_fatal_out = errors >> 2 & 1;
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
    shown_changes_ = ~uint64_t{0};
}

bool Gateware::busy() const {
    return top_->busy;
}

void Gateware::step(const BorderInputs &inputs, BorderOutputs &outputs) {
    if (shown_changes_ != config_.changes()) {
        shown_changes_ = config_.changes();
        show_configuration(shown_);
    }
    outputs = shown_;
    if (inputs.in_reset || failure_ || link_ != Link::Up) return;
    try {
        PinsOut out;
        hard_block_.step(now(), pins_in(inputs), out);
        show(out, outputs);
    } catch (...) {
        // No exception may pass through the Verilated code that called this function, so tick()
        // throws it again.
        failure_ = std::current_exception();
    }
}

void *Gateware::bind(int layout) {
    if (layout != kBorderLayout)
        failure_ = std::make_exception_ptr(std::runtime_error(
            "the Verilog passes pins in layout " + std::to_string(layout) +
            ", and the model takes " + std::to_string(kBorderLayout) + ": build the board anew"));
    return this;
}

Wire *Gateware::wire() {
    wire_.bind();
    return &wire_;
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

extern "C" void *pcie4_bind(int layout) {
    void *gateware = svGetUserData(svGetScope(), &lanebox::user_data_key);
    return static_cast<lanebox::Gateware *>(gateware)->bind(layout);
}

extern "C" void *parts_bind() {
    void *gateware = svGetUserData(svGetScope(), &lanebox::user_data_key);
    return static_cast<lanebox::Gateware *>(gateware)->parts();
}

extern "C" void *wire_bind() {
    void *gateware = svGetUserData(svGetScope(), &lanebox::user_data_key);
    return static_cast<lanebox::Gateware *>(gateware)->wire();
}

extern "C" int pcie4_manage(void *model, int dword, int is_write, int data) {
    auto *gateware = static_cast<lanebox::Gateware *>(model);
    return static_cast<int>(
        gateware->manage(static_cast<unsigned>(dword), is_write != 0, static_cast<uint32_t>(data)));
}

extern "C" void pcie4_step(void *model, const svBitVecVal *inputs, svBitVecVal *outputs) {
    // Verilog's vectors and the C++ structs have the same layout: 32-bit words in the same order.
    static_cast<lanebox::Gateware *>(model)->step(
        *reinterpret_cast<const lanebox::BorderInputs *>(inputs),
        *reinterpret_cast<lanebox::BorderOutputs *>(outputs));
}
