/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the "kernel" back end with a stand-in for the driver (driver.h). The first argument is a
 * file with the contents of BAR0, including a capability table. The second argument is the offset
 * of the card's memory in BAR0. The tests of a source are in the file with the source's name, such
 * as kernel_ring.c. This file has those of several sources.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "calls.h"

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
	failed_checks += test_bars((uint32_t)strtoul(argv[2], NULL, 0));
	a_look_works_beside_a_stream();
	failed_checks += test_rings();
	litepcies_driver_is_for_registers();
	failed_checks += test_waits();
	driver_reset();
	failed_checks += test_buffers();
	return failed_checks != 0;
}
