// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "control/statistics.hpp"

#include <ctime>

namespace lanebox {

namespace {

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

Json wire_json(const Wire &wire) {
    const FrameSocket::Counters &socket = wire.socket().counters;
    Json h2c = Json()
                   .number("frames", wire.h2c().frames)
                   .number("bytes", wire.h2c().bytes)
                   .number("bad", wire.h2c().bad)
                   .number("no_peer", socket.no_peer)
                   .number("full", socket.full);
    Json c2h = Json()
                   .number("frames", wire.c2h().frames)
                   .number("bytes", wire.c2h().bytes)
                   .number("too_long", socket.too_long)
                   .number("cut", socket.cut)
                   .number("waiting", wire.waiting());
    return Json()
        .number("peer", uint64_t{wire.socket().connected()})
        .object("h2c", h2c)
        .object("c2h", c2h);
}

Json violations_json(const Rules &rules) {
    Json violations;
    for (unsigned i = 0; i < static_cast<unsigned>(Rule::kCount); i++)
        if (uint64_t count = rules.count(static_cast<Rule>(i)))
            violations.number(rule_name(static_cast<Rule>(i)), count);
    return violations;
}

}  // namespace

Json Statistics::marked(const Mark &mark) const {
    return Json()
        .number("cycle", mark.cycle)
        .number("violations", mark.violations)
        .object("cq", stream_json(mark.cq))
        .object("cc", stream_json(mark.cc))
        .object("rq", stream_json(mark.rq))
        .object("rc", stream_json(mark.rc))
        .object("slot", mark.slot.json(mark.cycle + cleared_at_));
}

std::string Statistics::text(uint64_t planned) const {
    Json struck;
    for (const auto &[name, count] : machine_.faults.struck_by_name()) struck.number(name, count);
    Json marks;
    for (size_t i = 0; i < marks_.size(); i++) marks.object(std::to_string(i), marked(marks_[i]));
    const HostCounters &host = machine_.root.counters;
    const HardBlock &block = machine_.hard_block;
    const Gateware &gateware = machine_.gateware;
    return Json()
        .number("cycles", gateware.cycles() - cleared_at_)
        .number("cpu_seconds", cpu_seconds() - cpu_cleared_)
        .object("cq", stream_json(block.cq()))
        .object("cc", stream_json(block.cc()))
        .object("rq", stream_json(block.rq()))
        .object("rc", stream_json(block.rc()))
        .object("slot", gateware.slot().json(gateware.cycles()))
        .number("msi", host.msi)
        .number("msi_lost", host.msi_lost)
        .number("mmio_reads", host.mmio_reads)
        .number("mmio_writes", host.mmio_writes)
        .number("mmio_errors", host.mmio_errors)
        .number("completion_timeouts", host.completion_timeouts)
        .number("unmapped", host.unmapped)
        .number("overtaken", host.overtaken)
        .number("write_stalls", host.write_stalls)
        .number("faults", machine_.faults.struck())
        .object("struck", struck)
        .object("peer", peer_json(machine_.peer))
        .object("wire", wire_json(machine_.wire))
        .number("planned", planned)
        .object("marks", marks)
        .object("violations", violations_json(machine_.rules))
        .number("mps", uint64_t{machine_.config.mps()})
        .number("mrrs", uint64_t{machine_.config.mrrs()})
        .number("seed", machine_.options.seed)
        .text();
}

void Statistics::mark() {
    uint64_t violations = 0;
    for (unsigned i = 0; i < static_cast<unsigned>(Rule::kCount); i++)
        violations += machine_.rules.count(static_cast<Rule>(i));
    const HardBlock &block = machine_.hard_block;
    marks_.push_back({machine_.gateware.cycles() - cleared_at_, violations, block.cq(), block.cc(),
                      block.rq(), block.rc(), machine_.gateware.slot()});
}

void Statistics::clear() {
    marks_.clear();
    machine_.hard_block.clear_counters();
    machine_.gateware.clear_slot();
    machine_.rules.clear();
    machine_.root.counters = {};
    machine_.wire.clear();
    cleared_at_ = machine_.gateware.cycles();
    cpu_cleared_ = cpu_seconds();
}

}  // namespace lanebox
