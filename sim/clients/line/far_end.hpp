// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The far end of the net device's wire: the peer on the board's socket (sim/board/port). It offers
// frames without a break, so the line is what paces them, and takes those of the card.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frames.hpp"
#include "vfio_user/fd.hpp"

namespace lanebox::line {

class FarEnd {
public:
    // Throws std::runtime_error if the board does not listen at `path`.
    explicit FarEnd(const std::string &path);

    // Sends frames on the socket, up to frame `limit`.
    void send(uint64_t limit);
    // Takes the frames of the card that have come.
    void take(Account &account);

private:
    vfio_user::Fd socket_;
    uint64_t sent_ = 0;
    std::vector<uint8_t> in_;  // bytes of which no frame was made yet
};

}  // namespace lanebox::line
