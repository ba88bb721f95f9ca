// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Writes the board's messages about a client to stderr. Their number is limited for each client: a
// client that repeats a mistake a million times must not fill the disk.
#pragma once

#include <string>

namespace lanebox::vfio_user {

class ClientLog {
public:
    void say(const std::string &sentence);
    void next_client() { said_ = 0; }

private:
    unsigned said_ = 0;  // number of sentences logged about the present client
};

}  // namespace lanebox::vfio_user
