// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "client_pace.hpp"

#include <sys/socket.h>

#include <filesystem>
#include <fstream>

namespace lanebox {

namespace {

// The state in /proc/PID/task/TID/stat, behind the name, which may hold anything but ends in ')'.
char state_of(const std::filesystem::path &task) {
    std::ifstream file(task / "stat");
    std::string line;
    std::getline(file, line);
    size_t name_end = line.rfind(") ");
    return name_end == std::string::npos ? 'X' : line[name_end + 2];
}

}  // namespace

void ClientPace::follow(int socket, uint64_t cycles) {
    ucred peer{};
    socklen_t size = sizeof peer;
    bool known = socket >= 0 && getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
                 clock_getcpuclockid(peer.pid, &clock_) == 0;
    process_ = known ? peer.pid : 0;
    seen_us_ = known ? cpu_us() : 0;
    seen_cycles_ = cycles;
    owed_ = 0;
}

double ClientPace::cpu_us() const {
    timespec time;
    if (clock_gettime(clock_, &time) != 0) return seen_us_;  // it has ended
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

// Every thread of it; one that is stopped or dead does not work either.
bool ClientPace::asleep() const {
    std::error_code error;
    std::filesystem::directory_iterator tasks("/proc/" + std::to_string(process_) + "/task", error);
    for (; !error && tasks != std::filesystem::directory_iterator(); tasks.increment(error))
        if (state_of(tasks->path()) == 'R') return false;
    return true;
}

void ClientPace::look(uint64_t cycles) {
    if (!on()) {
        owed_ = 0;
        return;
    }
    double us = cpu_us();
    owed_ += (us - seen_us_) * static_cast<double>(cycles_per_us_);
    owed_ -= static_cast<double>(cycles - seen_cycles_);
    seen_us_ = us;
    seen_cycles_ = cycles;
    if (owed_ < 0 && asleep()) owed_ = 0;
}

}  // namespace lanebox
