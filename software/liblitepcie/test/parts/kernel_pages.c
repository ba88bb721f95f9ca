/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test kernel/capture.c and kernel/pages.c with a made-up driver: which kind of pages the ring
 * gets, that all memory is given back once, and that counts of frames and settings are copied to
 * and from the right members of the driver's structs.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

/*
 * The two sources that are included below call ioctl(), open() and mmap(). Here these calls go to
 * functions of this test.
 */
#define ioctl(_fd, _request, _argument)	made_up_ioctl(_request, _argument)
#define open(_path, _flags)		made_up_open(_path)
#define mmap				made_up_mmap
#define litepcie_kernel_capture		tested
static int made_up_ioctl(unsigned long request, void *argument);
static int made_up_open(const char *path);
static void *made_up_mmap(void *place, size_t size, int rights, int flags, int fd, off_t offset);

#include "../../kernel/pages.c"
#include "../../kernel/capture.c"

#undef open
#undef mmap

#define RING		((uint64_t)4 << 20)
#define HUGE		((size_t)2 << 20)
#define HUGETLB_2M	(21u << MAP_HUGE_SHIFT)

static struct {
	int		status;		/* descriptor of the file that stands for the status page */
	bool		huge;		/* true: the machine has free huge pages of 2 MiB */
	/* how many of the next rings the driver refuses, and errno of the refusals */
	unsigned int	refused;
	int		error;
	/* number of rings that the library has offered to the driver, and address of the last */
	unsigned int	rings;
	uint8_t		*ring;
	/* sizes of huge pages that mmap() was asked for, as its flags, in the order of the calls */
	unsigned int	asked[4];
	unsigned int	askings;
	bool		recorded;	/* true: a program has the queue */
	uint32_t	queue;
	struct litepcie_capture_start	start;
	struct litepcie_capture_sort	sort;
	struct litepcie_capture_generate generate;
} driver;

static struct kernel kernel;
static struct litepcie dev = { .name = "made-up", .priv = &kernel };

int64_t sysfs_number(unsigned int minor, const char *name)
{
	(void)minor, (void)name;
	return -1;
}

static int made_up_open(const char *path)
{
	CHECK(strcmp(path, "/dev/litepcie7-capture") == 0);
	return fcntl(driver.status, F_DUPFD_CLOEXEC, 0);
}

static void *made_up_mmap(void *place, size_t size, int rights, int flags, int fd, off_t offset)
{
	unsigned int pages = (unsigned int)flags & (unsigned int)MAP_HUGE_MASK << MAP_HUGE_SHIFT;

	if (!(flags & MAP_HUGETLB))
		return mmap(place, size, rights, flags, fd, offset);
	driver.asked[driver.askings++ % 4] = pages;
	CHECK_EQUAL(size % HUGE, 0);
	if (!driver.huge || pages != HUGETLB_2M)
		return MAP_FAILED;
	return litepcie_memory_reserve(size, rights);
}

static int fail(int error)
{
	errno = error;
	return -1;
}

static int take_pages(const struct litepcie_capture_ring *ring)
{
	driver.ring = (void *)(uintptr_t)ring->address;
	driver.rings++;
	CHECK_EQUAL(ring->bytes, RING);
	CHECK_EQUAL(ring->address % HUGE, 0);
	memset(driver.ring, 1, ring->bytes);
	if (!driver.refused)
		return 0;
	driver.refused--;
	return fail(driver.error);
}

static void fill(struct litepcie_capture_account *account, size_t count)
{
	for (size_t n = 0; n < count; n++)
		account[n] = (struct litepcie_capture_account) { n + 1, 1000 + n };
}

/* The version of the made-up driver, which no sentence of this test has. */
void sysfs_driver_version(char *text, size_t size)
{
	(void)size;
	*text = '\0';
}

static int made_up_ioctl(unsigned long request, void *argument)
{
	struct litepcie_capture_info *info = argument;

	switch (request) {
	case LITEPCIE_IOCTL_CAPTURE_QUEUE:
		driver.queue = ((struct litepcie_capture_choice *)argument)->queue;
		return 0;
	case LITEPCIE_IOCTL_CAPTURE_RING:
		return take_pages(argument);
	case LITEPCIE_IOCTL_CAPTURE_START:
		driver.start = *(struct litepcie_capture_start *)argument;
		return 0;
	case LITEPCIE_IOCTL_CAPTURE_SORT:
		driver.sort = *(struct litepcie_capture_sort *)argument;
		return 0;
	case LITEPCIE_IOCTL_CAPTURE_GENERATE:
		driver.generate = *(struct litepcie_capture_generate *)argument;
		return 0;
	case LITEPCIE_IOCTL_CAPTURE_STOP:
		((struct litepcie_capture_stop *)argument)->position = 4096;
		return 0;
	case LITEPCIE_IOCTL_CAPTURE_INFO:
		/*
		 * A start of the generator asks for the generator's state only, with @ask 0. It
		 * gets no counts.
		 */
		if (!info->ask)
			return 0;
		CHECK_EQUAL(info->ask, LITEPCIE_CAPTURE_ASK_ACCOUNTS);
		fill(&info->port[0].delivered, 4 * LITEPCIE_CAPTURE_PORTS);
		info->position = 3 * RING;
		info->limit = info->position + RING / 2;
		info->ring_bytes = driver.recorded ? RING : 0;
		return 0;
	case LITEPCIE_IOCTL_CAPTURE_DISCARDS:
		fill(((struct litepcie_capture_discards *)argument)->account,
		     LITEPCIE_CAPTURE_RULES + LITEPCIE_CAPTURE_PORTS);
		return 0;
	default:
		return fail(ENOTTY);
	}
}

static struct litepcie_capture begin(uint32_t queue, uint64_t page_bytes)
{
	struct litepcie_capture capture = {
		.dev = &dev, .access = &tested, .end = UINT64_MAX,
		.config = { .ring_bytes = RING, .mbuf_bytes = 65536, .queue = queue,
			    .page_bytes = page_bytes },
	};
	int status = driver.status;

	memset(&driver, 0, sizeof(driver));
	driver.status = status;
	CHECK_EQUAL(tested.open(&capture), 0);
	CHECK_EQUAL(driver.queue, queue);
	return capture;
}

static bool is_mapped(const void *memory)
{
	return msync((void *)memory, 4096, MS_ASYNC) == 0 || errno != ENOMEM;
}

/*
 * Map other memory at @place, where the library had a ring that it has given back, and close the
 * capture. If the close gave that ring back a second time, it would unmap this memory.
 */
static void close_beside(struct litepcie_capture *capture, void *place)
{
	void *own = mmap(place, HUGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
			 MAP_FIXED_NOREPLACE, -1, 0);

	CHECK(own == place);
	tested.close(capture);
	CHECK(is_mapped(place));
	munmap(own, HUGE);
}

/* Tests of the memory of a ring --------------------------------------------------------------- */

static void a_close_gives_ring_and_page_back(void)
{
	struct litepcie_capture capture = begin(0, 0);
	const void *line;

	CHECK_EQUAL(tested.start(&capture), 0);
	CHECK_EQUAL(tested.start(&capture), 0);
	CHECK_EQUAL(driver.rings, 1);
	CHECK(capture.ring == driver.ring && is_mapped(capture.ring));
	CHECK_EQUAL(driver.start.limit, RING);
	CHECK(capture.limit == RING && capture.limits == 1);
	line = capture.line;
	CHECK(is_mapped(line));
	tested.close(&capture);
	CHECK(!is_mapped(capture.ring) && !is_mapped(capture.ring + RING - 4096));
	CHECK(!is_mapped(line));
}

/*
 * The library tries the largest huge pages first. A ring of 4 MiB fills no page of 1 GiB, so pages
 * of 2 MiB must be the first. If the driver refuses them with EMSGSIZE, the library must try
 * ordinary pages, which the kernel may make huge.
 */
static void the_largest_pages_come_first(void)
{
	struct litepcie_capture capture = begin(0, 0);

	driver.huge = true;
	CHECK_EQUAL(tested.start(&capture), 0);
	CHECK_EQUAL(driver.askings, 1);
	CHECK_EQUAL(driver.asked[0], HUGETLB_2M);
	CHECK_EQUAL(driver.rings, 1);
	tested.close(&capture);

	/* the driver refuses the huge pages of 2 MiB, and accepts the next kind */
	capture = begin(0, 0);
	driver.huge = true;
	driver.refused = 1;
	driver.error = EMSGSIZE;
	CHECK_EQUAL(tested.start(&capture), 0);
	CHECK_EQUAL(driver.rings, 2);
	tested.close(&capture);
}

/*
 * A ring that does not fill whole pages of 2 MiB gets whole pages nevertheless. A page of 1 GiB is
 * taken only if the ring fills it.
 */
static void a_small_ring_takes_a_whole_page(void)
{
	driver.huge = true;
	CHECK(!kernel_pages_get(&dev, KERNEL_PAGES_1G, LITEPCIE_CAPTURE_PAGES_1G - 1));
	for (unsigned int kind = KERNEL_PAGES_2M; kind < KERNEL_PAGES; kind++) {
		struct litepcie_memory *memory = kernel_pages_get(&dev, kind, HUGE + 65536);

		CHECK(memory && memory->size == 2 * HUGE && !memory->placed && memory->fd < 0);
		litepcie_memory_drop(memory);
	}
}

static void only_the_pages_that_were_asked_for_are_taken(void)
{
	struct litepcie_capture capture = begin(0, LITEPCIE_CAPTURE_PAGES_2M);

	CHECK_EQUAL(tested.start(&capture), -ENOMEM);
	CHECK(strstr(litepcie_why(&dev), "there are no 2 free huge pages of 2 MiB"));
	CHECK_EQUAL(driver.rings, 0);
	driver.huge = true;
	CHECK_EQUAL(tested.start(&capture), 0);
	CHECK_EQUAL(driver.rings, 1);
	tested.close(&capture);

	capture = begin(0, LITEPCIE_CAPTURE_PAGES_2M);
	driver.huge = true;
	driver.refused = 9;
	driver.error = EMSGSIZE;
	CHECK_EQUAL(tested.start(&capture), -EMSGSIZE);
	CHECK(strstr(litepcie_why(&dev), "an MBUF of 65536 bytes must lie in one page"));
	CHECK_EQUAL(driver.rings, 1);
	close_beside(&capture, driver.ring);
}

/*
 * The memory of a ring that the driver refuses is unmapped at once, and not a second time when the
 * capture is closed.
 */
static void a_refused_ring_is_given_back_once(void)
{
	static const int errors[] = { EMSGSIZE, ENOMEM, EBUSY };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct litepcie_capture capture = begin(0, 0);

		driver.refused = 9;
		driver.error = errors[i];
		CHECK_EQUAL(tested.start(&capture), -errors[i]);
		CHECK(driver.rings > 0);
		CHECK(!is_mapped(driver.ring) && !is_mapped(driver.ring + RING - 4096));
		CHECK(!capture.ring && !capture.line);
		close_beside(&capture, driver.ring);
	}
}

/* Tests of accounts and settings -------------------------------------------------------------- */

static bool is_account(const struct litepcie_account *account, uint64_t number)
{
	return account->frames == number + 1 && account->bytes == 1000 + number;
}

static void each_account_has_its_place(void)
{
	struct litepcie_capture_stats stats = { 0 };
	struct litepcie_capture capture = begin(0, 0);
	struct litepcie_discards discards = { 0 };

	CHECK_EQUAL(tested.accounts(&capture, &stats), 0);
	for (uint64_t n = 0; n < LITEPCIE_CAPTURE_PORTS; n++)
		CHECK(is_account(&stats.port[n].delivered, 4 * n) &&
		      is_account(&stats.port[n].bad, 4 * n + 1) &&
		      is_account(&stats.port[n].lost_ring, 4 * n + 2) &&
		      is_account(&stats.port[n].lost_staging, 4 * n + 3));
	CHECK_EQUAL(tested.discards(&capture, &discards), 0);
	for (uint64_t n = 0; n < LITEPCIE_CAPTURE_RULES; n++)
		CHECK(is_account(&discards.rule[n], n));
	for (uint64_t n = 0; n < LITEPCIE_CAPTURE_PORTS; n++)
		CHECK(is_account(&discards.port[n], LITEPCIE_CAPTURE_RULES + n));
	tested.close(&capture);
}

/*
 * A handle that has not taken its queue gets the position of the program that has the queue, and
 * what that program has given back to the card. If no program has it, or the handle itself, these
 * two counts are left to the caller.
 */
static void the_progress_of_another_program_is_told(void)
{
	struct litepcie_capture_stats stats = { .position = 7, .released = 5 };
	struct litepcie_capture capture = begin(0, 0);

	CHECK_EQUAL(tested.accounts(&capture, &stats), 0);
	CHECK(stats.position == 7 && stats.released == 5);
	driver.recorded = true;
	CHECK_EQUAL(tested.accounts(&capture, &stats), 0);
	CHECK(stats.position == 3 * RING && stats.released == 5 * RING / 2);
	CHECK_EQUAL(tested.start(&capture), 0);
	stats.position = stats.released = 9;
	CHECK_EQUAL(tested.accounts(&capture, &stats), 0);
	CHECK(stats.position == 9 && stats.released == 9);
	tested.close(&capture);
}

/*
 * The driver's status page is an array with an element for each queue. The capture of queue 3 must
 * use element 3, which begins with the queue's status line.
 */
static void a_queue_has_its_own_status(void)
{
	struct litepcie_capture_status status = { .position = 4096, .records = 5 };
	struct litepcie_capture capture = begin(3, 0);

	CHECK_EQUAL(pwrite(driver.status, &status, sizeof(status), 3 * sizeof(status)),
		    sizeof(status));
	CHECK_EQUAL(tested.start(&capture), 0);
	CHECK_EQUAL(capture.line->records, 5);
	CHECK_EQUAL(tested.stop(&capture), 0);
	CHECK_EQUAL(capture.end, 4096);
	CHECK_EQUAL(capture.seen.records, 5);
	tested.close(&capture);
}

static void settings_go_to_the_driver(void)
{
	const struct litepcie_generator generator = {
		.size = 64, .period = 2, .count = 3, .seed = 4, .port_mask = 5,
	};
	struct litepcie_capture capture = begin(0, 0);
	struct litepcie_sorting sorting = { .rules = 2, .by_port = true };

	sorting.rule[1][2] = 77;
	sorting.spread[127] = 9;
	capture.config.keep_bad = true;
	capture.config.newest = true;
	capture.config.snap = 96;
	CHECK_EQUAL(tested.generate(&capture, NULL), 0);
	CHECK_EQUAL(tested.sort(&capture, &sorting), 0);
	CHECK_EQUAL(driver.rings, 1);
	CHECK_EQUAL(driver.sort.flags, LITEPCIE_CAPTURE_SORT_ON | LITEPCIE_CAPTURE_SORT_BY_PORT);
	CHECK(driver.sort.rules == 2 && driver.sort.rule[1][2] == 77);
	CHECK_EQUAL(driver.sort.spread[127], 9);
	CHECK_EQUAL(tested.sort(&capture, NULL), 0);
	CHECK(!driver.sort.flags && !driver.sort.rules && !driver.sort.rule[1][2]);
	CHECK_EQUAL(tested.start(&capture), 0);
	CHECK_EQUAL(driver.start.flags, LITEPCIE_CAPTURE_KEEP_BAD | LITEPCIE_CAPTURE_NEWEST);
	CHECK_EQUAL(driver.start.snap, 96);
	CHECK_EQUAL(tested.generate(&capture, &generator), 0);
	CHECK(driver.generate.size == 64 && driver.generate.period == 2 &&
	      driver.generate.count == 3 && driver.generate.seed == 4 &&
	      driver.generate.port_mask == 5);
	CHECK_EQUAL(tested.generate(&capture, NULL), 0);
	CHECK_EQUAL(driver.generate.size, 0);
	tested.close(&capture);
}

int main(void)
{
	kernel.minor = 7;
	driver.status = litepcie_memory_file(CAPTURE_STATUS_BYTES, 0);
	a_close_gives_ring_and_page_back();
	the_largest_pages_come_first();
	a_small_ring_takes_a_whole_page();
	only_the_pages_that_were_asked_for_are_taken();
	a_refused_ring_is_given_back_once();
	each_account_has_its_place();
	the_progress_of_another_program_is_told();
	a_queue_has_its_own_status();
	settings_go_to_the_driver();
	return failed_checks != 0;
}
