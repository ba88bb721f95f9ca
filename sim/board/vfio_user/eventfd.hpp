// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Interrupts as a client hears of them: eventfds that it has handed over.
#pragma once

#include "vfio_user/fd.hpp"

namespace lanebox::vfio_user {

// A client may hand over another kind of descriptor for an interrupt. A pipe or a socket could be
// full, and a write to it would stop the board.
bool is_eventfd(const Fd &fd);

// Adds one to the eventfd's count, and never waits. false: there is no eventfd. A full count stays
// as it is: the client has not read it yet, and will find that there was an interrupt.
bool raise(const Fd &eventfd);

}  // namespace lanebox::vfio_user
