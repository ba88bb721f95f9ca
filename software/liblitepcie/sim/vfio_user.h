/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The client side of the vfio-user protocol 0.0, as far as one PCI device needs it.
 *
 * A function that returns an int returns 0, or -errno with a sentence for litepcie_why(). After a
 * timeout or a broken message it is not known where the next message begins, so the connection is
 * closed. Every later call that sends a message returns -ENODEV.
 */
#ifndef LITEPCIE_VFIO_USER_H
#define LITEPCIE_VFIO_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dma/table/table.h"

#define VFIO_USER_LARGEST	64	/* most bytes of one access to a vfio-user region */
/* most vfio-user reads for which the library sends the requests before it waits for the replies */
#define VFIO_USER_READS		32
/* most bytes that the library takes from the socket at a time */
#define VFIO_USER_AHEAD		2048

struct vfio_user {
	int		fd;
	uint16_t	next_id;
	int		timeout_s;
	/* true: the board's process accepts several writes in one message */
	bool		write_multi;
	const char	*path;
	/*
	 * host memory of each LITEPCIE_MEMORY_ kind, which the device may access at
	 * litepcie_iova(); NULL: there is none of this kind. backend.c provides the memory, and
	 * frees it after vfio_user_unmap().
	 */
	struct litepcie_memory *memory[LITEPCIE_MEMORIES];
	/* register write that the library keeps back and sends right before the next message */
	struct litepcie_post held;
	uint16_t	held_id;	/* message number of the write @held */
	bool		holds;		/* true: the write @held has not been sent yet */
	/*
	 * The bytes of @ahead from number @ahead_first up to @ahead_end - 1 were received from the
	 * socket and not used yet. After vfio_user_receive(), vfio_user_read_words() or
	 * vfio_user_serve() without an error there are none.
	 */
	uint8_t		ahead[VFIO_USER_AHEAD];
	size_t		ahead_first, ahead_end;
};

/* Connect to the socket @path. The string must stay valid as long as the connection. */
int vfio_user_connect(struct vfio_user *vu, const char *path, int timeout_s);
/* Close the vfio-user connection for good, if it is open: no more may be sent over it. */
void vfio_user_drop(struct vfio_user *vu);
/* Returns -ENODEV with the sentence that the connection, whose descriptor is -1, is lost. */
int vfio_user_lost(const struct vfio_user *vu);

/* Check that the vfio-user peer is a PCI device with MSI. Returns -EPROTO if it is not. */
int vfio_user_check_device(struct vfio_user *vu);
int vfio_user_region_size(struct vfio_user *vu, uint32_t region, uint64_t *size);

/* Read up to VFIO_USER_LARGEST bytes at @offset of a vfio-user region. */
int vfio_user_read(struct vfio_user *vu, uint32_t region, uint64_t offset, void *data, size_t size);

/*
 * Read up to VFIO_USER_READS consecutive words of 4 bytes, each by a message and a TLP of its own.
 * All requests are sent before the first reply is awaited.
 */
int vfio_user_read_words(struct vfio_user *vu, uint32_t region, uint64_t offset, uint32_t *words,
			 size_t count);

/* Write to a vfio-user region. The function returns when the peer has confirmed the write. */
int vfio_user_write(struct vfio_user *vu, uint32_t region, uint64_t offset,
		    const void *data, size_t size);

/*
 * Make @count writes to BAR0 in order, and do not wait until they are done. A later read comes
 * after these writes. If vu->write_multi is set, a message has as many of them as fit, and the
 * writes of a message reach the device back to back.
 */
int vfio_user_post(struct vfio_user *vu, const struct litepcie_post *writes, size_t count);

/*
 * Make one write to BAR0 like vfio_user_post(), but keep it back until the next message goes out,
 * and send it right before that message. This saves a system call if a read is about to follow.
 * vfio_user_flush() sends the write that is kept back, if there is one.
 */
int vfio_user_hold(struct vfio_user *vu, const struct litepcie_post *write);
int vfio_user_flush(struct vfio_user *vu);

/* Let the device access the host memory of @kind, which must be a mapping of a file. */
int vfio_user_map(struct vfio_user *vu, unsigned int kind);
int vfio_user_unmap(struct vfio_user *vu, unsigned int kind);

/* Let the peer signal @eventfd on each MSI of the card. -1: none from now on. */
int vfio_user_set_msi(struct vfio_user *vu, int eventfd);

/* Reset the device behind the vfio-user connection to its state after power-on. */
int vfio_user_reset(struct vfio_user *vu);

/*
 * Receive a request of the peer and answer it, and also the requests that are received together
 * with it. The peer may read or write host memory in this way. The function is called when the
 * descriptor of the connection is readable. If a message is no request but a reply, the connection
 * is closed.
 */
int vfio_user_serve(struct vfio_user *vu);

#endif /* LITEPCIE_VFIO_USER_H */
