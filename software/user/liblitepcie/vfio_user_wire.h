/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * vfio-user on the wire: what the messages look like, and the exchange of one command for its
 * reply. Internal to the client; vfio_user.h is its interface.
 */
#ifndef LITEPCIE_VFIO_USER_WIRE_H
#define LITEPCIE_VFIO_USER_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "vfio_user.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire is written in host order");

enum vfio_user_command {
	CMD_VERSION = 1,
	CMD_DMA_MAP = 2,
	CMD_DMA_UNMAP = 3,
	CMD_GET_INFO = 4,
	CMD_GET_REGION_INFO = 5,
	CMD_SET_IRQS = 8,
	CMD_REGION_READ = 9,
	CMD_REGION_WRITE = 10,
	CMD_DMA_READ = 11,
	CMD_DMA_WRITE = 12,
	CMD_DEVICE_RESET = 13,
	CMD_REGION_WRITE_MULTI = 15,
};

#define TYPE_MASK	0xfu
#define TYPE_REPLY	0x1u
#define FLAG_NO_REPLY	0x10u
#define FLAG_ERROR	0x20u

struct header {
	uint16_t id;
	uint16_t command;
	uint32_t size;		/* this header included */
	uint32_t flags;
	uint32_t error;
};
_Static_assert(sizeof(struct header) == 16, "header on the wire");

struct version {
	uint16_t major;
	uint16_t minor;
	char json[128];
};

struct dma_map {
	uint32_t argsz;
	uint32_t flags;
	uint64_t offset;
	uint64_t address;
	uint64_t size;
};
_Static_assert(sizeof(struct dma_map) == 32, "DMA_MAP on the wire");
#define DMA_MAP_READ_WRITE 3u

struct dma_unmap {
	uint32_t argsz;
	uint32_t flags;
	uint64_t address;
	uint64_t size;
};
_Static_assert(sizeof(struct dma_unmap) == 24, "DMA_UNMAP on the wire");

struct device_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t regions;
	uint32_t irqs;
};
_Static_assert(sizeof(struct device_info) == 16, "GET_INFO on the wire");
#define DEVICE_IS_PCI 2u

struct region_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t cap_offset;
	uint64_t size;
	uint64_t offset;
};
_Static_assert(sizeof(struct region_info) == 32, "GET_REGION_INFO on the wire");

struct irq_set {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t start;
	uint32_t count;
};
_Static_assert(sizeof(struct irq_set) == 20, "SET_IRQS on the wire");
#define IRQ_DATA_NONE		0x01u
#define IRQ_DATA_EVENTFD	0x04u
#define IRQ_ACTION_TRIGGER	0x20u

struct region_access {
	uint64_t offset;
	uint32_t region;
	uint32_t count;
};
_Static_assert(sizeof(struct region_access) == 16, "REGION_READ on the wire");

struct multi_write {
	struct region_access access;
	uint64_t data;
};
_Static_assert(sizeof(struct multi_write) == 24, "REGION_WRITE_MULTI on the wire");

struct memory_access {
	uint64_t address;
	uint64_t count;
};
_Static_assert(sizeof(struct memory_access) == 16, "DMA_READ on the wire");

/* Keep a sentence and return @error. */
__attribute__((format(printf, 3, 4)))
int vfio_user_fail(struct vfio_user *vu, int error, const char *format, ...);

/* Connect vu->fd to vu->path. */
int vfio_user_connect_socket(struct vfio_user *vu);

/* Close for good: nothing more may go over the connection. */
void vfio_user_drop(struct vfio_user *vu);

/* End a connection that broke with @error of errno, 0: was closed. Returns -errno. */
int vfio_user_broken(struct vfio_user *vu, const char *doing, int error);

/* All of these bytes; @doing is for the sentence. */
int vfio_user_take(struct vfio_user *vu, void *data, size_t size, const char *doing);

/* Send these parts, which are used up; @fd, unless -1, goes with the first byte. */
int vfio_user_give(struct vfio_user *vu, struct iovec *parts, size_t count, int fd,
		   const char *doing);

/* Send a command; @fd, unless -1, goes with it. */
int vfio_user_send(struct vfio_user *vu, uint16_t command, uint32_t flags,
		   const void *body, size_t size, int fd);

/* Wait for the reply to the last command, serving what the peer asks. Returns its body's size. */
int vfio_user_receive(struct vfio_user *vu, uint16_t command, void *reply, size_t reply_size);

/* Both, for a reply of @reply_size bytes at least. Returns 0. */
int vfio_user_call(struct vfio_user *vu, uint16_t command, const void *body, size_t size, int fd,
		   void *reply, size_t reply_size);

#endif /* LITEPCIE_VFIO_USER_WIRE_H */
