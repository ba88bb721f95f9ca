// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Frames on a UNIX socket, framed as QEMU's `-netdev stream` does: 4 bytes with the length of the
// frame, the most significant one first, and then the frame. The socket has one peer at a time.
//
// No function blocks. A frame that goes out waits for a peer that reads slowly, up to a limit.
// Frames that come in wait in take()'s queue. If the queue is full, the socket is not read, so the
// peer waits.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "link/numbers.hpp"
#include "vfio_user/socket.hpp"

namespace lanebox {

using Frame = std::vector<uint8_t>;

class FrameSocket {
public:
    static constexpr size_t kLongest = numbers::kVirtioMtu + numbers::kEthernetBytes;

    struct Counters {
        uint64_t no_peer = 0;   // frames of the card that were lost because there was no peer
        uint64_t full = 0;      // frames of the card that were lost because the peer did not read
        uint64_t too_long = 0;  // frames of the peer that were lost, being longer than kLongest
        uint64_t cut = 0;       // frames that were lost because the peer left before their end
    };

    // listen() waits for a peer, connect() calls one. Both throw std::runtime_error if the socket
    // cannot be used.
    void listen(const std::string &path);
    void connect(const std::string &path);

    bool connected() const { return bool(peer_); }
    // Sends a frame of the card to the peer. A frame that cannot be sent is counted and lost.
    void send(const Frame &frame);
    bool empty() const { return waiting_.empty(); }
    size_t waiting() const { return waiting_.size(); }
    Frame take();  // Returns the frame of the peer that has waited longest. One must be waiting.

    // The descriptors that poll() must watch: of the listening socket, and of the peer's with its
    // events. -1: there is none to watch.
    int callers_fd() const { return listener_ ? listener_->fd() : -1; }
    int peer_fd() const { return events() ? peer_.get() : -1; }
    short events() const;
    // Accepts a connection, whose other end becomes the peer. It is closed if there is a peer.
    void answer_caller();
    // Reads and writes as much as the peer's socket allows without a wait.
    void serve();

    Counters counters;

private:
    bool room() const;
    bool receive();
    bool parse();
    bool flush();
    void forget_sent();
    void leave(const std::string &why);

    std::string path_;
    std::unique_ptr<vfio_user::Listener> listener_;
    vfio_user::Fd peer_;
    std::vector<uint8_t> in_, out_;  // received bytes that no frame was made of yet; bytes to send
    size_t sent_ = 0;                // bytes of `out_` that were sent
    size_t skip_ = 0;                // bytes to pass over: the rest of a frame that is too long
    bool told_ = false;              // The log has the warning that frames are too long.
    std::deque<Frame> waiting_;
};

}  // namespace lanebox
