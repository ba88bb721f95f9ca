// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "board.hpp"

#include <poll.h>

#include <array>
#include <ctime>
#include <sstream>

#include "json.hpp"

namespace lanebox {

namespace {

constexpr unsigned kBatch = 32;  // cycles between two looks at the sockets
constexpr Time kLongestTravel = 50'000 * kNanosecond;
constexpr const char *kLiveOptions[] = {"completion-size", "read-latency", "mmio-rtt", "stall",
                                        "pace"};

double cpu_seconds() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

HostTiming timing_of(const Options &options) {
    return {options.read_latency_ns * kNanosecond, options.mmio_rtt_ns * kNanosecond,
            options.completion_size};
}

Json stream_json(const StreamCounters &counters) {
    return Json()
        .number("tlps", counters.tlps)
        .number("beats", counters.beats)
        .number("payload_bytes", counters.payload_bytes)
        .number("stalls", counters.stalls);
}

std::string error_json(const std::string &text) {
    return Json().string("error", text).text();
}

}  // namespace

Board::Board(const Options &options)
    : options_(options),
      rules_(options.rules),
      log_(options.tlp_log),
      config_({options.mps, options.mrrs, options.rcb, static_cast<unsigned>(kBar0Bytes)}),
      root_(*this, config_, rules_, faults_),
      hard_block_(root_, config_, rules_, log_,
                  {options.np_credits, options.stall_percent, options.seed}),
      gateware_(hard_block_, config_, options.waves, options.seed),
      server_(options.socket, *this, memory_),
      control_(options.control, [this](const std::string &line) { return command(line); }) {
    root_.timing = timing_of(options);
    root_.configure();
    for (const auto &fault : options.faults) faults_.arm(fault);
}

// --- Host ----------------------------------------------------------------------------------------

bool Board::memory_read(uint64_t address, void *data, size_t bytes) {
    return memory_.read(address, data, bytes);
}

bool Board::memory_write(uint64_t address, const void *data, size_t bytes) {
    return memory_.write(address, data, bytes);
}

bool Board::interrupt() {
    return server_.interrupt();
}

// --- vfio_user::Device ---------------------------------------------------------------------------

void Board::bar_read(uint64_t offset, unsigned bytes, ReadDone done) {
    if (!config_.memory_enabled()) {  // no function claims the address
        std::array<uint8_t, 8> ones;
        ones.fill(0xff);
        root_.counters.mmio_errors++;
        return done(ones.data());
    }
    root_.mmio_read(offset, bytes, [this, done = std::move(done)](const uint8_t *data, bool) {
        answered_ = true;
        done(data);
    });
}

void Board::bar_write(uint64_t offset, const void *data, unsigned bytes) {
    if (config_.memory_enabled())
        root_.mmio_write(offset, data, bytes);
    else
        root_.counters.mmio_errors++;
}

void Board::config_read(unsigned offset, void *data, unsigned bytes) {
    config_.read(offset, data, bytes);
}

// A configuration write takes the same way as every request and does not pass posted writes. The
// gateware may refuse those for ever, so there is a bound.
void Board::travel() {
    Time arrives = gateware_.now() + root_.timing.mmio_rtt / 2;
    Time latest = arrives + kLongestTravel;
    while (working() && gateware_.now() < latest &&
           (gateware_.now() < arrives || root_.requests_waiting()))
        gateware_.tick();
}

void Board::config_write(unsigned offset, const void *data, unsigned bytes) {
    travel();
    bool was_master = config_.bus_master();
    config_.write(offset, data, bytes);
    root_.configure();
    // The gateware sees cfg_* a clock later and passes it through two synchronisers.
    for (unsigned i = 0; i < 8; i++) gateware_.tick();
    if (config_.bus_master() && !was_master) server_.look_for_private_copy();
}

void Board::reset() {
    config_.reset();
    root_.reset();
    gateware_.reset();
}

// --- the main loop -------------------------------------------------------------------------------

bool Board::working() const {
    return gateware_.busy() || !hard_block_.idle(gateware_.now());
}

// Ends early when a read was answered: what comes next is up to the host, however slow its process
// is.
void Board::run_batch() {
    answered_ = false;
    for (unsigned i = 0; i < kBatch && !answered_; i++) gateware_.tick();
    if (answered_) hard_block_.settled(gateware_.now());
}

// Milliseconds that the board is ahead of --pace.
int Board::pace_timeout() {
    if (!options_.pace) return 0;
    using namespace std::chrono;
    auto now = steady_clock::now();
    auto due =
        paced_from_ + duration<double>(static_cast<double>(gateware_.cycles() - paced_cycles_) /
                                       static_cast<double>(options_.pace));
    auto ahead = duration_cast<milliseconds>(due - now).count();
    if (ahead < -20) {  // slept, or the machine is slower than the pace: do not catch up
        paced_from_ = now;
        paced_cycles_ = gateware_.cycles();
    }
    return ahead > 0 ? static_cast<int>(ahead) : 0;
}

// The client's next message waits while the host has as many reads in flight as it can have.
int Board::client_fd() const {
    if (!server_.connected()) return server_.listen_fd();
    return root_.mmio_full() ? -1 : server_.client_fd();
}

void Board::serve_client() {
    if (!server_.connected()) return server_.accept_client();
    // Who only looked whether somebody listens was no client.
    if (!server_.serve() && options_.once && server_.greeted()) quit_ = true;
}

void Board::wait(int signal_fd, int timeout_ms) {
    pollfd fds[] = {{signal_fd, POLLIN, 0}, {client_fd(), POLLIN, 0}, {control_.fd(), POLLIN, 0}};
    if (poll(fds, 3, timeout_ms) <= 0) return;
    if (fds[0].revents) quit_ = true;
    if (fds[1].revents) serve_client();
    if (fds[2].revents) control_.serve();
}

void Board::run(int signal_fd) {
    while (!quit_) {
        bool work = working();
        wait(signal_fd, work ? pace_timeout() : -1);
        if (!server_.memory_error().empty() && config_.bus_master())
            throw std::runtime_error(server_.memory_error());
        if (work || working()) run_batch();
    }
}

// --- control -------------------------------------------------------------------------------------

std::string Board::stats() const {
    Json violations;
    for (unsigned i = 0; i < static_cast<unsigned>(Rule::kCount); i++)
        if (uint64_t count = rules_.count(static_cast<Rule>(i)))
            violations.number(rule_name(static_cast<Rule>(i)), count);
    const HostCounters &host = root_.counters;
    return Json()
        .number("cycles", gateware_.cycles() - cleared_at_)
        .number("cpu_seconds", cpu_seconds() - cpu_cleared_)
        .object("cq", stream_json(hard_block_.cq()))
        .object("cc", stream_json(hard_block_.cc()))
        .object("rq", stream_json(hard_block_.rq()))
        .object("rc", stream_json(hard_block_.rc()))
        .number("msi", host.msi)
        .number("msi_lost", host.msi_lost)
        .number("mmio_reads", host.mmio_reads)
        .number("mmio_writes", host.mmio_writes)
        .number("mmio_errors", host.mmio_errors)
        .number("completion_timeouts", host.completion_timeouts)
        .number("unmapped", host.unmapped)
        .number("faults", faults_.struck())
        .object("violations", violations)
        .number("mps", uint64_t{config_.mps()})
        .number("mrrs", uint64_t{config_.mrrs()})
        .number("seed", options_.seed)
        .text();
}

std::string Board::set(const std::string &name, const std::string &value) {
    std::string live;
    for (const char *option : kLiveOptions) {
        if (name == option) return set_live(name, value);
        live += (live.empty() ? "" : ", ") + std::string(option);
    }
    return error_json("set " + name + ": there are " + live);
}

std::string Board::set_live(const std::string &name, const std::string &value) {
    set_option(options_, name, value);
    root_.timing = timing_of(options_);
    hard_block_.set_stall(options_.stall_percent);
    return stats();
}

std::string Board::command(const std::string &line) {
    std::istringstream words(line);
    std::string verb, name, value;
    words >> verb >> name >> value;
    try {
        if (verb == "stats") return stats();
        if (verb == "set") return set(name, value);
        if (verb == "quit")
            quit_ = true;
        else if (verb == "fault")
            faults_.arm(name);
        else if (verb == "clear") {
            hard_block_.clear_counters();
            rules_.clear();
            root_.counters = {};
            cleared_at_ = gateware_.cycles();
            cpu_cleared_ = cpu_seconds();
        } else
            return error_json("command '" + verb + "': there are stats, clear, set, fault, quit");
    } catch (const std::exception &error) {
        return error_json(line + ": " + error.what());
    }
    return stats();
}

}  // namespace lanebox
