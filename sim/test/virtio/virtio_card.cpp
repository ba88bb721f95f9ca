// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The program `virtio_card`: a card in software (card.hpp) at a vfio-user socket. virtio_card.py
// starts it, with the same options for sockets as a board. The other options give the places of the
// card's parts in BAR0.
#include <poll.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include "card.hpp"
#include "control/control.hpp"
#include "text/words.hpp"
#include "vfio_user/server.hpp"

namespace {

using lanebox::virtio::Card;
using lanebox::virtio::Places;
using Options = std::map<std::string, std::string>;

uint64_t number_of(const Options &options, const std::string &name) {
    auto value = lanebox::number(options.at(name));
    if (!value) throw std::invalid_argument(name + " " + options.at(name) + " is no number");
    return *value;
}

std::vector<uint8_t> content(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::invalid_argument(path + " cannot be read");
    return {std::istreambuf_iterator<char>(file), {}};
}

Places places_of(const Options &options) {
    Places places;
    auto place = [&](const char *name) { return number_of(options, name); };
    places.bar_bytes = place("--bar");
    places.table = content(options.at("--table"));
    places.table_at = place("--table-at");
    places.interrupts = place("--interrupts");
    places.dma = place("--dma");
    places.pages = {place("--net"), place("--console")};
    places.causes = {static_cast<unsigned>(place("--net-cause")),
                     static_cast<unsigned>(place("--console-cause"))};
    if (options.count("--msix"))
        places.msix = {static_cast<unsigned>(place("--msix")), 0,
                       static_cast<uint32_t>(place("--msix-table")),
                       static_cast<uint32_t>(place("--msix-pending"))};
    return places;
}

// Serves the sockets until a signal ends the process.
void serve(const Options &options) {
    lanebox::vfio_user::ClientLog log;
    lanebox::vfio_user::GuestMemory memory(log);
    lanebox::vfio_user::Server *sender = nullptr;
    Card card(places_of(options), memory, [&sender](int vector) {
        if (vector < 0)
            sender->interrupt();
        else
            sender->interrupt(static_cast<unsigned>(vector));
    });
    lanebox::vfio_user::Server server(options.at("--socket"), card, card.shape(), memory, log);
    sender = &server;
    lanebox::Control control(options.at("--control"),
                             [&card](const std::string &line) { return card.answer(line); });
    printf("virtio_card: listening on %s\n", options.at("--socket").c_str());
    fflush(stdout);
    while (true) {
        pollfd fds[] = {{server.client_fd(), POLLIN, 0},
                        {server.callers_fd(), POLLIN, 0},
                        {control.fd(), POLLIN, 0}};
        if (poll(fds, 3, -1) <= 0) continue;
        if (fds[0].revents) server.serve();
        if (fds[1].revents) server.answer_callers();
        if (fds[2].revents) control.serve();
    }
}

}  // namespace

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    Options options;
    for (int n = 1; n + 1 < argc; n += 2) options[argv[n]] = argv[n + 1];
    try {
        serve(options);
    } catch (const std::exception &error) {
        fprintf(stderr, "virtio_card: %s\n", error.what());
        return 1;
    }
}
