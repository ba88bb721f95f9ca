/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The commands of a vfio-user client. vfio_user.h says what each function promises. The file
 * docs/interop/vfio-user.rst of QEMU describes the protocol.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "vfio_user_wire.h"

/* most register writes in one vfio-user message; QEMU's own client stops at 200 */
#define MAX_MULTI	192u

/* vfio_user_post() copies a struct litepcie_post into a message as it is */
static_assert(sizeof(struct litepcie_post) == sizeof(struct multi_write) &&
	      offsetof(struct litepcie_post, offset) ==
		      offsetof(struct multi_write, access.offset) &&
	      offsetof(struct litepcie_post, bar) == offsetof(struct multi_write, access.region) &&
	      offsetof(struct litepcie_post, size) == offsetof(struct multi_write, access.count) &&
	      offsetof(struct litepcie_post, value) == offsetof(struct multi_write, data) &&
	      REGION_BAR0 == 0, "REGION_WRITE_MULTI is a list of struct litepcie_post");

/* Connection to the board's process ----------------------------------------------------------- */

/*
 * True if the JSON text of the peer's capabilities has the value true behind @name. The text is
 * searched for @name without a JSON parser.
 */
static bool has_capability(const char *json, const char *name)
{
	const char *p = strstr(json, name);

	if (!p)
		return false;
	p += strlen(name);
	return strncmp(p + strspn(p, "\": \t\n"), "true", 4) == 0;
}

static int handshake(struct vfio_user *vu)
{
	/*
	 * The capability max_data_xfer_size is left out of what the client tells the board. If a
	 * client has it, a simulated board of Lanebox reads samples of host memory by messages, to
	 * compare them with its own mapping of that memory, and that takes time.
	 */
	struct version version = {
		.json = "{\"capabilities\":{\"max_msg_fds\":8,\"write_multiple\":true}}",
	};
	char reply[4096] = { 0 };
	size_t fixed = offsetof(struct version, json);
	uint16_t major;
	size_t size = fixed + strlen(version.json) + 1;
	int rc = vfio_user_send(vu, CMD_VERSION, 0, &version, size, -1) ?:
		 vfio_user_receive(vu, CMD_VERSION, reply, sizeof(reply) - 1);

	if (rc == -EBUSY)
		return litepcie_fail(rc, "%s: the board has a client: one at a time; try again "
				     "when that one has closed the card", vu->path);
	if (rc < 0)
		return rc;
	if ((size_t)rc < fixed)
		return litepcie_fail(-EPROTO, "%s: the answer to VERSION has %d bytes, not %zu or "
				     "more; the peer does not speak vfio-user", vu->path, rc,
				     fixed);
	memcpy(&major, reply, sizeof(major));
	/*
	 * The library speaks version 0.0 of the protocol. Minor versions are compatible, so only
	 * the major version must be 0.
	 */
	if (major != 0)
		return litepcie_fail(-EPROTO, "%s: the peer speaks vfio-user version %u; this "
				     "library speaks version 0", vu->path, major);
	vu->write_multi = has_capability(reply + fixed, "\"write_multiple");
	return 0;
}

int vfio_user_connect(struct vfio_user *vu, const char *path, int timeout_s)
{
	int rc;

	*vu = (struct vfio_user) { .fd = -1, .path = path, .timeout_s = timeout_s };
	rc = vfio_user_connect_socket(vu) ?: handshake(vu);
	if (rc < 0)
		vfio_user_drop(vu);
	return rc;
}

/* Registers of the device --------------------------------------------------------------------- */

int vfio_user_check_device(struct vfio_user *vu)
{
	struct device_info info = { .argsz = sizeof(info) };
	int rc = vfio_user_call(vu, CMD_GET_INFO, &info, sizeof(info), -1, &info, sizeof(info));

	if (rc < 0)
		return rc;
	if (!(info.flags & DEVICE_IS_PCI) || info.regions <= REGION_CONFIG ||
	    info.irqs <= IRQ_MSI)
		return litepcie_fail(-EPROTO, "%s: not a PCI device with MSI (flags 0x%x, %u "
				     "regions, %u interrupts)", vu->path, info.flags, info.regions,
				     info.irqs);
	return 0;
}

int vfio_user_region_size(struct vfio_user *vu, uint32_t region, uint64_t *size)
{
	struct region_info info = { .argsz = sizeof(info), .index = region };
	int rc = vfio_user_call(vu, CMD_GET_REGION_INFO, &info, sizeof(info), -1,
				&info, sizeof(info));

	*size = info.size;
	return rc;
}

int vfio_user_read(struct vfio_user *vu, uint32_t region, uint64_t offset, void *data, size_t size)
{
	struct region_access access = {
		.offset = offset, .region = region, .count = (uint32_t)size,
	};
	struct {
		struct region_access access;
		uint8_t data[VFIO_USER_LARGEST];
	} reply = { 0 };
	int rc = vfio_user_call(vu, CMD_REGION_READ, &access, sizeof(access), -1,
		      &reply, sizeof(reply.access) + size);

	if (rc == 0)
		memcpy(data, reply.data, size);
	return rc;
}

int vfio_user_write(struct vfio_user *vu, uint32_t region, uint64_t offset,
		    const void *data, size_t size)
{
	struct {
		struct region_access access;
		uint8_t data[VFIO_USER_LARGEST];
	} write = {
		.access = { .offset = offset, .region = region, .count = (uint32_t)size },
	};

	memcpy(write.data, data, size);
	return vfio_user_call(vu, CMD_REGION_WRITE, &write, sizeof(write.access) + size, -1,
			      NULL, 0);
}

/*
 * Send several writes to BAR0 in one message. The body has room for MAX_MULTI writes. It is not
 * initialised as a whole, since mostly few of its entries are used.
 */
static int post_multi(struct vfio_user *vu, const struct litepcie_post *writes, size_t count)
{
	struct {
		uint64_t count;
		struct multi_write writes[MAX_MULTI];
	} body;

	body.count = count;
	memcpy(body.writes, writes, count * sizeof(*writes));
	return vfio_user_send(vu, CMD_REGION_WRITE_MULTI, FLAG_NO_REPLY, &body,
			    sizeof(body.count) + count * sizeof(body.writes[0]), -1);
}

int vfio_user_post(struct vfio_user *vu, const struct litepcie_post *writes, size_t count)
{
	int rc = 0;

	while (rc == 0 && count) {
		size_t n = 1;

		if (vu->write_multi && count > 1) {
			n = count < MAX_MULTI ? count : MAX_MULTI;
			rc = post_multi(vu, writes, n);
		} else {
			/*
			 * The beginning of a struct litepcie_post, up to the end of the value's
			 * first @size bytes, is the body of the message REGION_WRITE.
			 */
			rc = vfio_user_send(vu, CMD_REGION_WRITE, FLAG_NO_REPLY, writes,
					    sizeof(struct region_access) + writes->size, -1);
		}
		writes += n;
		count -= n;
	}
	return rc;
}

/* Host memory and interrupts of the device ---------------------------------------------------- */

int vfio_user_map(struct vfio_user *vu, unsigned int kind)
{
	const struct litepcie_memory *memory = vu->memory[kind];
	struct dma_map map = {
		.argsz = sizeof(map), .flags = DMA_READABLE | DMA_WRITABLE,
		.address = litepcie_iova(kind), .size = memory->size,
	};

	return vfio_user_call(vu, CMD_DMA_MAP, &map, sizeof(map), memory->fd, NULL, 0);
}

int vfio_user_unmap(struct vfio_user *vu, unsigned int kind)
{
	struct dma_unmap unmap = { .argsz = sizeof(unmap), .address = litepcie_iova(kind) };

	if (!vu->memory[kind])
		return 0;
	unmap.size = vu->memory[kind]->size;
	return vfio_user_call(vu, CMD_DMA_UNMAP, &unmap, sizeof(unmap), -1, NULL, 0);
}

int vfio_user_set_msi(struct vfio_user *vu, int eventfd)
{
	struct irq_set set = {
		.argsz = sizeof(set),
		.flags = IRQ_ACTION_TRIGGER | (eventfd >= 0 ? IRQ_DATA_EVENTFD : IRQ_DATA_NONE),
		.index = IRQ_MSI,
		.count = eventfd >= 0,
	};

	return vfio_user_call(vu, CMD_SET_IRQS, &set, sizeof(set), eventfd, NULL, 0);
}

int vfio_user_reset(struct vfio_user *vu)
{
	return vfio_user_call(vu, CMD_DEVICE_RESET, NULL, 0, -1, NULL, 0);
}
