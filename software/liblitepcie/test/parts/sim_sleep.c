/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test sim_sleep() of sim/backend.c, with vfio_user_socket.c and a stand-in for the messages. The
 * function must fail with a sentence if the connection to the board was lost before, or if the
 * board closes the connection during the sleep.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * The sources under test. The variable litepcie_sim_backend of backend.c gets another name, since
 * this program is also linked with the library, which has the variable, too.
 */
#define litepcie_sim_backend	tested_backend
#include "sim/backend.c"
#include "sim/vfio_user_socket.c"

#include "check.h"

static struct sim sim = { .vu = { .fd = -1, .path = "board.sock" }, .msi = -1 };
static struct litepcie dev = { .priv = &sim, .timer = -1, .news = -1 };

/* Stand-ins for config.c, vfio_user.c and vfio_user_wire.c ------------------------------------ */

int sim_bring_up(struct litepcie *unused) { (void)unused; return 0; }
int sim_enable_msi(struct litepcie *unused) { (void)unused; return 0; }
int sim_set_master(struct litepcie *unused, bool on) { (void)unused, (void)on; return 0; }
void sim_put_down(struct litepcie *unused) { (void)unused; }
int vfio_user_map(struct vfio_user *vu, unsigned int kind) { (void)vu, (void)kind; return 0; }
int vfio_user_unmap(struct vfio_user *vu, unsigned int kind) { (void)vu, (void)kind; return 0; }
int vfio_user_reset(struct vfio_user *vu) { (void)vu; return 0; }
int vfio_user_flush(struct vfio_user *vu) { (void)vu; return 0; }

int vfio_user_connect(struct vfio_user *vu, const char *path, int timeout_s)
{
	(void)vu, (void)path, (void)timeout_s;
	return 0;
}

int vfio_user_read(struct vfio_user *vu, uint32_t region, uint64_t offset, void *data, size_t size)
{
	(void)vu, (void)region, (void)offset, (void)data, (void)size;
	return 0;
}

int vfio_user_read_words(struct vfio_user *vu, uint32_t region, uint64_t offset, uint32_t *words,
			 size_t count)
{
	(void)vu, (void)region, (void)offset, (void)words, (void)count;
	return 0;
}

int vfio_user_write(struct vfio_user *vu, uint32_t region, uint64_t offset, const void *data,
		    size_t size)
{
	(void)vu, (void)region, (void)offset, (void)data, (void)size;
	return 0;
}

int vfio_user_post(struct vfio_user *vu, const struct litepcie_post *writes, size_t count)
{
	(void)vu, (void)writes, (void)count;
	return 0;
}

int vfio_user_hold(struct vfio_user *vu, const struct litepcie_post *write)
{
	(void)vu, (void)write;
	return 0;
}

/* Stand in for the reading of a message: in this test the board has closed the connection. */
int vfio_user_serve(struct vfio_user *vu)
{
	return vfio_user_broken(vu, "a request of the board", 0);
}

/* Tests --------------------------------------------------------------------------------------- */

static void a_sleep_says_that_the_connection_is_lost(void)
{
	litepcie_fail(-EINVAL, "an older sentence");
	CHECK_EQUAL(sim_sleep(&dev, 0), -ENODEV);
	CHECK(strcmp(litepcie_why(&dev), "board.sock: the connection is lost; open the card again") ==
	      0);
}

static void a_sleep_says_that_the_board_ends_the_connection(void)
{
	int ends[2];

	CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	sim.vu.fd = ends[0];
	close(ends[1]);
	CHECK_EQUAL(sim_sleep(&dev, 1000), -ENODEV);
	CHECK(strstr(litepcie_why(&dev), "the board closed the connection during a request"));
	CHECK_EQUAL(sim.vu.fd, -1);
}

int main(void)
{
	pthread_mutex_init(&dev.lock, NULL);
	litepcie_lock(&dev);
	a_sleep_says_that_the_connection_is_lost();
	a_sleep_says_that_the_board_ends_the_connection();
	litepcie_unlock(&dev);
	return failed_checks != 0;
}
