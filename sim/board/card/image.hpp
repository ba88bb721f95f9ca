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
        // The image is complete, it is for this part, and its CRC is right: the part starts it.
        Good,
        // The image has the command IPROG. The part goes on with the image at `warm_boot`.
        Reboot,
        // The flash ended before a synchronisation word, or before the image's end. A part goes on
        // at the flash's begin, for ever, unless its watchdog ends that.
        NoSync,
        WrongPart,  // The image has the IDCODE of another part.
        WrongCrc,   // The image's CRC is wrong or missing, or a packet is damaged.
    };
    End end = End::NoSync;
    uint32_t warm_boot = 0;          // WBSTAR: address of the next image, divided by 256
    bool has_reboot = false;         // The image has IPROG, even if it is ignored.
    uint32_t user_id = 0;            // the register AXSS
    std::optional<uint32_t> timer;   // the register TIMER, if the image writes it
    std::array<uint32_t, 8> data{};  // first words of the frame data
    uint32_t note = 0;               // the word of the frame data behind `data`
};

// Reads the image that begins at address `from` or behind. With `fallback` IPROG is ignored, as a
// part does after an image has failed.
Image read_image(const FlashMemory &flash, uint64_t from, uint32_t idcode, bool fallback);

}  // namespace lanebox
