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
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "calls.h"

static uint32_t memory0;

/* Tests of accesses to BAR0 ------------------------------------------------------------------- */

/* Close the card, and check that this undoes the mapping of BAR0 that @window describes. */
static void close_mapped(struct litepcie *dev, const struct litepcie_window *window)
{
	void *base = (void *)window->base;

	CHECK_EQUAL(msync(base, window->size, MS_ASYNC), 0);
	litepcie_close(dev);
	CHECK(msync(base, window->size, MS_ASYNC) < 0 && errno == ENOMEM);
}

static void root_has_all_of_bar0(void)
{
	struct litepcie_window window = { .struct_size = sizeof(window) };
	struct litepcie *dev;

	driver_reset();
	driver.combining = true;
	dev = open_card();
	CHECK_EQUAL(litepcie_bar_map(dev, 0, &window), 0);
	CHECK(window.size == DRIVER_BAR0 && !window.partial && window.write_combining);
	driver.writes = 0;
	CHECK_EQUAL(litepcie_bar_write(dev, 0, memory0 - 8, &(uint64_t){ 0x1122334455667788 }, 8), 0);
	CHECK_EQUAL(driver.writes, 0);
	CHECK_EQUAL(*driver_register(memory0 - 8), 0x55667788);
	close_mapped(dev, &window);
}

/*
 * A burst of writes may end exactly at the end of BAR0, even with a large stride (the distance from
 * the beginning of one write to that of the next): no stride follows the last write.
 */
static void a_burst_may_end_with_bar0(void)
{
	const uint64_t words[2] = { 0x11111111, 0x22222222 };
	struct litepcie *dev;

	driver_reset();
	dev = open_card();
	CHECK_EQUAL(litepcie_bar_write_burst(dev, 0, DRIVER_BAR0 - 68, 4, 64, words, 2), 0);
	CHECK_EQUAL(*driver_register(DRIVER_BAR0 - 68), 0x11111111);
	CHECK_EQUAL(*driver_register(DRIVER_BAR0 - 4), 0x22222222);
	CHECK_EQUAL(litepcie_bar_write_burst(dev, 0, DRIVER_BAR0 - 64, 4, 64, words, 2), -EINVAL);
	litepcie_close(dev);
}

/*
 * For a user without CAP_SYS_RAWIO litepcie_bar_read() reads any page of BAR0 through the mapping.
 * litepcie_bar_write() and litepcie_bar_write_burst() use the mapping on pages that the driver maps
 * for writing. On other pages a write of 4 bytes is an ioctl(), and a write of 8 bytes is refused.
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
	CHECK(window.size == DRIVER_BAR0 && window.partial && !window.write_combining);

	*driver_register(memory0 - 8) = 0x01020304;
	*driver_register(memory0 - 4) = 0x05060708;
	driver.reads = driver.writes = 0;
	CHECK_EQUAL(litepcie_bar_read(dev, 0, memory0 - 8, &wide, 8), 0);
	CHECK(wide == 0x0506070801020304);
	CHECK_EQUAL(litepcie_bar_write(dev, 0, memory0 + 16, &(uint64_t){ wide }, 8), 0);
	CHECK_EQUAL(litepcie_bar_write_burst(dev, 0, memory0, 4, 4, words, 2), 0);
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
	close_mapped(dev, &window);
}

/*
 * For a user without CAP_SYS_RAWIO litepcie_bar_write() of 4 bytes to each page of BAR0 must go
 * through the mapping if the driver allows that page to be mapped for writing, else by ioctl(). The
 * driver allows the first page, the last page, and two groups of pages between them.
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

/* Tests of the driver's rings ----------------------------------------------------------------- */

/*
 * Start another process, which opens DRIVER_DEVICE twice and keeps it open until the process is
 * killed. Returns the process ID.
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
		if (open(DRIVER_DEVICE, O_RDWR) < 0 || open(DRIVER_DEVICE, O_RDWR) < 0 ||
		    write(ready[1], "x", 1) != 1)
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
 * Read the card's counters twice. Each time the library must make the card take a new snapshot of
 * its counters.
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
 * While another program runs c2h, a handle of this program can read registers and counters and run
 * h2c. Its start of c2h is refused.
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
	struct litepcie *dev, *second;
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
	/*
	 * The sentence of the refused start names the other process once, although that process has
	 * the device open twice. The sentence does not name this process: of its handles only the
	 * one that asks is open here.
	 */
	CHECK(!strstr(strstr(litepcie_why(dev), who) + 1, who));
	snprintf(who, sizeof(who), "(process %d)", (int)getpid());
	CHECK(!says(dev, who));
	second = open_card();
	CHECK_EQUAL(run_start(dev, &c2h), -EBUSY);
	CHECK(says(dev, who));
	litepcie_close(second);

	/* the other program has only c2h, so the h2c ring gets the sizes that this handle sets */
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
 * Another program may change the sizes of a ring between two starts of a stream. So each start of
 * the stream sets the sizes of its ring again, and maps the ring again.
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

/*
 * If the start of a stream fails, the library gives the direction back to the driver. If h2c fails
 * to start after c2h has started, run_start() (run.h) stops c2h, and that gives c2h back, too.
 */
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
 * If the program puts a ring into its own memory, the driver gets the address of that memory, and
 * the library maps no ring of the driver. If the driver refuses the memory, the start fails with a
 * sentence that says why.
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
		 * Five buffers (256 to 260) are handed over. With the default for interrupt_every,
		 * 32, none of them asks for an interrupt in interrupt mode. In poll mode no buffer
		 * asks for one. In adaptive mode each buffer does, since a buffer that is finished
		 * while the driver polls raises none.
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
 * With LitePCIe's driver the card goes round its rings without waiting for software. So the library
 * must refuse to open a stream on that driver. Registers can still be read.
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
	failed_checks += test_waits();
	driver_reset();
	failed_checks += test_buffers();
	return failed_checks != 0;
}
