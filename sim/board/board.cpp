// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "board.hpp"

#include <poll.h>

#include <array>
#include <cstring>
#include <ctime>
#include <iomanip>
#include <sstream>

#include "json.hpp"

namespace lanebox {

namespace {

constexpr unsigned kBatch = 32;  // cycles between two looks at the sockets
constexpr Time kLongestTravel = 50'000 * kNanosecond;
constexpr const char *kLiveOptions[] = {
    "completion-size", "read-latency", "mmio-rtt", "stall",    "pace",      "split",
    "iommu-miss",      "write-stall",  "reorder",  "link-gen", "link-width"};

double cpu_seconds() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

Json stream_json(const StreamCounters &counters) {
    return Json()
        .number("tlps", counters.tlps)
        .number("beats", counters.beats)
        .number("payload_bytes", counters.payload_bytes)
        .number("stalls", counters.stalls);
}

Json peer_json(const Peer &peer) {
    const Peer::Counters &counters = peer.counters();
    return Json()
        .number("issued", counters.issued)
        .number("completed", counters.completed)
        .number("bytes", counters.bytes)
        .number("errors", counters.errors)
        .number("timeouts", counters.timeouts)
        .number("mismatches", counters.mismatches)
        .number("ticks", (counters.last - counters.first) / kCycle)
        .number("busy", uint64_t{!peer.idle()});
}

std::string error_json(const std::string &text) {
    return Json().string("error", text).text();
}

}  // namespace

Board::Board(const Options &options)
    : options_(options),
      rules_(options.rules),
      log_(options.tlp_log),
      config_({options.mps, options.mrrs, options.rcb, static_cast<unsigned>(kBar0Bytes),
               options.link}),
      root_(*this, config_, rules_, faults_),
      peer_(root_, config_, rules_),
      script_(options.fault_script, faults_),
      hard_block_(root_, config_, rules_, log_,
                  {options.np_credits, options.stall_percent, options.seed, options.straddle}),
      gateware_(hard_block_, config_, options.waves, options.seed),
      server_(options.socket, *this, memory_),
      control_(options.control, [this](const std::string &line) { return command(line); }) {
    root_.timing = options.timing;
    root_.seed(options.seed);
    faults_.seed(options.seed);
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
    if (!link_up() || !config_.memory_enabled()) {  // no function claims the address
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
    if (link_up() && config_.memory_enabled())
        root_.mmio_write(offset, data, bytes);
    else
        root_.counters.mmio_errors++;
}

void Board::config_read(unsigned offset, void *data, unsigned bytes) {
    config_.read(offset, data, bytes);
    if (!link_up()) memset(data, 0xff, bytes);
}

// A configuration write takes the same way as every request and does not pass posted writes. The
// gateware may refuse those for ever, so there is a bound.
void Board::travel() {
    Time arrives = gateware_.now() + root_.timing.mmio_rtt / 2;
    Time latest = arrives + kLongestTravel;
    while (working() && gateware_.now() < latest &&
           (gateware_.now() < arrives || root_.requests_waiting()))
        tick();
}

void Board::config_write(unsigned offset, const void *data, unsigned bytes) {
    travel();
    if (!link_up()) return;
    bool was_master = config_.bus_master();
    config_.write(offset, data, bytes);
    root_.configure();
    // The gateware sees cfg_* a clock later and passes it through two synchronisers.
    for (unsigned i = 0; i < 8; i++) tick();
    if (config_.bus_master() && !was_master) server_.look_for_private_copy();
}

void Board::reset() {
    config_.reset();
    root_.reset();
    peer_.reset();
    gateware_.reset();
}

// --- the main loop -------------------------------------------------------------------------------

bool Board::working() const {
    bool retraining = !link_up() && link_up_at_ != kNever;
    return retraining || gateware_.busy() || !peer_.idle() || !hard_block_.idle(gateware_.now());
}

void Board::tick() {
    peer_.run(gateware_.now());
    gateware_.tick();
    script_.run(gateware_.now(), root_.received());
    if (faults_.event_waiting()) strike();
    if (!link_up() && gateware_.now() >= link_up_at_) link_back();
}

// Surprise down resets the card; what was under way is lost, and the host gets all ones.
void Board::link_down(Time until) {
    link_up_at_ = until;
    root_.set_link_up(false);
    reset();
}

void Board::link_back() {
    link_up_at_ = 0;
    root_.set_link_up(true);
}

void Board::strike() {
    while (faults_.event_waiting()) {
        Event event = faults_.take_event();
        auto value = static_cast<uint16_t>(event.argument);
        switch (event.kind) {
            case Event::HotReset: reset(); break;
            case Event::LinkDown: link_down(gateware_.now() + event.argument * kNanosecond); break;
            case Event::Remove: link_down(kNever); break;
            case Event::Insert: link_back(); break;
            case Event::DeviceControl: config_.write(0x78, &value, sizeof value); break;
            case Event::Command: config_.write(0x04, &value, sizeof value); break;
            case Event::kKinds: break;
        }
        root_.configure();
    }
}

// Ends early when a read was answered: what comes next is up to the host, however slow its process
// is.
void Board::run_batch() {
    answered_ = false;
    for (unsigned i = 0; i < kBatch && !answered_; i++) tick();
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
        .number("overtaken", host.overtaken)
        .number("write_stalls", host.write_stalls)
        .number("faults", faults_.struck())
        .object("peer", peer_json(peer_))
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
    root_.timing = options_.timing;
    config_.train(options_.link);
    root_.configure();
    hard_block_.set_stall(options_.stall_percent);
    return stats();
}

void Board::clear() {
    hard_block_.clear_counters();
    rules_.clear();
    root_.counters = {};
    cleared_at_ = gateware_.cycles();
    cpu_cleared_ = cpu_seconds();
}

// peer read|write OFFSET SIZE COUNT TAGS [GAP_NS]
void Board::start_peer(std::istream &words) {
    std::string kind;
    Peer::Job job;
    words >> kind >> std::setbase(0) >> job.offset >> job.size >> job.count >> job.tags;
    if (!words || (kind != "read" && kind != "write"))
        throw std::invalid_argument("must be peer read|write OFFSET SIZE COUNT TAGS [GAP_NS]");
    uint64_t gap = 0;
    if (words >> gap) job.gap = gap * kNanosecond;
    job.write = kind == "write";
    peer_.start(job, kBar0Bytes);
}

// false: there is no such command.
bool Board::obey(const std::string &verb, std::istream &words) {
    if (verb == "quit") {
        quit_ = true;
    } else if (verb == "fault") {
        std::string spec;
        words >> spec;
        faults_.arm(spec);
        strike();
    } else if (verb == "clear") {
        clear();
    } else if (verb == "peer") {
        start_peer(words);
    } else {
        return verb == "stats";
    }
    return true;
}

std::string Board::command(const std::string &line) {
    std::istringstream words(line);
    std::string verb, name, value;
    words >> verb;
    try {
        if (verb == "set") {
            words >> name >> value;
            return set(name, value);
        }
        if (!obey(verb, words))
            return error_json("command '" + verb +
                              "': there are stats, clear, set, fault, quit, peer");
    } catch (const std::exception &error) {
        return error_json(line + ": " + error.what());
    }
    return stats();
}

}  // namespace lanebox
