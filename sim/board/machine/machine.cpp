// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "machine/machine.hpp"

#include <stdexcept>

#include "card/identity.hpp"
#include "link/numbers.hpp"
#include "machine/msix_vectors.hpp"

namespace lanebox {

namespace {

// JTAG's IDCODE of the simulated part: a KU5P. Its upper four bits are the part's revision.
constexpr uint32_t kIdcode = 1u << 28 | numbers::kIdcodeKu5p;

// Checks that the MSI-X table and the pending bits lie inside their BAR, and returns its argument.
// The check comes before any socket is opened: a board with a wrong option must not touch the
// socket of another board.
const ConfigSpace::Power &checked(const ConfigSpace::Power &power) {
    const ConfigSpace::Msix &msix = power.msix;
    if (!msix.vectors) return power;
    uint64_t bytes = msix.bar == 2 ? power.bar2_bytes : power.bar0_bytes;
    uint64_t table_end = msix.table + uint64_t{msix.vectors} * MsixVectors::kEntryBytes;
    uint64_t pending_end = msix.pending + uint64_t{(msix.vectors + 63) / 64} * 8;
    if (table_end > bytes || pending_end > bytes)
        throw std::invalid_argument("--msix: table or pending bits do not fit into BAR" +
                                    std::to_string(msix.bar));
    return power;
}

}  // namespace

Machine::Machine(const Options &chosen, Host &host)
    : options(chosen),
      config(checked({chosen.mps, chosen.mrrs, chosen.rcb, kBar0Bytes, chosen.link, chosen.bar2,
                      chosen.flr, chosen.msix})),
      rules(chosen.rules),
      log(chosen.tlp_log),
      root(host, config, rules, faults),
      peer(root, config, rules),
      script(chosen.fault_script, faults),
      hard_block(root, config, rules, log,
                 {chosen.np_credits, chosen.stall_percent, chosen.seed, chosen.straddle,
                  chosen.completion_pool}),
      flash(kMt25qu256, chosen.flash_speed, chosen.seed),
      configuration(flash.memory(), kIdcode),
      card{flash, configuration, [this] { return now(); }},
      wire(chosen.wire),
      gateware(hard_block, config, card, parts, wire, chosen.waves, chosen.seed) {
    parts.sensors.set(chosen.environment);
    for (size_t i = 0; i < parts.cages.size(); i++) parts.cages[i].set(chosen.cages[i]);
    root.timing = chosen.timing;
    root.link.upstream.set_rate_limited(chosen.link_rate);
    root.link.downstream.set_rate_limited(chosen.link_rate);
    root.seed(chosen.seed);
    faults.seed(chosen.seed);
    root.configure();
    for (const auto &fault : chosen.faults) faults.arm(fault);
    start_from_flash();
    open_wire();
}

void Machine::start_from_flash() {
    if (options.flash.empty()) return;
    flash.memory().keep_in(options.flash);
    Boot boot = configuration.power_on();
    if (boot.bricked) return;
    configure(boot);
    without_link = defect_of(boot.image) == Defect::NoLink;
    configuration.watch(now());
}

void Machine::open_wire() {
    if (!options.wire.path.empty() && !wire.bound())
        throw std::invalid_argument("--wire " + options.wire.path +
                                    ": this gateware has no wire; build it with targets/sim.py "
                                    "--virtio --port wire");
    wire.open();
}

Boot Machine::lose_card_power() {
    flash.lose_power(now());
    return configuration.power_on();
}

void Machine::configure(const Boot &boot) {
    std::optional<Digest> digest = boot.bricked ? std::nullopt : digest_of(boot.image);
    if (!digest) return gateware.configure(executable_folder());
    IdentityFolder identity(executable_folder(), *digest, defect_of(boot.image));
    gateware.configure(identity.path());
}

bool Machine::working() const {
    // The hard block waits for the gateware to acknowledge a reset or a new power state.
    bool asked = config.flr_in_process() || config.power_change_pending();
    // The part's watchdog is a timer that is armed.
    bool watching = configuration.watching();
    return asked || watching || gateware.busy() || !peer.idle() || wire.working() ||
           !hard_block.idle(now());
}

void Machine::tick() {
    peer.run(now());
    wire.run(now());
    gateware.tick();
    script.run(now(), hard_block.received());
}

void Machine::lose_link() {
    root.reset();
    hard_block.link_lost();
    peer.reset();
}

void Machine::power_cycle() {
    config.reset();
    lose_link();
    gateware.reset();
}

}  // namespace lanebox
