// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The vfio-user messages under the names that the server uses. Their numbers and layouts are in
// vfio_user_protocol.h, which the library's client includes as well.
#pragma once

#include <cassert>
#include <cstdint>

namespace lanebox::vfio_user {

namespace wire {
#include "vfio_user_protocol.h"
}

enum class Command : uint16_t {
    Version = wire::CMD_VERSION,
    DmaMap = wire::CMD_DMA_MAP,
    DmaUnmap = wire::CMD_DMA_UNMAP,
    GetInfo = wire::CMD_GET_INFO,
    GetRegionInfo = wire::CMD_GET_REGION_INFO,
    GetIrqInfo = wire::CMD_GET_IRQ_INFO,
    SetIrqs = wire::CMD_SET_IRQS,
    RegionRead = wire::CMD_REGION_READ,
    RegionWrite = wire::CMD_REGION_WRITE,
    DmaRead = wire::CMD_DMA_READ,
    DmaWrite = wire::CMD_DMA_WRITE,
    Reset = wire::CMD_DEVICE_RESET,
    RegionWriteMulti = wire::CMD_REGION_WRITE_MULTI,
};

constexpr uint32_t kFlagTypeMask = wire::TYPE_MASK;
constexpr uint32_t kFlagReply = wire::TYPE_REPLY;
constexpr uint32_t kFlagNoReply = wire::FLAG_NO_REPLY;
constexpr uint32_t kFlagError = wire::FLAG_ERROR;

constexpr uint32_t kBars = wire::REGION_BARS;
constexpr uint32_t kRegionConfig = wire::REGION_CONFIG;
constexpr uint32_t kRegionCount = wire::REGION_COUNT;
constexpr uint32_t kRegionReadable = wire::REGION_READABLE;
constexpr uint32_t kRegionWritable = wire::REGION_WRITABLE;

constexpr uint32_t kIrqMsi = wire::IRQ_MSI, kIrqMsix = wire::IRQ_MSIX;
constexpr uint32_t kIrqCount = wire::IRQ_COUNT;
constexpr uint32_t kIrqEventfd = wire::IRQ_EVENTFD, kIrqNoResize = wire::IRQ_NO_RESIZE;
constexpr uint32_t kSetIrqDataNone = wire::IRQ_DATA_NONE;
constexpr uint32_t kSetIrqDataEventfd = wire::IRQ_DATA_EVENTFD;
constexpr uint32_t kSetIrqActionTrigger = wire::IRQ_ACTION_TRIGGER;

constexpr uint32_t kDeviceReset = wire::DEVICE_CAN_RESET, kDevicePci = wire::DEVICE_IS_PCI;
constexpr uint32_t kDmaReadable = wire::DMA_READABLE, kDmaWritable = wire::DMA_WRITABLE;
constexpr uint32_t kUnmapAll = wire::DMA_UNMAP_ALL;

using Header = wire::header;
using DmaMap = wire::dma_map;
using DmaUnmap = wire::dma_unmap;
using DeviceInfo = wire::device_info;
using RegionInfo = wire::region_info;
using IrqInfo = wire::irq_info;
using IrqSet = wire::irq_set;
using RegionAccess = wire::region_access;
using WriteMultiEntry = wire::multi_write;
using DmaAccess = wire::memory_access;

}  // namespace lanebox::vfio_user
