// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// An accepted connection fails if its peer is silent for kPatience in the middle of a message, so
// that no client can stop the board. A message of more than kMaxMessage bytes is not received. The
// kernel drops the descriptors after the first kMaxFds. Each descriptor belongs to its message and
// is closed with it, and no program that the board starts inherits one.

#include "vfio_user/socket.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace lanebox::vfio_user {

namespace {

constexpr size_t kMaxFds = 16;
constexpr size_t kMaxMessage = 16u << 20;
constexpr timeval kPatience = {5, 0};

[[noreturn]] void fail(const std::string &what) {
    throw std::runtime_error(what + ": " + strerror(errno));
}

sockaddr_un address_of(const std::string &path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        throw std::runtime_error("socket path has " + std::to_string(path.size()) +
                                 " characters, the kernel takes at most " +
                                 std::to_string(sizeof address.sun_path - 1) + ": " + path +
                                 "; choose a shorter directory");
    }
    memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
}

std::pair<dev_t, ino_t> identity_of(const std::string &path) {
    struct stat status;
    if (lstat(path.c_str(), &status)) return {};
    return {status.st_dev, status.st_ino};
}

void remove_stale(const std::string &path, const sockaddr_un &address) {
    struct stat status;
    if (lstat(path.c_str(), &status)) return;
    if (!S_ISSOCK(status.st_mode)) {
        throw std::runtime_error(path +
                                 " exists and is no socket; remove it or choose another path");
    }
    Fd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(probe.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0) {
        throw std::runtime_error("another board already listens on " + path);
    }
    unlink(path.c_str());
}

bool receive_all(int socket, uint8_t *data, size_t bytes) {
    while (bytes) {
        ssize_t count = recv(socket, data, bytes, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        data += count;
        bytes -= static_cast<size_t>(count);
    }
    return true;
}

void collect_fds(msghdr &header, std::vector<Fd> &fds) {
    for (cmsghdr *control = CMSG_FIRSTHDR(&header); control;
         control = CMSG_NXTHDR(&header, control)) {
        if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
        size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
            fds.emplace_back(fd);
        }
    }
}

}  // namespace

Listener::Listener(const std::string &path) : path_(path) {
    if (path.empty()) return;
    sockaddr_un address = address_of(path);
    remove_stale(path, address);
    socket_ = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket_) fail("cannot make a socket");
    // The socket gets mode 0600, since any process that can connect controls the card.
    mode_t before = umask(0177);
    int failed = bind(socket_.get(), reinterpret_cast<sockaddr *>(&address), sizeof address);
    umask(before);
    if (failed) fail("cannot bind " + path);
    if (listen(socket_.get(), 4)) fail("cannot listen on " + path);
    identity_ = identity_of(path);
}

Listener::~Listener() {
    if (!path_.empty() && identity_of(path_) == identity_) unlink(path_.c_str());
}

Fd Listener::accept() const {
    Fd client(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
    setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
    return client;
}

Fd connect_to(const std::string &path) {
    sockaddr_un address = address_of(path);
    Fd peer(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!peer) fail("cannot make a socket");
    if (connect(peer.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address))
        fail("cannot connect to " + path);
    return peer;
}

bool receive(int socket, Message &message) {
    iovec vector{&message.header, sizeof message.header};
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))];
    msghdr header{};
    header.msg_iov = &vector;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    ssize_t count;
    do count = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    if (count <= 0) return false;
    collect_fds(header, message.fds);
    auto *rest = reinterpret_cast<uint8_t *>(&message.header) + count;
    if (!receive_all(socket, rest, sizeof message.header - static_cast<size_t>(count)))
        return false;
    size_t size = message.header.size;
    if (size < sizeof message.header || size > kMaxMessage) return false;
    message.body.resize(size - sizeof message.header);
    return receive_all(socket, message.body.data(), message.body.size());
}

bool send_all(int socket, const void *data, size_t bytes) {
    const auto *next = static_cast<const uint8_t *>(data);
    while (bytes) {
        ssize_t count = send(socket, next, bytes, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        next += count;
        bytes -= static_cast<size_t>(count);
    }
    return true;
}

}  // namespace lanebox::vfio_user
