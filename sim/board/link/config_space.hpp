// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Type 0 configuration space as PCIE4 shows it: power management, MSI, by option MSI-X, PCI
// Express, Advanced Error Reporting and Secondary PCI Express (config_registers.hpp). As in silicon
// there is no other capability. The user's windows of PG213 are not used: 0xB0-0xBF, 0x480-0x4FF.
//
// Writes obey each register's read-only and write-1-to-clear bits. The hard block sees a change on
// the next clock. The card has one function, a 32-bit BAR0 and by option a 64-bit BAR2, and one MSI
// vector without mask bits.
#pragma once

#include <array>
#include <cstdint>

#include "link/config_registers.hpp"
#include "link/errors.hpp"
#include "link/link.hpp"

namespace lanebox {

// Power states of the function. D1 and D2 are optional (base specification 7.5.2.1), and the card
// does not have them.
enum class PowerState : uint8_t { D0 = 0, D3hot = 3 };

class ConfigSpace {
public:
    static constexpr unsigned kSize = 4096;

    // The MSI-X capability's facts about the MSI-X table. The table itself is in the gateware.
    struct Msix {
        unsigned vectors = 0;
        unsigned bar = 0;
        // offsets of the table and of the pending bits in the BAR, in bytes
        uint32_t table = 0, pending = 0;
    };
    // The properties of configuration space that are fixed when the card powers on.
    struct Power {
        unsigned mps;   // the largest payload in bytes that Device Capabilities advertise
        unsigned mrrs;  // Max_Read_Request_Size in Device Control, in bytes
        unsigned rcb;   // the read completion boundary in bytes: 64 or 128
        uint64_t bar0_bytes;
        LinkState link = {};      // the rate and width to which the link trained
        uint64_t bar2_bytes = 0;  // bytes of BAR2; 0: the card has no BAR2
        bool flr = false;         // Device Capabilities offer a function level reset
        Msix msix = {};
    };
    struct Bar {
        unsigned id;
        uint64_t base, bytes;
        bool claims(uint64_t address) const { return address - base < bytes; }
        // Returns the BAR's aperture as in the completer request descriptor of PG213.
        unsigned aperture_bits() const;
    };

    // The kinds of reset, by what survives them (base specification 6.6). Nothing survives Power.
    // The sticky error bits survive Hot. The sticky error bits and the settings of the link survive
    // Function (6.6.2).
    enum class Reset { Power, Hot, Function };

    explicit ConfigSpace(const Power &power);

    // Gives every register its initial value, but for what survives this kind of reset.
    void reset(Reset kind = Reset::Power);
    // Copies `bytes` bytes from byte offset `offset` on to `data`. As for write(), the caller must
    // know that they end within kSize.
    void read(unsigned offset, void *data, unsigned bytes) const;
    // Writes as software does: only writable bits change, and ones clear write-1-to-clear bits.
    void write(unsigned offset, const void *data, unsigned bytes);

    // Sets the rate and width that Link Status shows. Call it when the link has trained.
    void train(const LinkState &link);
    const LinkState &link() const { return power_.link; }

    // Returns the completion timeout: the upper end of the range that Device Control 2 chooses. 0:
    // the timeout is disabled.
    Time completion_timeout() const;
    bool memory_enabled() const { return byte(config_at::kCommand) & PCI_COMMAND_MEMORY; }
    bool bus_master() const { return byte(config_at::kCommand) & PCI_COMMAND_MASTER; }
    bool msi_enabled() const { return byte(config_at::kMsiControl) & PCI_MSI_FLAGS_ENABLE; }
    bool msix_enabled() const { return byte(config_at::kMsixControl + 1) & 0x80; }
    bool msix_masked() const { return byte(config_at::kMsixControl + 1) & 0x40; }
    const Msix &msix() const { return power_.msix; }
    bool relaxed_ordering() const {
        return byte(config_at::kDeviceControl) & PCI_EXP_DEVCTL_RELAX_EN;
    }
    bool extended_tags() const { return byte(config_at::kDeviceControl + 1) & 1; }
    unsigned mps() const { return 128u << (byte(config_at::kDeviceControl) >> 5); }
    unsigned mrrs() const { return 128u << (byte(config_at::kDeviceControl + 1) >> 4 & 7); }
    unsigned rcb() const { return byte(config_at::kLinkControl) & PCI_EXP_LNKCTL_RCB ? 128 : 64; }
    PowerState power_state() const {
        return static_cast<PowerState>(byte(config_at::kPowerControl) & PCI_PM_CTRL_STATE_MASK);
    }

    // Returns BAR 0 or 2. Its size is 0 if the card has no such BAR.
    Bar bar(unsigned id) const;
    // Returns the BAR that holds the address, or BAR0 if no BAR does.
    Bar claims(uint64_t address) const;

    // A write to Device Control begins a function level reset, which resets this configuration
    // space at once. end_flr() is called when the gateware has acknowledged it.
    bool flr_offered() const { return power_.flr; }
    bool flr_in_process() const { return flr_in_process_; }
    void end_flr();
    // Returns true if the power state has changed and the gateware has not acknowledged the change
    // yet.
    bool power_change_pending() const { return power_change_pending_; }
    void acknowledge_power_change();

    // Records an error that the function found: sets status bits, logs the header of the received
    // TLP (nullptr: none), and queues the error messages that are enabled.
    void report(CardError error, const Tlp *tlp);
    // Returns and clears the error messages that have come since the last call, a bit for each: bit
    // 0 correctable, bit 1 non-fatal, bit 2 fatal.
    uint8_t take_error_messages();

    // Returns how often configuration space has changed.
    uint64_t changes() const { return changes_; }

private:
    void log(const ErrorEffect &effect, const Tlp *tlp);
    void send_message(unsigned severity, bool of_request);
    uint8_t byte(unsigned offset) const { return bytes_[offset]; }
    uint32_t word(unsigned offset) const;
    void put(unsigned offset, uint32_t value);
    void set(unsigned offset, uint32_t value, unsigned bytes, uint32_t writable,
             uint32_t clearable = 0);
    void set_base();
    void set_express();
    void set_extended();
    void after_write(unsigned offset, const uint8_t *in, unsigned bytes, PowerState before);

    Power power_;
    std::array<uint8_t, kSize> bytes_{};
    std::array<uint8_t, kSize> writable_{};
    // Bits of each byte of configuration space that software clears by writing ones to them.
    std::array<uint8_t, kSize> clearable_{};
    bool flr_in_process_ = false, power_change_pending_ = false;
    uint8_t error_messages_ = 0;
    uint64_t changes_ = 0;
};

}  // namespace lanebox
