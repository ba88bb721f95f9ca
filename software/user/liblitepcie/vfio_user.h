/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The client side of the vfio-user protocol 0.0, as far as one PCI device needs it.
 *
 * Calls return 0 or -errno and leave a sentence for litepcie_why(). After a timeout or a broken
 * message the stream cannot be trusted: every later call returns -ENODEV.
 */
#ifndef LITEPCIE_VFIO_USER_H
#define LITEPCIE_VFIO_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"

#define VFIO_USER_BAR0		0
#define VFIO_USER_CONFIG	7
#define VFIO_USER_MSI		1
#define VFIO_USER_LARGEST	64	/* most bytes of one access */
#define VFIO_USER_READS		32	/* most reads that are under way together, as on a host */
#define VFIO_USER_AHEAD		2048	/* bytes that are taken from the socket at a time */

struct vfio_user {
	int		fd;
	uint16_t	next_id;
	int		timeout_s;
	bool		write_multi;	/* the peer accepts many writes in one message */
	const char	*path;
	/* A piece of memory that the device may reach. base is NULL if there is none. */
	struct vfio_user_memory {
		uint64_t	iova;
		size_t		size;
		uint8_t		*base;
	} memory[LITEPCIE_MEMORIES];
	/* A write that is held back here and goes out with the next message. */
	struct litepcie_post held;
	uint16_t	held_id;
	bool		holds;
	/* Bytes received with an answer or before it. The buffer is empty between two calls. */
	uint8_t		ahead[VFIO_USER_AHEAD];
	size_t		ahead_first, ahead_end;
};

/* Connect to the socket at @path, which must outlive the connection. */
int vfio_user_connect(struct vfio_user *vu, const char *path, int timeout_s);
void vfio_user_disconnect(struct vfio_user *vu);

/* Returns -EPROTO unless the peer is a PCI device with MSI. */
int vfio_user_check_device(struct vfio_user *vu);
int vfio_user_region_size(struct vfio_user *vu, uint32_t region, uint64_t *size);

/* Read at most VFIO_USER_LARGEST bytes of a region. */
int vfio_user_read(struct vfio_user *vu, uint32_t region, uint64_t offset, void *data, size_t size);

/*
 * Read at most VFIO_USER_READS consecutive words of 4 bytes, each by a TLP. No read waits for the
 * one before.
 */
int vfio_user_read_words(struct vfio_user *vu, uint32_t region, uint64_t offset, uint32_t *words,
			 size_t count);

/* Write to a region. This returns when the write has been done. */
int vfio_user_write(struct vfio_user *vu, uint32_t region, uint64_t offset,
		    const void *data, size_t size);

/*
 * Make writes to BAR0 in order, without waiting until they are done. A later read comes after them.
 * They reach the device back to back if vu->write_multi is set.
 */
int vfio_user_post(struct vfio_user *vu, const struct litepcie_post *writes, size_t count);

/*
 * Make one write to BAR0 like vfio_user_post(), but hold it here until the next message goes out,
 * and send it with that message. This saves a system call if a read is about to follow.
 * vfio_user_flush() sends the write by itself.
 */
int vfio_user_hold(struct vfio_user *vu, const struct litepcie_post *write);
int vfio_user_flush(struct vfio_user *vu);

/* Give @size bytes of the file @fd, mapped at @base, to the device at bus address @iova. */
int vfio_user_map(struct vfio_user *vu, unsigned int kind, int fd, void *base, uint64_t iova,
		  size_t size);
int vfio_user_unmap(struct vfio_user *vu, unsigned int kind);

/* Signal @eventfd on each MSI. -1: signal none from now on. */
int vfio_user_set_msi(struct vfio_user *vu, int eventfd);

/* Reset the device to its state after power-on. */
int vfio_user_reset(struct vfio_user *vu);

/*
 * Answer one request of the peer, which may read or write memory by message. Called when the
 * connection's descriptor is readable.
 */
int vfio_user_serve(struct vfio_user *vu);

#endif /* LITEPCIE_VFIO_USER_H */
