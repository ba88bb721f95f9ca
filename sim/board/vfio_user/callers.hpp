// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Callers are connections to the vfio-user socket that are not the client. The first caller that
// sends a message becomes the client. While the board has a client, every other caller is refused:
// its first request is answered with EBUSY, and its connection ends. A connection that is closed
// before its first message (a probe of the socket) is dropped, and nothing is logged.
#pragma once

#include <deque>
#include <string>

#include "vfio_user/client_log.hpp"
#include "vfio_user/socket.hpp"

namespace lanebox::vfio_user {

class Callers {
public:
    Callers(const std::string &path, ClientLog &log);

    // Returns the descriptor to poll. Call look() when it is readable.
    int fd() const { return events_.get(); }

    // Serves new connections and first messages. Returns the new client, or an empty Fd; a new
    // client is chosen only while `client`, the present one, is empty.
    Fd look(const Fd &client);

private:
    void welcome();
    void refuse(const Fd &caller, const Header &request, const Fd &client);
    // Answers a caller's first message. Returns true if the caller need not wait any longer.
    bool answer(Fd &caller, const Fd &client, Fd &chosen);

    ClientLog &log_;
    Listener listen_;
    Fd events_;  // an epoll instance that watches listen_ and waiting_
    std::deque<Fd> waiting_;
};

}  // namespace lanebox::vfio_user
