/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test kernel/capture.c on a driver that the test imitates: a call that waits for the card, and for
 * which the card takes too long, must return -ETIMEDOUT with a sentence that says what to do. A
 * driver that is older than the library must get no flag that it does not know.
 */
#include <sys/ioctl.h>

/*
 * The source under test, whose ioctl() calls go to fake_ioctl(). Its variable
 * litepcie_kernel_capture gets another name, since this program is also linked with the library,
 * which has the variable, too.
 */
#define ioctl			fake_ioctl
#define litepcie_kernel_capture	litepcie_tested_capture
static int fake_ioctl(int fd, unsigned long request, void *arg);
#include "kernel/capture.c"

#include "check.h"

static struct {
	/* number of calls for the generator's state that still find it busy */
	unsigned int	looks;
	unsigned int	starts, stops;	/* how often the generator was started and stopped */
	/*
	 * errno with which ioctls fail that neither start or stop the generator nor ask for its
	 * state; 0: they succeed
	 */
	int		error;
	/* of the last ioctl CAPTURE_START */
	uint32_t	flags, staging_bytes;
	/* flags of START that the driver knows, and those that it says in INFO */
	uint32_t	known, told;
	const char	*version;	/* the driver's version in sysfs */
} driver = { .known = UINT32_MAX, .told = UINT32_MAX, .version = "" };

static struct litepcie dev;
static struct kernel_capture port = { .fd = -1, .taken = true };
static struct litepcie_capture capture = { .dev = &dev, .priv = &port };

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	struct litepcie_capture_generate *generate = arg;
	struct litepcie_capture_info *info = arg;

	(void)fd;
	if (request == LITEPCIE_IOCTL_CAPTURE_GENERATE) {
		driver.starts += generate->size != 0;
		driver.stops += !generate->size;
		return 0;
	}
	if (request == LITEPCIE_IOCTL_CAPTURE_START) {
		driver.flags = ((struct litepcie_capture_start *)arg)->flags;
		driver.staging_bytes = ((struct litepcie_capture_start *)arg)->staging_bytes;
		if (driver.flags & ~driver.known) {
			errno = EINVAL;
			return -1;
		}
	}
	if (request == LITEPCIE_IOCTL_CAPTURE_INFO && !info->ask) {
		info->start_flags = driver.told;
		info->generating = driver.looks > 0;
		driver.looks -= driver.looks > 0;
		return 0;
	}
	errno = driver.error;
	return driver.error ? -1 : 0;
}

struct litepcie_memory *kernel_pages_get(struct litepcie *unused, unsigned int kind, uint64_t bytes)
{
	(void)unused;
	(void)kind;
	(void)bytes;
	return NULL;
}

void sysfs_driver_version(char *text, size_t size)
{
	snprintf(text, size, "%s", driver.version);
}

static bool says(const char *words)
{
	return strstr(litepcie_why(&dev), words) != NULL;
}

/*
 * Check that the library's start of the card's frame generator first waits until the last frame of
 * an earlier start has left the generator. If that takes longer than rest_ms, the start must fail
 * with -ETIMEDOUT. A stop of the generator must not wait.
 */
static void a_start_of_the_generator_waits_for_its_last_frame(void)
{
	const struct litepcie_generator generator = { .size = 64 };
	int64_t begun = litepcie_now_ms();

	capture.config.rest_ms = 100;
	driver.looks = UINT32_MAX;
	CHECK_EQUAL(generate(&capture, &generator), -ETIMEDOUT);
	CHECK(litepcie_now_ms() - begun >= 100);
	CHECK(says("the generator's last frame, which waits for room in the ring,"));
	CHECK(says("within 100 ms: release spans of the ring, or stop the capture"));
	CHECK(driver.starts == 0 && driver.stops == 1);
	CHECK_EQUAL(generate(&capture, NULL), 0);
	CHECK(driver.starts == 0 && driver.stops == 2);

	capture.config.rest_ms = -1;
	driver.looks = 20;
	CHECK_EQUAL(generate(&capture, &generator), 0);
	CHECK(driver.starts == 1 && driver.looks == 0);
}

static void a_card_that_does_not_rest_is_told(void)
{
	struct litepcie_capture_stats stats;
	struct litepcie_discards discards;

	driver.error = EIO;
	CHECK_EQUAL(start_capture(&capture), -ETIMEDOUT);
	CHECK(says("does not come to rest") && says("its counts") && says("reset it"));
	CHECK_EQUAL(stop_capture(&capture), -ETIMEDOUT);
	CHECK(says("does not come to rest") && says("reset it"));
	CHECK_EQUAL(get_accounts(&capture, &stats), -ETIMEDOUT);
	CHECK(says("the copy of the counts did not end: reset the card"));
	CHECK_EQUAL(get_discards(&capture, &discards), -ETIMEDOUT);
	driver.error = EPERM;
	capture.config.net = true;
	CHECK_EQUAL(start_capture(&capture), -EPERM);
	CHECK(says("the host's network traffic: their capture needs CAP_NET_RAW"));
	CHECK_EQUAL(driver.flags, LITEPCIE_CAPTURE_NET);
	capture.config.net = false;
	driver.error = ENODEV;
	CHECK_EQUAL(stop_capture(&capture), -ENODEV);
	CHECK_EQUAL(get_accounts(&capture, &stats), -ENODEV);
}

/* The driver is told to set the card's clock if the settings and the card say so. */
static void the_driver_sets_the_clock_that_it_is_told_to(void)
{
	driver.error = EPERM;
	CHECK_EQUAL(start_capture(&capture), -EPERM);
	CHECK_EQUAL(driver.flags, 0);
	dev.map.capture.clock_offset = 8;
	CHECK_EQUAL(start_capture(&capture), -EPERM);
	CHECK_EQUAL(driver.flags, LITEPCIE_CAPTURE_HOST_CLOCK);
	strcpy(dev.card.target, "sim");
	CHECK_EQUAL(start_capture(&capture), -EPERM);
	CHECK_EQUAL(driver.flags, 0);
	capture.config.clock = LITEPCIE_CLOCK_HOST;
	CHECK_EQUAL(start_capture(&capture), -EPERM);
	CHECK_EQUAL(driver.flags, LITEPCIE_CAPTURE_HOST_CLOCK);
	driver.error = 0;
	dev.card.target[0] = '\0';
}

/*
 * Check a start by a driver that knows the flags @known and says in INFO that it knows @told. The
 * settings are one flag of every driver, @clock and @net. Returns what the start returns.
 */
static int start_by(uint32_t known, uint32_t told, uint32_t clock, bool net)
{
	driver.known = known;
	driver.told = told;
	driver.flags = UINT32_MAX;
	capture.config.lossless = true;
	capture.config.clock = clock;
	capture.config.net = net;
	return start_capture(&capture);
}

/*
 * A driver that does not know the flag HOST_CLOCK starts a capture by the card's clock if the
 * library may choose the clock. The settings then say so, and a driver that knows the flag gets it.
 */
static void an_older_driver_starts_by_the_card_s_clock(void)
{
	const uint32_t all = EARLY_FLAGS | LITEPCIE_CAPTURE_NET | LITEPCIE_CAPTURE_HOST_CLOCK;
	const uint32_t old = EARLY_FLAGS;

	CHECK_EQUAL(start_by(old, 0, LITEPCIE_CLOCK_AUTO, false), 0);
	CHECK_EQUAL(driver.flags, LITEPCIE_CAPTURE_LOSSLESS);
	CHECK_EQUAL(capture.config.clock, LITEPCIE_CLOCK_CARD);
	CHECK_EQUAL(start_by(old, old, LITEPCIE_CLOCK_AUTO, false), 0);
	CHECK_EQUAL(driver.flags, LITEPCIE_CAPTURE_LOSSLESS);
	CHECK_EQUAL(start_by(all, all, LITEPCIE_CLOCK_AUTO, true), 0);
	CHECK_EQUAL(driver.flags, LITEPCIE_CAPTURE_LOSSLESS | LITEPCIE_CAPTURE_NET |
				  LITEPCIE_CAPTURE_HOST_CLOCK);
	CHECK_EQUAL(capture.config.clock, LITEPCIE_CLOCK_AUTO);
	CHECK_EQUAL(start_by(old | LITEPCIE_CAPTURE_NET, old | LITEPCIE_CAPTURE_NET,
			     LITEPCIE_CLOCK_AUTO, true), 0);
	CHECK_EQUAL(driver.flags, LITEPCIE_CAPTURE_LOSSLESS | LITEPCIE_CAPTURE_NET);
}

/*
 * The driver is told the queue's part of the staging memory unless it is an equal part. An older
 * driver cannot set it.
 */
static void the_driver_gets_the_queue_s_part_of_the_staging_memory(void)
{
	const uint32_t all = EARLY_FLAGS | LITEPCIE_CAPTURE_STAGING;

	dev.map.capture.staging_bytes = 1u << 18;
	capture.config.staging_bytes = 1u << 18;
	CHECK_EQUAL(start_by(all, all, LITEPCIE_CLOCK_CARD, false), 0);
	CHECK_EQUAL(driver.flags, LITEPCIE_CAPTURE_LOSSLESS);
	CHECK_EQUAL(driver.staging_bytes, 0);
	capture.config.staging_bytes = 1u << 19;
	CHECK_EQUAL(start_by(all, all, LITEPCIE_CLOCK_CARD, false), 0);
	CHECK_EQUAL(driver.flags, LITEPCIE_CAPTURE_LOSSLESS | LITEPCIE_CAPTURE_STAGING);
	CHECK_EQUAL(driver.staging_bytes, 1u << 19);
	CHECK_EQUAL(start_by(EARLY_FLAGS, 0, LITEPCIE_CLOCK_CARD, false), -EOPNOTSUPP);
	CHECK(says("cannot give a queue its own part of the staging memory") &&
	      says("or leave staging_bytes out"));
	dev.map.capture.staging_bytes = capture.config.staging_bytes = 0;
}

/*
 * If the program itself asks for what the driver does not know, nothing is started, and the
 * sentence says what to do. It has the driver's version, if that is known.
 */
static void an_older_driver_is_told_apart(void)
{
	CHECK_EQUAL(start_by(EARLY_FLAGS, 0, LITEPCIE_CLOCK_HOST, false), -EOPNOTSUPP);
	CHECK_EQUAL(driver.flags, UINT32_MAX);
	CHECK(says("fake: the driver litepcie.ko is older than this library"));
	CHECK(says("cannot set the card's clock to the host's time: load the driver that came "
		   "with the library, " LITEPCIE_RELEASE ", or record by the card's clock"));
	driver.version = "0.0.9";
	CHECK_EQUAL(start_by(EARLY_FLAGS, 0, LITEPCIE_CLOCK_AUTO, true), -EOPNOTSUPP);
	CHECK_EQUAL(driver.flags, UINT32_MAX);
	CHECK(says("the driver litepcie.ko 0.0.9 is older than this library and cannot record the "
		   "frames of a net device") && says("or record without them"));
	driver.error = EBUSY;
	CHECK_EQUAL(start_by(EARLY_FLAGS, 0, LITEPCIE_CLOCK_CARD, false), -EBUSY);
	CHECK_EQUAL(driver.flags, LITEPCIE_CAPTURE_LOSSLESS);
	driver.error = 0;
}

/*
 * The run of a queue is over for certain when the driver's status page says that queue 0 rests
 * without an error.
 */
static void the_page_says_when_the_run_is_complete(void)
{
	struct litepcie_capture_status page[2] = { 0 };

	CHECK(!is_complete(&capture));
	port.page = page;
	port.status = &page[1];
	for (uint32_t run = 0; run <= LITEPCIE_CAPTURE_RUN_READ; run++) {
		page[0].run = run;
		page[1].run = LITEPCIE_CAPTURE_RUN_RING - page[1].run;
		CHECK_EQUAL(is_complete(&capture), run == LITEPCIE_CAPTURE_RUN_REST);
	}
	page[0].run = LITEPCIE_CAPTURE_RUN_REST;
	page[0].error = -EIO;
	CHECK(!is_complete(&capture));
	port.page = port.status = NULL;
}

int main(void)
{
	dev.name = (char *)"fake";
	a_start_of_the_generator_waits_for_its_last_frame();
	a_card_that_does_not_rest_is_told();
	the_driver_sets_the_clock_that_it_is_told_to();
	an_older_driver_starts_by_the_card_s_clock();
	the_driver_gets_the_queue_s_part_of_the_staging_memory();
	an_older_driver_is_told_apart();
	the_page_says_when_the_run_is_complete();
	return failed_checks != 0;
}
