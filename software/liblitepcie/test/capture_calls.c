/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the library's capture calls on a card with the capture block (first argument): what the
 * calls return and refuse, and how a capture ends. Frames come from the card's generator.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "check.h"
#include "liblitepcie.h"
#include "litepcie_capture.h"
#include "open.h"

#define WAIT_MS		20000
#define SIZE		64u	/* bytes of a frame */
#define RECORD		96u	/* bytes of a frame's record (pcapng block) in the ring */
#define STAGING		(1u << 20)

static struct litepcie_capture_config settings(uint64_t ring, uint32_t mbuf)
{
	return (struct litepcie_capture_config) {
		.struct_size = sizeof(struct litepcie_capture_config), .ring_bytes = ring,
		.mbuf_bytes = mbuf,
	};
}

static struct litepcie_generator frames(uint32_t period, uint32_t count)
{
	return (struct litepcie_generator) {
		.struct_size = sizeof(struct litepcie_generator), .size = SIZE, .period = period,
		.count = count,
	};
}

static struct litepcie_capture *begin(struct litepcie *dev, struct litepcie_capture_config config)
{
	struct litepcie_capture *capture;

	CHECK_EQUAL(litepcie_capture_open(dev, &config, &capture), 0);
	return capture;
}

static void generate(struct litepcie_capture *capture, uint32_t period, uint32_t count)
{
	struct litepcie_generator generator = frames(period, count);

	CHECK_EQUAL(litepcie_capture_start(capture), 0);
	CHECK_EQUAL(litepcie_capture_generate(capture, &generator), 0);
}

static void await_frames(struct litepcie_capture *capture, uint32_t count)
{
	uint64_t made = 0;
	int rc = 0;

	for (int64_t looks = 0; rc >= 0 && made < count && looks < 1000000; looks++)
		rc = litepcie_capture_generated(capture, &made);
	CHECK_EQUAL(made, count);
}

static struct litepcie_port_accounts accounts(struct litepcie_capture *capture)
{
	struct litepcie_capture_stats stats = { .struct_size = sizeof(stats) };

	CHECK_EQUAL(litepcie_capture_stats(capture, &stats), 0);
	return stats.port[0];
}

/*
 * Receive frames until none comes for @timeout_ms milliseconds, or until a stopped capture has no
 * more. The generator numbers its frames. Check that the number of each frame is that of the first
 * received frame plus the number of frames since, unless the frame's record counts lost frames.
 * Returns how many frames were received. *@first gets the number of the first of them, and stays as
 * it is if none comes.
 */
static uint32_t take(struct litepcie_capture *capture, int timeout_ms, uint32_t *first)
{
	struct litepcie_span span = { .struct_size = sizeof(span) };
	uint64_t expected = UINT64_MAX;
	uint32_t count = 0;
	int rc;

	while ((rc = litepcie_capture_next(capture, &span, timeout_ms)) == 1) {
		struct litepcie_packet packet;
		size_t at = 0;

		CHECK(expected == UINT64_MAX || span.position == expected);
		expected = span.position + span.bytes;
		while ((rc = litepcie_record_next(&span, &at, &packet)) == 1) {
			uint32_t number = litepcie_record_word(packet.data + 16);

			if (!count)
				*first = number;
			CHECK(number == *first + count || packet.dropped);
			count++;
		}
		CHECK_EQUAL(rc, 0);
		CHECK_EQUAL(litepcie_capture_release(capture, span.bytes), 0);
	}
	CHECK_EQUAL(rc, 0);
	return count;
}

/* Tests of calls of a capture ----------------------------------------------------------------- */

static void refuses(struct litepcie *dev, struct litepcie_capture_config config, const char *words)
{
	struct litepcie_capture *capture = (void *)dev;

	CHECK_EQUAL(litepcie_capture_open(dev, &config, &capture), -EINVAL);
	CHECK(!capture);
	CHECK(strstr(litepcie_why(dev), words) != NULL);
	if (!strstr(litepcie_why(dev), words))
		fprintf(stderr, "not \"%s\" but \"%s\"\n", words, litepcie_why(dev));
}

static void bad_settings_have_a_sentence(struct litepcie *dev)
{
	struct litepcie_capture_config config = settings(1 << 20, 4096);
	struct {
		struct litepcie_capture_config known;
		uint64_t later;
	} grown = { .known = config, .later = 1 };
	struct litepcie_capture *capture;

	refuses(dev, settings(3 << 20, 0), "a ring of 3145728 bytes: it must be a power of two");
	refuses(dev, settings(32 << 10, 0), "a ring of 32768 bytes");
	refuses(dev, settings(UINT64_C(1) << 31, 0), "a ring of 2147483648 bytes");
	refuses(dev, settings(0, 5000), "an MBUF of 5000 bytes: it must be a power of two");
	refuses(dev, settings(0, 8 << 20), "an MBUF of 8388608 bytes");
	refuses(dev, settings(64 << 10, 32 << 10), "at most a quarter of the ring");
	config.snap = 20000;
	refuses(dev, config, "a snap length of 20000 bytes: it must be at most 16383");
	config.snap = 0;
	config.wait_ns = 100000000;
	refuses(dev, config, "wait for 100000000 ns: it must be at most 67108860");
	config.wait_ns = 0;
	config.newest = true;
	refuses(dev, config, "newest with a ring of 1048576 bytes: it must have 4194304 or more");
	config.lossless = true;
	refuses(dev, config, "newest and lossless");
	config.struct_size = 0;
	refuses(dev, config, "struct_size of struct litepcie_capture_config is 0");
	grown.known.struct_size = sizeof(grown);
	CHECK_EQUAL(litepcie_capture_open(dev, &grown.known, &capture), -EINVAL);
	CHECK(strstr(litepcie_why(dev), "a setting is too new") != NULL);
	/*
	 * The larger struct of a newer program is accepted if its members that the library does not
	 * know are 0.
	 */
	grown.later = 0;
	CHECK_EQUAL(litepcie_capture_open(dev, &grown.known, &capture), 0);
	litepcie_capture_close(capture);
	/*
	 * The smaller struct of an older program ends before the member snap, so the library must
	 * not read the wrong value that lies there.
	 */
	config = settings(1 << 20, 4096);
	config.struct_size = offsetof(struct litepcie_capture_config, snap);
	config.snap = 20000;
	CHECK_EQUAL(litepcie_capture_open(dev, &config, &capture), 0);
	litepcie_capture_close(capture);
}

static void calls_refuse_what_cannot_be(struct litepcie *dev)
{
	struct litepcie_capture_config config = { .struct_size = sizeof(config) };
	struct litepcie_capture *capture, *second;
	struct litepcie_generator generator = frames(1000, 10);
	struct litepcie_span span = { .struct_size = sizeof(span) };
	uint8_t page[64];

	CHECK_EQUAL(litepcie_capture_open(dev, NULL, &capture), 0);
	CHECK_EQUAL(litepcie_capture_settings(capture, &config), 0);
	CHECK_EQUAL(config.ring_bytes, LITEPCIE_CAPTURE_RING_DEFAULT);
	CHECK_EQUAL(config.mbuf_bytes, LITEPCIE_CAPTURE_MBUF_DEFAULT);
	CHECK_EQUAL(litepcie_capture_open(dev, NULL, &second), -EBUSY);
	CHECK_EQUAL(litepcie_reset(dev), -EBUSY);
	CHECK_EQUAL(litepcie_capture_header(capture, page, sizeof(page)), -EINVAL);
	CHECK_EQUAL(litepcie_capture_next(capture, &span, -1), 0);
	CHECK_EQUAL(litepcie_capture_release(capture, 1), -EINVAL);
	CHECK(strstr(litepcie_why(dev), "a release of 1 bytes: 0 were given") != NULL);
	generator.size = 0;
	CHECK_EQUAL(litepcie_capture_generate(capture, &generator), -EINVAL);
	generator.size = 16384;
	CHECK_EQUAL(litepcie_capture_generate(capture, &generator), -EINVAL);
	generator.size = SIZE;
	generator.period = 1 << 24;
	CHECK_EQUAL(litepcie_capture_generate(capture, &generator), -EINVAL);
	generator.period = 0;
	generator.port_mask = 16;
	CHECK_EQUAL(litepcie_capture_generate(capture, &generator), -EINVAL);
	CHECK_EQUAL(litepcie_capture_start(capture), 0);
	CHECK_EQUAL(litepcie_capture_start(capture), -EBUSY);
	CHECK_EQUAL(litepcie_capture_next(capture, &span, 50), 0);
	CHECK_EQUAL(litepcie_capture_stop(capture), 0);
	CHECK_EQUAL(litepcie_capture_stop(capture), 0);
	litepcie_capture_close(capture);
	litepcie_capture_close(NULL);
	CHECK_EQUAL(litepcie_reset(dev), 0);
}

/*
 * A capture is started three times. Each start must begin at position 0 of the ring, with frame 0
 * of the generator and with the counts of delivered frames and bytes at 0.
 */
static void it_can_be_started_again(struct litepcie *dev)
{
	struct litepcie_capture *capture = begin(dev, settings(1 << 20, 64 << 10));

	for (uint32_t round = 1; round <= 3; round++) {
		struct litepcie_span span = { .struct_size = sizeof(span) };
		uint32_t first = 1, rest;

		generate(capture, 1000, 300 * round);
		/*
		 * litepcie_capture_next() must return frames before the MBUF in which they lie (a
		 * part of the ring, of 64 KiB here) is full.
		 */
		CHECK_EQUAL(litepcie_capture_next(capture, &span, WAIT_MS), 1);
		CHECK_EQUAL(span.position, 0);
		CHECK(!span.sealed);
		CHECK_EQUAL(litepcie_record_word(span.data), LITEPCIE_PCAPNG_RECORD);
		await_frames(capture, 300 * round);
		CHECK_EQUAL(litepcie_capture_stop(capture), 0);
		rest = take(capture, -1, &first);
		CHECK_EQUAL(span.bytes / RECORD + rest, 300 * round);
		if (rest)
			CHECK_EQUAL(first, span.bytes / RECORD);
		CHECK_EQUAL(accounts(capture).delivered.frames, 300 * round);
		CHECK_EQUAL(accounts(capture).delivered.bytes, 300 * round * SIZE);
	}
	litepcie_capture_close(capture);
	printf("capture_calls: started again\n");
}

/*
 * The program releases the ring in pieces of an MBUF (4 KiB) or less. While the capture runs, the
 * library gives the card a new limit, up to which the card may write, only in steps of an eighth of
 * the ring, which is 32 KiB in this test.
 */
static void limits_are_told_in_steps(struct litepcie *dev)
{
	struct litepcie_capture_config config = settings(256 << 10, 4 << 10);
	struct litepcie_capture_stats stats = { .struct_size = sizeof(stats) };
	struct litepcie_capture *capture;
	uint32_t first = 1, count = 30000;

	config.lossless = true;
	capture = begin(dev, config);
	generate(capture, 0, count);
	CHECK_EQUAL(take(capture, 1000, &first), count);
	CHECK_EQUAL(first, 0);
	CHECK_EQUAL(litepcie_capture_stop(capture), 0);
	CHECK_EQUAL(take(capture, -1, &first), 0);
	CHECK_EQUAL(litepcie_capture_stats(capture, &stats), 0);
	CHECK_EQUAL(stats.port[0].delivered.frames, count);
	CHECK_EQUAL(stats.released, stats.position);
	/*
	 * The limit that the start gives the card is the whole ring, which is 8 steps. Each later
	 * limit is one step further, except that the stop may give the card a last limit that is
	 * less than a step further.
	 */
	CHECK(stats.limits > stats.position / (32 << 10) - 8);
	CHECK(stats.limits <= stats.position / (32 << 10) + 2);
	litepcie_capture_close(capture);
	printf("capture_calls: %llu limits for %llu bytes\n", (unsigned long long)stats.limits,
	       (unsigned long long)stats.position);
}

/*
 * In a lossless capture a frame waits for room in the ring. litepcie_capture_stop() must succeed
 * although the ring is full and the program releases nothing.
 */
static void a_full_ring_can_be_stopped(struct litepcie *dev)
{
	struct litepcie_capture_config config = settings(64 << 10, 16 << 10);
	struct litepcie_port_accounts found;
	struct litepcie_capture *capture;
	uint32_t first = 1, count = 0;

	config.lossless = true;
	capture = begin(dev, config);
	generate(capture, 0, 5000);
	for (int i = 0; i < 200 && !count; i++) {
		struct litepcie_span span = { .struct_size = sizeof(span) };

		if (litepcie_capture_next(capture, &span, 100) == 0)
			count = 1;
	}
	CHECK_EQUAL(litepcie_capture_stop(capture), 0);
	found = accounts(capture);
	CHECK(found.delivered.frames < 5000);
	CHECK(found.delivered.frames > (64 << 10) / RECORD - 10);
	CHECK_EQUAL(take(capture, 0, &first), 0);
	litepcie_capture_close(capture);
	printf("capture_calls: stopped while full\n");
}

/*
 * With the setting `newest` the card overwrites old data in the ring. The generator makes more
 * frames than the ring holds. After the stop the library must return the newest of them without a
 * gap, up to the last.
 */
static void the_newest_frames_stay(struct litepcie *dev)
{
	struct litepcie_capture_config config = settings(4 * STAGING, 64 << 10);
	struct litepcie_capture_stats stats = { .struct_size = sizeof(stats) };
	uint32_t first = 0, count = 60000, found;
	struct litepcie_capture *capture;

	config.newest = true;
	capture = begin(dev, config);
	generate(capture, 0, count);
	await_frames(capture, count);
	CHECK_EQUAL(litepcie_capture_stop(capture), 0);
	found = take(capture, 0, &first);
	CHECK_EQUAL(first + found, count);
	CHECK(found < count && found > 4 * STAGING / RECORD - 2000);
	CHECK_EQUAL(litepcie_capture_stats(capture, &stats), 0);
	CHECK_EQUAL(stats.overwritten, stats.position - 4 * STAGING);
	CHECK_EQUAL(stats.port[0].delivered.frames, count);
	litepcie_capture_close(capture);
	printf("capture_calls: %u newest frames\n", found);
}

static void on_alarm(int number)
{
	(void)number;
}

static void a_signal_ends_a_wait(struct litepcie *dev)
{
	/*
	 * The signal is repeated, since a signal that comes between two sleeps of
	 * litepcie_capture_next() does not end the wait.
	 */
	struct itimerval soon = {
		.it_value.tv_usec = 300000, .it_interval.tv_usec = 7000,
	}, never = { 0 };
	struct sigaction action = { .sa_handler = on_alarm };
	struct litepcie_capture *capture = begin(dev, settings(0, 0));
	struct litepcie_span span = { .struct_size = sizeof(span) };

	CHECK_EQUAL(litepcie_capture_start(capture), 0);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	CHECK_EQUAL(litepcie_capture_next(capture, &span, -1), -EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	litepcie_capture_close(capture);
}

/*
 * litepcie_close() may be called while a capture runs and frames come. It stops and closes the
 * capture.
 */
static void a_close_ends_it(struct litepcie *dev)
{
	struct litepcie_capture *capture = begin(dev, settings(0, 0));

	generate(capture, 1000, 0);
	litepcie_close(dev);
}

int main(int argc, char **argv)
{
	struct litepcie *dev;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!open_device(&dev, argc == 2, argv[1], "usage: capture_calls DEVICE"))
		return 2;
	bad_settings_have_a_sentence(dev);
	calls_refuse_what_cannot_be(dev);
	it_can_be_started_again(dev);
	limits_are_told_in_steps(dev);
	a_full_ring_can_be_stopped(dev);
	the_newest_frames_stay(dev);
	a_signal_ends_a_wait(dev);
	a_close_ends_it(dev);
	return failed_checks != 0;
}
