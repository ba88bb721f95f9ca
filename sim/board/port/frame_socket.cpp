// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "port/frame_socket.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace lanebox {

namespace {

constexpr size_t kHead = 4;              // bytes of the length that stands in front of a frame
constexpr size_t kQemuLongest = 69'632;  // QEMU's own limit for a frame on such a socket
constexpr size_t kMostWaiting = 256;     // frames from the peer that wait for the card
constexpr size_t kMostOut = 4u << 20;    // bytes that wait until the peer reads
constexpr size_t kChunk = 1u << 16;      // bytes of one read of the socket

uint32_t length_at(const uint8_t *head) {
    return uint32_t{head[0]} << 24 | head[1] << 16 | head[2] << 8 | head[3];
}

void say(const std::string &text) {
    fprintf(stderr, "board: wire: %s\n", text.c_str());
}

}  // namespace

void FrameSocket::listen(const std::string &path) {
    path_ = path;
    listener_ = std::make_unique<vfio_user::Listener>(path);
}

void FrameSocket::connect(const std::string &path) {
    path_ = path;
    peer_ = vfio_user::connect_to(path);
}

bool FrameSocket::room() const {
    return waiting_.size() < kMostWaiting;
}

short FrameSocket::events() const {
    return static_cast<short>((room() ? POLLIN : 0) | (sent_ < out_.size() ? POLLOUT : 0));
}

void FrameSocket::answer_caller() {
    vfio_user::Fd caller = listener_->accept();
    if (!caller) return;
    if (peer_) return say("a second peer called on " + path_ + ", and was sent away");
    peer_ = std::move(caller);
    told_ = false;
}

// Forgets the peer. The frames that it has sent still go to the card.
void FrameSocket::leave(const std::string &why) {
    if (!why.empty()) say(why);
    bool cut = skip_ || !in_.empty();
    if (cut && why.empty()) {
        counters.cut++;
        say("the peer left in the middle of a frame, which is lost");
    }
    peer_ = vfio_user::Fd();
    in_.clear();
    out_.clear();
    sent_ = skip_ = 0;
}

// --- to the peer ---------------------------------------------------------------------------------

void FrameSocket::send(const Frame &frame) {
    if (!peer_) {
        counters.no_peer++;
        return;
    }
    if (out_.size() - sent_ + kHead + frame.size() > kMostOut) {
        counters.full++;
        return;
    }
    for (unsigned shift : {24, 16, 8, 0})
        out_.push_back(static_cast<uint8_t>(frame.size() >> shift));
    out_.insert(out_.end(), frame.begin(), frame.end());
    if (!flush()) counters.no_peer++;
}

// Sends as many bytes as the socket accepts. Returns false if the peer has left; the unsent frames
// are then lost. serve() forgets the peer when all frames that the peer had sent are read.
bool FrameSocket::flush() {
    while (sent_ < out_.size()) {
        ssize_t count = ::send(peer_.get(), out_.data() + sent_, out_.size() - sent_,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
        if (count < 0) break;
        sent_ += static_cast<size_t>(count);
        forget_sent();
    }
    bool done = sent_ == out_.size();
    out_.clear();
    sent_ = 0;
    return done;
}

// Drops the bytes of `out_` that are sent, once they are more than the unsent ones. A peer that
// always lags never leaves `out_` empty, so the buffer would grow for ever.
void FrameSocket::forget_sent() {
    if (sent_ <= out_.size() - sent_) return;
    out_.erase(out_.begin(), out_.begin() + static_cast<ptrdiff_t>(sent_));
    sent_ = 0;
}

// --- from the peer -------------------------------------------------------------------------------

Frame FrameSocket::take() {
    Frame frame = std::move(waiting_.front());
    waiting_.pop_front();
    if (peer_) parse();
    return frame;
}

// Reads the bytes that the peer has sent. Returns false if the peer has left.
bool FrameSocket::receive() {
    size_t had = in_.size();
    in_.resize(had + kChunk);
    ssize_t count = recv(peer_.get(), in_.data() + had, kChunk, MSG_DONTWAIT);
    in_.resize(had + static_cast<size_t>(count > 0 ? count : 0));
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

// Makes frames of the received bytes, while there is room for frames. Returns false if the bytes
// have an impossible length and the connection was closed for that.
bool FrameSocket::parse() {
    size_t at = 0;
    while (room()) {
        size_t passed = std::min(skip_, in_.size() - at);
        skip_ -= passed;
        at += passed;
        if (in_.size() - at < kHead) break;
        size_t bytes = length_at(&in_[at]);
        if (bytes == 0 || bytes > kQemuLongest) {
            leave("the peer sent the length " + std::to_string(bytes) +
                  ", which QEMU's framing does not allow (1 to " + std::to_string(kQemuLongest) +
                  "), so the bytes that follow cannot be understood. The connection is closed");
            return false;
        }
        if (bytes > kLongest) {
            if (!told_)
                say("a frame of " + std::to_string(bytes) +
                    " bytes is lost, as all frames of more than " + std::to_string(kLongest) +
                    " will be: lower the peer's MTU");
            told_ = true;
            counters.too_long++;
            at += kHead;
            skip_ = bytes;
            continue;
        }
        if (in_.size() - at < kHead + bytes) break;
        auto from = in_.begin() + static_cast<ptrdiff_t>(at + kHead);
        waiting_.emplace_back(from, from + static_cast<ptrdiff_t>(bytes));
        at += kHead + bytes;
    }
    in_.erase(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(at));
    return true;
}

void FrameSocket::serve() {
    flush();
    if (!room()) return;
    bool there = receive();
    // Frames for which there is no room yet are parsed before the peer is forgotten.
    if (parse() && !there && room()) leave("");
}

}  // namespace lanebox
