// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "far_end.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <stdexcept>

#include "vfio_user/socket.hpp"

namespace lanebox::line {

namespace {

constexpr size_t kHead = 4;  // bytes of the length in front of each frame, the highest byte first
constexpr size_t kChunk = 1 << 16;

size_t length_at(const uint8_t *head) {
    return size_t{head[0]} << 24 | size_t{head[1]} << 16 | size_t{head[2]} << 8 | head[3];
}

}  // namespace

FarEnd::FarEnd(const std::string &path) : socket_(vfio_user::connect_to(path)) {}

void FarEnd::send(uint64_t limit) {
    std::vector<uint8_t> out;
    for (; sent_ < limit; sent_++) {
        const Frame frame = make_frame(Way::C2h, sent_);
        out.insert(out.end(), {0, 0, 0, kFrame});
        out.insert(out.end(), frame.begin(), frame.end());
    }
    if (!vfio_user::send_all(socket_.get(), out.data(), out.size()))
        throw std::runtime_error("the board has closed the wire");
}

void FarEnd::take(Account &account) {
    for (ssize_t count = kChunk; count == kChunk;) {
        const size_t had = in_.size();
        in_.resize(had + kChunk);
        count = recv(socket_.get(), in_.data() + had, kChunk, MSG_DONTWAIT);
        in_.resize(had + static_cast<size_t>(count > 0 ? count : 0));
        if (count == 0 || (count < 0 && errno != EAGAIN))
            throw std::runtime_error("the board has closed the wire");
    }
    size_t at = 0;
    while (in_.size() - at >= kHead && in_.size() - at >= kHead + length_at(&in_[at])) {
        const size_t bytes = length_at(&in_[at]);
        account.take(&in_[at] + kHead, bytes);
        at += kHead + bytes;
    }
    in_.erase(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(at));
}

}  // namespace lanebox::line
