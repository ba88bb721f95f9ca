// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// What the board tells its user about a client, on stderr: a client that repeats a mistake a
// million times must not fill the disk with it.
#pragma once

#include <string>

namespace lanebox::vfio_user {

class ClientLog {
public:
    void say(const std::string &sentence);
    void next_client() { said_ = 0; }

private:
    unsigned said_ = 0;  // of the present client
};

}  // namespace lanebox::vfio_user
