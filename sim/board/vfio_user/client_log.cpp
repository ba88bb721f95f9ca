// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "vfio_user/client_log.hpp"

#include <cstdio>

namespace lanebox::vfio_user {

namespace {

constexpr unsigned kMost = 20;  // The board logs at most this many sentences about one client.

}  // namespace

void ClientLog::say(const std::string &sentence) {
    if (said_++ >= kMost) return;
    fprintf(stderr, "board: %s\n", sentence.c_str());
    if (said_ == kMost) fprintf(stderr, "board: nothing more is said about this client\n");
}

}  // namespace lanebox::vfio_user
