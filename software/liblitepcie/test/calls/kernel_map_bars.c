/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test how the "kernel" back end maps BAR0 and accesses it, for root and for a user without
 * CAP_SYS_RAWIO.
 */
#include <sys/mman.h>

#include "calls.h"

static uint32_t memory0;

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

int test_bars(uint32_t memory)
{
	memory0 = memory;
	root_has_all_of_bar0();
	a_burst_may_end_with_bar0();
	a_user_reads_all_and_writes_its_own();
	every_page_is_written_as_it_may_be();
	return failed_checks;
}
