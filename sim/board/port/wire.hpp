// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// What the far side `wire` of the net device is connected to: a MAC and a line of 10, 25 or 40
// Gbit/s, whose other end is a UNIX socket (frame_socket.hpp).
//
//   card -- h2c: frame_port.sv -- Line ----> FrameSocket -- a NIC of QEMU, another board
//        -- c2h: frame_port.sv <---- Line -- FrameSocket --
//
// Frames take the time of the line in device time. They are given on when their last byte has
// arrived. The line does not lose frames: what comes from the socket waits until the card takes it.
// The link is up while the socket has a peer. A frame on its way is work for device time. A socket
// on which nothing comes is not.
#pragma once

#include <string>

#include "port/frame_socket.hpp"
#include "port/line.hpp"

namespace lanebox {

struct WireOptions {
    std::string path;      // path of the socket; empty: the wire has no other end
    bool listens = false;  // the board listens on the socket; otherwise it connects to it
    unsigned gigabits = 10;
};

// The pins of the Verilog module frame_port. Its vectors have the same layout: 32-bit words in the
// same order.
struct WireInputs {
    uint32_t data[8];  // of h2c
    // From bit 0 on: valid, last and error of h2c, reset, ready of c2h. From bit 8 on: the valid
    // bytes of h2c's beat.
    uint32_t bits;
};
struct WireOutputs {
    uint32_t data[8];  // of c2h
    uint32_t time[2];  // device time in ns at which the frame of c2h began
    // From bit 0 on: valid and last of c2h, ready of h2c, the state of the link. From bit 8 on: the
    // valid bytes of c2h's beat. From bit 16 on: the bytes of its frame.
    uint32_t bits;
};

class Wire {
public:
    struct Counters {
        uint64_t frames = 0, bytes = 0;
        uint64_t bad = 0;  // frames of the card that it had marked as bad, which are dropped
    };

    explicit Wire(const WireOptions &options);

    // Opens the socket, if the options have one. Throws std::runtime_error if it cannot be used.
    void open();
    // Tells the time. Frames whose last byte has arrived by then are given on.
    void run(Time now);
    // Carries out one cycle at the pins of the module frame_port.
    void step(const WireInputs &inputs, WireOutputs &outputs);
    // Returns true if a frame is under way, or if the net device may not have noticed the last
    // frame or a change of the link yet.
    bool working() const;

    void bind() { bound_ = true; }
    bool bound() const { return bound_; }  // The gateware has the module frame_port.

    FrameSocket &socket() { return socket_; }
    const FrameSocket &socket() const { return socket_; }
    const Counters &h2c() const { return h2c_; }
    const Counters &c2h() const { return c2h_; }
    // Returns how many frames from the socket the card has not taken yet.
    size_t waiting() const { return coming_.size() + socket_.waiting(); }
    void clear();

private:
    struct Moving {
        Line::Slot slot;
        Frame frame;
    };

    void take_beat(const WireInputs &inputs);
    void give_beat(WireOutputs &outputs) const;
    void beat_given();
    void reset();

    WireOptions options_;
    FrameSocket socket_;
    Line up_, down_;  // h2c and c2h
    Time now_ = 0;
    bool bound_ = false, in_reset_ = true;
    bool link_ = false;      // the state of the link that the card sees
    unsigned settling_ = 0;  // cycles that still run after a frame or a change of the link
    // The pins as they were driven last.
    bool taking_ = false, giving_ = false;
    Frame taken_;                 // the beats that have been taken of a frame
    size_t given_ = 0;            // bytes of the first frame in `coming_` that the card has taken
    std::deque<Moving> leaving_;  // frames on the line to the socket
    std::deque<Moving> coming_;   // frames on the line to the card
    Counters h2c_, c2h_;
};

}  // namespace lanebox
