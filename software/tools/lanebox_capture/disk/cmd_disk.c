/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command disk: try whether a disk is fast enough for a recording. No card is needed. MBUFs
 * (equal parts of a ring in memory) become full at the rate of --rate, as if a card wrote to them,
 * or without --rate as fast as the disk takes them. The code that writes them to a file (output.c)
 * is that of the command record, too. The file's name is removed right after the file was made. So
 * no file is left, even if the command is killed during the trial.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "litepcie_capture.h"
#include "trial.h"

#define PAGE		LITEPCIE_CAPTURE_HEADER_BYTES
/* sleep in ns after a look at the ring that has found no MBUF (part of the ring) to write */
#define NAP_NS		500000
/*
 * The rate is measured in slices of this many seconds or a little more. The rate of the slowest
 * slice is reported.
 */
#define SLICE_S		1.0
/* The last slice of the trial does not count if it is shorter than this fraction of SLICE_S. */
#define SHORTEST	0.5

/* The trial of a disk ------------------------------------------------------------------------- */

static bool disk_failed(struct util *util, const struct trial *trial)
{
	util_fail(util, "%s", trial->output.why);
	return false;
}

/* Fill the ring with pseudorandom numbers, so that a filesystem cannot compress the data. */
static void fill(struct trial *trial)
{
	uint64_t state = 0x9e3779b97f4a7c15u;

	for (uint64_t at = 0; at < trial->ring_bytes; at += sizeof(state)) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		memcpy(trial->ring + at, &state, sizeof(state));
	}
}

/*
 * Returns false and notes a failure if the filesystem of the folder has no room for the trial, or
 * cannot be asked. Without --rate the size of the trial is not known, and only room for the size of
 * the ring is asked for.
 */
static bool has_room(struct util *util, const struct trial *trial)
{
	double needs = trial->rate * trial->seconds + (double)trial->ring_bytes, there;
	struct statvfs found;

	if (statvfs(trial->folder, &found) < 0) {
		util_fail(util, "%s: %s", trial->folder, strerror(errno));
		return false;
	}
	there = (double)found.f_bavail * (double)found.f_frsize;
	if (needs <= there)
		return true;
	util_fail(util, "%s: the trial writes up to %.0f bytes, and there is room for %.0f: choose "
		  "a lower --rate or fewer --seconds", trial->folder, needs, there);
	return false;
}

static bool prepare(struct util *util, struct trial *trial)
{
	struct stat found;

	if (stat(trial->folder, &found) < 0) {
		util_fail(util, "%s: %s", trial->folder, strerror(errno));
		return false;
	}
	if (!S_ISDIR(found.st_mode)) {
		util_fail(util, "%s: it is no folder", trial->folder);
		return false;
	}
	if (!has_room(util, trial))
		return false;
	trial->ring = mmap(NULL, trial->ring_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	trial->header = aligned_alloc(PAGE, PAGE);
	if (trial->ring == MAP_FAILED || !trial->header ||
	    asprintf(&trial->path, "%s/.lanebox-disk-%ld", trial->folder, (long)getpid()) < 0) {
		util_fail(util, "%s", strerror(ENOMEM));
		return false;
	}
	memset(trial->header, 0, PAGE);
	madvise(trial->ring, trial->ring_bytes, MADV_HUGEPAGE);
	fill(trial);
	if (!output_open(&trial->output, trial->path, (struct output_limits) { 0 },
			 trial->header, PAGE))
		return disk_failed(util, trial);
	unlink(trial->path);
	output_memory(&trial->output, trial->ring, trial->ring_bytes,
		      output_batch(trial->ring_bytes / trial->mbuf_bytes));
	return true;
}

/*
 * Returns the entry of trial->begun for the write of the MBUF (part of the ring) at position @at.
 * The entries are not those of the MBUFs of the ring: without --rate the next round may begin to
 * write an MBUF whose write in the round before is still under way.
 */
static double *begun_at(struct trial *trial, uint64_t at)
{
	return &trial->begun[at / trial->mbuf_bytes % TRIAL_WRITES];
}

/* Count the MBUFs (parts of the ring) whose writes have ended, with the times that they took. */
static void count_done(struct trial *trial)
{
	unsigned int done = output_done(&trial->output);
	double now = done ? util_now() : 0;

	for (; done; done--) {
		times_add(&trial->times, (uint64_t)(1e9 * (now - *begun_at(trial, trial->done))));
		trial->done += trial->mbuf_bytes;
	}
}

/*
 * Begin to write all full MBUFs (equal parts) in the ring whose write was not begun yet. @come is
 * the number of bytes that have come into the ring since the beginning of the trial. Returns false
 * after a failure.
 */
static bool give(struct trial *trial, uint64_t come)
{
	while (come - trial->given >= trial->mbuf_bytes) {
		const uint8_t *mbuf = trial->ring + trial->given % trial->ring_bytes;

		*begun_at(trial, trial->given) = util_now();
		if (!output_write(&trial->output, mbuf, trial->mbuf_bytes))
			return false;
		trial->given += trial->mbuf_bytes;
		count_done(trial);
	}
	return output_push(&trial->output);
}

/*
 * The slice of the trial that is being measured. @begun is the host's time in seconds at the
 * beginning of the slice, and @done is the number of bytes that the trial had written before it.
 * @first is the host's time at the beginning of the trial.
 */
struct slice {
	double		begun, first;
	uint64_t	done;
};

static void end_slice(struct trial *trial, struct slice *slice, double now, double least)
{
	double rate = (double)(trial->done - slice->done) / (now - slice->begun);

	if (now - slice->begun < least)
		return;
	if (trial->slowest <= 0 || rate < trial->slowest) {
		trial->slowest = rate;
		trial->slowest_at = slice->begun - slice->first;
		trial->slowest_after = slice->done;
	}
	*slice = (struct slice) { .begun = now, .first = slice->first, .done = trial->done };
}

/*
 * Returns the number of bytes that have come into the ring in the first @elapsed seconds of the
 * trial. Bytes for which the ring has no room are not among them, and are counted in trial->lost.
 * Without --rate the bytes come as fast as the disk takes them: the result is one batch of MBUFs
 * (parts of the ring) more than the bytes whose write was begun.
 */
static uint64_t come_by(struct trial *trial, double elapsed)
{
	uint64_t come = (uint64_t)(trial->rate * elapsed) - trial->lost, waiting;

	if (trial->rate <= 0)
		return trial->given + trial->output.batch * trial->mbuf_bytes;
	waiting = come - trial->done;
	if (waiting > trial->ring_bytes) {
		trial->lost += waiting - trial->ring_bytes;
		come -= waiting - trial->ring_bytes;
		waiting = trial->ring_bytes;
	}
	if (waiting > trial->most_waiting)
		trial->most_waiting = waiting;
	return come;
}

static bool try_disk(struct trial *trial)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	double begun = util_now(), now = begun;
	struct slice slice = { .begun = begun, .first = begun };
	bool right = true;

	while (right && now - begun < trial->seconds && !util_interrupted()) {
		uint64_t before = trial->given;

		right = give(trial, come_by(trial, now - begun));
		count_done(trial);
		if (trial->given == before)
			nanosleep(&nap, NULL);
		now = util_now();
		end_slice(trial, &slice, now, SLICE_S);
	}
	right = right && output_finish(&trial->output);
	count_done(trial);
	now = util_now();
	end_slice(trial, &slice, now, SHORTEST * SLICE_S);
	trial->took = now - begun;
	trial->ran = true;
	return right;
}

static void release(struct trial *trial)
{
	output_free(&trial->output);
	if (trial->ring && trial->ring != MAP_FAILED)
		munmap(trial->ring, trial->ring_bytes);
	free(trial->header);
	free(trial->path);
}

/* The command disk ---------------------------------------------------------------------------- */

static struct trial trial = {
	.seconds = 10, .ring_bytes = (uint64_t)64 << 20, .mbuf_bytes = (uint64_t)1 << 20,
	.output.fd = -1,
};

static bool option_rate(const struct util_option *option, const char *text)
{
	uint64_t rate;

	*(double *)option->to = 0;
	if (!util_parse_size(text, &rate))
		return false;
	*(double *)option->to = (double)rate;
	return true;
}

static bool option_power(const struct util_option *option, const char *text)
{
	const uint64_t *bytes = option->to;

	return option_size(option, text) && !(*bytes & (*bytes - 1));
}

static int run(struct util *util)
{
	int status;

	util->device = NULL;	/* the command disk opens no card */
	if (trial.mbuf_bytes > trial.ring_bytes / 4)
		return util_usage(util, "--mbuf %llu: it must be a quarter of --ring %llu at most",
				  (unsigned long long)trial.mbuf_bytes,
				  (unsigned long long)trial.ring_bytes);
	trial.folder = util->words[0];
	if (prepare(util, &trial) && !try_disk(&trial))
		disk_failed(util, &trial);
	if (trial.lost)
		util_fail(util, "%s: the disk does not hold %.3f GB/s: %llu bytes had no room in "
			  "the ring", trial.folder, trial.rate / 1e9,
			  (unsigned long long)trial.lost);
	status = util_emit(util, trial.ran ? &trial : NULL, trial_print);
	release(&trial);
	return status;
}

static const struct util_option options[] = {
	{ .name = "rate", .value = "BYTES", .parse = option_rate, .to = &trial.rate,
	  .rule = "it must be bytes a second, like 1200M",
	  .help = "bytes a second, like 1200M. Without it the disk gets as much as it takes" },
	{ .name = "seconds", .value = "S", .parse = option_seconds, .to = &trial.seconds,
	  .rule = OPTION_SECONDS, .help = "duration (10)" },
	{ .name = "ring", .value = "BYTES", .parse = option_power, .to = &trial.ring_bytes,
	  .low = LITEPCIE_CAPTURE_RING_LEAST, .high = LITEPCIE_CAPTURE_RING_MOST,
	  .rule = "it must be a power of two from %llu to %llu",
	  .help = "size of the ring: a power of two from 64K to 1G (64M)" },
	{ .name = "mbuf", .value = "BYTES", .parse = option_power, .to = &trial.mbuf_bytes,
	  .low = LITEPCIE_CAPTURE_MBUF_LEAST, .high = LITEPCIE_CAPTURE_MBUF_MOST,
	  .rule = "it must be a power of two from %llu to %llu",
	  .help = "size of an MBUF: a power of two from 4K to 4M (1M)" },
	JSON_OPTION
};

const struct command cmd_disk = {
	.name = "disk",
	.summary = "try a disk at a rate before a recording",
	.usage = "disk [--json] [options] FOLDER",
	.about =
		"Try a disk before a recording. Bytes come into a ring in memory at a rate, as a\n"
		"card would write them, and go to a file in the folder as record would write\n"
		"it: whole MBUFs, by O_DIRECT and io_uring. The result says whether the disk\n"
		"holds the rate, how full the ring has been, how long the writes took, and what\n"
		"the disk did in its slowest second. Try longer than the disk's own cache lasts.\n"
		"No card is needed, and nothing is left in the folder.\n",
	.examples =
		"  lanebox-capture disk out/\n"
		"  lanebox-capture disk --rate 1200M --seconds 300 --ring 1G /mnt/nvme\n"
		"\n"
		"exit status: 1 if the ring ran over, so that a card would have lost frames\n",
	.options = options,
	.least = 1,
	.most = 1,
	.takes = "one folder",
	.run = run,
};
