// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The model behind the far side `wire` of the net device: a MAC and a line of 10, 25 or 40 Gbit/s,
// whose other end is a UNIX socket (frame_socket.hpp).
//
//   card -- h2c: frame_port.sv -- Line ----> FrameSocket -- a NIC of QEMU, another board
//        -- c2h: frame_port.sv <---- Line -- FrameSocket --
//
// Frames take the time of the line in device time. They are given on when their last byte has
// arrived. The line does not lose frames: a frame from the socket waits until the card takes it.
// The link is up while the socket has a peer. Device time runs while a frame is on the line. A
// silent socket does not keep it running.
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

// A beat of a stream of frames at the pins of the Verilog module frame_port (Frames.scala).
struct WireBeat {
    static constexpr size_t kBytes = numbers::kBeatBytes;

    bool valid = false, last = false;
    bool error = false;         // The card marks the frame as bad. Only h2c has this pin.
    unsigned bytes = 0;         // the valid bytes of the last beat; 0: all of them
    uint8_t data[kBytes] = {};  // byte 0 is in the lowest bits of the pin
};
// The pins that the card drives.
struct WireInputs {
    bool reset = false;
    WireBeat h2c;
    bool c2h_ready = false;
};
// The pins that the wire drives.
struct WireOutputs {
    bool h2c_ready = false;
    WireBeat c2h;
    unsigned kept = 0;  // bytes of the frame that leaves at c2h
    uint64_t time = 0;  // device time in ns at which this frame began on the line
    bool link = false;
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
    // Carries out all that is due by the time `now`: frames whose last byte has arrived go on.
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
    bool link_ = false;      // the state of the link as the card sees it
    unsigned settling_ = 0;  // cycles for which device time still runs (kSettle)
    // The wire's `ready` of h2c and its `valid` of c2h, as they were driven last.
    bool taking_ = false, giving_ = false;
    Frame taken_;                 // the beats of the present h2c frame that have come
    size_t given_ = 0;            // bytes of the first frame in `coming_` that the card has taken
    std::deque<Moving> leaving_;  // frames on the line to the socket
    std::deque<Moving> coming_;   // frames on the line to the card
    Counters h2c_, c2h_;
};

}  // namespace lanebox
