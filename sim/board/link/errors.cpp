// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "link/errors.hpp"

#include "link/config_registers.hpp"
#include "link/config_space.hpp"
#include "link/wire_header.hpp"

namespace lanebox {

namespace {

enum Severity : unsigned { Correctable, NonFatal, Fatal };

}  // namespace

const ErrorEffect &effect_of(CardError error) {
    // Each row is the effect of one CardError, in the order of that enumeration. The columns are
    // the fields of ErrorEffect.
    static constexpr ErrorEffect kEffects[] = {
        {PCI_ERR_UNC_POISON_TLP, 0, PCI_STATUS_DETECTED_PARITY | PCI_STATUS_PARITY, false, false,
         true},
        {PCI_ERR_UNC_COMP_TIME, 0, 0, false, false, false},
        {PCI_ERR_UNC_UNX_COMP, 0, 0, true, false, true},
        {PCI_ERR_UNC_MALF_TLP, 0, 0, false, false, true},
        {PCI_ERR_UNC_UNSUP, 0, 0, true, true, true},
        {PCI_ERR_UNC_COMP_ABORT, 0, PCI_STATUS_SIG_TARGET_ABORT, true, false, true},
        {0, 0, PCI_STATUS_REC_MASTER_ABORT, false, false, false},
        {0, 0, PCI_STATUS_REC_TARGET_ABORT, false, false, false},
        {0, 0, PCI_STATUS_PARITY, false, false, false},
        {0, PCI_ERR_COR_BAD_TLP, 0, false, false, false},
    };
    static_assert(sizeof kEffects / sizeof *kEffects == static_cast<unsigned>(CardError::kCount));
    return kEffects[static_cast<unsigned>(error)];
}

// Carries out base specification 6.2.5, "Sequence of Device Error Signaling and Logging
// Operations".
void ConfigSpace::report(CardError error, const Tlp *tlp) {
    const ErrorEffect &effect = effect_of(error);
    uint32_t status = effect.status;
    if (!(word(config_at::kCommand) & PCI_COMMAND_PARITY)) status &= ~uint32_t{PCI_STATUS_PARITY};
    put(config_at::kCommand, word(config_at::kCommand) | status << 16);
    if (!effect.uncorrectable && !effect.correctable) return;

    bool fatal = word(config_at::kAerSeverity) & effect.uncorrectable;
    Severity severity = fatal                                      ? Fatal
                        : effect.uncorrectable && !effect.advisory ? NonFatal
                                                                   : Correctable;
    bool advisory = effect.uncorrectable && severity == Correctable;
    uint32_t correctable = advisory ? uint32_t{PCI_ERR_COR_ADV_NFAT} : effect.correctable;
    uint32_t detected = 1u << severity | (effect.unsupported ? unsigned{PCI_EXP_DEVSTA_URD} : 0u);
    put(config_at::kDeviceControl, word(config_at::kDeviceControl) | detected << 16);
    if (correctable)
        put(config_at::kAerCorrectable, word(config_at::kAerCorrectable) | correctable);
    if (effect.uncorrectable) log(effect, tlp);

    bool masked = severity == Correctable
                      ? (word(config_at::kAerCorrectableMask) & correctable) != 0
                      : (word(config_at::kAerUncorrectableMask) & effect.uncorrectable) != 0;
    if (!masked) send_message(severity, effect.unsupported && advisory);
}

// Queues the error message if Device Control enables it or, for an uncorrectable error, SERR# does.
void ConfigSpace::send_message(unsigned severity, bool of_request) {
    uint32_t wanted = 1u << severity | (of_request ? unsigned{PCI_EXP_DEVCTL_URRE} : 0u);
    bool system_error = severity != Correctable && word(config_at::kCommand) & PCI_COMMAND_SERR;
    if ((word(config_at::kDeviceControl) & wanted) != wanted && !system_error) return;
    error_messages_ |= static_cast<uint8_t>(1u << severity);
    if (system_error)
        put(config_at::kCommand,
            word(config_at::kCommand) | uint32_t{PCI_STATUS_SIG_SYSTEM_ERROR} << 16);
}

// Sets an error's status bit in AER. First Error Pointer and header log keep the first error that
// is not masked.
void ConfigSpace::log(const ErrorEffect &effect, const Tlp *tlp) {
    uint32_t before = word(config_at::kAerUncorrectable),
             mask = word(config_at::kAerUncorrectableMask);
    put(config_at::kAerUncorrectable, before | effect.uncorrectable);
    if (effect.uncorrectable & mask || before & ~mask) return;
    unsigned bit = 0;
    while (!(effect.uncorrectable >> bit & 1)) bit++;
    put(config_at::kAerControl, (word(config_at::kAerControl) & ~0x1fu) | bit);
    WireHeader header;
    if (effect.logs_header && tlp) header = wire_header(*tlp, false);
    // Byte 0 of the header is the most significant byte of the log's first register.
    for (unsigned i = 0; i < header.dwords.size(); i++)
        put(config_at::kAerHeaderLog + 4 * i, i < header.count ? header.dwords[i] : 0);
}

}  // namespace lanebox
