/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Bytes and messages of a vfio-user connection. Every error that leaves the stream out of step ends
 * the connection, so that a late answer is never taken for the next one.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "liblitepcie.h"
#include "vfio_user_wire.h"

#define MAX_MESSAGE	65536u	/* of what a peer may send us; a page by message is far less */

int vfio_user_fail(struct vfio_user *vu, int error, const char *format, ...)
{
	va_list args;

	(void)vu;
	va_start(args, format);
	vsnprintf(litepcie_sentence(), LITEPCIE_WHY_SIZE, format, args);
	va_end(args);
	return error;
}

static const char *command_name(uint16_t command)
{
	static const char *const names[] = {
		[CMD_VERSION] = "VERSION", [CMD_DMA_MAP] = "DMA_MAP",
		[CMD_DMA_UNMAP] = "DMA_UNMAP", [CMD_GET_INFO] = "GET_INFO",
		[CMD_GET_REGION_INFO] = "GET_REGION_INFO", [CMD_SET_IRQS] = "SET_IRQS",
		[CMD_REGION_READ] = "REGION_READ", [CMD_REGION_WRITE] = "REGION_WRITE",
		[CMD_DMA_READ] = "DMA_READ", [CMD_DMA_WRITE] = "DMA_WRITE",
		[CMD_DEVICE_RESET] = "DEVICE_RESET",
		[CMD_REGION_WRITE_MULTI] = "REGION_WRITE_MULTI",
	};

	if (command >= sizeof(names) / sizeof(names[0]) || !names[command])
		return "an unknown command";
	return names[command];
}

/* Bytes --------------------------------------------------------------------------------------- */

/* The stream is out of step, or has ended: nothing more may go over it. */
void vfio_user_drop(struct vfio_user *vu)
{
	close(vu->fd);
	vu->fd = -1;
}

static int broken(struct vfio_user *vu, const char *doing, int error)
{
	vfio_user_drop(vu);
	if (error == EAGAIN || error == EWOULDBLOCK)
		return vfio_user_fail(vu, -ETIMEDOUT, "%s: no answer to %s within %d s; is the "
				      "board stopped, or in use by another client? Give a slow "
				      "one more time with ,timeout=SECONDS", vu->path, doing,
				      vu->timeout_s);
	return vfio_user_fail(vu, -ENODEV, "%s: the board closed the connection during %s; see its "
			      "own messages for the reason", vu->path, doing);
}

static int receive(struct vfio_user *vu, void *data, size_t size, const char *doing)
{
	uint8_t *p = data;

	while (size) {
		ssize_t n = recv(vu->fd, p, size, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return broken(vu, doing, n ? errno : 0);
		p += n;
		size -= n;
	}
	return 0;
}

/* Send a whole message of two parts; @fd, unless -1, goes with the first byte. */
static int transmit(struct vfio_user *vu, struct header *header, const void *body, size_t size,
		    int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec parts[2] = {
		{ .iov_base = header, .iov_len = sizeof(*header) },
		{ .iov_base = (void *)body, .iov_len = size },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	if (vu->fd < 0)
		return vfio_user_fail(vu, -ENODEV, "%s: the connection is lost; open the card "
				      "again", vu->path);
	if (fd >= 0) {
		struct cmsghdr *c = &control.align;

		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	while (parts[0].iov_len + parts[1].iov_len) {
		ssize_t n = sendmsg(vu->fd, &message, MSG_NOSIGNAL);
		size_t first = parts[0].iov_len;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return broken(vu, command_name(header->command), errno);
		if ((size_t)n < first)
			first = n;
		parts[0].iov_base = (char *)parts[0].iov_base + first;
		parts[0].iov_len -= first;
		parts[1].iov_base = (char *)parts[1].iov_base + (n - first);
		parts[1].iov_len -= n - first;
		message.msg_controllen = 0;
	}
	return 0;
}

/* Messages ------------------------------------------------------------------------------------ */

int vfio_user_send(struct vfio_user *vu, uint16_t command, uint32_t flags,
			const void *body, size_t size, int fd)
{
	struct header header = {
		.id = ++vu->next_id,
		.command = command,
		.size = (uint32_t)(sizeof(header) + size),
		.flags = flags,
	};

	return transmit(vu, &header, body, size, fd);
}

/* The peer asks for host memory by message. Outside of what was mapped there is nothing. */
static int serve_memory(struct vfio_user *vu, struct header *header, uint8_t *body, size_t size)
{
	struct memory_access access;
	size_t reply = sizeof(access);
	uint64_t at;

	if (size < sizeof(access))
		return broken(vu, "a request of its own that is too short", 0);
	memcpy(&access, body, sizeof(access));
	at = access.address - vu->iova;
	header->flags = TYPE_REPLY;
	header->error = 0;
	if (!vu->memory || at > vu->size || access.count > vu->size - at ||
	    access.count > MAX_MESSAGE - sizeof(access)) {
		header->flags |= FLAG_ERROR;
		header->error = EFAULT;
		reply = 0;
	} else if (header->command == CMD_DMA_READ) {
		memcpy(body + sizeof(access), vu->memory + at, access.count);
		reply += access.count;
	} else if (access.count <= size - sizeof(access)) {
		memcpy(vu->memory + at, body + sizeof(access), access.count);
	}
	header->size = (uint32_t)(sizeof(*header) + reply);
	return transmit(vu, header, body, reply, -1);
}

static int serve_request(struct vfio_user *vu, struct header *header)
{
	static const char doing[] = "a request of its own";
	size_t size = header->size - sizeof(*header);
	uint8_t *body = malloc(MAX_MESSAGE);
	int rc = -ENOMEM;

	if (body)
		rc = receive(vu, body, size, doing);
	if (rc == 0 && (header->command == CMD_DMA_READ || header->command == CMD_DMA_WRITE)) {
		rc = serve_memory(vu, header, body, size);
	} else if (rc == 0) {
		header->size = sizeof(*header);
		header->flags = TYPE_REPLY | FLAG_ERROR;
		header->error = ENOTSUP;
		rc = transmit(vu, header, NULL, 0, -1);
	}
	free(body);
	return rc;
}

static int receive_header(struct vfio_user *vu, struct header *header, const char *doing)
{
	int rc = receive(vu, header, sizeof(*header), doing);

	if (rc == 0 && (header->size < sizeof(*header) ||
			header->size > MAX_MESSAGE - sizeof(*header))) {
		vfio_user_drop(vu);
		rc = vfio_user_fail(vu, -EPROTO, "%s: the answer to %s claims %u bytes; the peer "
				    "does not speak vfio-user", vu->path, doing, header->size);
	}
	return rc;
}

int vfio_user_serve(struct vfio_user *vu)
{
	struct header header;
	int rc = receive_header(vu, &header, "a wait for an interrupt");

	if (rc < 0)
		return rc;
	if ((header.flags & TYPE_MASK) != TYPE_REPLY)
		return serve_request(vu, &header);
	vfio_user_drop(vu);
	return vfio_user_fail(vu, -EPROTO, "%s: an answer (%s) that nobody asked for", vu->path,
			      command_name(header.command));
}

/* Take in a reply's body: what fits goes to @reply, the rest is of no interest. */
static int receive_body(struct vfio_user *vu, size_t size, void *reply, size_t reply_size,
			const char *doing)
{
	size_t wanted = size < reply_size ? size : reply_size;
	int rc = receive(vu, reply, wanted, doing);
	uint8_t rest[256];

	for (size -= wanted; rc == 0 && size; size -= wanted) {
		wanted = size < sizeof(rest) ? size : sizeof(rest);
		rc = receive(vu, rest, wanted, doing);
	}
	return rc;
}

/* A peer may send any number; what goes to the caller is an errno. */
static int refusal(uint32_t error)
{
	return error && error < 4096 ? -(int)error : -EIO;
}

/* Wait for the reply to the last command. Returns the size of its body. */
int vfio_user_receive(struct vfio_user *vu, uint16_t command, void *reply, size_t reply_size)
{
	const char *doing = command_name(command);
	struct header header;
	size_t size;
	int rc;

	for (;;) {
		rc = receive_header(vu, &header, doing);
		if (rc < 0)
			return rc;
		if ((header.flags & TYPE_MASK) == TYPE_REPLY)
			break;
		rc = serve_request(vu, &header);
		if (rc < 0)
			return rc;
	}
	if (header.id != vu->next_id) {
		vfio_user_drop(vu);
		return vfio_user_fail(vu, -EPROTO, "%s: message %u answers %s, which was number "
				      "%u; the peer does not speak vfio-user",
				      vu->path, header.id, doing, vu->next_id);
	}
	size = header.size - sizeof(header);
	rc = receive_body(vu, size, reply, reply_size, doing);
	if (rc == 0 && header.flags & FLAG_ERROR)
		return vfio_user_fail(vu, refusal(header.error), "%s: the board refused %s: %s",
				      vu->path, doing, strerror((int)header.error));
	return rc < 0 ? rc : (int)size;
}

/* A command and its reply of exactly @reply_size bytes, or more. */
int vfio_user_call(struct vfio_user *vu, uint16_t command, const void *body, size_t size, int fd,
		void *reply, size_t reply_size)
{
	int rc = vfio_user_send(vu, command, 0, body, size, fd);

	if (rc == 0)
		rc = vfio_user_receive(vu, command, reply, reply_size);
	if (rc >= 0 && (size_t)rc < reply_size) {
		vfio_user_drop(vu);
		return vfio_user_fail(vu, -EPROTO, "%s: the answer to %s has %d bytes, not %zu; "
				      "the peer does not speak vfio-user",
				      vu->path, command_name(command), rc, reply_size);
	}
	return rc < 0 ? rc : 0;
}

/* Many reads ---------------------------------------------------------------------------------- */

/* One answer to reads number @first to vu->next_id, in whatever order they come. */
static int receive_word(struct vfio_user *vu, uint16_t first, uint32_t *words, size_t count)
{
	const char *doing = command_name(CMD_REGION_READ);
	struct {
		struct region_access access;
		uint32_t word;
	} reply = { 0 };
	struct header header;
	uint16_t number;
	int rc = receive_header(vu, &header, doing);

	if (rc == 0 && (header.flags & TYPE_MASK) != TYPE_REPLY) {
		rc = serve_request(vu, &header);
		return rc < 0 ? rc : 0;
	}
	number = (uint16_t)(header.id - first);
	if (rc == 0)
		rc = receive_body(vu, header.size - sizeof(header), &reply, sizeof(reply), doing);
	if (rc < 0)
		return rc;
	if (number >= count || header.flags & FLAG_ERROR ||
	    header.size < sizeof(header) + sizeof(reply.access) + sizeof(reply.word)) {
		vfio_user_drop(vu);
		return vfio_user_fail(vu, -EPROTO, "%s: message %u answers no read that was made; "
				      "the peer does not speak vfio-user", vu->path, header.id);
	}
	words[number] = reply.word;
	return 1;
}

int vfio_user_read_words(struct vfio_user *vu, uint32_t region, uint64_t offset, uint32_t *words,
			 size_t count)
{
	struct {
		struct region_access access;
		struct header next;	/* of the read behind this one */
	} reads[VFIO_USER_READS] = { 0 };
	struct header header = { .id = (uint16_t)(vu->next_id + 1), .command = CMD_REGION_READ,
				 .size = sizeof(header) + sizeof(struct region_access) };
	uint16_t first = header.id;
	size_t answered = 0;
	int rc;

	for (size_t i = 0; i < count; i++) {
		reads[i].access = (struct region_access) {
			.offset = offset + 4 * i, .region = region, .count = 4,
		};
		reads[i].next = header;
		reads[i].next.id = (uint16_t)(first + i + 1);
	}
	vu->next_id = (uint16_t)(vu->next_id + count);
	rc = transmit(vu, &header, reads, count * sizeof(reads[0]) - sizeof(struct header), -1);
	while (rc >= 0 && answered < count) {
		rc = receive_word(vu, first, words, count);
		answered += rc > 0;
	}
	return rc < 0 ? rc : 0;
}

/* Connection ---------------------------------------------------------------------------------- */

static int check_path(struct vfio_user *vu, struct sockaddr_un *address)
{
	size_t longest = sizeof(address->sun_path) - 1;
	struct stat st;

	if (strlen(vu->path) > longest)
		return vfio_user_fail(vu, -ENAMETOOLONG, "%.64s...: a socket's path has at most "
				      "%zu characters, this one %zu; use a relative or shorter one",
				      vu->path, longest, strlen(vu->path));
	if (stat(vu->path, &st) < 0)
		return vfio_user_fail(vu, -errno, "%s: %s; start the board with --socket %s "
				      "first", vu->path, strerror(errno), vu->path);
	if (!S_ISSOCK(st.st_mode))
		return vfio_user_fail(vu, -ENOTSOCK, "%s: not a socket; give the path of the "
				      "board's --socket", vu->path);
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
		return vfio_user_fail(vu, -errno, "socket: %s", strerror(errno));
	setsockopt(vu->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(vu->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(vu->fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		rc = vfio_user_fail(vu, -errno, "%s: %s; %s", vu->path, strerror(errno),
				    errno == EACCES ? "be the user who started the board, or let "
						      "others write to the socket" :
						      "is the board that made this socket still "
						      "running?");
		vfio_user_drop(vu);
	}
	return rc;
}
