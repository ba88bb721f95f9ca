/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The socket of a vfio-user connection: connect it, and send and receive bytes. After an error the
 * beginning of the next message is not known, so the connection is closed.
 */
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "liblitepcie.h"
#include "vfio_user_wire.h"

/* Sending and receiving bytes ----------------------------------------------------------------- */

/* Close a vfio-user connection. Every later call that sends a message on it returns -ENODEV. */
void vfio_user_drop(struct vfio_user *vu)
{
	if (vu->fd >= 0)
		close(vu->fd);
	vu->fd = -1;
	vu->holds = false;
	vu->ahead_first = vu->ahead_end = 0;
}

int vfio_user_broken(struct vfio_user *vu, const char *doing, int error)
{
	vfio_user_drop(vu);
	if (error == EAGAIN || error == EWOULDBLOCK)
		return litepcie_fail(-ETIMEDOUT, "%s: no answer to %s within %d s; is the board "
				     "stopped, or in use by another client? Give a slow one more "
				     "time with ,timeout=SECONDS", vu->path, doing, vu->timeout_s);
	return litepcie_fail(-ENODEV, "%s: the board closed the connection during %s; see its own "
			     "messages for the reason", vu->path, doing);
}

int vfio_user_lost(const struct vfio_user *vu)
{
	return litepcie_fail(-ENODEV, "%s: the connection is lost; open the card again", vu->path);
}

/*
 * Returns the timeout of the connection in ms for poll(), which takes an int. A timeout that does
 * not fit becomes -1, for ever.
 */
static int patience_ms(const struct vfio_user *vu)
{
	return vu->timeout_s <= INT_MAX / 1000 ? vu->timeout_s * 1000 : -1;
}

/*
 * Wait for bytes from the peer, and receive all that have come, up to the size of vu->ahead, which
 * saves system calls. The thread sleeps in poll() and not in recv(), which would wake up for a
 * moment whenever the peer takes data that was sent.
 */
static int refill(struct vfio_user *vu, const char *doing)
{
	struct pollfd waited = { .fd = vu->fd, .events = POLLIN };
	ssize_t n;

	do {
		n = poll(&waited, 1, patience_ms(vu));
		if (n > 0)
			n = recv(vu->fd, vu->ahead, sizeof(vu->ahead), 0);
		else if (n == 0)
			return vfio_user_broken(vu, doing, EAGAIN);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return vfio_user_broken(vu, doing, n ? errno : 0);
	vu->ahead_first = 0;
	vu->ahead_end = (size_t)n;
	return 0;
}

int vfio_user_take(struct vfio_user *vu, void *data, size_t size, const char *doing)
{
	uint8_t *p = data;

	while (size) {
		size_t n = vu->ahead_end - vu->ahead_first;
		int rc = n ? 0 : refill(vu, doing);

		if (rc < 0)
			return rc;
		if (n > size)
			n = size;
		memcpy(p, vu->ahead + vu->ahead_first, n);
		vu->ahead_first += n;
		p += n;
		size -= n;
	}
	return 0;
}

/* Drop the first @sent bytes from the parts of a vfio-user message that is being sent. */
static void advance(struct msghdr *message, size_t sent)
{
	while (message->msg_iovlen && sent >= message->msg_iov->iov_len) {
		sent -= message->msg_iov->iov_len;
		message->msg_iov++;
		message->msg_iovlen--;
	}
	if (message->msg_iovlen) {
		message->msg_iov->iov_base = (char *)message->msg_iov->iov_base + sent;
		message->msg_iov->iov_len -= sent;
	}
}

int vfio_user_give(struct vfio_user *vu, struct iovec *parts, size_t count, int fd,
		   const char *doing)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = count };

	if (vu->fd < 0)
		return vfio_user_lost(vu);
	if (fd >= 0) {
		struct cmsghdr *c = &control.align;

		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	while (message.msg_iovlen) {
		ssize_t n = sendmsg(vu->fd, &message, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return vfio_user_broken(vu, doing, errno);
		advance(&message, (size_t)n);
		message.msg_controllen = 0;
	}
	return 0;
}

/* Connecting the socket ----------------------------------------------------------------------- */

static int check_path(struct vfio_user *vu, struct sockaddr_un *address)
{
	size_t longest = sizeof(address->sun_path) - 1;
	struct stat st;

	if (strlen(vu->path) > longest)
		return litepcie_fail(-ENAMETOOLONG, "%.64s...: a socket's path has at most %zu "
				     "characters, this one %zu; use a relative or shorter one",
				     vu->path, longest, strlen(vu->path));
	if (stat(vu->path, &st) < 0)
		return litepcie_fail(-errno, "%s: %s; start the board with --socket %s first",
				     vu->path, strerror(errno), vu->path);
	if (!S_ISSOCK(st.st_mode))
		return litepcie_fail(-ENOTSOCK, "%s: not a socket; give the path of the board's "
				     "--socket", vu->path);
	strcpy(address->sun_path, vu->path);
	return 0;
}

int vfio_user_connect_socket(struct vfio_user *vu)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval timeout = { .tv_sec = vu->timeout_s };
	int rc = check_path(vu, &address);

	if (rc < 0)
		return rc;
	vu->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (vu->fd < 0)
		return litepcie_fail_errno(errno, "socket");
	setsockopt(vu->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(vu->fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		rc = litepcie_fail(-errno, "%s: %s; %s", vu->path, strerror(errno),
				   errno == EACCES ? "be the user who started the board, or let "
						     "others write to the socket" :
						     "is the board that made this socket still "
						     "running?");
		vfio_user_drop(vu);
	}
	return rc;
}
