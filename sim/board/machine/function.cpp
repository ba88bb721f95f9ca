// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "machine/function.hpp"

#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "card/identity.hpp"
#include "link/config_registers.hpp"

namespace lanebox {

namespace {

constexpr Time kLongestTravel = 50'000 * kNanosecond;
// Time for which the link is down while the part starts an image. A real part takes some 0.6 s.
constexpr Time kConfigurationTime = 20'000 * kNanosecond;
// Cycles that a change of a cfg_* pin takes to reach the gateware's logic, through two
// synchronisers.
constexpr unsigned kSynchronisers = 8;

}  // namespace

Function::Function(Machine &machine, MsixVectors &vectors, Hooks hooks)
    : machine_(machine), vectors_(vectors), hooks_(std::move(hooks)) {
    if (!machine_.without_link) return;
    link_down(kNever, ConfigSpace::Reset::Power);
    machine_.root.configure();
}

// Returns true if the card answers accesses to its BARs.
bool Function::reachable() const {
    const ConfigSpace &config = machine_.config;
    return link_up() && config.memory_enabled() && config.power_state() == PowerState::D0;
}

vfio_user::Shape Function::shape() const {
    vfio_user::Shape shape;
    for (unsigned bar = 0; bar < shape.bar_bytes.size(); bar++)
        shape.bar_bytes[bar] = machine_.config.bar(bar).bytes;
    shape.config_bytes = ConfigSpace::kSize;
    shape.msix_vectors = vectors_.count();
    return shape;
}

void Function::bar_read(unsigned bar, uint64_t offset, unsigned bytes, ReadDone done) {
    if (!reachable()) {
        std::vector<uint8_t> ones(bytes, 0xff);
        machine_.root.counters.mmio_errors++;
        return done(ones.data());
    }
    machine_.root.cpu.read(bar, offset, bytes,
                           [this, done = std::move(done)](const uint8_t *data, bool) {
                               answered_ = true;
                               done(data);
                           });
}

void Function::bar_write(unsigned bar, uint64_t offset, const void *data, unsigned bytes) {
    if (reachable())
        machine_.root.cpu.write(bar, offset, data, bytes);
    else
        machine_.root.counters.mmio_errors++;
}

void Function::msix_vector(unsigned vector, bool used) {
    vectors_.use(vector, used, reachable() ? &machine_.root.cpu : nullptr);
}

// --- configuration space -------------------------------------------------------------------------

// Lets device time run until the card's function can answer configuration requests. A host waits
// for the end of its own hot reset, and for the link to a new card, before it sends any request.
// While a function is in reset or between two power states, the root complex repeats a request
// until the function answers.
void Function::settle() {
    const ConfigSpace &config = machine_.config;
    while (hot_reset_ || inserted_ ||
           (link_up() && (config.flr_in_process() || config.power_change_pending())))
        hooks_.tick();
}

void Function::config_read(unsigned offset, void *data, unsigned bytes) {
    settle();
    machine_.config.read(offset, data, bytes);
    if (!link_up()) memset(data, 0xff, bytes);
}

// Lets device time run until a configuration write would have reached the card. Such a write takes
// the same path as every request and does not pass posted writes. The gateware may refuse posted
// writes for ever, so kLongestTravel bounds the wait.
void Function::travel() {
    Time arrives = machine_.now() + machine_.root.timing.mmio_rtt / 2;
    Time latest = arrives + kLongestTravel;
    while (hooks_.working() && machine_.now() < latest &&
           (machine_.now() < arrives || machine_.root.requests_waiting()))
        hooks_.tick();
}

void Function::write_config(unsigned offset, const void *data, unsigned bytes) {
    ConfigSpace &config = machine_.config;
    bool in_reset = config.flr_in_process();
    config.write(offset, data, bytes);
    if (config.flr_in_process() && !in_reset) {
        machine_.hard_block.begin_flr(machine_.now());
        machine_.peer.reset();
    }
    machine_.root.configure();
}

void Function::config_write(unsigned offset, const void *data, unsigned bytes) {
    settle();
    travel();
    if (!link_up()) return;
    const ConfigSpace &config = machine_.config;
    bool was_master = config.bus_master(), was_reachable = reachable();
    write_config(offset, data, bytes);
    // The gateware sees a change of the cfg_* pins a clock later and passes it through two
    // synchronisers, so some cycles pass before the client goes on.
    for (unsigned i = 0; i < kSynchronisers; i++) hooks_.tick();
    if (config.bus_master() && !was_master) hooks_.mastering();
    if (reachable() && !was_reachable) vectors_.program_used(machine_.root.cpu);
}

// --- resets and the link -------------------------------------------------------------------------

void Function::power_cycle() {
    hooks_.power_cycled();
    machine_.power_cycle();
    vectors_.reset();
}

// Resets the card for the client: by a function level reset if the card offers one, as an operating
// system does. If it offers none, or does not acknowledge it within 100 ms, by a power cycle.
bool Function::reset() {
    settle();
    if (!machine_.config.flr_offered() || !link_up()) {
        power_cycle();
        return true;
    }
    uint16_t control;
    machine_.config.read(config_at::kDeviceControl, &control, sizeof control);
    control |= PCI_EXP_DEVCTL_BCR_FLR;  // Initiate FLR
    config_write(config_at::kDeviceControl, &control, sizeof control);
    settle();
    if (!machine_.hard_block.flr_late()) return true;
    fprintf(stderr, "board: the card did not end its function level reset within 100 ms\n");
    power_cycle();
    return false;
}

// Takes the link down. The gateware stays in reset until link_back().
void Function::link_down(Time until, ConfigSpace::Reset kind) {
    link_up_at_ = until;
    machine_.hard_block.set_link_up(false);
    machine_.config.reset(kind);
    machine_.lose_link();
    machine_.gateware.link_down(hot_reset_);
}

// Puts a removed card back. Its link trains, so that the gateware sees that the link was down, also
// if no device time has passed since the card was removed.
void Function::insert() {
    if (link_up()) return;
    inserted_ = true;
    link_up_at_ = machine_.now() + kTraining;
}

void Function::link_back() {
    link_up_at_ = 0;
    hot_reset_ = false;
    inserted_ = false;
    machine_.hard_block.set_link_up(true);
    machine_.gateware.link_up();
}

// The part has started an image from its flash, or none. The card is away until it is configured,
// and for ever if it is bricked.
void Function::start(const Boot &boot) {
    hooks_.power_cycled();
    Time configured = machine_.now() + kConfigurationTime;
    bool away = boot.bricked || defect_of(boot.image) == Defect::NoLink;
    link_down(away ? kNever : configured, ConfigSpace::Reset::Power);
    machine_.configure(boot);
    if (!boot.bricked) machine_.configuration.watch(configured);
    machine_.root.configure();
    vectors_.reset();
    if (boot.bricked) fprintf(stderr, "board: no image starts from the flash: bricked\n");
}

void Function::lose_card_power() {
    start(machine_.lose_card_power());
}

void Function::strike() {
    while (machine_.faults.event_waiting()) {
        Event event = machine_.faults.take_event();
        auto value = static_cast<uint16_t>(event.argument);
        Time until = machine_.now() + event.argument * kNanosecond;
        switch (event.kind) {
            case Event::HotReset:
                // A hot reset comes over the link, so it has no effect while the link is down.
                if (!link_up()) break;
                hot_reset_ = true;
                link_down(until, ConfigSpace::Reset::Hot);
                break;
            case Event::LinkDown: link_down(until, ConfigSpace::Reset::Hot); break;
            case Event::Remove: link_down(kNever, ConfigSpace::Reset::Power); break;
            case Event::Insert: insert(); break;
            case Event::DeviceControl:
                write_config(config_at::kDeviceControl, &value, sizeof value);
                break;
            case Event::Command: write_config(config_at::kCommand, &value, sizeof value); break;
            case Event::kKinds: break;
        }
        machine_.root.configure();
    }
}

void Function::run() {
    if (machine_.faults.event_waiting()) strike();
    if (machine_.configuration.take_reboot()) start(machine_.configuration.reboot());
    if (machine_.configuration.take_timeout(machine_.now()))
        start(machine_.configuration.time_out());
    if (link_up()) return;
    // While the link is down the hard block does not run the root complex. The root complex still
    // has to answer the host's outstanding reads, so it is run here.
    machine_.root.run(machine_.now());
    if (machine_.now() >= link_up_at_) link_back();
}

}  // namespace lanebox
