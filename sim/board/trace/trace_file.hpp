// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A file that a trace is written to: closed with its owner, buffered in large pieces.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

namespace lanebox {

struct CloseFile {
    void operator()(FILE *file) const { fclose(file); }
};
using TraceFile = std::unique_ptr<FILE, CloseFile>;

// Throws std::runtime_error when the file cannot be made.
inline TraceFile open_trace(const std::string &path) {
    TraceFile file(fopen(path.c_str(), "we"));
    if (!file) throw std::runtime_error("cannot write TLP log " + path + ": " + strerror(errno));
    setvbuf(file.get(), nullptr, _IOFBF, 1 << 18);
    return file;
}

}  // namespace lanebox
