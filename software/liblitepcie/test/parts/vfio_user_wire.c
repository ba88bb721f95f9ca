/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test vfio_user_read_words() and vfio_user_serve() of sim/vfio_user_wire.c, with
 * vfio_user_socket.c and a socket whose other end has sent all messages before the call. The
 * replies to reads may come in any order. A second reply to a read, or a reply to no read, is
 * refused. All requests that have come together are answered.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sim/vfio_user_wire.c"
#include "sim/vfio_user_socket.c"

#include "check.h"

/* the reads of a test have the message numbers 1 to READS */
#define READS	3

/*
 * Send the replies with the message numbers @ids and the words @words, then read READS words into
 * @got. Returns the result of vfio_user_read_words().
 */
static int read_answered(const uint16_t *ids, const uint32_t *words, uint32_t *got)
{
	struct vfio_user vu = { .fd = -1, .path = "board.sock", .timeout_s = 1 };
	int ends[2], rc;

	CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	vu.fd = ends[0];
	for (int i = 0; i < READS; i++) {
		struct header header = {
			.id = ids[i], .command = CMD_REGION_READ, .flags = TYPE_REPLY,
			.size = sizeof(header) + 20,
		};
		struct region_access access = { .region = REGION_BAR0, .count = 4 };

		CHECK_EQUAL(write(ends[1], &header, sizeof(header)), sizeof(header));
		CHECK_EQUAL(write(ends[1], &access, sizeof(access)), sizeof(access));
		CHECK_EQUAL(write(ends[1], &words[i], 4), 4);
	}
	rc = vfio_user_read_words(&vu, REGION_BAR0, 0, got, READS);
	close(ends[1]);
	if (rc < 0)
		CHECK_EQUAL(vu.fd, -1);
	else
		close(ends[0]);
	return rc;
}

static void replies_may_come_in_any_order(void)
{
	const uint16_t ids[READS] = { 3, 1, 2 };
	const uint32_t words[READS] = { 33, 11, 22 };
	uint32_t got[READS] = { 0 };

	CHECK_EQUAL(read_answered(ids, words, got), 0);
	CHECK(got[0] == 11 && got[1] == 22 && got[2] == 33);
}

static void a_second_reply_to_a_read_is_refused(void)
{
	const uint16_t ids[READS] = { 1, 2, 2 };
	const uint32_t words[READS] = { 11, 22, 44 };
	uint32_t got[READS] = { 0 };

	CHECK_EQUAL(read_answered(ids, words, got), -EPROTO);
	CHECK(strstr(litepcie_why(NULL), "message 2 answers no read that was made"));
}

static void a_reply_to_no_read_is_refused(void)
{
	const uint16_t ids[READS] = { 1, READS + 1, 2 };
	const uint32_t words[READS] = { 0 };
	uint32_t got[READS];

	CHECK_EQUAL(read_answered(ids, words, got), -EPROTO);
}

/*
 * Two requests of the board are received together. One call must answer both, since poll() of the
 * socket does not show the second any more.
 */
static void requests_that_come_together_are_all_answered(void)
{
	struct vfio_user vu = { .fd = -1, .path = "board.sock", .timeout_s = 1 };
	struct header header = { .command = CMD_DMA_READ, .size = sizeof(header) + 16 };
	struct memory_access access = { .address = litepcie_iova(0), .count = 4 };
	int ends[2];

	CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	vu.fd = ends[0];
	for (header.id = 7; header.id <= 8; header.id++) {
		CHECK_EQUAL(write(ends[1], &header, sizeof(header)), sizeof(header));
		CHECK_EQUAL(write(ends[1], &access, sizeof(access)), sizeof(access));
	}
	CHECK_EQUAL(vfio_user_serve(&vu), 0);
	for (uint16_t id = 7; id <= 8; id++) {
		CHECK_EQUAL(read(ends[1], &header, sizeof(header)), sizeof(header));
		CHECK_EQUAL(header.id, id);
		CHECK_EQUAL(header.error, EFAULT);
	}
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	replies_may_come_in_any_order();
	a_second_reply_to_a_read_is_refused();
	a_reply_to_no_read_is_refused();
	requests_that_come_together_are_all_answered();
	return failed_checks != 0;
}
