// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Copies to and from a mapped file whose owner may shorten it at any time.
//
// The kernel answers an access to a page that the file has lost with SIGBUS. During a guarded copy
// SIGBUS ends the copy and not the process. At any other time SIGBUS ends the process as usual.
// Asking for the file's size before each copy would be no help: it would cost a system call, and
// the file could be shortened right after.
#pragma once

#include <cstddef>

namespace lanebox::vfio_user {

// Installs the handler of SIGBUS. Call it before the first guarded_copy().
void catch_bus_errors();

// Copies like memcpy(). Returns false if a page is missing. Bytes before that page may have been
// copied.
bool guarded_copy(void *to, const void *from, size_t bytes);

}  // namespace lanebox::vfio_user
