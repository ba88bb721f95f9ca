// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "card/flash_memory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace lanebox {

namespace {

constexpr uint8_t kErased = 0xff;

[[noreturn]] void fail(const std::string &path, const std::string &why) {
    throw std::runtime_error("--flash " + path + ": " + why);
}

}  // namespace

FlashMemory::File::~File() {
    if (fd >= 0) close(fd);
}

void FlashMemory::keep_in(const std::string &path) {
    auto file = std::make_unique<File>();
    file->fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    struct stat status;
    if (file->fd < 0 || fstat(file->fd, &status) < 0) fail(path, strerror(errno));
    if (static_cast<uint64_t>(status.st_size) > size_)
        fail(path,
             std::to_string(status.st_size) + " bytes, and the flash has " + std::to_string(size_));
    std::vector<uint8_t> sector(kSector);
    const std::vector<uint8_t> erased(kSector, kErased);
    for (uint64_t at = 0; at < size_; at += kSector) {
        sector = erased;
        ssize_t got = pread(file->fd, sector.data(), kSector, static_cast<off_t>(at));
        if (got < 0) fail(path, strerror(errno));
        if (sector != erased) sectors_[at / kSector] = sector;
        if (got < static_cast<ssize_t>(kSector) &&
            pwrite(file->fd, sector.data(), kSector, static_cast<off_t>(at)) != kSector)
            fail(path, strerror(errno));
    }
    file_ = std::move(file);
}

uint8_t FlashMemory::read(uint64_t address) const {
    auto found = sectors_.find(address / kSector);
    return found == sectors_.end() ? kErased : found->second[address % kSector];
}

uint64_t FlashMemory::skip_erased(uint64_t address) const {
    auto found = sectors_.lower_bound(address / kSector);
    if (found == sectors_.end()) return size_;
    return std::max(address, found->first * kSector);
}

void FlashMemory::write(uint64_t address, uint8_t value) {
    auto found = sectors_.find(address / kSector);
    if (found == sectors_.end()) {
        if (value == kErased) return;
        found = sectors_.emplace(address / kSector, std::vector<uint8_t>(kSector, kErased)).first;
    }
    if (found->second[address % kSector] == value) return;
    found->second[address % kSector] = value;
    if (file_) changed_[address / kSector] = true;
}

void FlashMemory::flush() {
    for (const auto &[number, _] : changed_) {
        const std::vector<uint8_t> &sector = sectors_[number];
        if (pwrite(file_->fd, sector.data(), kSector, static_cast<off_t>(number * kSector)) !=
            kSector)
            throw std::runtime_error(std::string("the flash's file cannot be written: ") +
                                     strerror(errno));
    }
    changed_.clear();
}

}  // namespace lanebox
