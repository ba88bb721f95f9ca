// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The card's PCIe function as the vfio-user client sees it: BARs, configuration space, resets. The
// link may go down, and the card may be removed.
//
// A configuration request takes device time, as on a real machine. So config_read(), config_write()
// and reset() let device time run.
#pragma once

#include <functional>

#include "machine/machine.hpp"
#include "machine/msix_vectors.hpp"
#include "vfio_user/device.hpp"

namespace lanebox {

class Function : public vfio_user::Device {
public:
    struct Hooks {
        std::function<void()> tick;  // lets one cycle of device time pass
        // says whether the machine (gateware, hard block, peer) has work
        std::function<bool()> working;
        std::function<void()> power_cycled;  // called after a power cycle of the card
        std::function<void()> mastering;     // called when the host switches bus mastering on
    };

    Function(Machine &machine, MsixVectors &vectors, Hooks hooks);

    // The methods of vfio_user::Device, which the vfio-user server calls.
    void bar_read(unsigned bar, uint64_t offset, unsigned bytes, ReadDone done) override;
    void bar_write(unsigned bar, uint64_t offset, const void *data, unsigned bytes) override;
    void config_read(unsigned offset, void *data, unsigned bytes) override;
    void config_write(unsigned offset, const void *data, unsigned bytes) override;
    bool reset() override;
    void left() override { power_cycle(); }
    void msix_vector(unsigned vector, bool used) override;

    // Returns the sizes and the number of vectors that the vfio-user server shows to its client.
    vfio_user::Shape shape() const;

    // Call it once a cycle: carries out fault events that are due, and brings the link back when
    // its time has come.
    void run();
    // Carries out the events that wait in Faults, which are faults of the whole card.
    void strike();
    // Takes the card's power away for a moment, and starts the card from its flash.
    void lose_card_power();
    // Returns true if the link is down and will come back by itself.
    bool retraining() const { return !link_up() && link_up_at_ != kNever; }
    // Returns true if a BAR read has been answered since the last call.
    bool take_answered() { return std::exchange(answered_, false); }

private:
    static constexpr Time kNever = ~Time{0};
    // The time in which the link to a new card trains. A real link takes some 100 ms.
    static constexpr Time kTraining = 1000 * kNanosecond;

    bool link_up() const { return link_up_at_ == 0; }
    bool reachable() const;
    void link_down(Time until, ConfigSpace::Reset kind);
    void insert();
    void link_back();
    void start(const Boot &boot);
    void travel();
    void settle();
    void write_config(unsigned offset, const void *data, unsigned bytes);
    void power_cycle();

    Machine &machine_;
    MsixVectors &vectors_;
    Hooks hooks_;
    // The time at which the link comes back. 0: the link is up. kNever: the card is removed.
    Time link_up_at_ = 0;
    bool hot_reset_ = false;  // the link is down because the host made a hot reset
    bool inserted_ = false;   // the link is down because it trains with a new card
    bool answered_ = false;   // a BAR read has been answered since the last take_answered()
};

}  // namespace lanebox
