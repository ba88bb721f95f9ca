// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The board process: gateware, hard block and root complex, plugged into a vfio-user socket.
//
// Device time advances only while there is work: a TLP under way, a stream at the pins that is not
// idle, or the gateware's own word. Without work the process sleeps.
#pragma once

#include <chrono>
#include <string>

#include "control.hpp"
#include "gateware.hpp"
#include "options.hpp"
#include "pcie4/fault_script.hpp"
#include "pcie4/peer.hpp"
#include "vfio_user/server.hpp"

namespace lanebox {

class Board : private Host, private vfio_user::Device {
public:
    explicit Board(const Options &options);

    // Serves until a signal on `signal_fd`, a quit on the control socket, or with --once the
    // client's end. Throws RuleBroken in fatal mode and std::runtime_error when DMA cannot work.
    void run(int signal_fd);
    std::string stats() const;

private:
    static constexpr uint64_t kBar0Bytes = 0x20000;
    static constexpr Time kNever = ~Time{0};

    // Host
    bool memory_read(uint64_t address, void *data, size_t bytes) override;
    bool memory_write(uint64_t address, const void *data, size_t bytes) override;
    bool interrupt() override;
    // vfio_user::Device
    void bar_read(uint64_t offset, unsigned bytes, ReadDone done) override;
    void bar_write(uint64_t offset, const void *data, unsigned bytes) override;
    void config_read(unsigned offset, void *data, unsigned bytes) override;
    void config_write(unsigned offset, const void *data, unsigned bytes) override;
    void reset() override;
    uint64_t bar0_bytes() const override { return kBar0Bytes; }
    unsigned config_bytes() const override { return ConfigSpace::kSize; }

    bool working() const;
    void tick();
    void strike();
    bool link_up() const { return link_up_at_ == 0; }
    void link_down(Time until);
    void link_back();
    void travel();
    int client_fd() const;
    void serve_client();
    void wait(int signal_fd, int timeout_ms);
    int pace_timeout();
    void run_batch();
    std::string command(const std::string &line);
    bool obey(const std::string &verb, std::istream &words);
    void start_peer(std::istream &words);
    void clear();
    std::string set(const std::string &name, const std::string &value);
    std::string set_live(const std::string &name, const std::string &value);

    Options options_;
    Rules rules_;
    Faults faults_;
    TlpLog log_;
    ConfigSpace config_;
    RootComplex root_;
    Peer peer_;
    FaultScript script_;
    HardBlock hard_block_;
    Gateware gateware_;
    vfio_user::GuestMemory memory_;
    vfio_user::Server server_;
    Control control_;
    bool quit_ = false;
    Time link_up_at_ = 0;      // 0: it is up; kNever: the card was pulled out
    bool answered_ = false;    // a BAR read has been answered in this batch
    uint64_t cleared_at_ = 0;  // cycle of the last `clear`
    double cpu_cleared_ = 0;
    uint64_t paced_cycles_ = 0;
    std::chrono::steady_clock::time_point paced_from_;
};

}  // namespace lanebox
