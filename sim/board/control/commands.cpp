// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "control/commands.hpp"

#include <cstdio>
#include <iomanip>
#include <sstream>
#include <stdexcept>

namespace lanebox {

namespace {

constexpr const char *kLiveOptions[] = {
    "completion-size", "read-latency", "mmio-rtt",       "stall",         "pace",
    "split",           "iommu-miss",   "write-stall",    "reorder",       "link-gen",
    "link-width",      "temperature",  "vccint",         "vccaux",        "vccbram",
    "module-a",        "module-b",     "module-a-fault", "module-b-fault"};

std::string error_json(const std::string &text) {
    return Json().string("error", text).text();
}

void check_live(const std::string &name) {
    std::string live;
    for (const char *option : kLiveOptions) {
        if (name == option) return;
        live += (live.empty() ? "" : ", ") + std::string(option);
    }
    throw std::domain_error("set " + name + ": there are " + live);
}

}  // namespace

void Commands::set(const std::string &name, const std::string &value) {
    check_live(name);
    set_option(machine_.options, name, value);
    machine_.root.timing = machine_.options.timing;
    machine_.config.train(machine_.options.link);
    machine_.root.configure();
    machine_.parts.sensors.set(machine_.options.environment);
    // A module that is put into its cage again forgets what the card wrote to it.
    if (name.rfind("module-a", 0) == 0) machine_.parts.cages[0].set(machine_.options.cages[0]);
    if (name.rfind("module-b", 0) == 0) machine_.parts.cages[1].set(machine_.options.cages[1]);
    machine_.hard_block.set_stall(machine_.options.stall_percent);
}

void Commands::clear() {
    plan_.clear();
    statistics_.clear();
}

void Commands::plan(std::istream &words) {
    uint64_t cycle = 0;
    std::string verb, rest;
    words >> std::setbase(0) >> cycle >> std::setbase(10) >> verb;
    std::getline(words, rest);
    if (verb != "write" && verb != "mark" && verb != "peer" && verb != "pause")
        throw std::invalid_argument("must be at CYCLE write|mark|peer|pause ...");
    plan_.add(machine_.gateware.cycles(), cycle, verb + rest);
}

// Nothing waits for the answer to a planned command, so its error goes to the log.
void Commands::run_plan() {
    while (std::optional<std::string> line = plan_.take(machine_.gateware.cycles())) {
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

void Commands::write_register(std::istream &words) {
    uint64_t offset = 0, value = 0;
    words >> std::setbase(0) >> offset >> value;
    bool right =
        !words.fail() && offset % 4 == 0 && offset < Machine::kBar0Bytes && value <= ~uint32_t{0};
    if (!right) throw std::invalid_argument("must be write OFFSET VALUE, a dword of BAR0");
    auto dword = static_cast<uint32_t>(value);
    function_.bar_write(0, offset, &dword, sizeof dword);
}

void Commands::start_peer(std::istream &words) {
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
    machine_.peer.start(job);
}

void Commands::pause(std::istream &words) {
    constexpr uint64_t kLongest = 1'000'000;
    uint64_t nanoseconds = 0;
    words >> nanoseconds;
    if (!words || nanoseconds == 0 || nanoseconds > kLongest)
        throw std::invalid_argument("must be pause NS, a number from 1 to " +
                                    std::to_string(kLongest));
    machine_.root.memory.stall(nanoseconds * kNanosecond);
}

// Whatever the client and the peer of the wire have sent reaches the card in the next step, if the
// board has read it. So a client that acts only between two steps has all the time that it needs.
void Commands::step(std::istream &words) {
    constexpr unsigned kMost = 100'000;
    unsigned cycles = 0;
    words >> cycles;
    if (!words || cycles > kMost)
        throw std::invalid_argument("must be step CYCLES, a number up to " + std::to_string(kMost));
    held_ = true;
    for (; cycles; cycles--) tick_();
}

// Carries out one command of the control socket. Returns false if no command has this name.
bool Commands::obey(const std::string &verb, std::istream &words) {
    if (verb == "quit") {
        quit_ = true;
    } else if (verb == "set") {
        std::string name, value;
        words >> name >> value;
        set(name, value);
    } else if (verb == "fault") {
        std::string spec;
        words >> spec;
        machine_.faults.arm(spec);
        function_.strike();
    } else if (verb == "clear") {
        clear();
    } else if (verb == "peer") {
        start_peer(words);
    } else if (verb == "write") {
        write_register(words);
    } else if (verb == "mark") {
        statistics_.mark();
    } else if (verb == "power") {
        function_.lose_card_power();
    } else if (verb == "pause") {
        pause(words);
    } else if (verb == "step") {
        step(words);
    } else if (verb == "resume") {
        held_ = false;
    } else if (verb == "at") {
        plan(words);
    } else {
        return verb == "stats";
    }
    return true;
}

std::string Commands::answer(const std::string &line) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    try {
        if (!obey(verb, words))
            return error_json("command '" + verb +
                              "': there are stats, clear, set, fault, quit, peer, write, mark, "
                              "pause, power, at, step, resume");
        // The text of a domain_error names the command already.
    } catch (const std::domain_error &error) {
        return error_json(error.what());
    } catch (const std::exception &error) {
        return error_json(line + ": " + error.what());
    }
    return stats();
}

}  // namespace lanebox
