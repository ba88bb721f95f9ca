// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Eventfds, which a client has handed over and by which it gets its interrupts.
#pragma once

#include "vfio_user/fd.hpp"

namespace lanebox::vfio_user {

// Returns true if the descriptor is an eventfd. A client may hand over another kind by mistake. A
// pipe or a socket could be full, and a write to it would stop the board.
bool is_eventfd(const Fd &fd);

// Adds one to the eventfd's count, and never waits. Returns false if `eventfd` is empty. A full
// count stays as it is: the client will read it and find that there was an interrupt.
bool raise(const Fd &eventfd);

}  // namespace lanebox::vfio_user
