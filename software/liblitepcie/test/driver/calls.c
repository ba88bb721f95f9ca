/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the "kernel" back end with a stand-in for the driver (driver.h). The first argument is a
 * file with the contents of BAR0, including a capability table. The second argument is the offset
 * of the card's memory in BAR0.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"
#include "backend.h"
#include "driver.h"
#include "litepcie.h"
#include "litepcie_capability.h"
#include "../run.h"

static uint32_t memory0;

static struct litepcie *open_card(void)
{
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;

	if (litepcie_open(&dev, DRIVER_DEVICE, why) < 0) {
		fprintf(stderr, "%s\n", why);
		exit(1);
	}
	return dev;
}

static bool says(struct litepcie *dev, const char *words)
{
	return strstr(litepcie_why(dev), words) != NULL;
}

/* Accesses to BAR0 ---------------------------------------------------------------------------- */

static void root_has_all_of_bar0(void)
{
	struct litepcie_window window = { .struct_size = sizeof(window) };
	struct litepcie *dev;

	driver_reset();
	dev = open_card();
	CHECK_EQUAL(litepcie_bar_map(dev, 0, &window), 0);
	CHECK(window.size == DRIVER_BAR0 && !window.partial);
	driver.writes = 0;
	CHECK_EQUAL(litepcie_bar_write(dev, 0, memory0 - 8, &(uint64_t){ 0x1122334455667788 }, 8), 0);
	CHECK_EQUAL(driver.writes, 0);
	CHECK_EQUAL(*driver_register(memory0 - 8), 0x55667788);
	litepcie_close(dev);
}

/*
 * A burst of writes may end exactly at the end of BAR0, even with a large stride: the stride lies
 * between two writes, and no write follows the last.
 */
static void a_burst_may_end_with_bar0(void)
{
	const uint64_t words[2] = { 0x11111111, 0x22222222 };
	struct litepcie *dev;

	driver_reset();
	dev = open_card();
	CHECK_EQUAL(litepcie_mmio_write_burst(dev, DRIVER_BAR0 - 68, 4, 64, words, 2), 0);
	CHECK_EQUAL(*driver_register(DRIVER_BAR0 - 68), 0x11111111);
	CHECK_EQUAL(*driver_register(DRIVER_BAR0 - 4), 0x22222222);
	CHECK_EQUAL(litepcie_mmio_write_burst(dev, DRIVER_BAR0 - 64, 4, 64, words, 2), -EINVAL);
	litepcie_close(dev);
}

/*
 * A user without CAP_SYS_RAWIO reads all of BAR0 through the mapping. His writes go through the
 * mapping on pages that the driver lets him map for writing, and by ioctl() on the other pages.
 */
static void a_user_reads_all_and_writes_its_own(void)
{
	uint64_t wide = 0, words[2] = { 5, 6 };
	struct litepcie_window window = { .struct_size = sizeof(window) };
	struct litepcie *dev;

	driver_reset();
	driver.user = true;
	driver.allowed[memory0 / DRIVER_PAGE] = true;
	dev = open_card();
	CHECK(strcmp(litepcie_mmio_path(dev), "bar") == 0);
	CHECK_EQUAL(litepcie_bar_map(dev, 0, &window), 0);
	CHECK(window.size == DRIVER_BAR0 && window.partial);

	*driver_register(memory0 - 8) = 0x01020304;
	*driver_register(memory0 - 4) = 0x05060708;
	driver.reads = driver.writes = 0;
	CHECK_EQUAL(litepcie_bar_read(dev, 0, memory0 - 8, &wide, 8), 0);
	CHECK(wide == 0x0506070801020304);
	CHECK_EQUAL(litepcie_bar_write(dev, 0, memory0 + 16, &(uint64_t){ wide }, 8), 0);
	CHECK_EQUAL(litepcie_mmio_write_burst(dev, memory0, 4, 4, words, 2), 0);
	CHECK_EQUAL(litepcie_bar_write(dev, 0, memory0 + 24, &wide, 2), 0);
	CHECK_EQUAL(driver.reads + driver.writes, 0);
	CHECK_EQUAL(*driver_register(memory0 + 20), 0x05060708);
	CHECK_EQUAL(*driver_register(memory0 + 4), 6);

	CHECK_EQUAL(litepcie_bar_write(dev, 0, memory0 - 4, &(uint64_t){ 77 }, 4), 0);
	CHECK_EQUAL(litepcie_bar_write(dev, 0, memory0 - 8, &words, 4), 0);
	CHECK_EQUAL(driver.writes, 2);
	CHECK(*driver_register(memory0 - 4) == 77 && *driver_register(memory0 - 8) == 5);
	CHECK_EQUAL(litepcie_bar_write(dev, 0, memory0 - 8, &(uint64_t){ 78 }, 8), -EOPNOTSUPP);
	CHECK(says(dev, "4-byte accesses") && says(dev, "reading only"));
	CHECK_EQUAL(*driver_register(memory0 - 8), 5);
	litepcie_close(dev);
}

/*
 * Each page is written through the mapping if the driver allows that, else by ioctl(). The driver
 * of this test allows runs of one page and of several, at the edges of BAR0 and inside.
 */
static void every_page_is_written_as_it_may_be(void)
{
	static const uint32_t runs[][2] = { { 0, 1 }, { 5, 7 }, { 13, 3 }, { 31, 1 } };
	struct litepcie *dev;

	driver_reset();
	driver.user = true;
	for (size_t n = 0; n < sizeof(runs) / sizeof(*runs); n++)
		for (uint32_t page = 0; page < runs[n][1]; page++)
			driver.allowed[runs[n][0] + page] = true;
	dev = open_card();
	for (uint32_t page = 0; page < DRIVER_BAR0 / DRIVER_PAGE; page++) {
		driver.writes = 0;
		CHECK_EQUAL(litepcie_bar_write(dev, 0, page * DRIVER_PAGE + 4092, &(uint64_t){ page }, 4), 0);
		CHECK(driver.writes == !driver.allowed[page]);
		CHECK_EQUAL(*driver_register(page * DRIVER_PAGE + 4092), page);
	}
	litepcie_close(dev);
}

/* Rings of the driver ------------------------------------------------------------------------- */

/*
 * Start another program that has the device open until it is killed. Returns the process ID of that
 * program.
 */
static pid_t hold_device(void)
{
	int ready[2];
	char byte;
	pid_t child;

	if (pipe(ready) < 0)
		exit(2);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (open(DRIVER_DEVICE, O_RDWR) < 0 || write(ready[1], "x", 1) != 1)
			_exit(2);
		for (;;)
			pause();
	}
	CHECK_EQUAL(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

/*
 * Read the counters twice, as lanebox-live does. Each read must make the card take a new snapshot
 * of its counters.
 */
static void look_at_counters(struct litepcie *dev)
{
	volatile uint32_t *control = driver_register(dev->map.counters_control);
	volatile uint32_t *bytes = driver_register(dev->map.streams[2][3] + 4);
	struct litepcie_counters counters = { .struct_size = sizeof(counters) };

	for (uint32_t sent = 4096; sent <= 8192; sent += 4096) {
		*control = 0;
		*bytes = sent;
		CHECK_EQUAL(litepcie_counters(dev, &counters), 0);
		CHECK_EQUAL(counters.rq.payload_bytes, sent);
		CHECK_EQUAL(*control, 1);
	}
}

/*
 * While another program runs c2h, this handle reads registers and counters and uses h2c. Only its
 * start of c2h is refused.
 */
static void a_look_works_beside_a_stream(void)
{
	static const struct run_config c2h = {
		.directions = LITEPCIE_C2H,
	};
	static const struct run_config h2c = {
		.directions = LITEPCIE_H2C,
	};
	pid_t other = hold_device();
	struct litepcie *dev;
	uint64_t value = 0;
	char who[64];

	driver_reset();
	driver.taken[1] = true;
	driver.count[1] = 32;
	driver.foreign = true;
	driver.user = true;
	dev = open_card();
	CHECK_EQUAL(litepcie_register_read(dev, "ctrl_scratch", &value), 0);
	CHECK_EQUAL(value, 0x12345678);
	look_at_counters(dev);
	CHECK(!c2h_buffer(dev, 3));
	CHECK_EQUAL(run_start(dev, &c2h), -EBUSY);
	snprintf(who, sizeof(who), "(process %d)", (int)other);
	CHECK(says(dev, "c2h is in use") && says(dev, who) && says(dev, "calls"));
	printf("driver: %s\n", litepcie_why(dev));

	/* the other program has only c2h, so the h2c ring has the shape that this handle wants */
	CHECK_EQUAL(run_start(dev, &h2c), 0);
	CHECK_EQUAL(driver.count[0], 256);
	CHECK(h2c_buffer(dev, 0) != NULL);
	CHECK_EQUAL(run_stop(dev), 0);
	CHECK(!driver.owned[0] && !driver.owned[1]);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	litepcie_close(dev);
}

/*
 * Another program may have changed a ring between two starts. Each start of this handle sets the
 * shape again and maps the ring again.
 */
static void each_start_finds_its_ring(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	struct litepcie *dev;

	driver_reset();
	dev = open_card();
	CHECK_EQUAL(run_shape(dev, 4096, 64), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(run_start(dev, &config), 0);
		CHECK(driver.size[1] == 4096 && driver.count[1] == 64);
		memset(c2h_buffer(dev, 0), 0, 4096 * 64);
		CHECK_EQUAL(run_stop(dev), 0);
		driver.size[1] = 65536;
		driver.count[1] = 16;
	}
	litepcie_close(dev);
}

/* A start that fails gives back the directions that it had taken. */
static void a_start_that_fails_is_undone(void)
{
	const struct run_config both = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H,
	};
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	struct litepcie *dev;

	driver_reset();
	dev = open_card();
	driver.silent = true;
	CHECK_EQUAL(run_start(dev, &config), -EIO);
	CHECK(!driver.owned[0] && !driver.owned[1]);
	driver.silent = false;
	driver.no_memory = true;
	CHECK_EQUAL(run_start(dev, &config), -ENOMEM);
	CHECK(says(dev, "more than this user may lock (ulimit -l)"));
	CHECK(!driver.owned[1]);
	driver.no_memory = false;
	driver.taken[0] = true;
	CHECK_EQUAL(run_start(dev, &both), -EBUSY);
	CHECK(!driver.owned[1]);
	driver.taken[0] = false;
	CHECK_EQUAL(run_start(dev, &config), 0);
	litepcie_close(dev);
}

/*
 * A ring that is placed in the program's memory: the driver gets the address of that memory, and
 * the library maps no ring of the driver.
 */
static void a_ring_lies_in_its_place(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	uint8_t *memory = aligned_alloc(4096, 16 * 4096);
	struct litepcie *dev;
	int fd;

	driver_reset();
	dev = open_card();
	CHECK_EQUAL(run_shape(dev, 4096, 16), 0);
	CHECK_EQUAL(run_place(dev, LITEPCIE_C2H, memory, 16 * 4096), 0);
	driver.place_error = EMSGSIZE;
	CHECK_EQUAL(run_start(dev, &config), -EMSGSIZE);
	CHECK(says(dev, "each buffer of 4096 bytes must lie in one page: take huge ones"));
	driver.place_error = EOPNOTSUPP;
	CHECK_EQUAL(run_start(dev, &config), -EOPNOTSUPP);
	CHECK(says(dev, "is shared memory or a file's"));
	CHECK(!driver.owned[1]);
	driver.place_error = 0;
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(run_start(dev, &config), 0);
		CHECK(driver.place[1] == (uintptr_t)memory && driver.flags[1] == LITEPCIE_RING_INDEXED);
		CHECK(c2h_buffer(dev, 18) == memory + 2 * 4096);
		CHECK_EQUAL(run_export(dev, LITEPCIE_C2H, &fd), -EADDRINUSE);
		CHECK_EQUAL(run_stop(dev), 0);
	}
	CHECK_EQUAL(run_place(dev, LITEPCIE_C2H, NULL, 0), 0);
	free(memory);
	CHECK_EQUAL(run_start(dev, &config), 0);
	CHECK(!driver.place[1] && c2h_buffer(dev, 0) != NULL);
	CHECK_EQUAL(run_export(dev, LITEPCIE_C2H, &fd), 0);
	CHECK_EQUAL(lseek(fd, 0, SEEK_END), 16 * 4096);
	CHECK_EQUAL(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	litepcie_close(dev);
}

static void modes_are_the_driver_s(void)
{
	struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };
	struct litepcie *dev;
	uint64_t first;

	driver_reset();
	driver.counts = true;
	dev = open_card();
	for (unsigned int n = 0; n < 3; n++) {
		config.poll_us = n ? 50 * n : 0;
		config.adaptive = n == 2;
		CHECK_EQUAL(run_start(dev, &config), 0);
		CHECK_EQUAL(driver.interval_us[1], config.poll_us);
		CHECK_EQUAL(driver.mode[1], n == 0 ? LITEPCIE_MODE_INTERRUPT :
					    n == 1 ? LITEPCIE_MODE_POLL : LITEPCIE_MODE_ADAPTIVE);
		driver_finish(1, 5);
		driver.interrupts[1] -= n != 0;
		CHECK_EQUAL(c2h_peek(dev, &first, 1000), 5);
		CHECK_EQUAL(c2h_release(dev, 5), 0);
		/*
		 * In adaptive mode each hand-over asks for an interrupt, since the buffers that
		 * looks found have raised none.
		 */
		CHECK_EQUAL(driver.notify[1], config.adaptive);
		CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 300), 0);
		CHECK_EQUAL(run_stop(dev), 0);
		litepcie_stats(dev, &stats);
		CHECK(stats.interrupts_missed == 0 && stats.interrupts == (n == 0));
	}
	litepcie_close(dev);
}

/*
 * LitePCIe's driver lets the card go round its rings without waiting for software. So with that
 * driver the library refuses a start, and registers work.
 */
static void litepcies_driver_is_for_registers(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	struct litepcie *dev;
	uint64_t value = 0;

	driver_reset();
	driver.stock = true;
	dev = open_card();
	CHECK_EQUAL(litepcie_register_read(dev, "ctrl_scratch", &value), 0);
	CHECK_EQUAL(value, 0x12345678);
	CHECK_EQUAL(run_start(dev, &config), -EOPNOTSUPP);
	CHECK(says(dev, "LitePCIe's driver cannot hold a stream"));
	CHECK(says(dev, "load Lanebox's litepcie.ko") && says(dev, "litepcie_util vfio bind"));
	CHECK(!driver.owned[0] && !driver.owned[1] && !driver.looped);
	CHECK_EQUAL(run_shape(dev, 4096, 64), -EOPNOTSUPP);
	CHECK_EQUAL(run_place(dev, LITEPCIE_C2H, NULL, 0), -EOPNOTSUPP);
	CHECK_EQUAL(litepcie_user_enable(dev, true), -EOPNOTSUPP);
	CHECK(says(dev, "load Lanebox's litepcie.ko"));
	litepcie_close(dev);
}

/* Handing buffers over ------------------------------------------------------------------------ */

static struct litepcie *run_card(const struct run_config *config)
{
	struct litepcie *dev;

	driver_reset();
	dev = open_card();
	CHECK_EQUAL(run_start(dev, config), 0);
	return dev;
}

/*
 * The start of a run hands over the whole c2h ring, and later each batch takes one call. Buffers
 * that the driver's status page already shows take no call.
 */
static void c2h_is_handed_over_in_batches(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H, .batch = 8, .interrupt_every = 4, .c2h_limit = 270,
	};
	struct litepcie *dev = run_card(&config);
	unsigned int calls;
	uint64_t first;

	CHECK(driver.per_interrupt[1] == 4 && driver.flags[1] == LITEPCIE_RING_INDEXED);
	CHECK(driver.advanced[1] == 256 && driver.advances[1] == 1);
	driver_finish(1, 8);
	calls = driver.calls + driver.polls;
	CHECK_EQUAL(c2h_peek(dev, &first, 1000), 8);
	CHECK_EQUAL(c2h_release(dev, 7), 0);
	CHECK_EQUAL(driver.calls + driver.polls, calls);
	CHECK_EQUAL(c2h_release(dev, 1), 0);
	CHECK_EQUAL(driver.calls + driver.polls, calls + 1);
	CHECK(driver.advanced[1] == 264 && driver.notify[1]);
	driver_finish(1, 8);
	CHECK_EQUAL(c2h_peek(dev, &first, 1000), 8);
	CHECK_EQUAL(c2h_release(dev, 8), 0);
	/*
	 * the library has handed over c2h buffers up to c2h_limit, and asked for an interrupt of
	 * the last
	 */
	CHECK(driver.advanced[1] == 270 && driver.notify[1]);
	driver_finish(1, 254);
	CHECK_EQUAL(c2h_peek(dev, &first, 1000), 254);
	CHECK_EQUAL(c2h_release(dev, 254), 0);
	CHECK_EQUAL(driver.advances[1], 3);
	CHECK_EQUAL(run_stop(dev), 0);
	CHECK(!driver.looped);
	litepcie_close(dev);
}

/*
 * The end of a short batch of h2c buffers raises an interrupt, since no other buffer may follow for
 * a while.
 */
static void h2c_announces_the_end_of_a_short_batch(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C, .interrupt_every = 16,
	};
	struct litepcie *dev = run_card(&config);
	uint64_t first;

	CHECK(driver.advances[0] == 0 && driver.advanced[0] == 0);
	CHECK_EQUAL(h2c_get(dev, &first, 0), 256);
	CHECK_EQUAL(h2c_submit(dev, 3), 0);
	CHECK(driver.advanced[0] == 3 && driver.notify[0]);
	CHECK_EQUAL(h2c_submit(dev, 20), 0);
	CHECK(driver.advanced[0] == 23 && !driver.notify[0]);
	CHECK_EQUAL(h2c_submit(dev, 233), 0);
	CHECK_EQUAL(h2c_get(dev, &first, 0), 0);
	driver_finish(0, 100);
	CHECK_EQUAL(h2c_get(dev, &first, 1000), 100);
	CHECK_EQUAL(first, 256);
	litepcie_close(dev);
	CHECK(!driver.owned[0]);
}

/* Counts and waits ---------------------------------------------------------------------------- */

static int64_t interrupts_of_a_run(unsigned int directions)
{
	const struct run_config config = {
		.directions = directions,
	};
	struct litepcie *dev = open_card();
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	CHECK_EQUAL(run_start(dev, &config), 0);
	driver.interrupts[0] += 5;
	driver.interrupts[1] += 70;
	CHECK_EQUAL(run_stop(dev), 0);
	litepcie_stats(dev, &stats);
	litepcie_close(dev);
	return stats.interrupts;
}

/*
 * The library counts interrupts by the driver's counters in sysfs. Without these counters the count
 * is -1.
 */
static void interrupts_are_the_drivers_own_count(void)
{
	driver_reset();
	CHECK_EQUAL(interrupts_of_a_run(LITEPCIE_C2H), -1);
	driver_reset();
	driver.counts = true;
	driver.interrupts[0] = 1000;
	CHECK_EQUAL(interrupts_of_a_run(LITEPCIE_C2H), 70);
	CHECK_EQUAL(interrupts_of_a_run(LITEPCIE_H2C), 5);
	CHECK_EQUAL(interrupts_of_a_run(LITEPCIE_H2C | LITEPCIE_C2H), 75);
}

/*
 * Wait until another thread sleeps in poll(). A buffer that finished before that would need no
 * poll().
 */
static void wait_for_poll(void)
{
	for (int i = 0; !*(volatile unsigned int *)&driver.polls && i < 10000; i++)
		usleep(1000);
}

static void *finish_later(void *way)
{
	wait_for_poll();
	driver_finish(way != NULL, 1);
	return NULL;
}

/*
 * A wait takes one system call, which is a poll() that the interrupt ends. A wait with a timeout of
 * 0 takes no system call.
 */
static void a_wait_is_one_call(unsigned int direction)
{
	const struct run_config config = {
		.directions = direction, .interrupt_every = 1,
	};
	bool c2h = direction == LITEPCIE_C2H;
	struct litepcie *dev = run_card(&config);
	pthread_t thread;
	unsigned int calls;

	if (!c2h)
		CHECK_EQUAL(h2c_submit(dev, 4), 0);
	calls = driver.calls;
	pthread_create(&thread, NULL, finish_later, c2h ? dev : NULL);
	CHECK_EQUAL(litepcie_dma_wait(dev, direction, 10000), 1);
	pthread_join(thread, NULL);
	CHECK_EQUAL(driver.polls, 1);
	CHECK_EQUAL(driver.calls, calls);
	driver_finish(c2h, 1);
	CHECK_EQUAL(litepcie_dma_wait(dev, direction, 10000), 1);
	CHECK_EQUAL(driver.polls + driver.calls, calls + 1);
	CHECK_EQUAL(litepcie_dma_wait(dev, direction, 0), 0);
	CHECK_EQUAL(driver.polls, 1);
	litepcie_close(dev);
}

static void *wait_for_c2h(void *context)
{
	struct litepcie *dev = context;

	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 10000), 1);
	return NULL;
}

/*
 * Each thread waits for its own direction. A thread that wakes late still gets its buffers,
 * although another thread has updated the counts meanwhile.
 */
static void each_thread_waits_for_its_own(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H,
	};
	struct litepcie *dev = run_card(&config);
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };
	pthread_t thread;

	driver.doze_ms = 50;
	pthread_create(&thread, NULL, wait_for_c2h, dev);
	wait_for_poll();
	driver.doze_ms = 1;
	driver_finish(1, 5);
	/* each of these waits for h2c also brings the counts of c2h up to date */
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_H2C, 1), 0);
	pthread_join(thread, NULL);
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(stats.woken_by_timeout, 0);
	litepcie_close(dev);
}

/*
 * The card finishes buffers without an interrupt. The library then asks the card for its counts,
 * and counts an interrupt as missed if one was due.
 */
static void a_lost_interrupt_is_found(unsigned int direction)
{
	const struct run_config config = {
		.directions = direction,
	};
	int way = direction == LITEPCIE_C2H;
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };
	struct litepcie *dev;

	driver_reset();
	driver.counts = true;
	dev = open_card();
	CHECK_EQUAL(run_start(dev, &config), 0);
	if (direction == LITEPCIE_H2C)
		CHECK_EQUAL(h2c_submit(dev, 100), 0);
	/* the card has finished 31 buffers, and the next one would raise an interrupt */
	driver.hardware[way] = 31;
	CHECK_EQUAL(litepcie_dma_wait(dev, direction, 1000), 1);
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(way ? stats.c2h_done : stats.h2c_done, 31);
	CHECK(stats.interrupts_missed == 0 && stats.woken_by_timeout == 1);
	driver.hardware[way] = 100;
	CHECK_EQUAL(litepcie_dma_wait(dev, direction, 1000), 1);
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(way ? stats.c2h_done : stats.h2c_done, 100);
	CHECK(stats.interrupts_missed == 1 && stats.woken_by_timeout == 2);
	CHECK_EQUAL(run_stop(dev), 0);
	litepcie_close(dev);
}

/*
 * A card that was reset moves no more data. Either the driver has stopped the run (@rests), or the
 * driver has found that the card's counts are impossible. In both cases the caller gets -EIO, and
 * may start again.
 */
static void a_reset_reaches_its_user(unsigned int direction, bool rests)
{
	const struct run_config config = {
		.directions = direction,
	};
	bool c2h = direction == LITEPCIE_C2H;
	struct litepcie *dev = run_card(&config);
	uint64_t first;

	driver_finish(c2h, c2h ? 3 : 0);
	driver_abort(-EIO, rests);
	CHECK_EQUAL(litepcie_dma_wait(dev, direction, -1), -EIO);
	CHECK(says(dev, c2h ? "the card was reset while c2h ran: stop and start it again" :
			      "the card was reset while h2c ran: stop and start it again"));
	CHECK_EQUAL(litepcie_dma_wait(dev, direction, 0), -EIO);
	if (!c2h) {
		CHECK_EQUAL(h2c_submit(dev, 1), -EIO);
		CHECK(says(dev, "the card was reset while h2c ran"));
		CHECK_EQUAL(h2c_drain(dev, 1000), -EIO);
	}
	CHECK(!driver.looped);
	CHECK_EQUAL(run_stop(dev), 0);
	CHECK_EQUAL(run_start(dev, &config), 0);
	if (c2h) {
		driver_finish(1, 2);
		CHECK_EQUAL(c2h_peek(dev, &first, 1000), 2);
		CHECK_EQUAL(first, 0);
	}
	CHECK_EQUAL(run_stop(dev), 0);
	litepcie_close(dev);
}

/*
 * A run that the driver has ended without an error also ends a wait. The counts of that run are not
 * used.
 */
static void a_run_that_has_ended_is_over(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	struct litepcie *dev = run_card(&config);
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	driver_finish(1, 3);
	driver_abort(0, true);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 1000), -EIO);
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(stats.c2h_done, 0);
	litepcie_close(dev);
}

/*
 * A wait that finds buffers clears the descriptor of litepcie_dma_fd(), so poll() sleeps until the
 * next buffer.
 */
static void a_look_makes_the_event_wait(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	struct litepcie *dev = run_card(&config);
	struct pollfd event = { .fd = litepcie_dma_fd(dev), .events = POLLIN };

	CHECK_EQUAL(poll(&event, 1, 0), 0);
	for (int n = 0; n < 2; n++) {
		driver_finish(1, 1);
		CHECK_EQUAL(poll(&event, 1, 0), 1);
		CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 0), 1);
		CHECK_EQUAL(poll(&event, 1, 0), 0);
	}
	litepcie_close(dev);
}

/*
 * With a timeout of 0, peek and get find what the driver has written to the status page. The
 * descriptor of litepcie_dma_fd() stays readable, since it may have announced news of the other
 * direction. The end of a run is reported.
 */
static void a_look_without_a_wait_finds_news(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H,
	};
	struct litepcie *dev = run_card(&config);
	struct pollfd event = { .fd = litepcie_dma_fd(dev), .events = POLLIN };
	unsigned int polls = driver.polls;
	uint64_t first;

	CHECK_EQUAL(h2c_submit(dev, 256), 0);
	CHECK_EQUAL(h2c_get(dev, &first, 0), 0);
	CHECK_EQUAL(c2h_peek(dev, &first, 0), 0);
	driver_finish(0, 2);
	driver_finish(1, 3);
	CHECK_EQUAL(c2h_peek(dev, &first, 0), 3);
	CHECK(h2c_get(dev, &first, 0) == 2 && first == 256);
	CHECK_EQUAL(poll(&event, 1, 0), 1);
	CHECK_EQUAL(c2h_release(dev, 3), 0);
	CHECK(driver.polls == polls);
	driver_abort(-EIO, true);
	CHECK_EQUAL(c2h_peek(dev, &first, 0), -EIO);
	CHECK(says(dev, "the card was reset"));
	litepcie_close(dev);
}

/*
 * The descriptor of litepcie_dma_fd() is readable at once if buffers have come before the program
 * asks for it.
 */
static void a_late_event_tells_of_what_came_before(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	struct litepcie *dev = run_card(&config);
	struct pollfd event = { .events = POLLIN };

	driver_finish(1, 1);
	event.fd = litepcie_dma_fd(dev);
	CHECK_EQUAL(poll(&event, 1, 0), 1);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 0), 1);
	CHECK_EQUAL(poll(&event, 1, 0), 0);
	CHECK_EQUAL(litepcie_dma_fd(dev), event.fd);
	CHECK_EQUAL(poll(&event, 1, 0), 0);
	litepcie_close(dev);
}

static void a_card_that_goes_ends_a_wait(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	struct litepcie *dev = run_card(&config);

	driver.gone = true;
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, -1), -ENODEV);
	driver_abort(-ENODEV, true);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, -1), -ENODEV);
	CHECK(says(dev, "the card is gone"));
	litepcie_close(dev);
}

/*
 * A count of more buffers than the card was given is an error, and the library does not use the
 * count.
 */
static void more_than_was_given_is_refused(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	struct litepcie *dev = run_card(&config);
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	driver_finish(1, 257);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 1000), -EIO);
	CHECK(says(dev, "257 buffers of c2h, but it was given 256"));
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(stats.c2h_done, 0);
	litepcie_close(dev);
}

/* Packets and lengths ------------------------------------------------------------------------- */

/* True if the card whose BAR0 the test has loaded writes records. Packets need records. */
static bool has_records(void)
{
	struct litepcie *dev = open_card();
	struct litepcie_block block = { .struct_size = sizeof(block) };
	bool has = litepcie_block_find(dev, LITEPCIE_BLOCK_RECORDS, 0, &block) == 0;

	litepcie_close(dev);
	return has;
}

/*
 * What a card can do is known without a call that fails, behind a driver that tells it, behind one
 * from before that call, and behind LitePCIe's.
 */
static void features_are_told(bool able)
{
	struct litepcie *dev;

	driver_reset();
	driver.records = true;
	dev = open_card();
	CHECK(litepcie_features(dev) & LITEPCIE_HAS_STREAMS);
	CHECK(!(litepcie_features(dev) & LITEPCIE_HAS_PACKETS) == !able);
	CHECK(litepcie_features(dev) & LITEPCIE_HAS_BAR_MAP);
	litepcie_close(dev);

	driver_reset();
	driver.old = true;
	dev = open_card();
	CHECK(litepcie_features(dev) & LITEPCIE_HAS_STREAMS);
	CHECK(!(litepcie_features(dev) & LITEPCIE_HAS_PACKETS));
	litepcie_close(dev);

	driver_reset();
	driver.stock = true;
	dev = open_card();
	CHECK(!(litepcie_features(dev) & (LITEPCIE_HAS_STREAMS | LITEPCIE_HAS_PACKETS)));
	CHECK(!(litepcie_features(dev) & LITEPCIE_HAS_USER_INTERRUPT));
	litepcie_close(dev);
}

static void packets_take_a_card_and_a_driver(bool able)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H, .packets = true,
	};
	const struct run_config whole = {
		.directions = LITEPCIE_C2H,
	};
	struct run_record record = { 0 };
	struct litepcie *dev;
	uint64_t first;

	driver_reset();
	driver.old = true;
	dev = open_card();
	CHECK_EQUAL(run_start(dev, &config), -EOPNOTSUPP);
	CHECK(says(dev, able ? "this driver has whole buffers only" : "the card writes no records"));
	CHECK(!driver.owned[1]);
	CHECK_EQUAL(run_start(dev, &whole), 0);
	driver_finish(1, 1);
	CHECK_EQUAL(c2h_peek(dev, &first, 1000), 1);
	CHECK_EQUAL(c2h_record(dev, 0, &record), 0);
	CHECK(record.bytes == 8192 && record.flags == 0);
	litepcie_close(dev);
}

static struct litepcie *run_packets(bool packets, unsigned int flush_us)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H, .packets = packets,
		.flush_us = flush_us, .batch = 4,
	};
	struct litepcie *dev;

	driver_reset();
	driver.records = true;
	dev = open_card();
	CHECK_EQUAL(run_shape(dev, 4096, 16), 0);
	CHECK_EQUAL(run_start(dev, &config), 0);
	return dev;
}

static void each_start_says_whether_there_are_packets(void)
{
	litepcie_close(run_packets(true, 50));
	CHECK(driver.packets[0] == LITEPCIE_PACKETS_ON && driver.packets[1] == LITEPCIE_PACKETS_ON);
	CHECK(driver.flush_us[0] == 0 && driver.flush_us[1] == 50);
	driver.packets[0] = driver.packets[1] = 77;
	litepcie_close(run_packets(false, 0));
	CHECK(driver.packets[0] == 0 && driver.packets[1] == 0);
}

/*
 * The library reads records from memory without a call to the driver. The records come before the
 * driver's status page shows the count of their buffers.
 */
static void records_come_without_a_call(void)
{
	struct litepcie *dev = run_packets(true, 0);
	struct run_record record = { 0 };
	unsigned int calls = driver.calls;
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };
	uint64_t first;

	for (uint64_t n = 0; n < 3; n++)
		driver_record(n, 64 + (uint32_t)n, LITEPCIE_RECORD_LAST);
	CHECK_EQUAL(c2h_peek(dev, &first, 1000), 3);
	CHECK_EQUAL(c2h_record(dev, 2, &record), 0);
	CHECK(record.bytes == 66 && record.flags == LITEPCIE_RECORD_LAST);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 0), 0);
	driver_finish(1, 3);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 0), 0);
	driver_errors(1, 2);
	driver_errors(0, 1);
	CHECK(driver.calls == calls && driver.polls == 0);
	driver_finish(1, 1);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 0), -EIO);
	CHECK(says(dev, "filled 4 c2h buffers, but the last has no record"));
	CHECK_EQUAL(run_stop(dev), 0);
	litepcie_stats(dev, &stats);
	CHECK(stats.c2h_errors == 2 && stats.h2c_errors == 1);
	litepcie_close(dev);
}

/*
 * The lengths of a batch go to the driver in one call, or in two calls if the batch wraps round the
 * end of the ring.
 */
static void buffers_have_lengths(void)
{
	static const uint32_t wanted[] = { 0, 0, 0, 0, 4096, 77, 4096, 4096 };
	struct litepcie *dev = run_packets(true, 0);

	CHECK_EQUAL(h2c_submit(dev, 4), 0);
	CHECK_EQUAL(h2c_submit(dev, 1), 0);
	CHECK_EQUAL(h2c_send(dev, 77), 0);
	CHECK_EQUAL(h2c_submit(dev, 2), 0);
	CHECK_EQUAL(driver.advances[0], 2);
	for (unsigned int n = 0; n < 8; n++)
		CHECK_EQUAL(driver.lengths[n], wanted[n]);
	driver_finish(0, 8);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_H2C, 1000), 1);
	CHECK_EQUAL(h2c_submit(dev, 6), 0);
	for (uint32_t n = 14; n < 18; n++)
		CHECK_EQUAL(h2c_send(dev, n), 0);
	CHECK(driver.advances[0] == 5 && driver.notify[0]);
	for (uint32_t n = 14; n < 18; n++)
		CHECK_EQUAL(driver.lengths[n], n);
	driver_finish(0, 10);
	CHECK_EQUAL(h2c_drain(dev, 1000), 0);
	litepcie_close(dev);
}

/* Interrupts of the user's logic -------------------------------------------------------------- */

static void *call_later(void *unused)
{
	usleep(20000);
	driver_call();
	return unused;
}

static void the_user_s_interrupt_is_an_event(void)
{
	struct litepcie *dev;
	pthread_t thread;

	driver_reset();
	dev = open_card();
	CHECK_EQUAL(litepcie_user_enable(dev, true), 0);
	CHECK(driver.event[2] >= 0);
	CHECK_EQUAL(litepcie_user_wait(dev, 10), 0);
	driver_call();
	driver_call();
	CHECK_EQUAL(litepcie_user_wait(dev, -1), 1);
	CHECK_EQUAL(litepcie_user_wait(dev, 10), 0);
	pthread_create(&thread, NULL, call_later, NULL);
	CHECK_EQUAL(litepcie_user_wait(dev, 5000), 1);
	pthread_join(thread, NULL);
	driver_call();
	CHECK_EQUAL(litepcie_user_enable(dev, true), 0);
	CHECK_EQUAL(litepcie_user_wait(dev, 0), 0);
	driver.gone = true;
	CHECK_EQUAL(litepcie_user_wait(dev, -1), -ENODEV);
	driver.gone = false;
	CHECK_EQUAL(litepcie_user_enable(dev, false), 0);
	CHECK_EQUAL(driver.event[2], -1);
	litepcie_close(dev);
}

int main(int argc, char **argv)
{
	if (argc != 3 || !driver_load(argv[1])) {
		fprintf(stderr, "usage: driver BAR0 MEMORY\n");
		return 2;
	}
	memory0 = (uint32_t)strtoul(argv[2], NULL, 0);
	root_has_all_of_bar0();
	a_burst_may_end_with_bar0();
	a_user_reads_all_and_writes_its_own();
	every_page_is_written_as_it_may_be();
	a_look_works_beside_a_stream();
	each_start_finds_its_ring();
	a_ring_lies_in_its_place();
	modes_are_the_driver_s();
	a_start_that_fails_is_undone();
	litepcies_driver_is_for_registers();
	c2h_is_handed_over_in_batches();
	h2c_announces_the_end_of_a_short_batch();
	interrupts_are_the_drivers_own_count();
	for (unsigned int way = LITEPCIE_H2C; way <= LITEPCIE_C2H; way++) {
		a_wait_is_one_call(way);
		a_lost_interrupt_is_found(way);
		a_reset_reaches_its_user(way, true);
		a_reset_reaches_its_user(way, false);
	}
	each_thread_waits_for_its_own();
	a_run_that_has_ended_is_over();
	a_look_makes_the_event_wait();
	a_look_without_a_wait_finds_news();
	a_late_event_tells_of_what_came_before();
	a_card_that_goes_ends_a_wait();
	more_than_was_given_is_refused();
	the_user_s_interrupt_is_an_event();
	driver_reset();
	features_are_told(has_records());
	packets_take_a_card_and_a_driver(has_records());
	if (has_records()) {
		each_start_says_whether_there_are_packets();
		records_come_without_a_call();
		buffers_have_lengths();
	}
	return failed_checks != 0;
}
