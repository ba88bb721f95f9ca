// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The file that a trace is written to. It is buffered in pieces of 256 KiB, and is closed when its
// owner ends.
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

// Makes the trace's file and returns it. Throws std::runtime_error if that fails.
inline TraceFile open_trace(const std::string &path) {
    TraceFile file(fopen(path.c_str(), "we"));
    if (!file) throw std::runtime_error("cannot write TLP log " + path + ": " + strerror(errno));
    setvbuf(file.get(), nullptr, _IOFBF, 1 << 18);
    return file;
}

}  // namespace lanebox
