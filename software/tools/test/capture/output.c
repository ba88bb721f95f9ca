/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test how lanebox-capture writes a recording: its files (disk/output.c), and the loop that fills
 * these files (record/record.c). The test has stand-ins for the library and the disk. Some writes
 * to the disk are short, are interrupted, or find the disk full. The argument is an empty folder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "capture_disk.h"
#include "capture_player.h"

#define PAGE	((size_t)LITEPCIE_CAPTURE_HEADER_BYTES)
#define MBUF	((size_t)16384)
#define MBUFS	8u

static const struct output_limits no_limits;
static char folder[200], path[256];
static uint8_t *header, *mbufs;

static void fill_mbufs(void)
{
	memset(header, 0x11, PAGE);
	for (unsigned int i = 0; i < MBUFS; i++)
		memset(mbufs + i * MBUF, 0x20 + (int)i, MBUF);
}

/*
 * Check that the file has the header, then the MBUFs (parts of the ring) from @first to @end - 1,
 * and nothing behind them.
 */
static void has_mbufs(const char *name, unsigned int first, unsigned int end)
{
	size_t size = PAGE + (end - first) * MBUF;
	uint8_t *data = malloc(size + 1);
	int fd = open(name, O_RDONLY);

	CHECK_EQUAL(read(fd, data, size + 1), size);
	CHECK(memcmp(data, header, PAGE) == 0);
	for (unsigned int i = first; i < end; i++)
		for (size_t byte = 0; byte < MBUF; byte++)
			if (data[PAGE + (i - first) * MBUF + byte] != 0x20 + i) {
				CHECK_EQUAL(data[PAGE + (i - first) * MBUF + byte], 0x20 + i);
				break;
			}
	close(fd);
	free(data);
}

/* Delete all files in the test's folder. Returns the number of files. */
static unsigned int sweep(void)
{
	DIR *open = opendir(folder);
	unsigned int found = 0;
	struct dirent *entry;
	char name[600];

	while ((entry = readdir(open))) {
		snprintf(name, sizeof(name), "%s/%s", folder, entry->d_name);
		found += unlink(name) == 0;
	}
	closedir(open);
	return found;
}

static void has_words(const char *text, const char *words)
{
	CHECK(strstr(text, words) != NULL);
	if (!strstr(text, words))
		fprintf(stderr, "not \"%s\" but \"%s\"\n", words, text);
}

/* Tests of the files of a recording ----------------------------------------------------------- */

/*
 * Open a file and write @count MBUFs (parts of the ring) to it, one after the other, up to the
 * first that is refused. Returns how many were accepted. The file stays open.
 */
static unsigned int write_file(struct output *output, unsigned int count)
{
	unsigned int done = 0;

	fill_mbufs();
	CHECK(output_open(output, path, no_limits, header, PAGE));
	while (done < count && output_write(output, mbufs + done * MBUF, MBUF))
		done++;
	return done;
}

/*
 * One write to a file is interrupted, is short, or is refused since the file is open with O_DIRECT.
 * All MBUFs (parts of the ring) must be in the file nevertheless.
 */
static void a_write_goes_on(void)
{
	const struct {
		int error;
		size_t most;
		const char *note;
	} faults[] = {
		{ EINTR, 0, "" },
		{ EINVAL, 0, "the filesystem refuses a write by O_DIRECT" },
		{ 0, 4096, "" },
		{ 0, 5000, "so the data goes through the page cache" },
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct output output;
		bool direct;

		plan(0, 0, 0);
		CHECK_EQUAL(write_file(&output, 0), 0);
		direct = output.direct;
		output_free(&output);
		unlink(path);
		if (!direct && *faults[i].note)
			/*
			 * A fault with a note is one of a write by O_DIRECT. This filesystem does
			 * not support O_DIRECT, so such a fault is left out.
			 */
			continue;
		plan(3, faults[i].error, faults[i].most);
		CHECK_EQUAL(write_file(&output, 4), 4);
		CHECK(output_close(&output));
		has_mbufs(path, 0, 4);
		CHECK_EQUAL(output.files[0].bytes, PAGE + 4 * MBUF);
		if (direct)
			has_words(output.note, faults[i].note);
		CHECK(!direct || output.direct == !*faults[i].note);
		output_free(&output);
		CHECK_EQUAL(sweep(), 1);
	}
}

/*
 * The write of one MBUF (part of the ring) finds the disk full. The file must end before that MBUF.
 * Later MBUFs must be refused, even if the disk has room again, since the file would lack the MBUF
 * between.
 */
static void a_full_disk_ends_a_file(void)
{
	struct output output;

	plan(4, ENOSPC, 0);
	CHECK_EQUAL(write_file(&output, 5), 2);
	has_words(output.why, "No space left on device: the file ends after 2 MBUFs");
	CHECK(!output_write(&output, mbufs + 3 * MBUF, MBUF));
	has_words(output.why, "the file ends after 2 MBUFs");
	CHECK(output_close(&output));
	has_mbufs(path, 0, 2);
	CHECK_EQUAL(output.files[0].mbufs, 2);
	output_free(&output);
	CHECK_EQUAL(sweep(), 1);
}

/*
 * If a write fails after some bytes of an MBUF (a part of the ring) were written, these bytes must
 * be cut off the file.
 */
static void a_part_of_an_mbuf_is_cut_off(void)
{
	struct output output;

	plan(0, 0, 0);
	CHECK_EQUAL(write_file(&output, 2), 2);
	CHECK_EQUAL(write(output.fd, mbufs, 4096), 4096);
	plan(1, EIO, 0);
	CHECK(!output_write(&output, mbufs + 2 * MBUF, MBUF));
	CHECK(output_close(&output));
	has_mbufs(path, 0, 2);
	output_free(&output);
	CHECK_EQUAL(sweep(), 1);
}

/*
 * No file may be larger than the limit that was set for it, and each MBUF (part of the ring) must
 * be in exactly one file.
 */
static void a_limit_is_not_exceeded(void)
{
	const struct {
		uint64_t most;
		unsigned int each;
	} limits[] = {
		{ PAGE + 3 * MBUF, 3 }, { PAGE + 3 * MBUF - 1, 2 }, { PAGE + 3 * MBUF + 1, 3 },
		{ PAGE + MBUF, 1 },
	};

	plan(0, 0, 0);
	fill_mbufs();
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		unsigned int each = limits[i].each;
		struct output output;

		CHECK(output_open(&output, folder, (struct output_limits) { limits[i].most, 0 },
				  header, PAGE));
		for (unsigned int n = 0; n < MBUFS; n++)
			CHECK(output_write(&output, mbufs + n * MBUF, MBUF));
		CHECK(output_close(&output));
		CHECK_EQUAL(output.count, (MBUFS + each - 1) / each);
		for (unsigned int n = 0; n < output.count; n++)
			has_mbufs(output.files[n].path, n * each,
				  n * each + each < MBUFS ? n * each + each : MBUFS);
		output_free(&output);
		CHECK_EQUAL(sweep(), (MBUFS + each - 1) / each);
	}
}

/*
 * With a limit of 60 s a file gets no further MBUF (part of the ring) once it is so old. A file
 * without an MBUF is kept, however old it is. The next file has the time anew.
 */
static void an_old_file_ends(void)
{
	struct output output;

	plan(0, 0, 0);
	fill_mbufs();
	CHECK(output_open(&output, folder, (struct output_limits) { 0, 60 }, header, PAGE));
	output.begun_ms -= 60000;
	for (unsigned int n = 0; n < MBUFS; n++) {
		if (n == 2)
			output.begun_ms -= 30000;
		if (n == 3)
			output.begun_ms -= 30000;
		CHECK(output_write(&output, mbufs + n * MBUF, MBUF));
	}
	CHECK(output_close(&output));
	CHECK_EQUAL(output.count, 3);
	has_mbufs(output.files[0].path, 0, 1);
	has_mbufs(output.files[1].path, 1, 3);
	has_mbufs(output.files[2].path, 3, MBUFS);
	output_free(&output);
	CHECK_EQUAL(sweep(), 3);
}

/* Writes by io_uring, which go on while the program does something else ----------------------- */

/*
 * Open a file and begin to write @count MBUFs (parts of the ring) to it. With io_uring each system
 * call begins up to two writes. Returns how many MBUFs output_write() has accepted.
 */
static unsigned int begin_file(struct output *output, unsigned int count)
{
	unsigned int taken = 0;

	fill_mbufs();
	CHECK(output_open(output, path, no_limits, header, PAGE));
	output_memory(output, mbufs, MBUFS * MBUF, 2);
	while (taken < count && output_write(output, mbufs + taken * MBUF, MBUF))
		taken++;
	return taken;
}

/*
 * Returns true if the filesystem of the test's folder supports O_DIRECT. Without O_DIRECT the file
 * is not written by io_uring.
 */
static bool has_direct(void)
{
	struct output output;
	bool direct;

	plan(0, 0, 0);
	CHECK_EQUAL(begin_file(&output, 0), 0);
	direct = output.async;
	output_free(&output);
	sweep();
	return direct;
}

/*
 * output_done() must count an MBUF (part of the ring) only when it is in the file, and not when
 * output_write() has accepted it.
 */
static void writes_go_on(void)
{
	struct output output;

	plan(0, 0, 0);
	CHECK_EQUAL(begin_file(&output, MBUFS), MBUFS);
	CHECK(output.async);
	CHECK_EQUAL(output_done(&output), 0);
	CHECK(output_finish(&output));
	CHECK_EQUAL(output_done(&output), MBUFS);
	CHECK_EQUAL(output_done(&output), 0);
	CHECK_EQUAL(kernel.most, MBUFS);
	CHECK(output_close(&output));
	has_mbufs(path, 0, MBUFS);
	CHECK_EQUAL(output.files[0].bytes, PAGE + MBUFS * MBUF);
	CHECK_EQUAL(output.files[0].mbufs, MBUFS);
	output_free(&output);
	CHECK_EQUAL(sweep(), 1);
}

/* Returns the number of the oldest write that has not ended. */
static uint64_t oldest_running(void)
{
	uint64_t oldest = kernel.running[0].number;

	for (unsigned int i = 1; i < kernel.count; i++)
		if (kernel.running[i].number < oldest)
			oldest = kernel.running[i].number;
	return oldest;
}

/*
 * A batch is an eighth of a small ring and a quarter of a large one, and it has from 1 to
 * OUTPUT_BATCH MBUFs (parts of the ring).
 */
static void a_batch_is_a_part_of_the_ring(void)
{
	CHECK_EQUAL(output_batch(4), 1);
	CHECK_EQUAL(output_batch(64), 8);
	CHECK_EQUAL(output_batch(128), 16);
	CHECK_EQUAL(output_batch(256), 64);
	CHECK_EQUAL(output_batch(16384), OUTPUT_BATCH);
}

/*
 * No more writes may be under way at a time than io_uring has entries. No MBUF (part of the ring)
 * may be counted as written before its write and all older ones have ended, although the stand-in
 * ends the oldest write last.
 */
static void many_writes_are_awaited(void)
{
	struct output output;
	const unsigned int many = 5 * OUTPUT_DEPTH + 3;
	unsigned int done = 0;
	struct stat there;

	plan(0, 0, 0);
	CHECK_EQUAL(begin_file(&output, 0), 0);
	for (unsigned int i = 0; i < many; i++) {
		CHECK(output_write(&output, mbufs + i % MBUFS * MBUF, MBUF));
		done += output_done(&output);
		CHECK(!kernel.count || done <= oldest_running());
	}
	CHECK(done > 0 && done < many && kernel.most <= OUTPUT_DEPTH);
	CHECK(output_close(&output));
	CHECK_EQUAL(done + output_done(&output), many);
	CHECK(stat(path, &there) == 0 && (size_t)there.st_size == PAGE + many * MBUF);
	output_free(&output);
	CHECK_EQUAL(sweep(), 1);
}

/*
 * One write by io_uring fails or is short. The missing bytes must be written again, and from then
 * on the file must be written without io_uring.
 */
static void a_write_that_fails_is_made_again(void)
{
	const struct {
		int error;
		size_t most;
	} faults[] = { { EINVAL, 0 }, { EAGAIN, 0 }, { 0, 4096 }, { 0, 5000 }, { 0, 0 } };

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		for (unsigned int at = 2; at < 7; at++) {
			struct output output;

			plan(at, faults[i].error, faults[i].most);
			CHECK_EQUAL(begin_file(&output, 5), 5);
			CHECK(output_finish(&output));
			CHECK(!output.async);
			CHECK_EQUAL(output_done(&output), 5);
			CHECK(output_write(&output, mbufs + 5 * MBUF, MBUF));
			CHECK_EQUAL(output_done(&output), 1);
			CHECK(output_close(&output));
			has_mbufs(path, 0, 6);
			output_free(&output);
			CHECK_EQUAL(sweep(), 1);
		}
}

/*
 * If io_uring itself fails while the kernel has writes, output_done() may not count any further
 * MBUF (part of the ring) as written: the kernel may still read the MBUFs that it was given.
 */
static void an_io_uring_that_fails_gives_nothing_back(void)
{
	struct output output;

	plan(0, 0, 0);
	CHECK_EQUAL(begin_file(&output, 4), 4);
	kernel.fails_at = 1;
	CHECK(!output_finish(&output));
	CHECK(strstr(output.why, ": io_uring: Bad address: only the first 0 MBUFs"));
	CHECK_EQUAL(output_done(&output), 0);
	CHECK(!output_write(&output, mbufs, MBUF));
	output_free(&output);
	kernel.fails_at = 0;
	CHECK_EQUAL(sweep(), 1);
}

/*
 * If io_uring fails before the kernel has a write, all MBUFs (parts of the ring) must be written
 * without io_uring.
 */
static void an_io_uring_that_takes_nothing_is_left(void)
{
	struct output output;

	plan(0, 0, 0);
	CHECK_EQUAL(begin_file(&output, 0), 0);
	kernel.fails_at = 1;
	for (unsigned int i = 0; i < 4; i++)
		CHECK(output_write(&output, mbufs + i * MBUF, MBUF));
	CHECK(!output.async && !output.uring.rings);
	CHECK_EQUAL(output_done(&output), 4);
	CHECK(output_close(&output));
	has_mbufs(path, 0, 4);
	output_free(&output);
	kernel.fails_at = 0;
	CHECK_EQUAL(sweep(), 1);
}

/*
 * If the disk is full, the file must end before the first MBUF (part of the ring) that could not be
 * written, although io_uring may have written later MBUFs.
 */
static void a_full_disk_ends_writes_that_go_on(void)
{
	for (unsigned int at = 2; at < 7; at++) {
		struct output output;
		unsigned int whole;
		struct stat there;

		plan(at, ENOSPC, 0);
		disk.stays = true;
		CHECK_EQUAL(begin_file(&output, 5), 5);
		CHECK(!output_finish(&output));
		has_words(output.why, "No space left on device: the file ends after");
		whole = (unsigned int)output.files[0].mbufs;
		CHECK_EQUAL(output_done(&output), whole);
		CHECK(!output_write(&output, mbufs, MBUF));
		output_close(&output);
		has_mbufs(path, 0, whole);
		CHECK(stat(path, &there) == 0 && (size_t)there.st_size == PAGE + whole * MBUF);
		output_free(&output);
		CHECK_EQUAL(sweep(), 1);
	}
}

/*
 * A file whose header cannot be written is not valid. It must be deleted, and must not be in the
 * list of files.
 */
static void a_file_without_a_header_is_not_left(void)
{
	struct output output;

	plan(3, ENOSPC, 0);
	fill_mbufs();
	CHECK(output_open(&output, folder, (struct output_limits) { PAGE + MBUF, 0 }, header,
			  PAGE));
	CHECK(output_write(&output, mbufs, MBUF));
	CHECK(!output_write(&output, mbufs + MBUF, MBUF));
	has_words(output.why, "No space left on device: the file's header cannot be written");
	CHECK(!output_write(&output, mbufs + 2 * MBUF, MBUF));
	CHECK_EQUAL(output.count, 1);
	CHECK(output_close(&output));
	has_mbufs(output.files[0].path, 0, 1);
	output_free(&output);
	CHECK_EQUAL(sweep(), 1);
	plan(1, ENOSPC, 0);
	CHECK(!output_open(&output, path, no_limits, header, PAGE));
	output_discard(&output);
	output_free(&output);
	CHECK_EQUAL(sweep(), 0);
}

/*
 * If nothing is recorded, output_discard() must delete the file, and a folder that was made for the
 * file, too. A folder that existed before must stay.
 */
static void nothing_is_left_of_nothing(void)
{
	struct output output;
	struct stat there;
	char made[256];

	plan(0, 0, 0);
	fill_mbufs();
	snprintf(made, sizeof(made), "%s/made/", folder);
	CHECK(output_open(&output, made, no_limits, header, PAGE));
	output_discard(&output);
	output_free(&output);
	CHECK(stat(made, &there) < 0);
	CHECK(output_open(&output, folder, no_limits, header, PAGE));
	output_discard(&output);
	output_free(&output);
	CHECK(stat(folder, &there) == 0);
	CHECK_EQUAL(sweep(), 0);
}

/* Stand-ins for the recorder ------------------------------------------------------------------ */

#include "capture_card.h"

/*
 * Make a recording of @full MBUFs (parts of the ring). Returns the number of failures that the
 * recorder has noted.
 */
static unsigned int make(struct recording *recording, unsigned int full)
{
	struct util util = { 0 };

	fill_mbufs();
	notes[0] = 0;
	card.full = full;
	card.given = card.released = card.stops = 0;
	*recording = (struct recording) { .target = path, .output.fd = -1, .generates = true };
	CHECK(record(&util, recording, 1));
	CHECK(!card.runs && card.stops == 1);
	return util.failed;
}

static void is_file(struct recording *recording, unsigned int in_file)
{
	has_mbufs(path, 0, in_file);
	output_free(&recording->output);
	free(recording->header);
	CHECK_EQUAL(sweep(), 1);
}

/*
 * The recorder must give an MBUF (part of the ring) back to the card only when it is in the file:
 * the stand-in for the card then writes over the MBUF.
 */
static void an_mbuf_is_written_before_it_is_released(void)
{
	struct recording recording;

	plan(0, 0, 0);
	CHECK_EQUAL(make(&recording, 5), 0);
	CHECK_EQUAL(card.released, 5);
	CHECK(recording.counted);
	is_file(&recording, 5);
}

/*
 * If the disk becomes full while io_uring has writes under way, the recorder must not give back to
 * the card any MBUF (part of the ring) that is in no file.
 */
static void what_is_not_written_is_not_released(void)
{
	struct recording recording;
	uint64_t whole;

	plan(4, ENOSPC, 0);
	disk.stays = true;
	CHECK_EQUAL(make(&recording, 7), 1);
	has_words(notes, "No space left on device: the file ends after");
	whole = recording.output.files[0].mbufs;
	CHECK(card.released <= whole && whole < 7);
	is_file(&recording, (unsigned int)whole);
}

/*
 * After a write that fails the recorder must write no further MBUF (part of the ring), and must
 * stop the generator and the capture.
 */
static void a_failed_write_ends_a_recording(void)
{
	struct recording recording;

	plan(4, ENOSPC, 0);
	CHECK_EQUAL(make(&recording, 7), 1);
	has_words(notes, "the file ends after 2 MBUFs");
	CHECK(!card.generates);
	CHECK_EQUAL(card.released, 2);
	is_file(&recording, 2);
}

/*
 * The stop of the capture fails, and the card's accounts (counts of frames) cannot be read. The
 * recorder must note both as failures, and the file must have all MBUFs (parts of the ring)
 * nevertheless.
 */
static void a_card_that_fails_at_the_end_loses_no_data(void)
{
	struct recording recording;

	plan(0, 0, 0);
	card.stop_result = card.stats_result = -EIO;
	CHECK_EQUAL(make(&recording, 3), 2);
	has_words(notes, "stopping the capture: ");
	CHECK(!recording.counted);
	is_file(&recording, 3);
	card.stop_result = card.stats_result = 0;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	snprintf(folder, sizeof(folder), "%s", argv[1]);
	snprintf(path, sizeof(path), "%s/a.pcapng", folder);
	header = aligned_alloc(PAGE, PAGE);
	mbufs = aligned_alloc(PAGE, MBUFS * MBUF);
	a_write_goes_on();
	a_full_disk_ends_a_file();
	a_part_of_an_mbuf_is_cut_off();
	a_limit_is_not_exceeded();
	an_old_file_ends();
	a_file_without_a_header_is_not_left();
	nothing_is_left_of_nothing();
	an_mbuf_is_written_before_it_is_released();
	a_failed_write_ends_a_recording();
	a_card_that_fails_at_the_end_loses_no_data();
	kernel.there = true;
	if (has_direct()) {
		writes_go_on();
		a_batch_is_a_part_of_the_ring();
	many_writes_are_awaited();
		a_write_that_fails_is_made_again();
		an_io_uring_that_fails_gives_nothing_back();
		an_io_uring_that_takes_nothing_is_left();
		a_full_disk_ends_writes_that_go_on();
		what_is_not_written_is_not_released();
	}
	a_limit_is_not_exceeded();
	an_old_file_ends();
	nothing_is_left_of_nothing();
	an_mbuf_is_written_before_it_is_released();
	a_card_that_fails_at_the_end_loses_no_data();
	free(header);
	free(mbufs);
	return failed_checks != 0;
}
