// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Unix sockets for the board: a listening socket, and functions that send and receive whole
// messages with descriptors.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "vfio_user/fd.hpp"
#include "vfio_user/protocol.hpp"

namespace lanebox::vfio_user {

// A listening socket with mode 0600, removed from its path at the end. A stale socket, on which no
// process listens, is replaced. Anything else at the path, or a path that is too long, throws
// std::runtime_error. With an empty path the object does not listen.
class Listener {
public:
    explicit Listener(const std::string &path);
    ~Listener();
    Listener(const Listener &) = delete;
    Listener &operator=(const Listener &) = delete;

    int fd() const { return socket_.get(); }  // Returns the listening socket. -1: no socket.
    // Accepts a connection. It has a timeout of 5 seconds, because while the board waits for the
    // rest of a message it serves nothing else, not even a request to end.
    Fd accept() const;

private:
    std::string path_;
    Fd socket_;
    // Device and inode of the listener's own socket file. Another process may have replaced the
    // file.
    std::pair<dev_t, ino_t> identity_{};
};

// Connects to a socket on which another process listens. Throws std::runtime_error if that fails.
Fd connect_to(const std::string &path);

// A message, and the file descriptors that came with it. They are closed with the message, unless
// they are moved out of it.
struct Message {
    Header header{};
    std::vector<uint8_t> body;
    std::vector<Fd> fds;
};

// Receives one vfio-user message, with the descriptors that came with it. Returns false if the peer
// left, sent something else, or did not send the rest of the message within the socket's timeout.
// The caller must then end the connection.
bool receive(int socket, Message &message);
// Sends `bytes` bytes. Returns false if the peer has left, or does not read them within the
// socket's timeout.
bool send_all(int socket, const void *data, size_t bytes);

}  // namespace lanebox::vfio_user
