// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "board.hpp"

#include <poll.h>

#include <cstring>
#include <ctime>
#include <iomanip>
#include <sstream>
#include <utility>

#include "json.hpp"

namespace lanebox {

namespace {

constexpr unsigned kBatch = 32;        // cycles between two looks at the sockets
constexpr unsigned kVectorBytes = 16;  // of the MSI-X table (base specification 7.7.2.6)
constexpr unsigned kDeviceControl = 0x78;
constexpr uint16_t kInitiateFlr = 0x8000;
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

// The MSI-X table and the pending bits must lie inside their BAR. This is checked before any socket
// is opened: a board with a wrong option must not touch the socket of another board.
const ConfigSpace::Power &checked(const ConfigSpace::Power &power) {
    const ConfigSpace::Msix &msix = power.msix;
    if (!msix.vectors) return power;
    uint64_t bytes = msix.bar == 2 ? power.bar2_bytes : power.bar0_bytes;
    uint64_t table_end = msix.table + uint64_t{msix.vectors} * kVectorBytes;
    uint64_t pending_end = msix.pending + uint64_t{(msix.vectors + 63) / 64} * 8;
    if (table_end > bytes || pending_end > bytes)
        throw std::invalid_argument("--msix: table or pending bits do not fit into BAR" +
                                    std::to_string(msix.bar));
    return power;
}

}  // namespace

Board::Board(const Options &options)
    : options_(options),
      config_(checked({options.mps, options.mrrs, options.rcb, kBar0Bytes, options.link,
                       options.bar2, options.flr, options.msix})),
      rules_(options.rules),
      log_(options.tlp_log),
      root_(*this, config_, rules_, faults_),
      peer_(root_, config_, rules_),
      script_(options.fault_script, faults_),
      hard_block_(root_, config_, rules_, log_,
                  {options.np_credits, options.stall_percent, options.seed, options.straddle,
                   options.completion_pool}),
      gateware_(hard_block_, config_, options.waves, options.seed),
      memory_(client_log_),
      server_(options.socket, *this, memory_, client_log_),
      control_(options.control, [this](const std::string &line) { return command(line); }) {
    msix_.resize(options.msix.vectors);
    root_.timing = options.timing;
    root_.upstream.set_rate_limited(options.link_rate);
    root_.downstream.set_rate_limited(options.link_rate);
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

// The vector whose table entry, programmed by the board itself, holds this address and data. Any
// other write of the card goes to host memory.
std::optional<unsigned> Board::vector_of(uint64_t address, uint32_t data) {
    uint64_t vector = (address - kMessages) / kVectorBytes;
    bool known = vector < msix_.size() && address % kVectorBytes == 0 && data == vector &&
                 msix_[vector].programmed;
    if (!known) return {};
    return static_cast<unsigned>(vector);
}

// QEMU takes all eventfds back for a moment whenever the guest enables another vector. An interrupt
// that comes meanwhile stays pending until its vector has an eventfd again.
bool Board::interrupt(unsigned vector) {
    msix_[vector].pending = !server_.interrupt(vector);
    return !msix_[vector].pending;
}

// --- vfio_user::Device ---------------------------------------------------------------------------

// Does a function claim addresses in the BARs?
bool Board::reachable() const {
    return link_up() && config_.memory_enabled() && config_.power_state() == PowerState::D0;
}

void Board::bar_read(unsigned bar, uint64_t offset, unsigned bytes, ReadDone done) {
    if (!reachable()) {
        std::vector<uint8_t> ones(bytes, 0xff);
        root_.counters.mmio_errors++;
        return done(ones.data());
    }
    root_.mmio_read(bar, offset, bytes, [this, done = std::move(done)](const uint8_t *data, bool) {
        answered_ = true;
        done(data);
    });
}

void Board::bar_write(unsigned bar, uint64_t offset, const void *data, unsigned bytes) {
    if (reachable())
        root_.mmio_write(bar, offset, data, bytes);
    else
        root_.counters.mmio_errors++;
}

// Device time runs until the function can answer configuration requests. A host waits for the end
// of its own hot reset before it sends any. While a function is in reset or between two power
// states, the root complex repeats a request until the function answers.
void Board::settle() {
    while (hot_reset_ ||
           (link_up() && (config_.flr_in_process() || config_.power_change_pending())))
        tick();
}

void Board::config_read(unsigned offset, void *data, unsigned bytes) {
    settle();
    config_.read(offset, data, bytes);
    if (!link_up()) memset(data, 0xff, bytes);
}

// Device time runs until a configuration write would have reached the card: it takes the same way
// as every request and does not pass posted writes. The gateware may refuse posted writes for ever,
// so kLongestTravel bounds the wait.
void Board::travel() {
    Time arrives = gateware_.now() + root_.timing.mmio_rtt / 2;
    Time latest = arrives + kLongestTravel;
    while (working() && gateware_.now() < latest &&
           (gateware_.now() < arrives || root_.requests_waiting()))
        tick();
}

void Board::write_config(unsigned offset, const void *data, unsigned bytes) {
    bool in_reset = config_.flr_in_process();
    config_.write(offset, data, bytes);
    if (config_.flr_in_process() && !in_reset) {
        hard_block_.begin_flr(gateware_.now());
        peer_.reset();
    }
    root_.configure();
}

void Board::config_write(unsigned offset, const void *data, unsigned bytes) {
    settle();
    travel();
    if (!link_up()) return;
    bool was_master = config_.bus_master(), was_reachable = reachable();
    write_config(offset, data, bytes);
    // The gateware sees cfg_* a clock later and passes it through two synchronisers.
    for (unsigned i = 0; i < 8; i++) tick();
    if (config_.bus_master() && !was_master) server_.look_for_private_copy();
    for (unsigned i = 0; reachable() && !was_reachable && i < msix_.size(); i++)
        if (msix_[i].used) program_vector(i);
}

// Program the vector's entry of the gateware's MSI-X table, as an operating system does on a real
// machine. Here the client emulates the table for the guest, and writes to it do not reach the
// card.
void Board::msix_vector(unsigned vector, bool used) {
    Vector &entry = msix_[vector];
    bool was_used = std::exchange(entry.used, used);
    if (reachable() && (used || was_used)) program_vector(vector);
    if (used && entry.pending) interrupt(vector);
}

void Board::program_vector(unsigned vector) {
    bool used = msix_[vector].used;
    msix_[vector].programmed = true;
    uint64_t address = kMessages + uint64_t{vector} * kVectorBytes;
    const uint32_t entry[] = {static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32),
                              vector, used ? 0u : 1u};
    uint64_t offset = options_.msix.table + uint64_t{vector} * kVectorBytes;
    for (unsigned i = 0; i < 4; i++)
        root_.mmio_write(options_.msix.bar, offset + 4 * i, &entry[i], sizeof entry[i]);
}

void Board::power_cycle() {
    plan_.clear();
    config_.reset();
    root_.reset();
    peer_.reset();
    gateware_.reset();
    msix_.assign(msix_.size(), {});
}

// A function level reset where the card offers one, as an operating system prefers it; else, or
// when the card does not acknowledge it within 100 ms, a power cycle.
bool Board::reset() {
    settle();
    if (!config_.flr_offered() || !link_up()) {
        power_cycle();
        return true;
    }
    uint16_t control;
    config_.read(kDeviceControl, &control, sizeof control);
    control |= kInitiateFlr;
    config_write(kDeviceControl, &control, sizeof control);
    settle();
    if (!hard_block_.flr_late()) return true;
    fprintf(stderr, "board: the card did not end its function level reset within 100 ms\n");
    power_cycle();
    return false;
}

// --- the main loop -------------------------------------------------------------------------------

bool Board::working() const {
    bool retraining = !link_up() && link_up_at_ != kNever;
    bool asked =
        config_.flr_in_process() || config_.power_change_pending();  // not acknowledged yet
    return retraining || asked || gateware_.busy() || !peer_.idle() || !plan_.empty() ||
           !hard_block_.idle(gateware_.now());
}

void Board::tick() {
    if (!plan_.empty()) run_plan();
    peer_.run(gateware_.now());
    gateware_.tick();
    script_.run(gateware_.now(), root_.received());
    if (faults_.event_waiting()) strike();
    if (link_up()) return;
    // Without a link the hard block does not run the root complex, which still owes the host the
    // answers to its outstanding reads.
    root_.run(gateware_.now());
    if (gateware_.now() >= link_up_at_) link_back();
}

// TLPs under way are lost, and the host's outstanding reads end with all ones. The gateware stays
// in reset until link_back().
void Board::link_down(Time until, ConfigSpace::Reset kind) {
    link_up_at_ = until;
    root_.set_link_up(false);
    config_.reset(kind);
    root_.reset();
    peer_.reset();
    gateware_.link_down(hot_reset_);
}

void Board::link_back() {
    link_up_at_ = 0;
    hot_reset_ = false;
    root_.set_link_up(true);
    gateware_.link_up();
}

void Board::strike() {
    while (faults_.event_waiting()) {
        Event event = faults_.take_event();
        auto value = static_cast<uint16_t>(event.argument);
        Time until = gateware_.now() + event.argument * kNanosecond;
        switch (event.kind) {
            case Event::HotReset:
                if (!link_up()) break;  // it comes over the link
                hot_reset_ = true;
                link_down(until, ConfigSpace::Reset::Hot);
                break;
            case Event::LinkDown: link_down(until, ConfigSpace::Reset::Hot); break;
            case Event::Remove: link_down(kNever, ConfigSpace::Reset::Power); break;
            case Event::Insert: link_back(); break;
            case Event::DeviceControl: write_config(kDeviceControl, &value, sizeof value); break;
            case Event::Command: write_config(0x04, &value, sizeof value); break;
            case Event::kKinds: break;
        }
        root_.configure();
    }
}

// The batch ends early when a BAR read has been answered: device time then waits for the host's
// next access instead of depending on how fast the host's process sends it.
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

// -1 while the host has its maximum of MMIO reads in flight: the client's next message then waits.
int Board::client_fd() const {
    return root_.mmio_full() ? -1 : server_.client_fd();
}

void Board::serve_client() {
    if (server_.serve()) return;
    if (options_.once && server_.greeted()) quit_ = true;
}

// The client is served before new connections: if it has left, the next caller must not be refused
// on its account.
void Board::wait(int signal_fd, int timeout_ms) {
    pollfd fds[] = {{signal_fd, POLLIN, 0},
                    {client_fd(), POLLIN, 0},
                    {server_.callers_fd(), POLLIN, 0},
                    {control_.fd(), POLLIN, 0}};
    if (poll(fds, 4, timeout_ms) <= 0) return;
    if (fds[0].revents) quit_ = true;
    if (fds[1].revents) serve_client();
    if (fds[2].revents) server_.answer_callers();
    if (fds[3].revents) control_.serve();
}

void Board::run(int signal_fd) {
    while (!quit_) {
        bool work = working();
        wait(signal_fd, work ? pace_timeout() : -1);
        if (work || working()) run_batch();
    }
}

// --- control -------------------------------------------------------------------------------------

Json Board::mark_json(const Mark &mark) const {
    return Json()
        .number("cycle", mark.cycle)
        .number("violations", mark.violations)
        .object("cq", stream_json(mark.cq))
        .object("cc", stream_json(mark.cc))
        .object("rq", stream_json(mark.rq))
        .object("rc", stream_json(mark.rc))
        .object("slot", mark.slot.json(mark.cycle + cleared_at_));
}

std::string Board::stats() const {
    Json violations;
    for (unsigned i = 0; i < static_cast<unsigned>(Rule::kCount); i++)
        if (uint64_t count = rules_.count(static_cast<Rule>(i)))
            violations.number(rule_name(static_cast<Rule>(i)), count);
    Json struck;
    for (const auto &[name, count] : faults_.struck_by_name()) struck.number(name, count);
    Json marks;
    for (size_t i = 0; i < marks_.size(); i++)
        marks.object(std::to_string(i), mark_json(marks_[i]));
    const HostCounters &host = root_.counters;
    return Json()
        .number("cycles", gateware_.cycles() - cleared_at_)
        .number("cpu_seconds", cpu_seconds() - cpu_cleared_)
        .object("cq", stream_json(hard_block_.cq()))
        .object("cc", stream_json(hard_block_.cc()))
        .object("rq", stream_json(hard_block_.rq()))
        .object("rc", stream_json(hard_block_.rc()))
        .object("slot", gateware_.slot().json(gateware_.cycles()))
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
        .object("struck", struck)
        .object("peer", peer_json(peer_))
        .number("planned", plan_.size())
        .object("marks", marks)
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
    plan_.clear();
    marks_.clear();
    hard_block_.clear_counters();
    gateware_.clear_slot();
    rules_.clear();
    root_.counters = {};
    cleared_at_ = gateware_.cycles();
    cpu_cleared_ = cpu_seconds();
}

// at CYCLE write OFFSET VALUE | at CYCLE mark | at CYCLE peer ...
void Board::plan(std::istream &words) {
    uint64_t cycle = 0;
    std::string verb, rest;
    words >> std::setbase(0) >> cycle >> std::setbase(10) >> verb;
    std::getline(words, rest);
    if ((verb != "write" && verb != "mark" && verb != "peer"))
        throw std::invalid_argument("must be at CYCLE write|mark|peer ...");
    plan_.add(gateware_.cycles(), cycle, verb + rest);
}

// No client waits for the answer to a planned command, so its error goes to the log.
void Board::run_plan() {
    while (std::optional<std::string> line = plan_.take(gateware_.cycles())) {
        std::istringstream words(*line);
        std::string verb;
        words >> verb;
        try {
            obey(verb, words);
        } catch (const std::exception &error) {
            fprintf(stderr, "board: planned '%s': %s\n", line->c_str(), error.what());
        }
    }
}

// write OFFSET VALUE: a dword of BAR0, as the host's processor writes it.
void Board::write_register(std::istream &words) {
    uint64_t offset = 0, value = 0;
    words >> std::setbase(0) >> offset >> value;
    bool right = !words.fail() && offset % 4 == 0 && offset < kBar0Bytes && value <= ~uint32_t{0};
    if (!right) throw std::invalid_argument("must be write OFFSET VALUE, a dword of BAR0");
    auto dword = static_cast<uint32_t>(value);
    bar_write(0, offset, &dword, sizeof dword);
}

void Board::mark() {
    uint64_t violations = 0;
    for (unsigned i = 0; i < static_cast<unsigned>(Rule::kCount); i++)
        violations += rules_.count(static_cast<Rule>(i));
    marks_.push_back({gateware_.cycles() - cleared_at_, violations, hard_block_.cq(),
                      hard_block_.cc(), hard_block_.rq(), hard_block_.rc(), gateware_.slot()});
}

// peer read|write [bar0|bar2] OFFSET SIZE COUNT TAGS [GAP_NS]
void Board::start_peer(std::istream &words) {
    std::string kind;
    Peer::Job job;
    words >> kind >> std::ws;
    if (words.peek() == 'b') {
        std::string bar;
        words >> bar;
        if (bar != "bar0" && bar != "bar2") words.setstate(std::ios::failbit);
        job.bar = bar == "bar2" ? 2 : 0;
    }
    words >> std::setbase(0) >> job.offset >> job.size >> job.count >> job.tags;
    if (!words || (kind != "read" && kind != "write"))
        throw std::invalid_argument(
            "must be peer read|write [bar0|bar2] OFFSET SIZE COUNT TAGS [GAP_NS]");
    uint64_t gap = 0;
    if (words >> gap) job.gap = gap * kNanosecond;
    job.write = kind == "write";
    peer_.start(job);
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
    } else if (verb == "write") {
        write_register(words);
    } else if (verb == "mark") {
        mark();
    } else if (verb == "at") {
        plan(words);
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
                              "': there are stats, clear, set, fault, quit, peer, write, mark, at");
    } catch (const std::exception &error) {
        return error_json(line + ": " + error.what());
    }
    return stats();
}

}  // namespace lanebox
