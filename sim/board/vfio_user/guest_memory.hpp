// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Host memory as DMA_MAP messages describe it: bus addresses onto shared files.
//
// A file is mapped once, whole, however many windows onto it are announced: a guest IOMMU sends one
// message and one descriptor for each 4 KiB page. The mapping ends with the last of its windows.
//
// The file belongs to the client, which may shorten it under the mapping. An access to a missing
// page then fails like one to an unmapped address, and the log says so once for each file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "vfio_user/client_log.hpp"
#include "vfio_user/protocol.hpp"

namespace lanebox::vfio_user {

class GuestMemory {
    class File;

public:
    struct Window {
        uint64_t address, size;
        uint32_t flags;
        uint8_t *bytes;  // nullptr: announced without a descriptor, unreachable for DMA
        std::shared_ptr<File> file;
    };

    explicit GuestMemory(ClientLog &log);
    GuestMemory(const GuestMemory &) = delete;
    GuestMemory &operator=(const GuestMemory &) = delete;

    // Returns 0 or an errno. `fd` stays the caller's; -1 when the message brought none.
    int map(const DmaMap &request, int fd);
    void unmap(const DmaUnmap &request);
    void clear() { windows_.clear(); }

    // Copies across window borders; false at the first byte that is not mapped or not permitted.
    bool read(uint64_t address, void *data, size_t bytes) const;
    bool write(uint64_t address, const void *data, size_t bytes);

    const std::map<uint64_t, Window> &windows() const { return windows_; }

private:
    // With the size, so that a file that has grown is mapped anew.
    using FileKey = std::tuple<dev_t, ino_t, off_t>;
    using Files = std::map<FileKey, std::weak_ptr<File>>;

    int open_file(int fd, std::shared_ptr<File> &file);
    void say_shortened(const Window &window) const;
    template <typename Copy>
    bool walk(uint64_t address, size_t bytes, uint32_t permission, Copy copy) const;

    ClientLog &log_;
    Files files_;                         // files with at least one window
    std::map<uint64_t, Window> windows_;  // by bus address, never overlapping
};

}  // namespace lanebox::vfio_user
