// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Copies to and from a mapped file whose owner may shorten it at any time.
//
// The kernel answers an access to a page that the file has lost with SIGBUS. Here that ends the
// copy, not the process; a SIGBUS anywhere else ends the process as it always did. The file is not
// asked for its size before each copy: that would cost a system call and could not exclude that it
// is shortened right after.
#pragma once

#include <cstddef>

namespace lanebox::vfio_user {

// Installs the handler of SIGBUS. Call it before the first guarded_copy().
void catch_bus_errors();

// false: a page is missing. What lies before it may have been copied.
bool guarded_copy(void *to, const void *from, size_t bytes);

}  // namespace lanebox::vfio_user
