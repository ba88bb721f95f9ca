// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "control/control.hpp"

#include <sys/socket.h>

namespace lanebox {

namespace {

constexpr size_t kLongestLine = 1 << 16;

}  // namespace

Control::Control(const std::string &path, Handler handler)
    : handler_(std::move(handler)), listen_(path) {}

// Answers the complete lines that have come. The client is dropped if it does not read its answers
// and one cannot be sent, because the board serves nothing else while it sends.
bool Control::answer_lines() {
    for (size_t end; (end = pending_.find('\n')) != std::string::npos;) {
        std::string answer = handler_(pending_.substr(0, end)) + "\n";
        pending_.erase(0, end + 1);
        if (!vfio_user::send_all(client_.get(), answer.data(), answer.size())) return false;
    }
    return pending_.size() <= kLongestLine;
}

void Control::serve() {
    if (!client_) {
        client_ = listen_.accept();
        pending_.clear();
        return;
    }
    char data[4096];
    ssize_t count = recv(client_.get(), data, sizeof data, 0);
    if (count > 0) pending_.append(data, static_cast<size_t>(count));
    if (count <= 0 || !answer_lines()) client_ = vfio_user::Fd();
}

}  // namespace lanebox
