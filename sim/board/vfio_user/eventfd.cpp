// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "vfio_user/eventfd.hpp"

#include <poll.h>

#include <cstdint>
#include <string>

namespace lanebox::vfio_user {

bool is_eventfd(const Fd &fd) {
    char name[64];
    std::string link = "/proc/self/fd/" + std::to_string(fd.get());
    ssize_t length = readlink(link.c_str(), name, sizeof name);
    return length > 0 && std::string(name, static_cast<size_t>(length)) == "anon_inode:[eventfd]";
}

// poll() keeps the write to the eventfd from waiting. O_NONBLOCK would be simpler, but the client's
// own descriptor of the eventfd would get it, too, and the client's reads would no longer wait.
bool raise(const Fd &eventfd) {
    if (!eventfd) return false;
    pollfd room{eventfd.get(), POLLOUT, 0};
    if (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT)) return true;
    uint64_t one = 1;
    return ::write(eventfd.get(), &one, sizeof one) == sizeof one;
}

}  // namespace lanebox::vfio_user
