/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test a recording in several folders (deal.c of lanebox-capture): MBUFs (parts of the ring) go to
 * the folders round robin, and a folder that is slow or full is passed over. The test has stand-ins
 * for the disks. The argument is an empty folder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "check.h"
#include "litepcie_capture.h"

#define PAGE	((size_t)LITEPCIE_CAPTURE_HEADER_BYTES)
#define MBUF	((size_t)4096)
#define RING	12u		/* number of MBUFs (parts of equal size) in the ring */
#define FOLDERS	3u
#define MOST	200u		/* largest number of MBUFs (parts of the ring) that a test writes */
#define SECTION	32u		/* bytes of the section block in the header */

/* Stand-ins for the disks --------------------------------------------------------------------- */

/* Stand-in for the disk of each folder. Writes of a file's header never wait or fail. */
static struct {
	/* true: writes of MBUFs (parts of the ring) wait until this becomes false */
	bool		holds;
	unsigned int	waiting;	/* number of writes that wait because of @holds */
	/* number of MBUFs (parts of the ring) written so far, and for how many the disk has room */
	unsigned int	writes, most;
} disks[FOLDERS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Returns the number of the folder in which the file @fd is. The folders' names are 0, 1 and 2. */
static unsigned int folder_of(int fd)
{
	char link[64], path[512], *slash;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length < 0 ? 0 : length] = 0;
	slash = strrchr(path, '/');
	return (unsigned int)(slash[-1] - '0');
}

static ssize_t disk_write(int fd, const void *data, size_t bytes)
{
	unsigned int n = folder_of(fd);
	bool full = false;

	pthread_mutex_lock(&lock);
	if (*(const uint8_t *)data != 0x0a) {
		disks[n].waiting++;
		pthread_cond_broadcast(&changed);
		while (disks[n].holds)
			pthread_cond_wait(&changed, &lock);
		disks[n].waiting--;
		full = disks[n].writes == disks[n].most;
		disks[n].writes += !full;
	}
	pthread_mutex_unlock(&lock);
	if (!full)
		return write(fd, data, bytes);
	errno = ENOSPC;
	return -1;
}

static void hold(unsigned int n, bool on)
{
	pthread_mutex_lock(&lock);
	disks[n].holds = on;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Wait until a write of an MBUF (a part of the ring) to folder @n has begun and waits. */
static void await_write(unsigned int n)
{
	pthread_mutex_lock(&lock);
	while (!disks[n].waiting)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/*
 * io_uring is refused in this test, so output_write() waits for each write.
 */
#include "../../lanebox_capture/disk/uring.h"

int uring_open(struct uring *uring, unsigned int entries)
{
	*uring = (struct uring) { .fd = -1, .entries = entries };
	return -ENOSYS;
}

void uring_register(struct uring *uring, const void *memory, size_t bytes)
{
	(void)uring, (void)memory, (void)bytes;
}

void uring_write(struct uring *uring, int fd, const void *data, size_t bytes, uint64_t offset,
		 uint64_t number)
{
	(void)uring, (void)fd, (void)data, (void)bytes, (void)offset, (void)number;
}

int uring_submit(struct uring *uring, unsigned int least)
{
	(void)uring, (void)least;
	return 0;
}

bool uring_take(struct uring *uring, struct uring_end *end)
{
	(void)uring, (void)end;
	return false;
}

void uring_close(struct uring *uring)
{
	(void)uring;
}

/* Stand-in for processor.c: no thread of this test is pinned to a processor. */
void processor_unpin(void)
{
}

#define write disk_write
#include "../../lanebox_capture/disk/output.c"
#undef write
#include "../../lanebox_capture/record/deal.c"

/* Stand-in for a recording -------------------------------------------------------------------- */

static char names[FOLDERS][256], *targets[FOLDERS];
static uint8_t header[PAGE] __attribute__((aligned(4096)));
static uint8_t ring[RING * MBUF] __attribute__((aligned(4096)));
static char why[OUTPUT_WHY];
static struct deal deal;
static unsigned int released;

static void put(size_t at, uint32_t value)
{
	memcpy(header + at, &value, sizeof(value));
}

/* Make a header that has only the types and lengths of its two blocks: a section, and a filler. */
static void make_header(void)
{
	memset(header, 0, sizeof(header));
	put(0, LITEPCIE_PCAPNG_SECTION);
	put(4, SECTION);
	put(SECTION - 4, SECTION);
	put(SECTION, LITEPCIE_PCAPNG_FILLER);
	put(SECTION + 4, (uint32_t)PAGE - SECTION);
	put(PAGE - 4, (uint32_t)PAGE - SECTION);
}

/*
 * Returns true if the thread of each folder has nothing to write and waits for an MBUF (a part of
 * the ring).
 */
static bool are_ready(void)
{
	bool ready = true;

	pthread_mutex_lock(&deal.lock);
	for (unsigned int n = 0; n < FOLDERS; n++)
		ready &= deal.folders[n].ready;
	pthread_mutex_unlock(&deal.lock);
	return ready;
}

static void begin(uint64_t file_bytes)
{
	memset(disks, 0, sizeof(disks));
	for (unsigned int n = 0; n < FOLDERS; n++)
		disks[n].most = MOST;
	released = 0;
	CHECK(deal_open(&deal, targets, FOLDERS, (struct output_limits) { file_bytes, 0 }, header,
			PAGE, why));
	CHECK(deal_begin(&deal, ring, sizeof(ring), MBUF, why));
	while (!are_ready())
		sched_yield();
}

/*
 * Write over the MBUFs (parts of the ring) that deal_done() says are written, as the card may do
 * then.
 */
static void give_back(void)
{
	for (unsigned int done = deal_done(&deal); done; done--)
		memset(ring + released++ % RING * MBUF, 0xee, MBUF);
}

/*
 * Fill MBUF @number (a part of the ring) when the ring has room for it, and give it to the folders.
 * Its second and third byte are its number, and all its other bytes are 1. Returns what
 * deal_write() returns.
 */
static bool give(unsigned int number)
{
	uint8_t *mbuf = ring + number % RING * MBUF;

	while (number - released == RING)
		give_back();
	memset(mbuf, 1, MBUF);
	mbuf[1] = (uint8_t)number;
	mbuf[2] = (uint8_t)(number >> 8);
	return deal_write(&deal);
}

/* Files of the folders ------------------------------------------------------------------------ */

static uint8_t seen[MOST];	/* how often MBUF n (part of the ring) is in a file: seen[n] */

/*
 * Check that a file's header is a section and a filler of correct lengths, and that the section has
 * the comment "Lanebox: folder N of M".
 */
static void check_header(const uint8_t *page, unsigned int folder)
{
	char text[64];
	uint32_t section, filler, length, option;
	size_t size = (size_t)snprintf(text, sizeof(text), "Lanebox: folder %u of %u", folder + 1,
				       FOLDERS);

	memcpy(&section, page + 4, 4);
	memcpy(&option, page + 24, 4);
	CHECK_EQUAL(section, SECTION + 4 + (size + 3) / 4 * 4);
	memcpy(&length, page + section - 4, 4);
	CHECK_EQUAL(length, section);
	CHECK_EQUAL(option, 1u | (uint32_t)size << 16);
	CHECK(memcmp(page + 28, text, size) == 0);
	memcpy(&filler, page + section, 4);
	CHECK_EQUAL(filler, LITEPCIE_PCAPNG_FILLER);
	memcpy(&length, page + section + 4, 4);
	CHECK_EQUAL(length, PAGE - section);
	CHECK(memcmp(page + PAGE - 4, page + section + 4, 4) == 0);
}

/*
 * Check that a file has its header, and then whole MBUFs (parts of the ring) in the order of their
 * numbers. Returns the number of MBUFs.
 */
static unsigned int check_file(const char *path, unsigned int folder)
{
	uint8_t *data = malloc(PAGE + MOST * MBUF + 1);
	int fd = open(path, O_RDONLY), before = -1;
	ssize_t size = read(fd, data, PAGE + MOST * MBUF + 1);
	unsigned int count = (unsigned int)((size_t)size - PAGE) / (unsigned int)MBUF;

	CHECK_EQUAL(size, PAGE + count * MBUF);
	check_header(data, folder);
	for (unsigned int n = 0; n < count; n++) {
		const uint8_t *mbuf = data + PAGE + n * MBUF;
		int number = mbuf[1] | mbuf[2] << 8;

		CHECK(mbuf[0] == 1 && mbuf[MBUF - 1] == 1 && number > before);
		if (number < (int)MOST)
			seen[number]++;
		before = number;
	}
	close(fd);
	free(data);
	return count;
}

/*
 * End the recording. Each of its first @count MBUFs (parts of the ring) must be in exactly one
 * file. shares[n] becomes the number of MBUFs in folder n, and files[n] the number of files in
 * folder n.
 */
static void end(unsigned int count, unsigned int *shares, unsigned int *files)
{
	memset(seen, 0, sizeof(seen));
	deal_close(&deal);
	for (unsigned int n = 0; n < FOLDERS; n++) {
		const struct output *output = &deal.folders[n].output;

		shares[n] = 0;
		files[n] = (unsigned int)output->count;
		for (size_t i = 0; i < output->count; i++) {
			unsigned int mbufs = check_file(output->files[i].path, n);

			CHECK_EQUAL(output->files[i].mbufs, mbufs);
			shares[n] += mbufs;
			unlink(output->files[i].path);
		}
	}
	for (unsigned int n = 0; n < count; n++)
		CHECK_EQUAL(seen[n], 1);
	deal_free(&deal);
}

/* Tests of which folder gets which MBUF ------------------------------------------------------- */

/*
 * If all three folders are ready for each MBUF (part of the ring), each folder must get a third of
 * the MBUFs.
 */
static void mbufs_are_dealt_in_turn(void)
{
	unsigned int shares[FOLDERS], files[FOLDERS];

	begin(0);
	for (unsigned int n = 0; n < 60; n++) {
		CHECK(give(n));
		CHECK(deal_finish(&deal));
		while (!are_ready())
			sched_yield();
	}
	end(60, shares, files);
	for (unsigned int n = 0; n < FOLDERS; n++) {
		CHECK_EQUAL(shares[n], 20);
		CHECK_EQUAL(files[n], 1);
	}
}

/*
 * If many MBUFs (parts of the ring) come at once, all must be written, five to a file, of which the
 * last in a folder may have fewer. No MBUF may be given back to the card before it is written.
 */
static void many_mbufs_come_at_once(void)
{
	unsigned int shares[FOLDERS], files[FOLDERS];

	begin(PAGE + 5 * MBUF);
	for (unsigned int n = 0; n < MOST; n++)
		CHECK(give(n));
	CHECK(deal_finish(&deal));
	give_back();
	CHECK_EQUAL(released, MOST);
	end(MOST, shares, files);
	CHECK_EQUAL(shares[0] + shares[1] + shares[2], MOST);
	for (unsigned int n = 0; n < FOLDERS; n++)
		CHECK_EQUAL(files[n], (shares[n] + 4) / 5 + !shares[n]);
}

/* Wait until all MBUFs (parts of the ring) are in files, except those that folder 1 has taken. */
static void await_others(void)
{
	pthread_mutex_lock(&deal.lock);
	while (deal.next < deal.given || deal.folders[0].count || deal.folders[2].count)
		pthread_cond_wait(&deal.done_news, &deal.lock);
	pthread_mutex_unlock(&deal.lock);
}

/*
 * The folder whose disk stands still has taken MBUF 1 (a part of the ring), and the other folders
 * must get the rest of the ring. The MBUFs after MBUF 1 may be given back to the card only after
 * MBUF 1 is written.
 */
static void a_slow_folder_is_passed_over(void)
{
	unsigned int shares[FOLDERS], files[FOLDERS];

	begin(0);
	hold(1, true);
	CHECK(give(0));
	CHECK(give(1));
	await_write(1);
	for (unsigned int n = 2; n < RING; n++)
		CHECK(give(n));
	await_others();
	give_back();
	CHECK_EQUAL(released, 1);
	hold(1, false);
	CHECK(deal_finish(&deal));
	give_back();
	CHECK_EQUAL(released, RING);
	end(RING, shares, files);
	CHECK_EQUAL(shares[1], 1);
	CHECK_EQUAL(shares[0] + shares[2], RING - 1);
}

/*
 * The disk of one folder is full after three MBUFs (parts of the ring). The other folders must
 * write the MBUFs that this folder has not written. The full folder must keep its file with three
 * MBUFs.
 */
static void a_full_folder_loses_nothing(void)
{
	unsigned int shares[FOLDERS], files[FOLDERS];

	begin(0);
	disks[1].most = 3;
	for (unsigned int n = 0; n < 60; n++) {
		CHECK(give(n));
		CHECK(deal_finish(&deal));
	}
	deal_close(&deal);
	CHECK(!deal.folders[0].failed && deal.folders[1].failed && !deal.folders[2].failed);
	CHECK(strstr(deal.folders[1].output.why, "No space left on device: the file ends after 3"));
	end(60, shares, files);
	CHECK_EQUAL(shares[1], 3);
	CHECK_EQUAL(shares[0] + shares[2], 57);
}

/*
 * A folder that fails leaves MBUF 1 (a part of the ring), which is older than MBUFs that are
 * already in the other folders' files. In a file MBUFs have the order of their numbers, so the
 * folder that takes MBUF 1 must begin a new file with it. The two folders that have not failed must
 * then have three files together.
 */
static void what_is_left_begins_a_file(void)
{
	unsigned int shares[FOLDERS], files[FOLDERS];

	begin(0);
	disks[1].most = 0;
	hold(1, true);
	for (unsigned int n = 0; n < RING; n++) {
		CHECK(give(n));
		if (n == 1)
			await_write(1);
		await_others();
	}
	hold(1, false);
	CHECK(deal_finish(&deal));
	end(RING, shares, files);
	CHECK_EQUAL(shares[1], 0);
	CHECK_EQUAL(files[0] + files[2], 3);
}

/*
 * Each of the three folders has room for two MBUFs (parts of the ring). When all folders are full,
 * deal_write() and deal_finish() must return false. Which six MBUFs are in files depends on the
 * order in which the folders write.
 */
static void all_folders_are_full(void)
{
	unsigned int shares[FOLDERS], files[FOLDERS], given = 0;

	begin(0);
	for (unsigned int n = 0; n < FOLDERS; n++)
		disks[n].most = 2;
	while (given < RING && give(given))
		given++;
	CHECK(!deal_finish(&deal));
	CHECK(!give(given));
	give_back();
	end(0, shares, files);
	for (unsigned int n = 0; n < FOLDERS; n++)
		CHECK_EQUAL(shares[n], 2);
	for (unsigned int n = 0; n < given; n++)
		CHECK(seen[n] <= 1);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	for (unsigned int n = 0; n < FOLDERS; n++) {
		snprintf(names[n], sizeof(names[n]), "%s/%u", argv[1], n);
		targets[n] = names[n];
		mkdir(names[n], 0777);
	}
	make_header();
	mbufs_are_dealt_in_turn();
	many_mbufs_come_at_once();
	a_slow_folder_is_passed_over();
	a_full_folder_loses_nothing();
	what_is_left_begins_a_file();
	all_folders_are_full();
	return failed_checks != 0;
}
