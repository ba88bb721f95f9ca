// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "card/image.hpp"

#include "card/packets.hpp"

namespace lanebox {

namespace {

// CRC of the configuration: CRC-32C, lowest bit first, over the 32 bits of each word and then the
// 5 bits of its register.
uint32_t crc_step(uint32_t crc, unsigned reg, uint32_t word) {
    constexpr uint32_t kPolynomial = 0x82f63b78;
    uint64_t bits = uint64_t{reg} << 32 | word;
    for (unsigned i = 0; i < 37; i++) {
        bool one = (crc ^ (bits >> i)) & 1;
        crc = crc >> 1 ^ (one ? kPolynomial : 0);
    }
    return crc;
}

class Reader {
public:
    Reader(const FlashMemory &flash, uint64_t from, uint32_t idcode, bool fallback)
        : flash_(flash), at_(from), idcode_(idcode), fallback_(fallback) {}

    Image read() {
        if (!synchronise()) return image_;
        for (unsigned reg = 0; !ended_ && at_ + 4 <= flash_.size();) {
            uint32_t packet = word();
            unsigned type = packet >> 29, operation = packet >> 27 & 3;
            if (type == 1) reg = packet >> 13 & 0x1f;
            if (type != 1 && type != 2) return end(Image::End::WrongCrc);
            uint32_t count = packet & (type == 1 ? 0x7ff : 0x7ffffff);
            if (operation != numbers::kBitstreamWrite) continue;
            for (uint32_t i = 0; i < count && !ended_ && at_ + 4 <= flash_.size(); i++)
                write(reg, word());
        }
        return image_;
    }

private:
    uint32_t word() {
        uint32_t value = 0;
        for (unsigned i = 0; i < 4; i++) value = value << 8 | flash_.read(at_++);
        return value;
    }

    bool synchronise() {
        uint32_t last = 0;
        while (at_ < flash_.size()) {
            uint64_t next = flash_.skip_erased(at_);
            if (next != at_) last = ~0u;
            at_ = next;
            if (at_ < flash_.size()) last = last << 8 | flash_.read(at_++);
            if (last == numbers::kBitstreamSync) return true;
        }
        return false;
    }

    Image end(Image::End how) {
        ended_ = true;
        image_.end = how;
        return image_;
    }

    void write(unsigned reg, uint32_t value) {
        if (reg == packets::kCrc) {
            if (value != crc_) end(Image::End::WrongCrc);
            checked_ = true;
            crc_ = 0;
            return;
        }
        crc_ = crc_step(crc_, reg, value);
        if (reg == packets::kFrames) {
            checked_ = false;
            if (frames_ == image_.data.size()) image_.note = value;
            if (frames_ < image_.data.size()) image_.data[frames_] = value;
            frames_++;
        }
        if (reg == packets::kIdcode && ((value ^ idcode_) & ~numbers::kBitstreamRevision))
            end(Image::End::WrongPart);
        if (reg == packets::kUserId) image_.user_id = value;
        if (reg == packets::kWarmBoot) image_.warm_boot = value;
        if (reg == packets::kTimer) image_.timer = value;
        if (reg == packets::kCommand) command(value);
    }

    void command(uint32_t value) {
        if (value == packets::kResetCrc) crc_ = 0;
        if (value == packets::kDesync) end(checked_ ? Image::End::Good : Image::End::WrongCrc);
        if (value != packets::kReboot) return;
        image_.has_reboot = true;
        if (!fallback_) end(Image::End::Reboot);
    }

    const FlashMemory &flash_;
    uint64_t at_;
    uint32_t idcode_;
    bool fallback_, ended_ = false;
    bool checked_ = false;  // The CRC of all frame data so far was right.
    uint32_t crc_ = 0;
    size_t frames_ = 0;
    Image image_;
};

}  // namespace

Image read_image(const FlashMemory &flash, uint64_t from, uint32_t idcode, bool fallback) {
    return Reader(flash, from, idcode, fallback).read();
}

}  // namespace lanebox
