// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The program `board`. Exit status 0: it ended on request; 1: it failed, for example because a rule
// was broken; 2: an option was wrong.
#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "board.hpp"

namespace {

int signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

// The file for statistics is opened before the run, so that a path that cannot be written is an
// error before the run and not after it.
std::ofstream open_stats(const std::string &path) {
    std::ofstream file;
    if (path.empty()) return file;
    file.open(path);
    if (!file) throw std::runtime_error("cannot write statistics " + path + ": " + strerror(errno));
    return file;
}

void serve(const lanebox::Options &options, int signal_fd) {
    std::ofstream stats = open_stats(options.stats);
    lanebox::Board board(options);
    printf("board: listening on %s\n", options.socket.c_str());
    fflush(stdout);
    try {
        board.run(signal_fd);
        // The statistics are written after an error as well, because they show what led to it.
    } catch (...) {
        stats << board.stats() << "\n";
        throw;
    }
    stats << board.stats() << "\n";
}

}  // namespace

int main(int argc, char **argv) {
    int signal_fd = signals();
    signal(SIGPIPE, SIG_IGN);
    try {
        const lanebox::Options options = lanebox::parse_options(argc, argv);
        if (options.help) {
            fputs(lanebox::usage().c_str(), stdout);
            return 0;
        }
        serve(options, signal_fd);
        return 0;
    } catch (const std::invalid_argument &error) {
        fprintf(stderr, "board: %s; board --help lists the options\n", error.what());
        return 2;
    } catch (const std::exception &error) {
        fprintf(stderr, "board: %s\n", error.what());
        return 1;
    }
}
