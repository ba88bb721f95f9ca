// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The board process: it runs the simulated machine and shows its card on a vfio-user socket.
//
//   client ---> Server ---> Function ---> Machine ---> Server, GuestMemory ---> client
//                              ^             ^         (interrupts, DMA: class Host)
//   control ---> Control ---> Commands ------+
//
// Device time advances only while there is work: a TLP under way, a stream at the pins that is not
// idle, or the gateware's `busy` output. Without work the process sleeps. After the command `step`
// device time advances only by such commands.
#pragma once

#include <optional>
#include <string>

#include "control/commands.hpp"
#include "control/control.hpp"
#include "machine/function.hpp"
#include "machine/machine.hpp"
#include "machine/msix_vectors.hpp"
#include "machine/options.hpp"
#include "pace.hpp"
#include "vfio_user/server.hpp"

namespace lanebox {

class Board : private Host {
public:
    explicit Board(const Options &options);

    // Serves clients until a signal comes on `signal_fd`, `quit` comes on the control socket, or,
    // with --once, the first client leaves. Throws RuleBroken if a rule is broken in fatal mode.
    void run(int signal_fd);
    std::string stats() const { return commands_.stats(); }

private:
    // The functions of Host: the card's accesses to host memory, and the card's interrupts, go to
    // the vfio-user client.
    bool memory_read(uint64_t address, void *data, size_t bytes) override;
    bool memory_write(uint64_t address, const void *data, size_t bytes) override;
    bool interrupt() override { return server_.interrupt(); }
    std::optional<unsigned> vector_of(uint64_t address, uint32_t data) override;
    bool interrupt(unsigned vector) override { return vectors_.raise(vector); }

    Function::Hooks hooks();
    bool working() const;
    bool runs() const { return working() && !commands_.held(); }
    void tick();
    int client_fd() const;
    void serve_client();
    void wait(int signal_fd, int timeout_ms);
    void run_batch();

    vfio_user::ClientLog client_log_;
    vfio_user::GuestMemory memory_;
    MsixVectors vectors_;
    Machine machine_;
    Function function_;
    Commands commands_;
    vfio_user::Server server_;
    Control control_;
    Pace pace_;
    bool quit_ = false;
};

}  // namespace lanebox
