// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "link/errors.hpp"

#include "link/config_space.hpp"
#include "link/wire_header.hpp"

namespace lanebox {

namespace {

// Bits of the register STATUS of configuration space.
constexpr uint16_t kMasterDataParity = 1u << 8, kSignaledTargetAbort = 1u << 11;
constexpr uint16_t kReceivedTargetAbort = 1u << 12, kReceivedMasterAbort = 1u << 13;
constexpr uint16_t kDetectedParity = 1u << 15;

// Offsets of registers of 32 bits: COMMAND with STATUS above it, Device Control with Device Status
// above it.
constexpr unsigned kCommand = 0x04, kDeviceControl = 0x78;
constexpr uint32_t kSignaledSystemError = 1u << 14;
constexpr uint16_t kParityResponse = 1u << 6, kSystemErrorEnable = 1u << 8;
// Unsupported Request Reporting Enable in Device Control, whose bits 2..0 enable error messages.
constexpr uint16_t kUnsupportedReporting = 1u << 3;
// Unsupported Request Detected in Device Status.
constexpr uint16_t kUnsupportedDetected = 1u << 3;

enum Severity : unsigned { Correctable, NonFatal, Fatal };

}  // namespace

const ErrorEffect &effect_of(CardError error) {
    // Each row is the effect of one CardError, in the order of that enumeration. The columns are
    // the fields of ErrorEffect.
    static constexpr ErrorEffect kEffects[] = {
        {1u << 12, 0, kDetectedParity | kMasterDataParity, false, false, true},
        {1u << 14, 0, 0, false, false, false},
        {1u << 16, 0, 0, true, false, true},
        {1u << 18, 0, 0, false, false, true},
        {1u << 20, 0, 0, true, true, true},
        {1u << 15, 0, kSignaledTargetAbort, true, false, true},
        {0, 0, kReceivedMasterAbort, false, false, false},
        {0, 0, kReceivedTargetAbort, false, false, false},
        {0, 0, kMasterDataParity, false, false, false},
        {0, 1u << 6, 0, false, false, false},
    };
    static_assert(sizeof kEffects / sizeof *kEffects == static_cast<unsigned>(CardError::kCount));
    return kEffects[static_cast<unsigned>(error)];
}

// Carries out base specification 6.2.5, "Sequence of Device Error Signaling and Logging
// Operations".
void ConfigSpace::report(CardError error, const Tlp *tlp) {
    const ErrorEffect &effect = effect_of(error);
    uint32_t status = effect.status;
    if (!(word(kCommand) & kParityResponse)) status &= ~uint32_t{kMasterDataParity};
    put(kCommand, word(kCommand) | status << 16);
    if (!effect.uncorrectable && !effect.correctable) return;

    bool fatal = word(kAer + kAerSeverity) & effect.uncorrectable;
    Severity severity = fatal                                      ? Fatal
                        : effect.uncorrectable && !effect.advisory ? NonFatal
                                                                   : Correctable;
    bool advisory = effect.uncorrectable && severity == Correctable;
    uint32_t correctable = advisory ? kAdvisoryNonFatal : effect.correctable;
    uint32_t detected = 1u << severity | (effect.unsupported ? kUnsupportedDetected : 0u);
    put(kDeviceControl, word(kDeviceControl) | detected << 16);
    if (correctable) put(kAer + kAerCorrectable, word(kAer + kAerCorrectable) | correctable);
    if (effect.uncorrectable) log(effect, tlp);

    bool masked = severity == Correctable
                      ? (word(kAer + kAerCorrectableMask) & correctable) != 0
                      : (word(kAer + kAerUncorrectableMask) & effect.uncorrectable) != 0;
    if (!masked) send_message(severity, effect.unsupported && advisory);
}

// Queues the error message if Device Control enables it or, for an uncorrectable error, SERR# does.
void ConfigSpace::send_message(unsigned severity, bool of_request) {
    uint32_t wanted = 1u << severity | (of_request ? kUnsupportedReporting : 0u);
    bool system_error = severity != Correctable && word(kCommand) & kSystemErrorEnable;
    if ((word(kDeviceControl) & wanted) != wanted && !system_error) return;
    error_messages_ |= static_cast<uint8_t>(1u << severity);
    if (system_error) put(kCommand, word(kCommand) | kSignaledSystemError << 16);
}

// Sets an error's status bit in AER. First Error Pointer and header log keep the first error that
// is not masked.
void ConfigSpace::log(const ErrorEffect &effect, const Tlp *tlp) {
    uint32_t before = word(kAer + kAerUncorrectable), mask = word(kAer + kAerUncorrectableMask);
    put(kAer + kAerUncorrectable, before | effect.uncorrectable);
    if (effect.uncorrectable & mask || before & ~mask) return;
    unsigned bit = 0;
    while (!(effect.uncorrectable >> bit & 1)) bit++;
    put(kAer + kAerControl, (word(kAer + kAerControl) & ~0x1fu) | bit);
    WireHeader header;
    if (effect.logs_header && tlp) header = wire_header(*tlp, false);
    // Byte 0 of the header is the most significant byte of the log's first register.
    for (unsigned i = 0; i < header.dwords.size(); i++)
        put(kAer + kAerHeaderLog + 4 * i, i < header.count ? header.dwords[i] : 0);
}

}  // namespace lanebox
