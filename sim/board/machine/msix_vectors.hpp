// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The client's MSI-X vectors, and the entries of the gateware's MSI-X table that belong to them.
//
// The client emulates the table for the guest, and the guest's writes to it do not reach the card.
// So the board programs the gateware's table itself, as an operating system does on a real machine.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "host/host_cpu.hpp"
#include "link/config_space.hpp"

namespace lanebox {

class MsixVectors {
public:
    // bytes of an MSI-X table entry (base specification 7.7.2.6)
    static constexpr unsigned kEntryBytes = PCI_MSIX_ENTRY_SIZE;

    // Signals the client's eventfd of an MSI-X vector. Returns false if the client has no eventfd
    // for the vector.
    using Signal = std::function<bool(unsigned vector)>;

    MsixVectors(const ConfigSpace::Msix &msix, Signal signal)
        : msix_(msix), signal_(std::move(signal)), vectors_(msix.vectors) {}

    unsigned count() const { return msix_.vectors; }
    // Returns the vector whose table entry holds this address and data, as program() wrote it. If
    // no vector has them, the card's write goes to host memory.
    std::optional<unsigned> find(uint64_t address, uint32_t data) const;
    // Raises an MSI-X vector at the client. QEMU takes all eventfds back for a moment whenever the
    // guest enables another vector. An interrupt that comes meanwhile stays pending until its
    // vector has an eventfd again.
    bool raise(unsigned vector);
    // The client has given an eventfd for the vector (`used`), or has taken it back. If the card
    // can be reached, `cpu` programs the gateware's table. With null, program_used() does so later.
    void use(unsigned vector, bool used, HostCpu *cpu);
    // Writes the gateware's table entries of all vectors that have an eventfd. Call it when the
    // card can be reached again.
    void program_used(HostCpu &cpu);
    void reset() { vectors_.assign(vectors_.size(), {}); }

private:
    // The message address of MSI-X vector 0. Each further vector's is 16 bytes higher.
    static constexpr uint64_t kMessages = 0xfee00000;

    struct Vector {
        bool used = false;        // the client has an eventfd for the vector
        bool programmed = false;  // the vector's table entry in the gateware is written
        // the card raised the vector while the client had no eventfd for it
        bool pending = false;
    };

    void program(unsigned vector, HostCpu &cpu);

    ConfigSpace::Msix msix_;
    Signal signal_;
    std::vector<Vector> vectors_;
};

}  // namespace lanebox
