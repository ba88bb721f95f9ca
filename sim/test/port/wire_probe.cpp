// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A test program for the folder port: the wire without a gateware. It connects to the UNIX socket
// PATH and is driven at the pins of the module frame_port.
//
//   wire_probe PATH GIGABITS send SIZE COUNT   the card always has a frame of SIZE bytes
//   wire_probe PATH GIGABITS take COUNT        the card takes every beat; COUNT frames come first
//   wire_probe PATH GIGABITS serve             the frames that come go back, until the peer leaves
//
// The first two print the cycles from the first one in which a frame may move to the last one with
// work. All print the counters at the end.

#include <poll.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "port/wire.hpp"

namespace {

using lanebox::FrameSocket;
using lanebox::Time;
using lanebox::Wire;
using lanebox::WireBeat;
using lanebox::WireInputs;
using lanebox::WireOutputs;

class Probe {
public:
    explicit Probe(const lanebox::WireOptions &options) : wire_(options) {
        wire_.open();
        wire_.bind();
        in_.reset = true;
        step();
        in_.reset = false;
        step();
        while (wire_.working()) step();
    }

    // Runs a cycle in which the card gives the beat `h2c`, and takes a beat of c2h if it is
    // `ready`.
    void step(const WireBeat &h2c = {}, bool ready = false) {
        in_.h2c = h2c;
        in_.c2h_ready = ready;
        wire_.run(cycles_ * lanebox::kCycle);
        wire_.step(in_, out_);
        cycles_++;
    }

    // Sends `count` frames of `size` bytes as fast as the wire takes them.
    uint64_t send(size_t size, uint64_t count) {
        uint64_t begin = cycles_;
        step();
        for (uint64_t sent = 0; sent < count;) {
            size_t bytes = std::min(size - at_, WireBeat::kBytes);
            WireBeat beat;
            memset(beat.data, static_cast<int>(sent), sizeof beat.data);
            beat.valid = true;
            beat.last = at_ + bytes == size;
            beat.bytes = static_cast<unsigned>(bytes % WireBeat::kBytes);
            bool taken = out_.h2c_ready;
            step(beat);
            if (taken) at_ = beat.last ? 0 : at_ + bytes;
            sent += taken && beat.last;
        }
        while (wire_.working()) step();
        return cycles_ - begin;
    }

    // Takes `count` frames, which must have come before the first cycle.
    uint64_t take(uint64_t count) {
        while (wire_.waiting() < count) wait(true);
        uint64_t begin = cycles_;
        while (wire_.working()) step({}, true);
        return cycles_ - begin;
    }

    // Sends each frame that comes back. A beat that was taken is given on in the next cycle.
    void serve() {
        while (wire_.socket().connected() || wire_.working()) {
            wait(!wire_.working());
            for (unsigned i = 0; i < 32 && wire_.working(); i++) echo();
        }
    }

    // Gives the socket all frames that the peer will take.
    void drain() {
        while (wire_.socket().connected() && wire_.socket().events() & POLLOUT &&
               !wire_.socket().counters.full)
            wait(true);
    }

    void report(uint64_t cycles) {
        const FrameSocket::Counters &lost = wire_.socket().counters;
        printf("%lu %lu %lu %lu %lu %lu %lu\n", cycles, wire_.h2c().frames, wire_.c2h().frames,
               lost.no_peer, lost.full, lost.too_long, lost.cut);
    }

private:
    void wait(bool sleeps) {
        FrameSocket &socket = wire_.socket();
        pollfd fd{socket.peer_fd(), socket.events(), 0};
        if (poll(&fd, 1, sleeps ? 1000 : 0) > 0) socket.serve();
    }

    void echo() {
        if (!out_.h2c_ready || !out_.c2h.valid) return step();
        WireBeat beat = out_.c2h;
        step(beat, true);
    }

    Wire wire_;
    WireInputs in_{};
    WireOutputs out_{};
    uint64_t cycles_ = 0;
    size_t at_ = 0;
};

}  // namespace

int main(int, char **argv) {
    try {
        Probe probe({argv[1], false, static_cast<unsigned>(std::stoul(argv[2]))});
        std::string verb = argv[3];
        uint64_t cycles = 0;
        if (verb == "send")
            cycles = probe.send(std::stoul(argv[4]), std::stoul(argv[5]));
        else if (verb == "take")
            cycles = probe.take(std::stoul(argv[4]));
        else
            probe.serve();
        probe.drain();
        probe.report(cycles);
    } catch (const std::exception &error) {
        fprintf(stderr, "wire_probe: %s\n", error.what());
        return 1;
    }
}
