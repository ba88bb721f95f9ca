// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The board process: gateware, hard block and root complex, plugged into a vfio-user socket.
//
// Device time advances only while there is work: a TLP under way, a stream at the pins that is not
// idle, or the gateware's `busy` output. Without work the process sleeps.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "control.hpp"
#include "gateware.hpp"
#include "json.hpp"
#include "options.hpp"
#include "pcie4/fault_script.hpp"
#include "pcie4/peer.hpp"
#include "plan.hpp"
#include "vfio_user/server.hpp"

namespace lanebox {

class Board : private Host, private vfio_user::Device {
public:
    explicit Board(const Options &options);

    // Serves until a signal on `signal_fd`, a quit on the control socket, or with --once the
    // client's end. Throws RuleBroken in fatal mode.
    void run(int signal_fd);
    std::string stats() const;

private:
    static constexpr uint64_t kBar0Bytes = 0x20000;
    static constexpr uint64_t kMessages = 0xfee00000;  // message address of MSI-X vector 0
    static constexpr Time kNever = ~Time{0};

    // Host
    bool memory_read(uint64_t address, void *data, size_t bytes) override;
    bool memory_write(uint64_t address, const void *data, size_t bytes) override;
    bool interrupt() override;
    std::optional<unsigned> vector_of(uint64_t address, uint32_t data) override;
    bool interrupt(unsigned vector) override;
    // vfio_user::Device
    void bar_read(unsigned bar, uint64_t offset, unsigned bytes, ReadDone done) override;
    void bar_write(unsigned bar, uint64_t offset, const void *data, unsigned bytes) override;
    void config_read(unsigned offset, void *data, unsigned bytes) override;
    void config_write(unsigned offset, const void *data, unsigned bytes) override;
    bool reset() override;
    void left() override { power_cycle(); }
    uint64_t bar_bytes(unsigned bar) const override { return config_.bar(bar).bytes; }
    unsigned config_bytes() const override { return ConfigSpace::kSize; }
    unsigned msix_vectors() const override { return options_.msix.vectors; }
    void msix_vector(unsigned vector, bool used) override;

    struct Vector {
        bool used = false;        // the client has an eventfd for it
        bool programmed = false;  // its table entry holds the board's address
        bool pending = false;     // raised while the client had no eventfd for it
    };
    // The counters at the pins and the number of broken rules at the cycle of a `mark` command.
    struct Mark {
        uint64_t cycle, violations;
        StreamCounters cq, cc, rq, rc;
        Slot slot;
    };

    bool working() const;
    void tick();
    void strike();
    bool link_up() const { return link_up_at_ == 0; }
    bool reachable() const;
    void link_down(Time until, ConfigSpace::Reset kind);
    void link_back();
    void travel();
    void settle();
    void write_config(unsigned offset, const void *data, unsigned bytes);
    void power_cycle();
    void program_vector(unsigned vector);
    int client_fd() const;
    void serve_client();
    void wait(int signal_fd, int timeout_ms);
    int pace_timeout();
    void run_batch();
    std::string command(const std::string &line);
    bool obey(const std::string &verb, std::istream &words);
    void start_peer(std::istream &words);
    void plan(std::istream &words);
    void run_plan();
    void write_register(std::istream &words);
    void mark();
    Json mark_json(const Mark &mark) const;
    void clear();
    std::string set(const std::string &name, const std::string &value);
    std::string set_live(const std::string &name, const std::string &value);

    Options options_;
    ConfigSpace config_;
    Rules rules_;
    Faults faults_;
    TlpLog log_;
    RootComplex root_;
    Peer peer_;
    FaultScript script_;
    Plan plan_;
    std::vector<Mark> marks_;
    HardBlock hard_block_;
    Gateware gateware_;
    vfio_user::ClientLog client_log_;
    vfio_user::GuestMemory memory_;
    vfio_user::Server server_;
    Control control_;
    bool quit_ = false;
    Time link_up_at_ = 0;     // when the link comes back; 0: it is up; kNever: the card is removed
    bool hot_reset_ = false;  // the link is down in a hot reset, which the host knows of
    std::vector<Vector> msix_;
    bool answered_ = false;    // a BAR read has been answered in this batch
    uint64_t cleared_at_ = 0;  // cycle of the last `clear`
    double cpu_cleared_ = 0;
    uint64_t paced_cycles_ = 0;
    std::chrono::steady_clock::time_point paced_from_;
};

}  // namespace lanebox
