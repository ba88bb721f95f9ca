// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Host memory as the client's DMA_MAP messages describe it. Each message announces a window: a
// range of bus addresses that shows a part of a shared file.
//
// A file is mapped once, whole, however many windows onto it are announced, since a guest IOMMU
// sends one message and one descriptor for each 4 KiB page. The mapping ends with the file's last
// window.
//
// The file belongs to the client, which may shorten it while it is mapped. An access to a missing
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
        // Where the window is mapped. nullptr: the window came without a descriptor, so DMA cannot
        // reach it.
        uint8_t *bytes;
        std::shared_ptr<File> file;
    };

    explicit GuestMemory(ClientLog &log);
    GuestMemory(const GuestMemory &) = delete;
    GuestMemory &operator=(const GuestMemory &) = delete;

    // Adds a window. Returns 0 or an errno. `fd` is the file, and stays open for the caller; -1:
    // the message came without a descriptor.
    int map(const DmaMap &request, int fd);
    void unmap(const DmaUnmap &request);
    void clear() { windows_.clear(); }

    // Copies data from or to guest memory, also across the borders of windows. Returns false if a
    // byte is not mapped or the access is not permitted.
    bool read(uint64_t address, void *data, size_t bytes) const;
    bool write(uint64_t address, const void *data, size_t bytes);

    const std::map<uint64_t, Window> &windows() const { return windows_; }

private:
    // The key of a mapped file has the file's size, so that a file that has grown is mapped again.
    using FileKey = std::tuple<dev_t, ino_t, off_t>;
    using Files = std::map<FileKey, std::weak_ptr<File>>;

    int open_file(int fd, std::shared_ptr<File> &file);
    void say_shortened(const Window &window) const;
    template <typename Copy>
    bool walk(uint64_t address, size_t bytes, uint32_t permission, Copy copy) const;

    ClientLog &log_;
    Files files_;  // The mapped files of the client. Each has at least one window.
    // windows of guest memory by bus address; they never overlap
    std::map<uint64_t, Window> windows_;
};

}  // namespace lanebox::vfio_user
