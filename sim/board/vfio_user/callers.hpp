// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Connections that are not the client yet. The first that sends a message becomes the client; as
// long as there is one, every other is told so at once: its first request is refused with EBUSY,
// and its connection ends. A connection that is closed before its first message (a probe of the
// socket) is neither.
#pragma once

#include <deque>
#include <string>

#include "vfio_user/client_log.hpp"
#include "vfio_user/socket.hpp"

namespace lanebox::vfio_user {

class Callers {
public:
    Callers(const std::string &path, ClientLog &log);

    int fd() const { return events_.get(); }  // readable: look() has something to do

    // Serves new connections and first messages. Returns the new client, or an empty Fd; a new
    // client is chosen only while `client`, the present one, is empty.
    Fd look(const Fd &client);

private:
    void welcome();
    void refuse(const Fd &caller, const Header &request, const Fd &client);
    bool answer(Fd &caller, const Fd &client, Fd &chosen);  // true: caller is done with

    ClientLog &log_;
    Listener listen_;
    Fd events_;  // an epoll instance: listen_ and waiting_
    std::deque<Fd> waiting_;
};

}  // namespace lanebox::vfio_user
