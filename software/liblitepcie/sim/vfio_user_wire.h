/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The exchange of vfio-user messages: a command goes out and its reply comes back. Only the files
 * vfio_user*.c include this header. The interface of the client for other files is vfio_user.h.
 */
#ifndef LITEPCIE_VFIO_USER_WIRE_H
#define LITEPCIE_VFIO_USER_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "vfio_user.h"
#include "vfio_user_protocol.h"

struct version {
	uint16_t major;
	uint16_t minor;
	char json[128];
};

_Static_assert(offsetof(struct version, json) == 4, "VERSION on the wire");

/* Connect to the socket at vu->path. vu->fd is then the descriptor of the connection. */
int vfio_user_connect_socket(struct vfio_user *vu);

/*
 * Close a connection that has failed with @error, a number of errno (0: the peer has closed it).
 * Returns -ETIMEDOUT if @error is EAGAIN, else -ENODEV, with a sentence. @doing is the part of the
 * sentence that says what was being sent or received.
 */
int vfio_user_broken(struct vfio_user *vu, const char *doing, int error);

/* Receive exactly @size bytes. @doing says in the sentence of an error what the bytes are for. */
int vfio_user_take(struct vfio_user *vu, void *data, size_t size, const char *doing);

/*
 * Send the @count parts of a message. The call changes the entries of @parts. The descriptor @fd,
 * unless it is -1, goes with the first byte. @doing says in the sentence of an error what is sent.
 */
int vfio_user_give(struct vfio_user *vu, struct iovec *parts, size_t count, int fd,
		   const char *doing);

/* Send a vfio-user command. The descriptor @fd, unless it is -1, goes with the command. */
int vfio_user_send(struct vfio_user *vu, uint16_t command, uint32_t flags,
		   const void *body, size_t size, int fd);

/*
 * Wait for the reply to the last command, and serve requests of the peer meanwhile. Returns the
 * size of the reply's body in bytes, or -errno.
 */
int vfio_user_receive(struct vfio_user *vu, uint16_t command, void *reply, size_t reply_size);

/*
 * Send a command and wait for its reply. Returns 0, or -errno if it fails or if the reply's body
 * has less than @reply_size bytes.
 */
int vfio_user_call(struct vfio_user *vu, uint16_t command, const void *body, size_t size, int fd,
		   void *reply, size_t reply_size);

#endif /* LITEPCIE_VFIO_USER_WIRE_H */
