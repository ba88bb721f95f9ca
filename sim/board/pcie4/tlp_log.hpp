// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A text line for each TLP: time, interface, packet. One reader, `grep`, is the intended tool.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "pcie4/tlp.hpp"

namespace lanebox {

class TlpLog {
public:
    // No path: nothing is written. Throws std::runtime_error when the file cannot be made.
    explicit TlpLog(const std::string &path);

    // `interface`: "CQ", "CC", "RQ" or "RC"; `at`: last beat at the pins.
    void write(const char *interface, Time at, const Tlp &tlp);

private:
    struct Close {
        void operator()(FILE *file) const { fclose(file); }
    };
    std::unique_ptr<FILE, Close> file_;
};

}  // namespace lanebox
