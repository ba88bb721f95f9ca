// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The control socket: takes one command a line, answers with one JSON object a line, and serves one
// client at a time.
#pragma once

#include <functional>
#include <string>

#include "vfio_user/socket.hpp"

namespace lanebox {

class Control {
public:
    // Carries out one line, without its end of line, and returns the JSON object that answers it.
    using Handler = std::function<std::string(const std::string &line)>;

    // Listens at `path`. With an empty path there is no control socket. Throws std::runtime_error
    // if the socket cannot be made.
    Control(const std::string &path, Handler handler);

    // Returns the descriptor to poll: the client's, or the listening one while there is no client.
    // -1: there is no control socket.
    int fd() const { return client_ ? client_.get() : listen_.fd(); }
    // Accepts a client of the control socket, or answers its commands. Call it when fd() is
    // readable.
    void serve();

private:
    // Answers the client's complete lines. Returns false if the client must be dropped.
    bool answer_lines();

    Handler handler_;
    vfio_user::Listener listen_;
    vfio_user::Fd client_;
    std::string pending_;
};

}  // namespace lanebox
