// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "machine/machine.hpp"

#include <stdexcept>

#include "machine/msix_vectors.hpp"

namespace lanebox {

namespace {

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
      gateware(hard_block, config, chosen.waves, chosen.seed) {
    root.timing = chosen.timing;
    root.link.upstream.set_rate_limited(chosen.link_rate);
    root.link.downstream.set_rate_limited(chosen.link_rate);
    root.seed(chosen.seed);
    faults.seed(chosen.seed);
    root.configure();
    for (const auto &fault : chosen.faults) faults.arm(fault);
}

bool Machine::working() const {
    // The hard block waits for the gateware to acknowledge a reset or a new power state.
    bool asked = config.flr_in_process() || config.power_change_pending();
    return asked || gateware.busy() || !peer.idle() || !hard_block.idle(now());
}

void Machine::tick() {
    peer.run(now());
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
