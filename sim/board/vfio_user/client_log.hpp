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
    // Writes a sentence, unless the limit for the present client is reached.
    void say(const std::string &sentence);
    // Call it when another client has come. The limit counts from 0 again.
    void next_client() { said_ = 0; }

private:
    unsigned said_ = 0;  // number of sentences logged about the present client
};

}  // namespace lanebox::vfio_user
