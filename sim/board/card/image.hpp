// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// How a part reads an image (a bitstream) from its flash: it looks for the synchronisation word,
// then follows the packets (UG570) up to the end of the configuration. Only those fields are read
// by which a part decides whether it starts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "card/flash_memory.hpp"

namespace lanebox {

struct Image {
    enum class End {
        Good,       // It started: it was complete, for this part, and its CRC was right.
        Reboot,     // It has the command IPROG, which leads to the address `reboot_to`.
        NoSync,     // The flash ended before a synchronisation word or before the image's end. A
                    // part goes on from the flash's begin, for ever, unless its watchdog ends that.
        WrongPart,  // Its IDCODE is another part's.
        WrongCrc,   // Its CRC is wrong, it has none, or a packet is damaged.
    };
    End end = End::NoSync;
    uint32_t warm_boot = 0;          // WBSTAR: address of the next image, divided by 256
    bool has_reboot = false;         // IPROG was seen, followed or not.
    uint32_t user_id = 0;            // the register AXSS
    std::optional<uint32_t> timer;   // the register TIMER, if the image writes it
    std::array<uint32_t, 8> data{};  // first words of the frame data
    uint32_t note = 0;               // the next word of the frame data
};

// Reads the image that begins at address `from` or behind. With `fallback` IPROG is ignored, as a
// part does after an image has failed.
Image read_image(const FlashMemory &flash, uint64_t from, uint32_t idcode, bool fallback);

}  // namespace lanebox
