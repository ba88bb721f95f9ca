// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Host memory as DMA_MAP messages describe it: bus addresses onto shared files.
//
// A file is mapped once, whole, however many windows onto it are announced: a guest IOMMU sends one
// message and one descriptor for each 4 KiB page.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "vfio_user/protocol.hpp"

namespace lanebox::vfio_user {

class GuestMemory {
public:
    struct Window {
        uint64_t address, size;
        uint32_t flags;
        uint8_t *bytes;  // nullptr: announced without a descriptor, unreachable for DMA
    };

    // Returns 0 or an errno. `fd` stays the caller's; -1 when the message brought none.
    int map(const DmaMap &request, int fd);
    int unmap(const DmaUnmap &request);
    void clear();

    // Copies across window borders; false at the first byte that is not mapped or not permitted.
    bool read(uint64_t address, void *data, size_t bytes) const;
    bool write(uint64_t address, const void *data, size_t bytes);

    const std::map<uint64_t, Window> &windows() const { return windows_; }

private:
    struct File {
        uint8_t *bytes;
        size_t size;
        ~File();
    };
    int open_file(int fd, std::shared_ptr<File> &file);
    template <typename Copy>
    bool walk(uint64_t address, size_t bytes, uint32_t permission, Copy copy) const;

    // With the size, so that a file that has grown is mapped anew.
    std::map<std::tuple<dev_t, ino_t, off_t>, std::shared_ptr<File>> files_;
    std::map<uint64_t, Window> windows_;  // by bus address, never overlapping
};

}  // namespace lanebox::vfio_user
