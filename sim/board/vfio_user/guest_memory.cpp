// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "vfio_user/guest_memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lanebox::vfio_user {

GuestMemory::File::~File() {
    munmap(bytes, size);
}

int GuestMemory::open_file(int fd, std::shared_ptr<File> &file) {
    struct stat status;
    if (fstat(fd, &status)) return errno;
    auto known = files_.find({status.st_dev, status.st_ino, status.st_size});
    if (known == files_.end()) {
        size_t size = static_cast<size_t>(status.st_size);
        void *bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (bytes == MAP_FAILED) return errno;
        auto mapped = std::shared_ptr<File>(new File{static_cast<uint8_t *>(bytes), size});
        known = files_.insert({{status.st_dev, status.st_ino, status.st_size}, mapped}).first;
    }
    file = known->second;
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
    Window window{request.address, request.size, request.flags, nullptr};
    if (fd >= 0) {
        std::shared_ptr<File> file;
        if (int error = open_file(fd, file)) return error;
        if (request.offset > file->size || request.size > file->size - request.offset)
            return EINVAL;
        window.bytes = file->bytes + request.offset;
    }
    windows_[request.address] = window;
    return 0;
}

int GuestMemory::unmap(const DmaUnmap &request) {
    uint64_t end = request.address + request.size;
    bool all = request.flags & kUnmapAll;
    for (auto entry = windows_.begin(); entry != windows_.end();) {
        const Window &window = entry->second;
        bool inside = window.address >= request.address && window.address + window.size <= end;
        entry = all || inside ? windows_.erase(entry) : std::next(entry);
    }
    return 0;
}

void GuestMemory::clear() {
    windows_.clear();
    files_.clear();
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
        copy(window.bytes + offset, count);
        address += count;
        bytes -= count;
    }
    return true;
}

bool GuestMemory::read(uint64_t address, void *data, size_t bytes) const {
    auto *out = static_cast<uint8_t *>(data);
    return walk(address, bytes, kDmaReadable, [&out](const uint8_t *guest, size_t count) {
        memcpy(out, guest, count);
        out += count;
    });
}

bool GuestMemory::write(uint64_t address, const void *data, size_t bytes) {
    const auto *in = static_cast<const uint8_t *>(data);
    return walk(address, bytes, kDmaWritable, [&in](uint8_t *guest, size_t count) {
        memcpy(guest, in, count);
        in += count;
    });
}

}  // namespace lanebox::vfio_user
