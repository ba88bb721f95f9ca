// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "vfio_user/guest_memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "vfio_user/guarded_copy.hpp"

namespace lanebox::vfio_user {

namespace {

constexpr size_t kPage = 4096;

}  // namespace

// A client's file, mapped whole. When the last window onto it is gone, it is unmapped and removed
// from `known`.
class GuestMemory::File {
public:
    File(Files &known, FileKey key, uint8_t *bytes, size_t size)
        : bytes(bytes), size(size), known_(known), key_(key) {}
    ~File() {
        munmap(bytes, size);
        known_.erase(key_);
    }
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    size_t present() const;

    uint8_t *const bytes;
    const size_t size;
    bool said_shortened = false;

private:
    Files &known_;
    const FileKey key_;
};

// Returns the number of bytes before the file's first missing page. It is found by trial, since
// fstat() needs the descriptor. The descriptor was closed after the mapping, because a client may
// have more files than the board may have descriptors.
size_t GuestMemory::File::present() const {
    // Bounds of the search, as page numbers of the file. Pages below `low` exist.
    size_t low = 0, high = (size + kPage - 1) / kPage;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint8_t byte;
        if (guarded_copy(&byte, bytes + middle * kPage, 1))
            low = middle + 1;
        else
            high = middle;
    }
    return std::min(low * kPage, size);
}

GuestMemory::GuestMemory(ClientLog &log) : log_(log) {
    catch_bus_errors();
}

int GuestMemory::open_file(int fd, std::shared_ptr<File> &file) {
    struct stat status;
    if (fstat(fd, &status)) return errno;
    FileKey key{status.st_dev, status.st_ino, status.st_size};
    auto known = files_.find(key);
    if (known != files_.end()) {
        file = known->second.lock();
        return 0;
    }
    size_t size = static_cast<size_t>(status.st_size);
    void *bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED) return errno;
    file = std::make_shared<File>(files_, key, static_cast<uint8_t *>(bytes), size);
    files_[key] = file;
    return 0;
}

int GuestMemory::map(const DmaMap &request, int fd) {
    if (request.size == 0 || request.address + request.size < request.address) return EINVAL;
    auto next = windows_.lower_bound(request.address);
    if (next != windows_.end() && next->first - request.address < request.size) return EEXIST;
    if (next != windows_.begin()) {
        const Window &before = std::prev(next)->second;
        if (request.address - before.address < before.size) return EEXIST;
    }
    Window window{request.address, request.size, request.flags, nullptr, nullptr};
    if (fd >= 0) {
        if (int error = open_file(fd, window.file)) return error;
        size_t size = window.file->size;
        if (request.offset > size || request.size > size - request.offset) return EINVAL;
        window.bytes = window.file->bytes + request.offset;
    }
    windows_[request.address] = std::move(window);
    return 0;
}

void GuestMemory::unmap(const DmaUnmap &request) {
    if (request.flags & kUnmapAll) return clear();
    auto entry = windows_.lower_bound(request.address);
    while (entry != windows_.end()) {
        uint64_t offset = entry->first - request.address;
        if (offset >= request.size) break;
        bool inside = entry->second.size <= request.size - offset;
        entry = inside ? windows_.erase(entry) : std::next(entry);
    }
}

void GuestMemory::say_shortened(const Window &window) const {
    if (std::exchange(window.file->said_shortened, true)) return;
    char text[256];
    snprintf(text, sizeof text,
             "the client's memory for the window of %" PRIu64 " KiB at bus address 0x%" PRIx64
             " has lost pages: of its file's %zu KiB only %zu KiB are left, it was shortened or "
             "its file system is full; DMA to what is missing ends as DMA to an unmapped address",
             window.size >> 10, window.address, window.file->size >> 10,
             window.file->present() >> 10);
    log_.say(text);
}

template <typename Copy>
bool GuestMemory::walk(uint64_t address, size_t bytes, uint32_t permission, Copy copy) const {
    while (bytes) {
        auto entry = windows_.upper_bound(address);
        if (entry == windows_.begin()) return false;
        const Window &window = std::prev(entry)->second;
        uint64_t offset = address - window.address;
        if (offset >= window.size || !window.bytes || !(window.flags & permission)) return false;
        size_t count = std::min<uint64_t>(bytes, window.size - offset);
        if (!copy(window.bytes + offset, count)) {
            say_shortened(window);
            return false;
        }
        address += count;
        bytes -= count;
    }
    return true;
}

bool GuestMemory::read(uint64_t address, void *data, size_t bytes) const {
    auto *out = static_cast<uint8_t *>(data);
    return walk(address, bytes, kDmaReadable, [&out](const uint8_t *guest, size_t count) {
        bool copied = guarded_copy(out, guest, count);
        out += count;
        return copied;
    });
}

bool GuestMemory::write(uint64_t address, const void *data, size_t bytes) {
    const auto *in = static_cast<const uint8_t *>(data);
    return walk(address, bytes, kDmaWritable, [&in](uint8_t *guest, size_t count) {
        bool copied = guarded_copy(guest, in, count);
        in += count;
        return copied;
    });
}

}  // namespace lanebox::vfio_user
