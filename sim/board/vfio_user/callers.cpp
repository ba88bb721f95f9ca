// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "vfio_user/callers.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace lanebox::vfio_user {

namespace {

// The most connections that wait without having sent a message. One more closes the oldest.
constexpr size_t kMostWaiting = 16;

void watch(const Fd &events, int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(events.get(), EPOLL_CTL_ADD, fd, &event))
        throw std::runtime_error(std::string("cannot watch a connection: ") + strerror(errno));
}

// Returns true if the client has closed its end. Messages that it sent before are still served.
bool has_left(const Fd &client) {
    pollfd end{client.get(), POLLRDHUP, 0};
    return poll(&end, 1, 0) == 1;
}

int process_of(const Fd &socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
    return peer.pid;
}

enum class Call { Silent, Over, Speaks };

// Looks whether a caller has sent a message. The bytes stay in the socket, so that the server can
// read them if the caller becomes the client.
Call listen_to(const Fd &caller, Header &first) {
    ssize_t count = recv(caller.get(), &first, sizeof first, MSG_PEEK | MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return Call::Silent;
    return count > 0 ? Call::Speaks : Call::Over;
}

// Reads and drops everything in the socket. If a socket is closed before that, its peer gets an
// error instead of the answer.
void read_rest(const Fd &caller) {
    char data[4096];
    while (recv(caller.get(), data, sizeof data, MSG_DONTWAIT) > 0) {
    }
}

}  // namespace

Callers::Callers(const std::string &path, ClientLog &log)
    : log_(log), listen_(path), events_(epoll_create1(EPOLL_CLOEXEC)) {
    watch(events_, listen_.fd());
}

void Callers::welcome() {
    pollfd knock{listen_.fd(), POLLIN, 0};
    if (poll(&knock, 1, 0) != 1) return;
    Fd caller = listen_.accept();
    if (!caller) return;
    watch(events_, caller.get());
    waiting_.push_back(std::move(caller));
    if (waiting_.size() > kMostWaiting) waiting_.pop_front();
}

void Callers::refuse(const Fd &caller, const Header &request, const Fd &client) {
    Header answer = request;
    answer.size = sizeof answer;
    answer.flags = kFlagReply | kFlagError;
    answer.error = EBUSY;
    send_all(caller.get(), &answer, sizeof answer);
    read_rest(caller);
    log_.say("process " + std::to_string(process_of(caller)) +
             " was refused: the board has a client, process " + std::to_string(process_of(client)) +
             "; one at a time");
}

// Answers a caller's first message. A client that has left keeps its place until its last message
// was served; until then callers wait. Returns true if the caller need not wait any longer.
bool Callers::answer(Fd &caller, const Fd &client, Fd &chosen) {
    Header first{};
    switch (listen_to(caller, first)) {
        case Call::Silent: return false;
        case Call::Over: return true;
        case Call::Speaks: break;
    }
    if (chosen || (client && has_left(client))) return false;
    if (client) {
        refuse(caller, first, client);
    } else {
        epoll_ctl(events_.get(), EPOLL_CTL_DEL, caller.get(), nullptr);
        chosen = std::move(caller);
    }
    return true;
}

Fd Callers::look(const Fd &client) {
    welcome();
    Fd chosen;
    for (auto caller = waiting_.begin(); caller != waiting_.end();)
        caller = answer(*caller, client, chosen) ? waiting_.erase(caller) : std::next(caller);
    return chosen;
}

}  // namespace lanebox::vfio_user
