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
using lanebox::WireInputs;
using lanebox::WireOutputs;

constexpr uint32_t kValid = 1, kLast = 2, kReset = 8, kReady = 16;
constexpr uint32_t kOutValid = 1, kOutLast = 2, kOutReady = 4;

class Probe {
public:
    explicit Probe(const lanebox::WireOptions &options) : wire_(options) {
        wire_.open();
        wire_.bind();
        step(kReset);
        step(0);
        while (wire_.working()) step(0);
    }

    void step(uint32_t bits) {
        in_.bits = bits;
        wire_.run(cycles_ * lanebox::kCycle);
        wire_.step(in_, out_);
        cycles_++;
    }

    // Sends `count` frames of `size` bytes as fast as the wire takes them.
    uint64_t send(size_t size, uint64_t count) {
        uint64_t begin = cycles_;
        step(0);
        for (uint64_t sent = 0; sent < count;) {
            size_t bytes = std::min(size - at_, sizeof in_.data);
            memset(in_.data, static_cast<int>(sent), sizeof in_.data);
            bool taken = out_.bits & kOutReady;
            bool last = at_ + bytes == size;
            step(kValid | (last ? kLast : 0) | static_cast<uint32_t>(bytes & 31) << 8);
            if (taken) at_ = last ? 0 : at_ + bytes;
            sent += taken && last;
        }
        while (wire_.working()) step(0);
        return cycles_ - begin;
    }

    // Takes `count` frames, which must have come before the first cycle.
    uint64_t take(uint64_t count) {
        while (wire_.waiting() < count) wait(true);
        uint64_t begin = cycles_;
        while (wire_.working()) step(kReady);
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
        bool moves = out_.bits & kOutReady && out_.bits & kOutValid;
        if (!moves) return step(0);
        memcpy(in_.data, out_.data, sizeof in_.data);
        step(kReady | kValid | (out_.bits & kOutLast ? kLast : 0) | (out_.bits & 31u << 8));
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
