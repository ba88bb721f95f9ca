// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The contents of a flash: sectors of 4 KiB, of which those that are erased take no memory. With a
// file every change is written to it at once, so that a killed process leaves what a flash would
// hold.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lanebox {

class FlashMemory {
public:
    static constexpr uint32_t kSector = 4096;

    explicit FlashMemory(uint64_t size) : size_(size) {}
    // A copy has the same contents, but no file.
    FlashMemory(const FlashMemory &other) : size_(other.size_), sectors_(other.sectors_) {}
    FlashMemory &operator=(const FlashMemory &) = delete;

    // Reads the contents from a file, and keeps it open for changes. A file that is not there, or
    // that is shorter than the flash, is filled up with erased bytes. Throws std::runtime_error.
    void keep_in(const std::string &path);

    uint64_t size() const { return size_; }
    uint8_t read(uint64_t address) const;
    // Returns `address` if its sector was ever written, or else the beginning of the next one that
    // was. All bytes before it are erased. The end of the flash counts as such a beginning.
    uint64_t skip_erased(uint64_t address) const;
    void write(uint64_t address, uint8_t value);
    // Sends the bytes that were written since the last call to the file, if there is one.
    void flush();

private:
    struct File {
        int fd = -1;
        ~File();
    };
    uint64_t size_;
    std::map<uint64_t, std::vector<uint8_t>> sectors_;
    std::map<uint64_t, bool> changed_;  // numbers of the sectors that the file does not have yet
    std::unique_ptr<File> file_;
};

}  // namespace lanebox
