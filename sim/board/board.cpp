// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "board.hpp"

#include <poll.h>

#include <iterator>

namespace lanebox {

namespace {

// The board polls its sockets after this many cycles of device time at the latest. An answered read
// ends the batch earlier.
constexpr unsigned kBatch = 32;

}  // namespace

Board::Board(const Options &options)
    : memory_(client_log_),
      vectors_(options.msix, [this](unsigned vector) { return server_.interrupt(vector); }),
      machine_(options, *this),
      function_(machine_, vectors_, hooks()),
      commands_(machine_, function_, [this] { tick(); }),
      server_(options.socket, function_, function_.shape(), memory_, client_log_),
      control_(options.control,
               [this](const std::string &line) { return commands_.answer(line); }) {}

Function::Hooks Board::hooks() {
    return {[this] { tick(); }, [this] { return working(); }, [this] { commands_.forget(); },
            [this] { server_.look_for_private_copy(); }};
}

// --- Host ----------------------------------------------------------------------------------------

bool Board::memory_read(uint64_t address, void *data, size_t bytes) {
    return memory_.read(address, data, bytes);
}

bool Board::memory_write(uint64_t address, const void *data, size_t bytes) {
    return memory_.write(address, data, bytes);
}

std::optional<unsigned> Board::vector_of(uint64_t address, uint32_t data) {
    return vectors_.find(address, data);
}

// --- device time ---------------------------------------------------------------------------------

bool Board::working() const {
    return function_.retraining() || commands_.waiting() || machine_.working();
}

void Board::tick() {
    commands_.run();
    machine_.tick();
    function_.run();
}

// Runs a batch of cycles. It ends early when a BAR read has been answered: device time then stops
// until the client's next access, and so does not depend on how fast the client sends it.
void Board::run_batch() {
    function_.take_answered();
    for (unsigned i = 0; i < kBatch; i++) {
        tick();
        if (function_.take_answered()) return machine_.hard_block.settled(machine_.now());
    }
}

// --- the main loop -------------------------------------------------------------------------------

// Returns the client's socket to wait on. It is -1 while the host has its maximum of MMIO reads in
// flight. The client's next message then waits in the socket.
int Board::client_fd() const {
    return machine_.root.cpu.full() ? -1 : server_.client_fd();
}

void Board::serve_client() {
    if (server_.serve()) return;
    if (machine_.options.once && server_.greeted()) quit_ = true;
}

// Waits for the sockets and serves them. The client is served before new connections: if it has
// left, the board is free, and the next caller must not be refused.
void Board::wait(int signal_fd, int timeout_ms) {
    FrameSocket &wire = machine_.wire.socket();
    pollfd fds[] = {{signal_fd, POLLIN, 0},
                    {client_fd(), POLLIN, 0},
                    {server_.callers_fd(), POLLIN, 0},
                    {control_.fd(), POLLIN, 0},
                    {wire.callers_fd(), POLLIN, 0},
                    {wire.peer_fd(), wire.events(), 0}};
    if (poll(fds, std::size(fds), timeout_ms) <= 0) return;
    if (fds[0].revents) quit_ = true;
    if (fds[1].revents) serve_client();
    if (fds[2].revents) server_.answer_callers();
    if (fds[3].revents) control_.serve();
    if (fds[5].revents) wire.serve();
    if (fds[4].revents) wire.answer_caller();
}

void Board::run(int signal_fd) {
    while (!quit_ && !commands_.quit()) {
        bool work = runs();
        wait(signal_fd, work ? pace_.ahead(machine_.options.pace, machine_.gateware.cycles()) : -1);
        if (!commands_.held() && (work || working())) run_batch();
    }
}

}  // namespace lanebox
