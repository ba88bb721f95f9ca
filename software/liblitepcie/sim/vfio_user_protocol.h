/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The vfio-user messages as they are on the socket (QEMU, docs/interop/vfio-user.rst), in little
 * endian. The client of this library includes the file, and so does the simulated board's server
 * (C++). The Python clients parse the file (tools/c_header.py), so all that it defines are
 * enumerations with values, structures of fixed-width integers, and checks of their sizes.
 */
#ifndef LITEPCIE_VFIO_USER_PROTOCOL_H
#define LITEPCIE_VFIO_USER_PROTOCOL_H

#include <assert.h>
#include <stdint.h>

enum vfio_user_command {
	CMD_VERSION = 1,
	CMD_DMA_MAP = 2,
	CMD_DMA_UNMAP = 3,
	CMD_GET_INFO = 4,
	CMD_GET_REGION_INFO = 5,
	CMD_GET_IRQ_INFO = 7,
	CMD_SET_IRQS = 8,
	CMD_REGION_READ = 9,
	CMD_REGION_WRITE = 10,
	CMD_DMA_READ = 11,
	CMD_DMA_WRITE = 12,
	CMD_DEVICE_RESET = 13,
	CMD_REGION_WRITE_MULTI = 15,
};

/* Bits of the field `flags` in the header of a vfio-user message. */
enum {
	TYPE_MASK = 0xf,
	TYPE_REPLY = 0x1,
	FLAG_NO_REPLY = 0x10,
	FLAG_ERROR = 0x20,
};

/*
 * Numbers of regions and interrupts of a PCI device, and flags of the commands about them, as in
 * linux/vfio.h.
 */
enum {
	REGION_BARS = 6,	/* number of BAR regions, which have the numbers 0 to 5 */
	REGION_BAR0 = 0,
	REGION_CONFIG = 7,
	REGION_COUNT = 9,
	REGION_READABLE = 1,
	REGION_WRITABLE = 2,
	IRQ_MSI = 1,
	IRQ_MSIX = 2,
	IRQ_COUNT = 5,
	IRQ_EVENTFD = 1,
	IRQ_NO_RESIZE = 8,
	IRQ_DATA_NONE = 0x01,
	IRQ_DATA_EVENTFD = 0x04,
	IRQ_ACTION_TRIGGER = 0x20,
	DEVICE_CAN_RESET = 1,
	DEVICE_IS_PCI = 2,
	DMA_READABLE = 1,
	DMA_WRITABLE = 2,
	DMA_UNMAP_ALL = 2,
};

struct header {
	uint16_t id;
	uint16_t command;
	/* bytes of the whole vfio-user message that begins with this header */
	uint32_t size;
	uint32_t flags;
	uint32_t error;
};

struct dma_map {
	uint32_t argsz;
	uint32_t flags;
	uint64_t offset;
	uint64_t address;
	uint64_t size;
};

struct dma_unmap {
	uint32_t argsz;
	uint32_t flags;
	uint64_t address;
	uint64_t size;
};

struct device_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t regions;
	uint32_t irqs;
};

struct region_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t cap_offset;
	uint64_t size;
	uint64_t offset;
};

struct irq_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t count;
};

struct irq_set {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t start;
	uint32_t count;
};

struct region_access {
	uint64_t offset;
	uint32_t region;
	uint32_t count;
};

struct multi_write {
	struct region_access access;
	uint64_t data;
};

struct memory_access {
	uint64_t address;
	uint64_t count;
};

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the messages are little-endian");
static_assert(sizeof(struct header) == 16, "header on the wire");
static_assert(sizeof(struct dma_map) == 32, "DMA_MAP on the wire");
static_assert(sizeof(struct dma_unmap) == 24, "DMA_UNMAP on the wire");
static_assert(sizeof(struct device_info) == 16, "GET_INFO on the wire");
static_assert(sizeof(struct region_info) == 32, "GET_REGION_INFO on the wire");
static_assert(sizeof(struct irq_info) == 16, "GET_IRQ_INFO on the wire");
static_assert(sizeof(struct irq_set) == 20, "SET_IRQS on the wire");
static_assert(sizeof(struct region_access) == 16, "REGION_READ on the wire");
static_assert(sizeof(struct multi_write) == 24, "REGION_WRITE_MULTI on the wire");
static_assert(sizeof(struct memory_access) == 16, "DMA_READ on the wire");

#endif /* LITEPCIE_VFIO_USER_PROTOCOL_H */
