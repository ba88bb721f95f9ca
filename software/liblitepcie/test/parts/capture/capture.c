/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the library's capture calls on a card whose registers and status line the test imitates. The
 * card may also break, go away, be reset, or be wanted back by the kernel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "check.h"
#include "litepcie_capability.h"

#define RING		(64u << 10)
#define MBUF		(16u << 10)
#define STAGING		(1u << 20)
#define REGISTERS	0x100u	/* offset in BAR0 of the made-up card's first register */
#define WORDS		0x100u
/*
 * setting rest_ms of the captures that begin() opens: longest time in ms of a wait for the card
 */
#define REST_MS		300

/* Bits of the register capture_control. */
#define RUN		(1u << LITEPCIE_CAPTURE_CONTROL_RUN_OFFSET)

static struct {
	uint32_t			words[WORDS];
	struct litepcie_capture_line	*line;
	/* position that the card writes to the status line at a stop; 0: the line stays as it is */
	uint64_t			at_stop;
	/* number of reads of capture_status after a stop that still say that the card is busy */
	unsigned int			busy;
	bool				generates;	/* true: the generator is not idle */
	/* bytes by which the position register is ahead of the status line */
	uint64_t			unsaid;
	bool				copies;	/* true: the copy of the card's counts never ends */
	bool				asked;	/* true: the kernel wants the program to close the card */
	bool				gone;	/* true: all register reads return all ones */
	/* true: the write that stops the card sets @gone */
	bool				gone_at_stop;
	/*
	 * numbers of the next reads of capture_status, and of capture_control, that fail with all
	 * ones
	 */
	unsigned int			given_up, control_given_up;
} card;

static struct litepcie dev;
static struct litepcie_memory memories[LITEPCIE_MEMORIES];

static uint32_t *word(uint32_t offset)
{
	return &card.words[(offset - REGISTERS) / 4];
}

static uint64_t told_limit(void)
{
	uint32_t offset = dev.map.capture.limit;

	return (uint64_t)*word(offset) << 32 | *word(offset + 4);
}

static bool is_running(void)
{
	return *word(dev.map.capture.control) & RUN;
}

/*
 * The made-up card's count number f of port p (f is 0 for delivered frames, 1 for bad ones and so
 * on) is 1000 + 4 p + f frames of 10 bytes.
 */
static uint32_t account(uint32_t offset)
{
	uint32_t frames = 1000 + (*word(dev.map.capture.account_control) & 63);

	if (offset == dev.map.capture.account_frames + 4)
		return frames;
	return offset == dev.map.capture.account_bytes + 4 ? 10 * frames : 0;
}

static uint32_t status(void)
{
	bool idle = !is_running() && !card.busy;

	if (!is_running() && card.busy)
		card.busy--;
	return (idle ? CAPTURE_IDLE : 0) | (card.generates ? 0 : CAPTURE_GENERATOR_IDLE) |
	       (card.copies ? CAPTURE_ACCOUNTS_BUSY : 0);
}

static void card_readl(struct litepcie *ours, uint32_t offset, uint32_t *value)
{
	const struct litepcie_capture_registers *registers = &ours->map.capture;

	*value = *word(offset);
	if (offset == registers->status)
		*value = status();
	if (offset >= registers->account_frames && offset < registers->account_bytes + 8)
		*value = account(offset);
	if (offset == registers->position)
		*value = (uint32_t)((card.line->position + card.unsaid) >> 32);
	if (offset == registers->position + 4)
		*value = (uint32_t)(card.line->position + card.unsaid);
	if (offset == registers->control && card.control_given_up && card.control_given_up--)
		*value = UINT32_MAX;
	if (card.gone || (offset == registers->status && card.given_up && card.given_up--))
		*value = UINT32_MAX;
}

static int card_read_words(struct litepcie *ours, uint32_t offset, uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		card_readl(ours, offset + 4 * (uint32_t)i, &words[i]);
	return 0;
}

static int card_post(struct litepcie *ours, const struct litepcie_post *posts, size_t count,
		     enum litepcie_post_by by)
{
	(void)by;
	(void)ours;
	for (size_t i = 0; i < count; i++) {
		bool ran = is_running();

		*word(posts[i].offset) = (uint32_t)posts[i].value;
		if (ran && !is_running() && card.at_stop)
			card.line->position = card.at_stop;
		card.gone |= ran && !is_running() && card.gone_at_stop;
	}
	return 0;
}

static int card_memory(struct litepcie *ours, unsigned int kind, void *place, size_t bytes,
		       struct litepcie_memory **memory, uint64_t *iova)
{
	(void)ours;
	(void)place;
	memories[kind].base = calloc(1, bytes);
	*memory = &memories[kind];
	*iova = (uint64_t)kind << 32;
	if (kind == LITEPCIE_MEMORY_CAPTURE_STATUS)
		card.line = memories[kind].base;
	return 0;
}

static void card_memory_free(struct litepcie *ours, unsigned int kind)
{
	(void)ours;
	free(memories[kind].base);
	memories[kind].base = NULL;
}

static bool has_memory(void)
{
	return memories[LITEPCIE_MEMORY_CAPTURE].base && memories[LITEPCIE_MEMORY_CAPTURE_STATUS].base;
}

static int card_state(struct litepcie *ours)
{
	(void)ours;
	return card.asked ? -ENODEV : 0;
}

static const struct litepcie_backend fake = {
	.name = "fake", .read_words = card_read_words, .post = card_post, .memory = card_memory,
	.memory_free = card_memory_free, .state = card_state,
};

static struct litepcie_block block = {
	.type = LITEPCIE_BLOCK_CAPTURE, .version = 1,
};

/* Give each register of the card an offset, with room for two words. */
static void place_registers(struct litepcie_capture_registers *registers)
{
	uint32_t *const first = &registers->control, *const last = &registers->account_bytes;
	uint32_t offset = REGISTERS;

	for (uint32_t *at = first; at <= last; at++, offset += 8)
		*at = offset;
	registers->staging_bytes = STAGING;
}

static struct litepcie_capture *begin(uint64_t ring, bool newest)
{
	struct litepcie_capture_config config = {
		.struct_size = sizeof(config), .ring_bytes = ring, .mbuf_bytes = MBUF,
		.newest = newest, .rest_ms = REST_MS,
	};
	struct litepcie_capture *capture = NULL;

	memset(&card, 0, sizeof(card));
	memset(&dev, 0, sizeof(dev));
	dev.backend = &fake;
	dev.name = "fake";
	dev.bar_size[0] = 0x20000;
	dev.card.clock_hz = 250000000;
	dev.blocks = &block;
	dev.block_count = 1;
	place_registers(&dev.map.capture);
	pthread_mutex_init(&dev.lock, NULL);
	CHECK_EQUAL(litepcie_capture_open(&dev, &config, &capture), 0);
	CHECK_EQUAL(litepcie_capture_start(capture), 0);
	CHECK(is_running());
	CHECK_EQUAL(told_limit(), ring);
	return capture;
}

/* Write @position to the card's status line in memory. */
static void tell(uint64_t position)
{
	__atomic_store_n(&card.line->position, position, __ATOMIC_RELEASE);
}

/* Get the next span from the library. The span must begin at @position and have @bytes bytes. */
static void takes(struct litepcie_capture *capture, uint64_t position, uint64_t bytes, bool sealed)
{
	struct litepcie_span span = { .struct_size = sizeof(span) };

	CHECK_EQUAL(litepcie_capture_next(capture, &span, 0), 1);
	CHECK_EQUAL(span.position, position);
	CHECK_EQUAL(span.bytes, bytes);
	CHECK_EQUAL(span.mbuf, position / MBUF);
	CHECK_EQUAL(span.sealed, sealed);
	CHECK(span.data == capture->ring + position % capture->config.ring_bytes);
}

static void has_sentence(const char *words)
{
	CHECK(strstr(litepcie_why(&dev), words) != NULL);
	if (!strstr(litepcie_why(&dev), words))
		fprintf(stderr, "not \"%s\" but \"%s\"\n", words, litepcie_why(&dev));
}

/* Tests of status lines of the card ----------------------------------------------------------- */

/*
 * If the status line cannot be true, litepcie_capture_next() must return -EIO. So must a second
 * call, whose timeout is negative.
 */
static void a_line_that_cannot_be_is_refused(void)
{
	const struct {
		uint64_t position;
		const char *words;
	} lies[] = {
		{ MBUF, "says 16384 bytes after it said 16448" },
		{ MBUF + 68, "says 16452 bytes: it must be a multiple of 8 up to the limit of" },
		{ RING + 8, "says 65544 bytes: it must be a multiple of 8 up to the limit of 65536" },
		{ UINT64_MAX - 7, "up to the limit of 65536" },
	};
	struct litepcie_span span = { .struct_size = sizeof(span) };

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct litepcie_capture *capture = begin(RING, false);

		tell(MBUF + 64);
		takes(capture, 0, MBUF, true);
		takes(capture, MBUF, 64, false);
		tell(lies[i].position);
		CHECK_EQUAL(litepcie_capture_next(capture, &span, 0), -EIO);
		has_sentence(lies[i].words);
		CHECK_EQUAL(litepcie_capture_next(capture, &span, -1), -EIO);
		litepcie_capture_close(capture);
	}
}

/* A start must not take the status line that the card wrote after an earlier start for its own. */
static void an_old_line_is_forgotten(void)
{
	struct litepcie_capture *capture = begin(RING, false);
	struct litepcie_span span = { .struct_size = sizeof(span) };

	tell(MBUF);
	takes(capture, 0, MBUF, true);
	CHECK_EQUAL(litepcie_capture_stop(capture), 0);
	CHECK_EQUAL(litepcie_capture_start(capture), 0);
	CHECK_EQUAL(litepcie_capture_next(capture, &span, 0), 0);
	litepcie_capture_close(capture);
}

/* Tests of a capture's ring ---------------------------------------------------------------- */

/*
 * The program releases data in steps of many sizes, over more than ten rounds of the ring. The
 * limit up to which the card may write must never reach data that was not released. In this ring,
 * of four MBUFs (equal parts), the limit must lag behind the released data by less than an MBUF.
 */
static void what_is_not_released_is_not_written(void)
{
	struct litepcie_capture *capture = begin(RING, false);
	struct litepcie_span span = { .struct_size = sizeof(span) };
	uint64_t given = 0, released = 0;

	for (unsigned int i = 0; i < 2000; i++) {
		uint64_t step = 8 * (i % 7 * 131 + 1), room = told_limit() - card.line->position;
		size_t back = (given - released) * (i % 5) / 4;

		tell(card.line->position + (step < room ? step : room));
		if (litepcie_capture_next(capture, &span, 0) == 1) {
			CHECK_EQUAL(span.position, given);
			given += span.bytes;
		}
		CHECK_EQUAL(litepcie_capture_release(capture, back), 0);
		released += back;
		CHECK(told_limit() <= released + RING);
		CHECK(told_limit() + MBUF > released + RING);
	}
	CHECK(given > 10 * RING);
	card.at_stop = (card.line->position + MBUF - 1) / MBUF * MBUF;
	litepcie_capture_close(capture);
}

/*
 * While a capture runs, the limit up to which the card may write in this ring, of 64 MBUFs (equal
 * parts), moves in steps of an eighth of the ring. A stop must move the limit on to the end of the
 * last whole free MBUF.
 */
static void a_stop_gives_all_the_room(void)
{
	struct litepcie_capture *capture = begin(16 * RING, false);

	tell(2 * MBUF);
	takes(capture, 0, MBUF, true);
	CHECK_EQUAL(litepcie_capture_release(capture, MBUF), 0);
	CHECK_EQUAL(told_limit(), 16 * RING);
	CHECK_EQUAL(litepcie_capture_stop(capture), 0);
	CHECK_EQUAL(told_limit(), 16 * RING + MBUF);
	litepcie_capture_close(capture);
}

/*
 * With the setting `newest` the card overwrites old data in the ring. While it runs, it may have
 * written as many bytes beyond the position in its status line as its staging memory holds. The
 * library returns no data that these bytes may have overwritten. A release of data that may have
 * been overwritten meanwhile returns -EOVERFLOW.
 */
static void the_staging_memory_may_be_ahead(void)
{
	const uint64_t ring = 4 * STAGING;
	struct litepcie_capture *capture = begin(ring, true);
	struct litepcie_capture_stats stats = { .struct_size = sizeof(stats) };

	tell(ring);
	takes(capture, STAGING, MBUF, true);
	CHECK_EQUAL(litepcie_capture_release(capture, MBUF), 0);
	takes(capture, STAGING + MBUF, MBUF, true);
	tell(ring + 2 * MBUF);
	CHECK_EQUAL(litepcie_capture_release(capture, MBUF), -EOVERFLOW);
	card.at_stop = ring + 2 * MBUF;
	CHECK_EQUAL(litepcie_capture_stats(capture, &stats), 0);
	CHECK_EQUAL(stats.overwritten, STAGING);
	litepcie_capture_close(capture);
}

/*
 * A queue that may use more or less of the staging memory than an equal part may be ahead by that.
 */
static void the_queue_s_own_staging_memory_may_be_ahead(void)
{
	const uint64_t ring = 4 * STAGING;
	struct litepcie_capture *capture = begin(ring, true);

	capture->config.staging_bytes = STAGING + 3 * MBUF;
	tell(ring);
	takes(capture, STAGING + 3 * MBUF, MBUF, true);
	card.at_stop = ring;
	litepcie_capture_close(capture);
}

/*
 * With the setting `newest`, after a stop the card writes no more, so the library returns all of
 * the ring. If the last status line does not come, the stop fails, and the card may still be ahead
 * of the line that is there.
 */
static void after_a_stop_nothing_is_ahead(void)
{
	const uint64_t ring = 4 * STAGING;
	struct litepcie_capture *capture = begin(ring, true);

	tell(ring + 2 * MBUF);
	card.at_stop = ring + 3 * MBUF;
	CHECK_EQUAL(litepcie_capture_stop(capture), 0);
	takes(capture, 3 * MBUF, MBUF, true);
	litepcie_capture_close(capture);
	capture = begin(ring, true);
	card.at_stop = ring + 3 * MBUF;
	card.unsaid = MBUF;
	CHECK_EQUAL(litepcie_capture_stop(capture), -ETIMEDOUT);
	takes(capture, STAGING + 3 * MBUF, MBUF, true);
	litepcie_capture_close(capture);
}

/*
 * With the setting `newest` the card overwrites old data in the ring. A release of spans that newer
 * data has overwritten returns -EOVERFLOW. A release of the spans that the library has returned
 * after them returns 0, as usual.
 */
static void skipped_spans_can_be_released(void)
{
	const uint64_t ring = 4 * STAGING;
	struct litepcie_capture *capture = begin(ring, true);

	tell(2 * MBUF);
	takes(capture, 0, MBUF, true);
	takes(capture, MBUF, MBUF, true);
	tell(2 * ring);
	takes(capture, ring + STAGING, MBUF, true);
	CHECK_EQUAL(litepcie_capture_release(capture, 3 * MBUF + 8), -EINVAL);
	CHECK_EQUAL(litepcie_capture_release(capture, 2 * MBUF), -EOVERFLOW);
	CHECK_EQUAL(litepcie_capture_release(capture, MBUF), 0);
	CHECK_EQUAL(litepcie_capture_release(capture, 8), -EINVAL);
	litepcie_capture_close(capture);
}

/* Tests of the end of a capture --------------------------------------------------------------- */

/*
 * If the kernel wants the card back, a wait returns -ENODEV. The close of the capture still waits
 * until the card has stopped before it frees the memory.
 */
static void a_card_that_is_asked_back_is_stopped(void)
{
	struct litepcie_capture *capture = begin(RING, false);
	struct litepcie_span span = { .struct_size = sizeof(span) };

	card.asked = true;
	card.busy = 3;
	CHECK_EQUAL(litepcie_capture_next(capture, &span, -1), -ENODEV);
	litepcie_capture_close(capture);
	CHECK(!is_running());
	CHECK_EQUAL(card.busy, 0);
}

/*
 * If the card's last status line cannot be true, a stop must still wait until the card is idle, and
 * then return -EIO.
 */
static void a_stop_waits_whatever_the_line_says(void)
{
	struct litepcie_capture *capture = begin(RING, false);

	card.at_stop = 2 * RING;
	card.busy = 3;
	CHECK_EQUAL(litepcie_capture_stop(capture), -EIO);
	has_sentence("up to the limit of 65536");
	CHECK(!is_running());
	CHECK_EQUAL(card.busy, 0);
	litepcie_capture_close(capture);
}

/*
 * At a stop the card must seal its last MBUF (part of the ring). If the card's data ends inside an
 * MBUF, the stop returns -EIO.
 */
static void an_end_inside_an_mbuf_is_told(void)
{
	struct litepcie_capture *capture = begin(RING, false);

	card.at_stop = MBUF + 64;
	CHECK_EQUAL(litepcie_capture_stop(capture), -EIO);
	has_sentence("ended at 16448 bytes, inside an MBUF of 16384");
	litepcie_capture_close(capture);
}

/*
 * If all reads of the card return all ones, a wait without a timeout, the call for counts and the
 * stop must each return -EIO. These calls and the close must take less than 5 s together.
 */
static void a_dead_card_is_told(void)
{
	struct litepcie_capture *capture = begin(RING, false);
	struct litepcie_capture_stats stats = { .struct_size = sizeof(stats) };
	struct litepcie_span span = { .struct_size = sizeof(span) };
	int64_t begun = litepcie_now_ms();

	card.gone = true;
	CHECK_EQUAL(litepcie_capture_next(capture, &span, -1), -EIO);
	has_sentence("does not answer");
	CHECK_EQUAL(litepcie_capture_stats(capture, &stats), -EIO);
	CHECK_EQUAL(litepcie_capture_stop(capture), -EIO);
	litepcie_capture_close(capture);
	CHECK(litepcie_now_ms() - begun < 5000);
	litepcie_run_free_left(&dev);
}

/*
 * A read of capture_status that fails with all ones does not say that the generator or the card is
 * idle.
 */
static void a_read_that_is_given_up_says_nothing(void)
{
	struct litepcie_capture *capture = begin(RING, false);
	uint64_t made;

	card.given_up = 1;
	CHECK_EQUAL(litepcie_capture_generated(capture, &made), 0);
	CHECK_EQUAL(litepcie_capture_generated(capture, &made), 1);
	card.given_up = 3;
	card.busy = 5;
	CHECK_EQUAL(litepcie_capture_stop(capture), 0);
	CHECK_EQUAL(card.busy, 0);
	litepcie_capture_close(capture);
}

/*
 * A stop must wait until the card is idle, although two reads of capture_control fail with all
 * ones.
 */
static void a_control_that_is_given_up_says_nothing(void)
{
	struct litepcie_capture *capture = begin(RING, false);

	card.control_given_up = 2;
	card.busy = 5;
	CHECK_EQUAL(litepcie_capture_stop(capture), 0);
	CHECK_EQUAL(card.busy, 0);
	CHECK_EQUAL(card.control_given_up, 0);
	litepcie_capture_close(capture);
	CHECK(!has_memory());
}

/*
 * If a stop does not see the card become idle, the ring's memory is kept, since the card may still
 * write to it. The memory is freed when a later litepcie_capture_open() finds the card idle.
 */
static void memory_that_may_be_written_is_kept(void)
{
	struct litepcie_capture *capture = begin(RING, false);
	struct litepcie_capture_config config = {
		.struct_size = sizeof(config), .ring_bytes = RING, .mbuf_bytes = MBUF,
	};

	card.gone = true;
	litepcie_capture_close(capture);
	CHECK(has_memory());
	CHECK_EQUAL(litepcie_capture_open(&dev, &config, &capture), -EIO);
	CHECK(has_memory());
	card.gone = false;
	*word(dev.map.capture.control) = 0;
	CHECK_EQUAL(litepcie_capture_open(&dev, &config, &capture), 0);
	CHECK_EQUAL(litepcie_capture_start(capture), 0);
	/* The write that stops the card arrives, but the card answers no read after it. */
	card.busy = UINT32_MAX;
	card.gone_at_stop = true;
	CHECK_EQUAL(litepcie_capture_stop(capture), -EIO);
	litepcie_capture_close(capture);
	CHECK(has_memory());
	card.gone = card.gone_at_stop = false;
	card.busy = 0;
	CHECK_EQUAL(litepcie_capture_open(&dev, &config, &capture), 0);
	litepcie_capture_close(capture);
	CHECK(!has_memory());
}

/*
 * If another program resets the card during a capture, a wait and the stop return -EIO. The capture
 * can then be started again.
 */
static void a_reset_is_told(void)
{
	struct litepcie_capture *capture = begin(RING, false);
	struct litepcie_span span = { .struct_size = sizeof(span) };

	*word(dev.map.capture.control) = 0;
	CHECK_EQUAL(litepcie_capture_next(capture, &span, -1), -EIO);
	has_sentence("was reset while it captured");
	CHECK_EQUAL(litepcie_capture_stop(capture), -EIO);
	has_sentence("was reset while it captured");
	CHECK_EQUAL(litepcie_capture_start(capture), 0);
	CHECK(is_running());
	litepcie_capture_close(capture);
	CHECK(!has_memory());
}

/* Tests of the time that calls wait for the card ---------------------------------------------- */

/*
 * Check that the setting rest_ms (longest wait for the card) has ended the call that began at
 * @begun_ms: after REST_MS, and long before the default time of 30 s.
 */
static void took_rest_ms(int64_t begun_ms)
{
	int64_t took_ms = litepcie_now_ms() - begun_ms;

	CHECK(took_ms >= REST_MS && took_ms < 30000 / 2);
	has_sentence("within 300 ms");
}

/*
 * Each call of a capture that waits for the card's rest, for a copy of its counts or for the last
 * frame of the generator must return -ETIMEDOUT after rest_ms.
 */
static void rest_ms_ends_each_wait(void)
{
	const struct litepcie_generator generator = {
		.struct_size = sizeof(generator), .size = 64,
	};
	struct litepcie_capture *capture = begin(RING, false);
	struct litepcie_capture_config config = {
		.struct_size = sizeof(config), .ring_bytes = RING, .mbuf_bytes = MBUF,
		.rest_ms = REST_MS,
	};
	struct litepcie_capture_stats stats = { .struct_size = sizeof(stats) };
	int64_t begun = litepcie_now_ms();

	card.copies = true;
	CHECK_EQUAL(litepcie_capture_stats(capture, &stats), -ETIMEDOUT);
	took_rest_ms(begun);
	has_sentence("the copy of the counts");
	card.copies = false;

	begun = litepcie_now_ms();
	card.generates = true;
	CHECK_EQUAL(litepcie_capture_generate(capture, &generator), -ETIMEDOUT);
	took_rest_ms(begun);
	has_sentence("waits for room in the ring");
	has_sentence("release spans of the ring");
	card.generates = false;

	begun = litepcie_now_ms();
	card.busy = UINT32_MAX;
	CHECK_EQUAL(litepcie_capture_stop(capture), -ETIMEDOUT);
	took_rest_ms(begun);
	has_sentence("reset the card");
	begun = litepcie_now_ms();
	CHECK_EQUAL(litepcie_capture_start(capture), -ETIMEDOUT);
	took_rest_ms(begun);
	litepcie_capture_close(capture);
	CHECK(has_memory());
	begun = litepcie_now_ms();
	CHECK_EQUAL(litepcie_capture_open(&dev, &config, &capture), -ETIMEDOUT);
	took_rest_ms(begun);
	card.busy = 0;
	CHECK_EQUAL(litepcie_capture_open(&dev, &config, &capture), 0);
	litepcie_capture_close(capture);
}

/*
 * At a stop the register that says that the card is idle may be ahead of the last status line. If
 * that line never comes, the stop returns -ETIMEDOUT after the time in the setting rest_ms.
 */
static void a_last_line_that_does_not_come_is_waited_for(void)
{
	struct litepcie_capture *capture = begin(RING, false);

	card.unsaid = MBUF;
	CHECK_EQUAL(litepcie_capture_stop(capture), -ETIMEDOUT);
	has_sentence("still says 0 after 300 ms");
	litepcie_capture_close(capture);
}

/*
 * In the settings of a capture, rest_ms (longest wait for the card) of 0 stands for the default
 * time, which litepcie_capture_settings() then returns. A rest_ms of -1 stays -1.
 */
static void rest_ms_has_a_default(void)
{
	struct litepcie_capture *capture = begin(RING, false);
	struct litepcie_capture_config config = {
		.struct_size = sizeof(config), .ring_bytes = RING,
	};

	litepcie_capture_close(capture);
	for (int rest_ms = -1; rest_ms <= 0; rest_ms++) {
		config.rest_ms = rest_ms;
		CHECK_EQUAL(litepcie_capture_open(&dev, &config, &capture), 0);
		CHECK_EQUAL(litepcie_capture_settings(capture, &config), 0);
		CHECK_EQUAL(config.rest_ms, rest_ms ? -1 : LITEPCIE_CAPTURE_REST_MS);
		litepcie_capture_close(capture);
	}
}

/* Tests of the generator ----------------------------------------------------------------------- */

/*
 * litepcie_capture_generate() with NULL must be refused and must not stop the generator.
 * litepcie_capture_generate_stop() must stop it.
 */
static void the_generator_has_a_stop(void)
{
	const struct litepcie_generator generator = {
		.struct_size = sizeof(generator), .size = 64,
	};
	struct litepcie_capture *capture = begin(RING, false);

	CHECK_EQUAL(litepcie_capture_generate(capture, &generator), 0);
	CHECK_EQUAL(*word(dev.map.capture.generator_control), 1);
	CHECK_EQUAL(litepcie_capture_generate(capture, NULL), -EINVAL);
	has_sentence("litepcie_capture_generate_stop()");
	CHECK_EQUAL(*word(dev.map.capture.generator_control), 1);
	CHECK_EQUAL(litepcie_capture_generate_stop(capture), 0);
	CHECK_EQUAL(*word(dev.map.capture.generator_control), 0);
	litepcie_capture_close(capture);
}

/*
 * litepcie_reset() by the handle that has a capture open is refused, whether the capture runs or is
 * stopped.
 */
static void a_card_with_a_capture_is_not_reset(void)
{
	struct litepcie_capture *capture = begin(RING, false);

	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(litepcie_reset(&dev), -EBUSY);
		has_sentence("this handle has a capture open: close it first");
		CHECK_EQUAL(litepcie_capture_stop(capture), 0);
	}
	litepcie_capture_close(capture);
}

/* Tests of a capture's counts ----------------------------------------------------------------- */

static void is_account(const struct litepcie_account *found, unsigned int number)
{
	CHECK_EQUAL(found->frames, 1000 + number);
	CHECK_EQUAL(found->bytes, 10 * (1000 + number));
}

/*
 * The setting `net` lets the card copy the frames of its net device to the capture, from the start
 * to the stop. The count net_lost has the frames that were not copied. On a card without the
 * registers for that, the open of a capture with `net` is refused.
 */
static void a_net_device_is_captured(void)
{
	struct litepcie_capture_config config = {
		.struct_size = sizeof(config), .ring_bytes = RING, .mbuf_bytes = RING / 4,
		.net = true,
	};
	struct litepcie_capture_stats stats = { .struct_size = sizeof(stats) };
	struct litepcie_capture *capture = begin(RING, false);
	uint32_t control, lost;

	litepcie_capture_close(capture);
	control = dev.map.capture.account_bytes + 8;
	lost = control + 4;
	CHECK_EQUAL(litepcie_capture_open(&dev, &config, &capture), -EOPNOTSUPP);
	has_sentence("cannot capture the frames of a net device");
	dev.map.net = (struct litepcie_net_registers) { .control = control, .lost = lost };
	for (int net = 1; net >= 0; net--) {
		config.net = net;
		*word(control) = !net;
		CHECK_EQUAL(litepcie_capture_open(&dev, &config, &capture), 0);
		CHECK_EQUAL(litepcie_capture_start(capture), 0);
		CHECK_EQUAL(*word(control), net);
		*word(lost) = 70 + (uint32_t)net;
		CHECK_EQUAL(litepcie_capture_stats(capture, &stats), 0);
		CHECK_EQUAL(stats.net_lost, 70 + net);
		CHECK_EQUAL(litepcie_capture_stop(capture), 0);
		CHECK_EQUAL(*word(control), 0);
		litepcie_capture_close(capture);
	}
	dev.map.net = (struct litepcie_net_registers) { 0 };
}

/*
 * litepcie_capture_stats() returns each of the card's counts in the member of its port and of its
 * fate (delivered, bad, lost_ring or lost_staging).
 */
static void accounts_are_those_of_their_fates(void)
{
	struct litepcie_capture *capture = begin(RING, false);
	struct litepcie_capture_stats stats = { .struct_size = sizeof(stats) };

	CHECK_EQUAL(litepcie_capture_stats(capture, &stats), 0);
	for (unsigned int port = 0; port < LITEPCIE_CAPTURE_PORTS; port++) {
		is_account(&stats.port[port].delivered, 4 * port);
		is_account(&stats.port[port].bad, 4 * port + 1);
		is_account(&stats.port[port].lost_ring, 4 * port + 2);
		is_account(&stats.port[port].lost_staging, 4 * port + 3);
	}
	litepcie_capture_close(capture);
}

int main(void)
{
	block.parameters = LITEPCIE_CAPTURE_STAGING_BYTES + 1;
	block.parameter[LITEPCIE_CAPTURE_STAGING_BYTES] = STAGING;
	a_line_that_cannot_be_is_refused();
	an_old_line_is_forgotten();
	what_is_not_released_is_not_written();
	a_stop_gives_all_the_room();
	the_staging_memory_may_be_ahead();
	the_queue_s_own_staging_memory_may_be_ahead();
	after_a_stop_nothing_is_ahead();
	skipped_spans_can_be_released();
	a_card_that_is_asked_back_is_stopped();
	a_stop_waits_whatever_the_line_says();
	an_end_inside_an_mbuf_is_told();
	a_dead_card_is_told();
	a_read_that_is_given_up_says_nothing();
	a_control_that_is_given_up_says_nothing();
	memory_that_may_be_written_is_kept();
	a_reset_is_told();
	rest_ms_ends_each_wait();
	a_last_line_that_does_not_come_is_waited_for();
	rest_ms_has_a_default();
	the_generator_has_a_stop();
	a_card_with_a_capture_is_not_reset();
	accounts_are_those_of_their_fates();
	a_net_device_is_captured();
	return failed_checks != 0;
}
