// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// vfio-user messages as they are on the socket (QEMU docs/interop/vfio-user.rst), little endian.
#pragma once

#include <cstdint>

namespace lanebox::vfio_user {

enum class Command : uint16_t {
    Version = 1,
    DmaMap = 2,
    DmaUnmap = 3,
    GetInfo = 4,
    GetRegionInfo = 5,
    GetIrqInfo = 7,
    SetIrqs = 8,
    RegionRead = 9,
    RegionWrite = 10,
    DmaRead = 11,
    DmaWrite = 12,
    Reset = 13,
    RegionWriteMulti = 15,
};

constexpr uint32_t kFlagTypeMask = 0xf;
constexpr uint32_t kFlagReply = 0x1;
constexpr uint32_t kFlagNoReply = 0x10;
constexpr uint32_t kFlagError = 0x20;

constexpr uint32_t kBars = 6;  // regions 0 to 5
constexpr uint32_t kRegionConfig = 7;
constexpr uint32_t kRegionCount = 9;
constexpr uint32_t kRegionReadable = 1, kRegionWritable = 2;

constexpr uint32_t kIrqMsi = 1, kIrqMsix = 2;
constexpr uint32_t kIrqCount = 5;
constexpr uint32_t kIrqEventfd = 1, kIrqNoResize = 8;
constexpr uint32_t kSetIrqDataNone = 1, kSetIrqDataEventfd = 4, kSetIrqActionTrigger = 32;

constexpr uint32_t kDeviceReset = 1, kDevicePci = 2;
constexpr uint32_t kDmaReadable = 1, kDmaWritable = 2;
constexpr uint32_t kUnmapAll = 2;

struct Header {
    uint16_t id, command;
    uint32_t size, flags, error;
};
struct DmaMap {
    uint32_t argsz, flags;
    uint64_t offset, address, size;
};
struct DmaUnmap {
    uint32_t argsz, flags;
    uint64_t address, size;
};
struct DeviceInfo {
    uint32_t argsz, flags, regions, irqs;
};
struct RegionInfo {
    uint32_t argsz, flags, index, capabilities;
    uint64_t size, offset;
};
struct IrqInfo {
    uint32_t argsz, flags, index, count;
};
struct IrqSet {
    uint32_t argsz, flags, index, start, count;
};
struct RegionAccess {
    uint64_t offset;
    uint32_t region, count;
};
struct WriteMultiEntry {
    RegionAccess access;
    uint8_t data[8];
};
struct DmaAccess {
    uint64_t address, count;
};

static_assert(sizeof(Header) == 16 && sizeof(DmaMap) == 32 && sizeof(DmaUnmap) == 24);
static_assert(sizeof(DeviceInfo) == 16 && sizeof(RegionInfo) == 32 && sizeof(IrqInfo) == 16);
static_assert(sizeof(IrqSet) == 20 && sizeof(RegionAccess) == 16 && sizeof(WriteMultiEntry) == 24);
static_assert(sizeof(DmaAccess) == 16);

}  // namespace lanebox::vfio_user
