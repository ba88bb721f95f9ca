// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A card in software, with a virtio net device and a virtio console, as litepcie.ko sees it: BAR0
// with a capability table, interrupt registers, the two register pages, and one DMA channel that
// never moves data. It stands in for the gateware, and shares no code with it.
//
// Messages of MSI and MSI-X are sent as LitePCIeMSI and MsixTable send them.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "link/config_space.hpp"
#include "page.hpp"
#include "vfio_user/device.hpp"

namespace lanebox::virtio {

// Where the parts of the card are in BAR0.
struct Places {
    uint64_t bar_bytes = 0;
    std::vector<uint8_t> table;  // the capability table
    uint64_t table_at = 0;
    uint64_t interrupts = 0;  // registers enable, clear and vector
    uint64_t dma = 0;
    std::array<uint64_t, 2> pages{};   // of the net device and of the console
    std::array<unsigned, 2> causes{};  // number of each device's first interrupt cause
    ConfigSpace::Msix msix{};
};

class Card : public vfio_user::Device {
public:
    // Sends a message to the client: an MSI-X vector, or the MSI, whose number is -1.
    using Message = std::function<void(int vector)>;

    Card(const Places &places, vfio_user::GuestMemory &memory, Message message);

    // The methods of vfio_user::Device, which the vfio-user server calls.
    void bar_read(unsigned bar, uint64_t offset, unsigned bytes, ReadDone done) override;
    void bar_write(unsigned bar, uint64_t offset, const void *data, unsigned bytes) override;
    void config_read(unsigned offset, void *data, unsigned bytes) override;
    void config_write(unsigned offset, const void *data, unsigned bytes) override;
    bool reset() override;
    void left() override { reset(); }
    void msix_vector(unsigned, bool) override {}

    vfio_user::Shape shape() const;
    // Carries out a line of the control socket; returns the answer, a JSON object.
    std::string answer(const std::string &line);

private:
    struct Interrupts {
        uint32_t enable = 0, vector = 0;
    };

    void raise(unsigned cause);
    void interrupt_write(uint64_t offset, uint32_t value);
    void read_part(uint64_t offset, uint8_t *data, unsigned bytes);
    bool reachable() const { return present_ && config_.memory_enabled(); }
    std::string statistics() const;

    const Places places_;
    ConfigSpace config_;
    HostMemory memory_;
    Message message_;
    Interrupts interrupts_;
    std::array<Page, 2> pages_;
    bool present_ = true;
    uint64_t reads_ = 0, messages_ = 0;
};

}  // namespace lanebox::virtio
