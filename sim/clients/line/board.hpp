// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A board whose device time passes only as the driver says, by the command `step` of its control
// socket. All functions throw std::runtime_error if the board has left or refuses something.
#pragma once

#include <cstdint>
#include <string>

namespace lanebox::line {

class Board {
public:
    // `control` and `client` are connections to the board's control socket and, as its client, to
    // its vfio-user socket. Device time is held from now on.
    Board(int control, int client);

    // Lets `cycles` cycles of device time pass.
    void step(unsigned cycles);
    uint64_t cycles() const { return cycles_; }  // that have passed in step()
    // Returns whether the wire has a peer.
    bool wired();
    // Writes a dword of BAR0. It is on its way to the card when the function returns.
    void write(uint64_t offset, uint32_t value);

private:
    std::string command(const std::string &line);

    int control_, client_;
    uint64_t cycles_ = 0;
    std::string answers_;  // read from the control socket, and not yet used
};

}  // namespace lanebox::line
