/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Exchange vfio-user messages. After some errors it is not known where the next message begins.
 * Such an error ends the connection, so that a late reply is never taken for the reply to the next
 * command.
 */
#include <stdlib.h>
#include <string.h>

#include "liblitepcie.h"
#include "vfio_user_wire.h"

/*
 * size in bytes of the memory for the body of a peer's request; a message of the peer that has more
 * than MAX_MESSAGE - 16 bytes with its header ends the connection
 */
#define MAX_MESSAGE	65536u

/*
 * Returns the name of a command for the sentence of an error. The table has the commands that this
 * library sends or serves. It does neither with GET_IRQ_INFO, which counts as unknown.
 */
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

/* The message for a write to BAR0 that was kept back. The peer sends no reply to it. */
struct held_write {
	struct header header;
	/* only the first write.size bytes of the value are sent */
	struct litepcie_post write;
};

static_assert(offsetof(struct held_write, write.value) == 32, "a write on the wire");

/*
 * Fill @out with the message of the write that is kept back. Returns the size of the message in
 * bytes, or 0 if no write is kept back.
 */
static size_t take_held(struct vfio_user *vu, struct held_write *out)
{
	size_t size = offsetof(struct held_write, write.value) + vu->held.size;

	if (!vu->holds)
		return 0;
	*out = (struct held_write) {
		.header = { .id = vu->held_id, .command = CMD_REGION_WRITE,
			    .size = (uint32_t)size, .flags = FLAG_NO_REPLY },
		.write = vu->held,
	};
	vu->holds = false;
	return size;
}

int vfio_user_flush(struct vfio_user *vu)
{
	struct held_write held;
	struct iovec part = { .iov_base = &held, .iov_len = take_held(vu, &held) };

	return part.iov_len ? vfio_user_give(vu, &part, 1, -1, command_name(CMD_REGION_WRITE)) : 0;
}

int vfio_user_hold(struct vfio_user *vu, const struct litepcie_post *write)
{
	int rc = vfio_user_flush(vu);

	vu->held = *write;
	vu->held_id = ++vu->next_id;
	vu->holds = rc == 0;
	return rc;
}

/*
 * Send a message, and before it the register write that is kept back. @fd, unless it is -1, goes
 * with the message. A descriptor arrives with the first byte that is sent, so then the kept write
 * is sent by itself first.
 */
static int transmit(struct vfio_user *vu, const struct header *header, const void *body,
		    size_t size, int fd)
{
	struct held_write held;
	struct iovec parts[3] = {
		{ .iov_base = &held },
		{ .iov_base = (void *)header, .iov_len = sizeof(*header) },
		{ .iov_base = (void *)body, .iov_len = size },
	};
	int rc = fd >= 0 ? vfio_user_flush(vu) : 0;

	if (rc < 0)
		return rc;
	parts[0].iov_len = take_held(vu, &held);
	return vfio_user_give(vu, parts, 3, fd, command_name(header->command));
}

/* Messages and their replies ------------------------------------------------------------------ */

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

/*
 * Returns this process's address of an access that lies within one mapped memory, or NULL if there
 * is no such memory.
 */
static uint8_t *find_memory(const struct vfio_user *vu, const struct memory_access *access)
{
	for (unsigned int kind = 0; kind < LITEPCIE_MEMORIES; kind++) {
		const struct litepcie_memory *memory = vu->memory[kind];
		uint64_t at = access->address - litepcie_iova(kind);

		if (memory && at <= memory->size && access->count <= memory->size - at)
			return (uint8_t *)memory->base + at;
	}
	return NULL;
}

/*
 * Answer a request of the peer, whose header becomes that of the answer. If header->error is 0, the
 * answer has the @size bytes of @body.
 */
static int answer(struct vfio_user *vu, struct header *header, const void *body, size_t size)
{
	header->flags = TYPE_REPLY | (header->error ? FLAG_ERROR : 0);
	if (header->error)
		size = 0;
	header->size = (uint32_t)(sizeof(*header) + size);
	return transmit(vu, header, body, size, -1);
}

/*
 * Answer a request of the peer to read or write host memory. If the access is outside of the mapped
 * memory, or longer than a message can be, the answer is EFAULT. If a write has fewer bytes than it
 * says, the answer is EINVAL. A request without address and count ends the connection.
 */
static int serve_memory(struct vfio_user *vu, struct header *header, uint8_t *body, size_t size)
{
	struct memory_access access;
	size_t reply = sizeof(access);
	uint8_t *memory;

	if (size < sizeof(access))
		return vfio_user_broken(vu, "a request of its own that is too short", 0);
	memcpy(&access, body, sizeof(access));
	memory = find_memory(vu, &access);
	header->error = 0;
	if (!memory || access.count > MAX_MESSAGE - sizeof(access)) {
		header->error = EFAULT;
	} else if (header->command == CMD_DMA_READ) {
		memcpy(body + sizeof(access), memory, access.count);
		reply += access.count;
	} else if (access.count > size - sizeof(access)) {
		header->error = EINVAL;
	} else {
		memcpy(memory, body + sizeof(access), access.count);
	}
	return answer(vu, header, body, reply);
}

static int serve_request(struct vfio_user *vu, struct header *header)
{
	static const char doing[] = "a request of its own";
	size_t size = header->size - sizeof(*header);
	uint8_t *body = malloc(MAX_MESSAGE);
	int rc;

	if (!body) {
		/*
		 * The request's body stays unread, so it is not known where the next message
		 * begins.
		 */
		vfio_user_drop(vu);
		return litepcie_fail(-ENOMEM, "%s: no memory for %s of the peer", vu->path, doing);
	}
	rc = vfio_user_take(vu, body, size, doing);
	header->error = ENOTSUP;
	if (rc == 0 && (header->command == CMD_DMA_READ || header->command == CMD_DMA_WRITE))
		rc = serve_memory(vu, header, body, size);
	else if (rc == 0)
		rc = answer(vu, header, NULL, 0);
	free(body);
	return rc;
}

static int receive_header(struct vfio_user *vu, struct header *header, const char *doing)
{
	int rc = vfio_user_take(vu, header, sizeof(*header), doing);

	if (rc == 0 && (header->size < sizeof(*header) ||
			header->size > MAX_MESSAGE - sizeof(*header))) {
		vfio_user_drop(vu);
		rc = litepcie_fail(-EPROTO, "%s: the answer to %s claims %u bytes; the peer does "
				   "not speak vfio-user", vu->path, doing, header->size);
	}
	return rc;
}

/* Receive one request of the peer and answer it. */
static int serve_one(struct vfio_user *vu)
{
	struct header header;
	int rc = receive_header(vu, &header, "a wait for an interrupt");

	if (rc < 0)
		return rc;
	if ((header.flags & TYPE_MASK) != TYPE_REPLY)
		return serve_request(vu, &header);
	vfio_user_drop(vu);
	return litepcie_fail(-EPROTO, "%s: an answer (%s) that nobody asked for", vu->path,
			     command_name(header.command));
}

/*
 * Serve the peer's requests that were received together with another message. They lie in
 * vu->ahead, so poll() of the socket would not show them.
 */
static int serve_rest(struct vfio_user *vu)
{
	int rc = 0;

	while (rc == 0 && vu->ahead_first != vu->ahead_end)
		rc = serve_one(vu);
	return rc;
}

int vfio_user_serve(struct vfio_user *vu)
{
	return serve_one(vu) ?: serve_rest(vu);
}

/* Receive the body of a vfio-user reply. Bytes beyond @reply_size are dropped. */
static int receive_body(struct vfio_user *vu, size_t size, void *reply, size_t reply_size,
			const char *doing)
{
	size_t wanted = size < reply_size ? size : reply_size;
	int rc = vfio_user_take(vu, reply, wanted, doing);
	uint8_t rest[256];

	for (size -= wanted; rc == 0 && size; size -= wanted) {
		wanted = size < sizeof(rest) ? size : sizeof(rest);
		rc = vfio_user_take(vu, rest, wanted, doing);
	}
	return rc;
}

/* Returns the error number of a reply as -errno, or -EIO if the number is no valid errno. */
static int refusal(uint32_t error)
{
	return error && error < 4096 ? -(int)error : -EIO;
}

/*
 * Wait for the reply to the last command, and serve requests of the peer meanwhile. Returns the
 * size of the reply's body in bytes, the -errno with which the peer refused the command, or another
 * -errno. A reply to another command ends the connection.
 */
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
		return litepcie_fail(-EPROTO, "%s: message %u answers %s, which was number %u; the "
				     "peer does not speak vfio-user", vu->path, header.id, doing,
				     vu->next_id);
	}
	size = header.size - sizeof(header);
	rc = receive_body(vu, size, reply, reply_size, doing) ?: serve_rest(vu);
	if (rc == 0 && header.flags & FLAG_ERROR)
		return litepcie_fail(refusal(header.error), "%s: the board refused %s: %s",
				     vu->path, doing, strerror((int)header.error));
	return rc < 0 ? rc : (int)size;
}

/*
 * Send a command and receive its reply. It is an error if the reply's body has less than
 * @reply_size bytes.
 */
int vfio_user_call(struct vfio_user *vu, uint16_t command, const void *body, size_t size, int fd,
		void *reply, size_t reply_size)
{
	int rc = vfio_user_send(vu, command, 0, body, size, fd) ?:
		 vfio_user_receive(vu, command, reply, reply_size);

	if (rc >= 0 && (size_t)rc < reply_size) {
		vfio_user_drop(vu);
		return litepcie_fail(-EPROTO, "%s: the answer to %s has %d bytes, not %zu; the "
				     "peer does not speak vfio-user", vu->path,
				     command_name(command), rc, reply_size);
	}
	return rc < 0 ? rc : 0;
}

/* Replies to many reads that are under way ---------------------------------------------------- */

/*
 * The body of a reply to the read of one word. On the wire it ends with @word: the bytes that pad
 * this struct behind @word are not sent.
 */
struct word_reply {
	struct region_access access;
	uint32_t word;
};

static_assert(offsetof(struct word_reply, word) == 16, "a read word on the wire");
static_assert(VFIO_USER_READS == 32, "a word of 32 bits has a bit for each read");

/*
 * Receive one reply to the reads with the message numbers @first to vu->next_id. The replies may
 * come in any order, but only one to each read. Bit n of @missing is 1 while word n has not been
 * received. Returns 1 after a word, 0 after a request of the peer that was served in place of a
 * word, or -errno.
 */
static int receive_word(struct vfio_user *vu, uint16_t first, uint32_t *words, uint32_t *missing)
{
	const size_t size = offsetof(struct word_reply, word) + sizeof(uint32_t);
	const char *doing = command_name(CMD_REGION_READ);
	struct word_reply reply = { 0 };
	struct header header;
	uint16_t number;
	int rc = receive_header(vu, &header, doing);

	if (rc == 0 && (header.flags & TYPE_MASK) != TYPE_REPLY) {
		rc = serve_request(vu, &header);
		return rc < 0 ? rc : 0;
	}
	number = (uint16_t)(header.id - first);
	if (rc == 0)
		rc = receive_body(vu, header.size - sizeof(header), &reply, size, doing);
	if (rc < 0)
		return rc;
	if (number >= VFIO_USER_READS || !(*missing >> number & 1) || header.flags & FLAG_ERROR ||
	    header.size < sizeof(header) + size) {
		vfio_user_drop(vu);
		return litepcie_fail(-EPROTO, "%s: message %u answers no read that was made; the "
				     "peer does not speak vfio-user", vu->path, header.id);
	}
	words[number] = reply.word;
	*missing &= ~(1u << number);
	return 1;
}

int vfio_user_read_words(struct vfio_user *vu, uint32_t region, uint64_t offset, uint32_t *words,
			 size_t count)
{
	struct {
		struct header header;
		struct region_access access;
	} reads[VFIO_USER_READS] = { 0 };
	uint16_t first = (uint16_t)(vu->next_id + 1);
	uint32_t missing = UINT32_MAX >> (VFIO_USER_READS - count);
	size_t bytes = count * sizeof(reads[0]);
	int rc;

	for (size_t i = 0; i < count; i++) {
		reads[i].header = (struct header) {
			.id = (uint16_t)(first + i), .command = CMD_REGION_READ,
			.size = sizeof(reads[i]),
		};
		reads[i].access = (struct region_access) {
			.offset = offset + 4 * i, .region = region, .count = 4,
		};
	}
	vu->next_id = (uint16_t)(vu->next_id + count);
	/*
	 * All requests are sent at once: to transmit() they are one message, with the first header
	 * and everything behind it as the body.
	 */
	rc = transmit(vu, &reads[0].header, &reads[0].access, bytes - sizeof(struct header), -1);
	while (rc >= 0 && missing)
		rc = receive_word(vu, first, words, &missing);
	return rc < 0 ? rc : serve_rest(vu);
}
