/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test rings in the program's own memory, and rings that another process maps by a descriptor, on
 * the card that the argument names. Data goes through the loopback, and go_round() and answer()
 * compare every word that comes back in c2h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "liblitepcie.h"
#include "open.h"
#include "run.h"

#define WAIT_MS		20000
#define HUGE_PAGE	(2u << 20)
#define SIZE		8192u
#define COUNT		64u
#define RING		(SIZE * COUNT)
/* number of buffers that a run moves in each direction, a bit more than two rounds of the ring */
#define BUFFERS		150u

static struct litepcie *dev;

static bool says(const char *words)
{
	return strstr(litepcie_why(dev), words) != NULL;
}

/*
 * Get private memory of one huge page (2 MiB), aligned so that the kernel can make one huge page of
 * it.
 */
static uint8_t *get_memory(void)
{
	uint8_t *memory = aligned_alloc(HUGE_PAGE, HUGE_PAGE);

	memset(memory, 0x77, HUGE_PAGE);
	return memory;
}

static uint32_t word(uint64_t buffer, size_t at)
{
	return (uint32_t)(buffer * 2654435761u) ^ (uint32_t)at;
}

static void fill(uint32_t *data, uint64_t buffer)
{
	for (size_t i = 0; i < SIZE / 4; i++)
		data[i] = word(buffer, i);
}

static size_t count_wrong(const uint32_t *data, uint64_t buffer)
{
	size_t wrong = 0;

	for (size_t i = 0; i < SIZE / 4; i++)
		wrong += data[i] != word(buffer, i);
	return wrong;
}

static void start_loopback(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H, .loopback = true, .interrupt_every = 1,
	};

	CHECK_EQUAL(run_start(dev, &config), 0);
}

/*
 * Send BUFFERS buffers from the ring at @h2c through the loopback into the ring at @c2h, and
 * compare each word.
 */
static void go_round(uint8_t *h2c, const uint8_t *c2h)
{
	size_t wrong = 0;
	uint64_t first;

	for (uint64_t n = 0; n < BUFFERS; n++) {
		CHECK(h2c_get(dev, &first, WAIT_MS) > 0);
		fill((uint32_t *)(h2c + n % COUNT * SIZE), n);
		CHECK_EQUAL(h2c_submit(dev, 1), 0);
		if (c2h_peek(dev, &first, WAIT_MS) <= 0) {
			CHECK(!"a buffer came back");
			return;
		}
		wrong += count_wrong((const uint32_t *)(c2h + n % COUNT * SIZE), n);
		CHECK_EQUAL(c2h_release(dev, 1), 0);
	}
	CHECK_EQUAL(wrong, 0);
}

/* Tests of rings in the program's own memory -------------------------------------------------- */

/*
 * Both rings lie in the program's own memory, which is larger than a ring. The bytes right behind
 * each ring must stay as they were.
 */
static void rings_lie_in_own_memory(uint8_t *h2c, uint8_t *c2h)
{
	CHECK_EQUAL(run_place(dev, LITEPCIE_H2C, h2c, HUGE_PAGE), 0);
	CHECK_EQUAL(run_place(dev, LITEPCIE_C2H, c2h, HUGE_PAGE), 0);
	for (int run = 0; run < 2; run++) {
		start_loopback();
		CHECK(h2c_buffer(dev, 3) == h2c + 3 * SIZE);
		CHECK(c2h_buffer(dev, COUNT + 1) == c2h + SIZE);
		CHECK(run || (h2c[RING - 1] == 0x77 && c2h[0] == 0x77 && c2h[RING - 1] == 0x77));
		go_round(h2c, c2h);
		CHECK_EQUAL(run_stop(dev), 0);
	}
	CHECK(c2h[RING] == 0x77 && c2h[HUGE_PAGE - 1] == 0x77 && h2c[RING] == 0x77);
	/* after the stop the program must be able to write to its memory */
	c2h[0] = 0x55;
	CHECK_EQUAL(c2h[0], 0x55);
	printf("place: %u buffers of %u bytes in own memory\n", BUFFERS, SIZE);
}

static void what_does_not_fit_is_refused(uint8_t *c2h)
{
	int fd;

	start_loopback();
	CHECK_EQUAL(run_export(dev, LITEPCIE_C2H, &fd), -EADDRINUSE);
	CHECK(says("the c2h ring lies in this program's own memory"));
	CHECK_EQUAL(run_stop(dev), 0);
	CHECK_EQUAL(run_shape(dev, 65536, COUNT), -EINVAL);
	CHECK(says("of 2097152 bytes: a ring of 64 buffers of 65536 bytes takes 4194304"));
	CHECK_EQUAL(run_size(dev), SIZE);
	CHECK_EQUAL(run_place(dev, LITEPCIE_C2H, c2h + 4, RING), -EINVAL);
	CHECK_EQUAL(run_place(dev, LITEPCIE_C2H, c2h, RING / 2), -EINVAL);
	CHECK_EQUAL(run_place(dev, LITEPCIE_C2H, (void *)(uintptr_t)4096, RING), -EFAULT);
	CHECK_EQUAL(run_export(dev, LITEPCIE_C2H, &fd), -EINVAL);
}

/*
 * Put the c2h ring into shared anonymous memory of the program. The back end "sim" must refuse it
 * when the stream is opened, and "kernel" at the start of the run, each with a sentence. The back
 * end "vfio" must accept it.
 */
static void shared_memory_is_as_each_way_can(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	const char *way = litepcie_backend(dev);
	uint8_t *shared = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int rc = run_place(dev, LITEPCIE_C2H, shared, RING);

	CHECK_EQUAL(rc, strcmp(way, "sim") ? 0 : -EOPNOTSUPP);
	if (rc == 0) {
		rc = run_start(dev, &config);
		CHECK_EQUAL(rc, strcmp(way, "kernel") ? 0 : -EOPNOTSUPP);
		CHECK_EQUAL(run_stop(dev), 0);
	}
	CHECK(rc == 0 || says("hared memory"));
	CHECK_EQUAL(run_place(dev, LITEPCIE_C2H, NULL, 0), 0);
	munmap(shared, RING);
}

/*
 * Put the c2h ring into pages of 4 KiB. With the back end "kernel" each buffer must lie in one
 * page, so a start with buffers of 8 KiB must fail, and one with buffers of 4 KiB must succeed.
 * With the other back ends both must succeed.
 */
static void small_pages_are_as_each_way_can(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	bool driver = strcmp(litepcie_backend(dev), "kernel") == 0;
	uint8_t *memory = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(memory, RING, MADV_NOHUGEPAGE);
	CHECK_EQUAL(run_place(dev, LITEPCIE_C2H, memory, RING), 0);
	CHECK_EQUAL(run_start(dev, &config), driver ? -EMSGSIZE : 0);
	CHECK(!driver || says("each buffer of 8192 bytes must lie in one page"));
	CHECK_EQUAL(run_stop(dev), 0);
	CHECK_EQUAL(run_shape(dev, 4096, COUNT), 0);
	CHECK_EQUAL(run_start(dev, &config), 0);
	CHECK(c2h_buffer(dev, 0) == memory);
	CHECK_EQUAL(run_stop(dev), 0);
	CHECK_EQUAL(run_place(dev, LITEPCIE_C2H, NULL, 0), 0);
	munmap(memory, RING);
	CHECK_EQUAL(run_shape(dev, SIZE, COUNT), 0);
}

/* Tests of rings that another process uses ---------------------------------------------------- */

/*
 * Do the part of the child process, which reaches the rings by their descriptors @h2c_fd and
 * @c2h_fd: fill each h2c buffer and compare each c2h buffer. By a byte in the pipe @done the child
 * tells the parent to go on, and by a byte in the pipe @turn the parent tells the child. Returns 0,
 * or an exit status above 0 after an error.
 */
static int answer(int h2c_fd, int c2h_fd, int turn, int done)
{
	uint32_t *h2c = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, h2c_fd, 0);
	uint32_t *c2h = mmap(NULL, RING, PROT_READ, MAP_SHARED, c2h_fd, 0);
	size_t wrong = 0;
	uint8_t byte;

	if (h2c == MAP_FAILED || c2h == MAP_FAILED)
		return 2;
	for (uint64_t n = 0; n < BUFFERS; n++) {
		fill(h2c + n % COUNT * SIZE / 4, n);
		if (write(done, "", 1) != 1 || read(turn, &byte, 1) != 1)
			return 3;
		wrong += count_wrong(c2h + n % COUNT * SIZE / 4, n);
	}
	/*
	 * the parent now stops the DMA and closes the card; the child's mapping must still have the
	 * data of the last c2h buffer
	 */
	if (write(done, "", 1) != 1)
		return 3;
	if (read(turn, &byte, 1) != 1)
		return 3;
	wrong += count_wrong(c2h + (BUFFERS - 1) % COUNT * SIZE / 4, BUFFERS - 1);
	return wrong ? 1 : 0;
}

static pid_t begin_child(int h2c_fd, int c2h_fd, int *turn, int *done)
{
	int to[2], from[2];
	pid_t child;

	CHECK(pipe(to) == 0 && pipe(from) == 0);
	fflush(stdout);
	child = fork();
	if (child == 0)
		_exit(answer(h2c_fd, c2h_fd, to[0], from[1]));
	close(to[0]);
	close(from[1]);
	*turn = to[1];
	*done = from[0];
	return child;
}

static void another_process_has_the_rings(void)
{
	int h2c_fd, c2h_fd, turn, done, status = -1;
	uint64_t first;
	uint8_t byte;
	pid_t child;

	start_loopback();
	CHECK_EQUAL(run_export(dev, LITEPCIE_H2C, &h2c_fd), 0);
	CHECK_EQUAL(run_export(dev, LITEPCIE_C2H, &c2h_fd), 0);
	CHECK(lseek(c2h_fd, 0, SEEK_END) >= (off_t)RING && ftruncate(c2h_fd, 4096) < 0);
	child = begin_child(h2c_fd, c2h_fd, &turn, &done);
	close(h2c_fd);
	close(c2h_fd);
	for (uint64_t n = 0; n < BUFFERS; n++) {
		CHECK_EQUAL(read(done, &byte, 1), 1);
		CHECK(h2c_get(dev, &first, WAIT_MS) > 0);
		CHECK_EQUAL(h2c_submit(dev, 1), 0);
		CHECK(c2h_peek(dev, &first, WAIT_MS) > 0);
		CHECK_EQUAL(write(turn, "", 1), 1);
		if (failed_checks)
			break;
		CHECK_EQUAL(count_wrong(c2h_buffer(dev, n), n), 0);
		CHECK_EQUAL(c2h_release(dev, 1), 0);
	}
	CHECK_EQUAL(read(done, &byte, 1), 1);
	CHECK_EQUAL(run_stop(dev), 0);
	litepcie_close(dev);
	dev = NULL;
	CHECK_EQUAL(write(turn, "", 1), 1);
	close(turn);
	waitpid(child, &status, 0);
	CHECK_EQUAL(status, 0);
	close(done);
	printf("place: %u buffers through another process\n", BUFFERS);
}

int main(int argc, char **argv)
{
	uint8_t *h2c = get_memory(), *c2h = get_memory();

	if (!open_device(&dev, argc == 2, argv[1], "usage: place DEVICE"))
		return 2;
	CHECK_EQUAL(run_shape(dev, SIZE, COUNT), 0);
	rings_lie_in_own_memory(h2c, c2h);
	what_does_not_fit_is_refused(c2h);
	CHECK_EQUAL(run_place(dev, LITEPCIE_H2C, NULL, 0), 0);
	CHECK_EQUAL(run_place(dev, LITEPCIE_C2H, NULL, 0), 0);
	small_pages_are_as_each_way_can();
	shared_memory_is_as_each_way_can();
	CHECK(h2c_buffer(dev, 0) != h2c && c2h_buffer(dev, 0) != c2h);
	free(h2c);
	free(c2h);
	another_process_has_the_rings();
	return failed_checks != 0;
}
