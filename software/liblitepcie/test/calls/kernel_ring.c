/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test how the "kernel" back end takes a direction, sets the sizes and the mode of its ring, and puts
 * it into memory of the driver or of the program.
 */
#include <fcntl.h>

#include "calls.h"

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

int test_rings(void)
{
	each_start_finds_its_ring();
	a_ring_lies_in_its_place();
	modes_are_the_driver_s();
	a_start_that_fails_is_undone();
	return failed_checks;
}
