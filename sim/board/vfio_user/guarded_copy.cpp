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

// A signal handler is given no object, so these two are variables of the file.
thread_local sigjmp_buf *volatile landing = nullptr;  // of the copy that runs; nullptr: none does
struct sigaction before;

void on_bus_error(int) {
    if (landing) siglongjmp(*landing, 1);
    sigaction(SIGBUS, &before, nullptr);  // the access is repeated, and now ends the process
}

}  // namespace

void catch_bus_errors() {
    struct sigaction action{};
    action.sa_handler = on_bus_error;
    action.sa_flags = SA_NODEFER;  // the jump leaves the signal mask as it is
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
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the copy stays between the two stores
    memcpy(to, from, bytes);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    landing = nullptr;
    return true;
}

}  // namespace lanebox::vfio_user
