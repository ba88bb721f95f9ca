/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test what the command disk of lanebox-capture measures and prints (cmd_disk.c, trial_print.c).
 * The test has stand-ins for the clock and for the writes to the disk (output.c), so all times are
 * known exactly.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "../../litepcie_util/emit.c"
#include "../../litepcie_util/util.c"
#include "../../lanebox_capture/disk/output.c"
#include "../../lanebox_capture/disk/times.c"
#include "../../lanebox_capture/disk/trial_print.c"
#include "../../lanebox_capture/disk/uring.c"

/* Stand-ins ----------------------------------------------------------------------------------- */

static double now_s;	/* time of the clock in seconds */

static bool disk_write(struct output *output, const void *mbuf, size_t bytes);
static unsigned int disk_done(struct output *output);
static bool disk_push(struct output *output);
static bool disk_finish(struct output *output);

#define util_now()		now_s
#define nanosleep(_nap, _rest)	(now_s += 1e-9 * (double)(_nap)->tv_nsec)
#define output_write		disk_write
#define output_done		disk_done
#define output_push		disk_push
#define output_finish		disk_finish
#include "../../lanebox_capture/disk/cmd_disk.c"

struct util capture_util;

bool util_interrupted(void)
{
	return false;
}

/* The tests parse no command line. */
int util_usage(const struct util *util, const char *format, ...)
{
	(void)util;
	(void)format;
	return EXIT_USAGE;
}

bool option_size(const struct util_option *option, const char *text)
{
	(void)option;
	(void)text;
	return false;
}

bool option_seconds(const struct util_option *option, const char *text)
{
	return option_size(option, text);
}

#define MBUF		((uint64_t)LITEPCIE_CAPTURE_MBUF_LEAST)
#define RING_MBUFS	16u
#define WRITES		1000u	/* more than a trial makes */
#define WRITE_S		0.0625	/* time that the disk takes for a write */

/* A disk that makes writes one after the other, and takes as many at a time as output.c does. */
static struct {
	double		begun[WRITES], ends[WRITES];
	unsigned int	next, first;	/* numbers of the next write and of the first not counted */
	struct times	times;		/* what each write has taken until it was counted */
} disk;

static bool disk_write(struct output *output, const void *mbuf, size_t bytes)
{
	unsigned int n = disk.next;

	(void)output;
	(void)mbuf;
	CHECK_EQUAL(bytes, MBUF);
	CHECK(n < WRITES);
	if (n >= WRITES)
		return false;
	disk.begun[n] = now_s;
	if (n - disk.first == OUTPUT_DEPTH && now_s < disk.ends[disk.first])
		now_s = disk.ends[disk.first];
	disk.ends[n] = (n && disk.ends[n - 1] > now_s ? disk.ends[n - 1] : now_s) + WRITE_S;
	disk.next++;
	return true;
}

static unsigned int disk_done(struct output *output)
{
	unsigned int first = disk.first;

	(void)output;
	for (; disk.first < disk.next && disk.ends[disk.first] <= now_s; disk.first++)
		times_add(&disk.times, (uint64_t)(1e9 * (now_s - disk.begun[disk.first])));
	return disk.first - first;
}

static bool disk_push(struct output *output)
{
	(void)output;
	return true;
}

static bool disk_finish(struct output *output)
{
	(void)output;
	if (disk.next && now_s < disk.ends[disk.next - 1])
		now_s = disk.ends[disk.next - 1];
	return true;
}

/* The tests ----------------------------------------------------------------------------------- */

static struct trial tried;

/*
 * Without --rate the disk gets more writes at a time than the ring has MBUFs (equal parts). Each
 * write must still be counted with its own time.
 */
static void each_write_has_its_own_time(void)
{
	static uint8_t ring[RING_MBUFS * LITEPCIE_CAPTURE_MBUF_LEAST];

	tried = (struct trial) {
		.seconds = 20, .ring = ring, .ring_bytes = sizeof(ring), .mbuf_bytes = MBUF,
		.output.batch = 2,
	};
	CHECK(try_disk(&tried));
	CHECK(disk.next > 2 * OUTPUT_DEPTH);
	CHECK_EQUAL(tried.done, disk.next * MBUF);
	CHECK_EQUAL(tried.times.count, disk.next);
	CHECK(memcmp(&tried.times, &disk.times, sizeof(disk.times)) == 0);
}

/* Seconds with 300, 100 and 200 bytes: the slowest began after 1 s and 300 bytes. */
static void the_slowest_second_is_found(void)
{
	struct slice slice = { .begun = 10, .first = 10 };
	static const uint64_t done[] = { 300, 400, 600 };

	tried = (struct trial) { 0 };
	for (unsigned int n = 0; n < 3; n++) {
		tried.done = done[n] - 50;
		end_slice(&tried, &slice, 10.5 + n, SLICE_S);
		tried.done = done[n];
		end_slice(&tried, &slice, 11 + n, SLICE_S);
	}
	CHECK_EQUAL(tried.slowest, 100);
	CHECK_EQUAL(tried.slowest_at, 1);
	CHECK_EQUAL(tried.slowest_after, 300);
}

/* Returns the number that has the name @key in the JSON text @text. */
static double number(const char *text, const char *key)
{
	const char *found = strstr(text, key);

	CHECK(found);
	return found ? strtod(found + strlen(key) + strlen("\": "), NULL) : 0;
}

/* Writes of 1, 2, ... 1000 ms: the n-th permille takes n ms, and may be printed 1/64 longer. */
static void percentiles_have_their_names(void)
{
	static const struct {
		const char	*key;
		double		seconds;
	} parts[] = {
		{ "write_p50_s", 0.5 }, { "write_p99_s", 0.99 }, { "write_p999_s", 0.999 },
		{ "write_worst_s", 1 },
	};
	char *text;
	size_t bytes;
	struct json json = { .file = open_memstream(&text, &bytes) };
	const struct emit out = { .json = &json };

	tried = (struct trial) { .took = 1 };
	for (uint64_t ms = 1; ms <= 1000; ms++)
		times_add(&tried.times, 1000000 * ms);
	emit_object(&out, NULL);
	trial_print(&out, &tried);
	emit_object_end(&out);
	fclose(json.file);
	for (size_t n = 0; n < sizeof(parts) / sizeof(parts[0]); n++) {
		double found = number(text, parts[n].key), exact = parts[n].seconds;

		CHECK(found >= exact && found <= exact * (1 + 1.0 / TIMES_STEPS));
	}
	free(text);
}

int main(void)
{
	each_write_has_its_own_time();
	the_slowest_second_is_found();
	percentiles_have_their_names();
	return failed_checks != 0;
}
