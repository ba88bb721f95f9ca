// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "vfio_user/guarded_copy.hpp"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>

namespace lanebox::vfio_user {

namespace {

// The SIGBUS handler gets no object, so these two are variables of the file. `landing` is where the
// handler jumps to; nullptr: no copy is running. `before` is the former handler.
thread_local sigjmp_buf *volatile landing = nullptr;
struct sigaction before;

void on_bus_error(int) {
    if (landing) siglongjmp(*landing, 1);
    // SIGBUS came outside a copy: the access is repeated under the former handler, which ends the
    // process.
    sigaction(SIGBUS, &before, nullptr);
}

}  // namespace

void catch_bus_errors() {
    struct sigaction action{};
    action.sa_handler = on_bus_error;
    // SIGBUS stays unblocked, since siglongjmp() restores no signal mask.
    action.sa_flags = SA_NODEFER;
    struct sigaction present;
    sigaction(SIGBUS, &action, &present);
    if (present.sa_handler != on_bus_error) before = present;
}

bool guarded_copy(void *to, const void *from, size_t bytes) {
    sigjmp_buf point;
    if (sigsetjmp(point, 0)) {
        landing = nullptr;
        return false;
    }
    landing = &point;
    // `landing` is where SIGBUS jumps to. The compiler must not move the copy out from between the
    // two stores to it.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    memcpy(to, from, bytes);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    landing = nullptr;
    return true;
}

}  // namespace lanebox::vfio_user
