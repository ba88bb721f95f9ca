/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the streams by random calls and a random card. A model says what each call must return, which
 * descriptors the card must get, and how far each direction is. Some runs begin right before 2^32
 * buffers, where the count of a card's register wraps.
 *
 * Usage: stream_random [SEED [COUNT [STEPS]]]: COUNT sequences of STEPS steps, from SEED on.
 */
#include "seed.h"
#include "told_card.h"

#define LONG_MS		1000	/* time-out of a call that the card ends at once */

/* What must be true of one direction. All counts begin at the same number, see move_counts(). */
struct model {
	bool		runs;
	uint64_t	first;		/* count at which the run began */
	uint64_t	acquired, released, handed, posted;
	uint64_t	executed;	/* by the card */
	uint64_t	known;		/* the executed buffers of which the library has heard */
	uint64_t	seen;		/* the known buffers whose data has arrived */
	uint64_t	limit, spared;
	uint64_t	errors;
	unsigned int	batch, every;
	bool		packets;
	uint32_t	bytes[COUNT], flags[COUNT];
	bool		asks[COUNT];
	/* buffers that the card executes in the library's next sleep, and whether it keeps silent */
	unsigned int	planned;
	bool		lost;
};

static struct model models[2];
static struct litepcie_backend backend;
static bool records;
static unsigned int seed;
static uint64_t interrupts;	/* raised since the first of the streams was started */
static const char *step_name = "";

#define MODEL(way)	(&models[way])
static const unsigned int bases[] = { H2C, C2H }, lines[] = { LINE_H2C, LINE_C2H };

static struct litepcie_stream *stream_of(unsigned int way)
{
	return way ? &dev.c2h : &dev.h2c;
}

static unsigned int below(unsigned int limit)
{
	return (unsigned int)rand() % limit;
}

static bool one_in(unsigned int n)
{
	return !below(n);
}

/* The card ------------------------------------------------------------------------------------ */

/* Check a descriptor that the card has got. */
static void check_descriptor(unsigned int way)
{
	const struct model *m = MODEL(way);
	unsigned int base = bases[way], slot = card.pushed[way] % COUNT;
	uint64_t ring = IOVA + (way ? LITEPCIE_MEMORY_C2H : LITEPCIE_MEMORY_H2C) * 0x1000000ull;
	uint32_t value = card.word[(base + VALUE) / 4];
	uint32_t flags = (m->packets ? 0 : LITEPCIE_DESCRIPTOR_LAST_DISABLE) |
			 (m->asks[slot] ? 0 : LITEPCIE_DESCRIPTOR_IRQ_DISABLE);

	CHECK(m->first + card.pushed[way] < m->posted);
	CHECK_EQUAL(value, flags | (way ? SIZE : m->bytes[slot]));
	CHECK_EQUAL((uint64_t)card.word[(base + PUSH) / 4] << 32 | card.word[(base + VALUE) / 4 + 1],
		    ring + slot * SIZE);
}

static int random_post(struct litepcie *ours, const struct litepcie_post *posts, size_t count,
		       enum litepcie_post_by by)
{
	for (size_t i = 0; i < count; i++) {
		for (unsigned int way = 0; way < 2; way++) {
			if (posts[i].offset != bases[way] + PUSH)
				continue;
			card.word[posts[i].offset / 4] = (uint32_t)posts[i].value;
			check_descriptor(way);
		}
		fake_post(ours, &posts[i], 1, by);
	}
	return 0;
}

static void tell_line(unsigned int way)
{
	line(lines[way])->errors = MODEL(way)->errors;
	line(lines[way])->buffers = MODEL(way)->executed;
}

/* Let the card execute @count descriptors, or all that it has. An interrupt may get lost. */
static void execute(unsigned int way, unsigned int count, bool lost)
{
	struct model *m = MODEL(way);

	if (!m->runs)
		return;
	for (; count && m->executed < m->posted; count--) {
		uint32_t slot = m->executed % COUNT;

		if (way && records) {
			m->flags[slot] = m->packets ? below(8) : 0;
			m->bytes[slot] = m->packets ? below(SIZE + 1) : SIZE;
			put_record(m->executed, m->bytes[slot], m->flags[slot]);
		}
		m->executed++;
		if (m->asks[slot] && !lost) {
			card.raised++;
			interrupts++;
		}
	}
	if (records && (!way || !one_in(3)))
		tell_line(way);
	card.word[(bases[way] + STATUS) / 4] = (uint32_t)m->executed;
}

/* What was known before a call of the library that may sleep, and how its first sleep ended. */
static struct {
	uint64_t	known[2];
	uint64_t	missed;
	bool		slept, came, timed;
} before_call;

static int random_sleep(struct litepcie *ours, int timeout_ms)
{
	int rc;

	for (unsigned int way = 0; way < 2 && timeout_ms; way++) {
		if (MODEL(way)->planned)
			execute(way, MODEL(way)->planned, MODEL(way)->lost);
		MODEL(way)->planned = 0;
	}
	rc = fake_sleep(ours, timeout_ms);
	if (!before_call.slept) {
		before_call.came = rc > 0;
		before_call.timed = timeout_ms > 0;
	}
	before_call.slept = true;
	return rc;
}

/* The model ----------------------------------------------------------------------------------- */

static void model_look(void)
{
	for (unsigned int way = 0; way < 2; way++) {
		struct model *m = MODEL(way);
		uint64_t before = m->known;

		if (!m->runs)
			continue;
		m->known = m->seen = m->executed;
		/* a register's count may be ahead of the data of the last buffer */
		if (way && !records && m->known != before && m->known != m->posted &&
		    !m->asks[(m->known - 1) % COUNT])
			m->seen--;
	}
}

/* Give the card the buffers up to @end, within the limit. */
static void model_post(unsigned int way, uint64_t end)
{
	struct model *m = MODEL(way);
	uint64_t count;

	if (m->limit && end > m->limit)
		end = m->limit;
	count = end - m->posted;
	for (; m->posted < end; m->posted++)
		m->asks[m->posted % COUNT] = m->posted % m->every == m->every - 1 ||
			(way ? m->posted + 1 == m->limit :
			       count < m->every && m->posted + 1 == end);
}

static void model_hand_over(unsigned int way)
{
	struct model *m = MODEL(way);

	if (!m->runs || m->released == m->handed)
		return;
	model_post(way, m->released + (way ? COUNT : 0));
	m->handed = m->released;
}

static void model_hand_over_early(unsigned int way)
{
	struct model *m = MODEL(way);

	if (m->handed + (way ? COUNT : 0) - m->seen < COUNT / 2)
		model_hand_over(way);
}

static uint64_t model_available(unsigned int way)
{
	return MODEL(way)->seen + (way ? 0 : COUNT) - MODEL(way)->acquired;
}

static uint64_t model_seen(unsigned int directions)
{
	return (directions & LITEPCIE_H2C ? models[0].seen : 0) +
	       (directions & LITEPCIE_C2H ? models[1].seen : 0);
}

/* Check all that the library says of its counts. */
static void check_counts(unsigned int step)
{
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	CHECK_EQUAL(litepcie_stats(&dev, &stats), 0);
	CHECK_EQUAL(stats.h2c_submitted, models[0].released);
	CHECK_EQUAL(stats.h2c_done, models[0].seen);
	CHECK_EQUAL(stats.c2h_done, models[1].seen);
	CHECK_EQUAL(stats.c2h_released, models[1].released);
	CHECK_EQUAL(stats.h2c_errors, models[0].errors);
	CHECK_EQUAL(stats.c2h_errors, models[1].errors);
	for (unsigned int way = 0; way < 2; way++) {
		CHECK_EQUAL(stream_of(way)->active, MODEL(way)->runs);
		CHECK_EQUAL(stream_of(way)->acquired, MODEL(way)->acquired);
		CHECK_EQUAL(MODEL(way)->first + card.pushed[way], MODEL(way)->posted);
	}
	if (models[0].runs || models[1].runs)
		CHECK_EQUAL(stats.interrupts + card.raised, interrupts);
	if (failed_checks)
		fprintf(stderr, "seed %u, step %u: %s\n", seed, step, step_name);
}

/* Steps --------------------------------------------------------------------------------------- */

static bool quiet(void)
{
	return models[0].executed == models[0].seen && models[1].executed == models[1].seen;
}

static int expected_wait(unsigned int directions)
{
	return (directions & LITEPCIE_H2C && !models[0].runs) ||
	       (directions & LITEPCIE_C2H && !models[1].runs) ? -EINVAL : 0;
}

/*
 * Choose the time-out of a call that waits for @directions. Only a call that the card ends gets a
 * long one: the card has news, or gets a plan for the library's sleep.
 */
static int choose_timeout(unsigned int directions)
{
	bool fresh = !quiet();

	for (unsigned int way = 0; way < 2; way++) {
		struct model *m = MODEL(way);
		uint64_t left = m->posted - m->executed;

		if (!(directions & (way ? LITEPCIE_C2H : LITEPCIE_H2C)))
			continue;
		if (m->executed != m->seen)
			return one_in(2) ? LONG_MS : 0;
		if (fresh || !left || one_in(3))
			continue;
		m->planned = 1 + below((unsigned int)left);
		m->lost = one_in(4);
		return LONG_MS;
	}
	return fresh || card.raised || one_in(2) ? 0 : 1;
}

static void begin_call(void)
{
	for (unsigned int way = 0; way < 2; way++)
		before_call.known[way] = MODEL(way)->known;
	before_call.missed = dev.stats.interrupts_missed;
	before_call.slept = before_call.came = before_call.timed = false;
}

/* A long sleep without an interrupt misses one if a buffer that asked for one has been executed. */
static void check_missed(int timeout_ms)
{
	bool asked = false;

	for (unsigned int way = 0; way < 2; way++)
		for (uint64_t n = before_call.known[way]; n < MODEL(way)->known; n++)
			asked |= MODEL(way)->asks[n % COUNT];
	CHECK_EQUAL(dev.stats.interrupts_missed - before_call.missed,
		    timeout_ms == LONG_MS && before_call.timed && !before_call.came && asked);
}

/* Make the looks of a wait that has been made. Without an interrupt the library looks twice. */
static void model_waited(unsigned int directions, int timeout_ms)
{
	uint64_t before = model_seen(directions);

	model_look();
	if (!before_call.came || (timeout_ms && model_seen(directions) == before))
		model_look();
	check_missed(timeout_ms);
}

static void step_wait(void)
{
	unsigned int directions = 1 + below(3);
	int expected = expected_wait(directions), timeout_ms, rc;
	uint64_t before = model_seen(directions);

	step_name = "wait";
	if (expected < 0) {
		CHECK_EQUAL(litepcie_dma_wait(&dev, directions, 0), expected);
		return;
	}
	for (unsigned int way = 0; way < 2; way++)
		if (directions & (way ? LITEPCIE_C2H : LITEPCIE_H2C))
			model_hand_over_early(way);
	timeout_ms = choose_timeout(directions);
	begin_call();
	rc = litepcie_dma_wait(&dev, directions, timeout_ms);
	model_waited(directions, timeout_ms);
	CHECK_EQUAL(rc, model_seen(directions) != before);
}

/* Make the model ready for a call that wants a buffer. Returns the time-out for the call. */
static int model_want(unsigned int way)
{
	int timeout_ms = 0;

	begin_call();
	if (!MODEL(way)->runs || model_available(way))
		return (int)below(2);
	model_hand_over_early(way);
	timeout_ms = choose_timeout(stream_of(way)->direction);
	begin_call();
	return timeout_ms;
}

/* Returns the number of buffers that there are after the call. */
static uint64_t model_wanted(unsigned int way, int timeout_ms)
{
	if (model_available(way))
		return model_available(way);
	if (timeout_ms) {
		model_waited(stream_of(way)->direction, timeout_ms);
	} else {
		model_look();
		model_look();
	}
	return model_available(way);
}

static void step_ready(unsigned int way)
{
	int timeout_ms = model_want(way), rc = litepcie_stream_ready(stream_of(way), timeout_ms);

	step_name = "ready";
	CHECK_EQUAL(rc, MODEL(way)->runs ? (int)model_wanted(way, timeout_ms) : -EINVAL);
}

static void check_buffer(unsigned int way, const struct litepcie_buffer *buffer)
{
	const struct model *m = MODEL(way);
	uint64_t slot = m->acquired % COUNT;
	bool recorded = way && records;

	CHECK_EQUAL(buffer->sequence, m->acquired);
	CHECK(buffer->data == (uint8_t *)stream_of(way)->memory->base + slot * SIZE);
	CHECK_EQUAL(buffer->bytes, recorded ? m->bytes[slot] : SIZE);
	CHECK_EQUAL(buffer->flags, recorded ? m->flags[slot] : 0);
}

static void step_acquire(unsigned int way)
{
	struct litepcie_buffer buffer = { .struct_size = one_in(16) ? 0 : sizeof(buffer) };
	bool sized = buffer.struct_size;
	struct model *m = MODEL(way);
	int timeout_ms = model_want(way);
	int rc = litepcie_stream_acquire(stream_of(way), &buffer, timeout_ms);

	step_name = "acquire";
	if (!m->runs) {
		CHECK_EQUAL(rc, -EINVAL);
	} else if (!model_wanted(way, timeout_ms)) {
		CHECK_EQUAL(rc, 0);
	} else if (!sized) {
		CHECK_EQUAL(rc, -EINVAL);
	} else {
		CHECK_EQUAL(rc, 1);
		check_buffer(way, &buffer);
		m->acquired++;
	}
}

static void model_release(unsigned int way, uint64_t count)
{
	MODEL(way)->released += count;
	if (MODEL(way)->released - MODEL(way)->handed >= MODEL(way)->batch)
		model_hand_over(way);
}

static void step_release(unsigned int way)
{
	struct model *m = MODEL(way);
	uint64_t held = m->acquired - m->released;
	unsigned int count = below((unsigned int)held + 2);
	int expected = m->runs && count <= held ? 0 : -EINVAL;

	step_name = "release";
	for (uint64_t n = 0; !way && n < count && !expected; n++)
		m->bytes[(m->released + n) % COUNT] = SIZE;
	if (!expected)
		model_release(way, count);
	CHECK_EQUAL(litepcie_stream_release(stream_of(way), count), expected);
}

static void step_send(unsigned int way)
{
	struct model *m = MODEL(way);
	uint32_t bytes = one_in(4) ? SIZE + below(2) : below(SIZE);
	bool refused = way || !bytes || bytes > SIZE || !m->runs || m->acquired == m->released;

	step_name = "send";
	if (!refused) {
		m->bytes[m->released % COUNT] = bytes;
		m->spared += SIZE - bytes;
		model_release(way, 1);
	}
	CHECK_EQUAL(litepcie_stream_send(stream_of(way), bytes), refused ? -EINVAL : 0);
}

static void step_flush(unsigned int way)
{
	step_name = "flush";
	model_hand_over(way);
	CHECK_EQUAL(litepcie_stream_flush(stream_of(way)), MODEL(way)->runs ? 0 : -EINVAL);
}

static void step_drain(unsigned int way)
{
	struct model *m = MODEL(way);
	uint64_t wanted, received;
	bool planned;
	char text[96];

	step_name = "drain";
	if (way || !m->runs) {
		CHECK_EQUAL(litepcie_stream_drain(stream_of(way), 0), -EINVAL);
		return;
	}
	model_hand_over(way);
	m->planned = m->executed < m->posted && one_in(2) ?
		     (unsigned int)(m->posted - m->executed) : 0;
	m->lost = false;
	planned = m->planned;
	wanted = received = m->released * SIZE - m->spared;
	for (uint64_t n = m->executed; n < m->released; n++)
		received -= m->bytes[n % COUNT];
	CHECK_EQUAL(litepcie_stream_drain(stream_of(way), planned ? LONG_MS : 0),
		    m->executed == m->released ? 0 : -ETIMEDOUT);
	snprintf(text, sizeof(text), "received %llu of %llu bytes", (unsigned long long)received,
		 (unsigned long long)wanted);
	CHECK(m->executed == m->released || says(text));
	model_look();
	if (planned)
		model_look();
}

/*
 * Let the counts of a run that has just begun be those of a run that is long under way: a register
 * of the card wraps soon.
 */
static void move_counts(unsigned int way)
{
	uint64_t by = (UINT64_C(1) << 32) - 16 - 48 * (uint64_t)below(4);
	struct litepcie_stream *stream = stream_of(way);
	struct model *m = MODEL(way);

	stream->hw += by;
	stream->sw += by;
	stream->acquired += by;
	stream->handed += by;
	stream->posted += by;
	stream->done += by;
	m->first = m->acquired = m->released = m->handed = m->executed = m->known = m->seen = by;
	m->posted += by;
	m->spared = 0;
	card.word[(bases[way] + STATUS) / 4] = (uint32_t)by;
	if (m->limit)
		stream->options.limit = m->limit += by;
}

static void step_start(unsigned int way)
{
	static const unsigned int every[] = { 0, 1, 2, 3, 4, 6, 8, 16 };
	struct model *m = MODEL(way);
	struct run_config config = {
		.interrupt_every = every[below(8)], .batch = below(COUNT / 2 + 1),
		.c2h_limit = way && one_in(3) ? 1 + below(3 * COUNT) : 0,
		.packets = records && one_in(2),
	};

	step_name = "start";
	if (m->runs) {
		CHECK_EQUAL(litepcie_stream_start(stream_of(way)), -EBUSY);
		CHECK_EQUAL(litepcie_reset(&dev), -EBUSY);
		return;
	}
	CHECK_EQUAL(run_open(&dev, stream_of(way)->direction, &config), 0);
	if (!MODEL(!way)->runs)
		interrupts = MODEL(!way)->errors = 0;
	*m = (struct model) {
		.runs = true, .limit = config.c2h_limit, .batch = config.batch ? config.batch : 1,
		.every = config.interrupt_every ? config.interrupt_every : COUNT / 2,
		.packets = config.packets,
	};
	card.pushed[way] = 0;
	card.word[(bases[way] + STATUS) / 4] = 0;
	if (way)
		model_post(way, COUNT);
	CHECK_EQUAL(litepcie_stream_start(stream_of(way)), 0);
	CHECK(!card.late);
	if (one_in(2))
		move_counts(way);
}

static void step_stop(unsigned int way)
{
	step_name = "stop";
	/* most runs must be long enough for several rounds of the ring */
	if (!one_in(8))
		return;
	CHECK_EQUAL(litepcie_stream_stop(stream_of(way)), 0);
	MODEL(way)->runs = false;
	if (!MODEL(!way)->runs)
		CHECK_EQUAL(card.raised, 0);
}

/* Another thread stops both streams while this one waits. */
static void step_stop_in_wait(unsigned int way)
{
	step_name = "stop in a wait";
	if (!one_in(8) || !MODEL(way)->runs || !quiet() || card.raised)
		return;
	model_hand_over_early(way);
	card.stops = true;
	CHECK_EQUAL(litepcie_dma_wait(&dev, stream_of(way)->direction, LONG_MS), -ECANCELED);
	models[0].runs = models[1].runs = false;
}

static void step_execute(unsigned int way)
{
	step_name = "execute";
	execute(way, 1 + below(COUNT), one_in(8));
	if (records && MODEL(way)->runs && one_in(4)) {
		MODEL(way)->errors += below(3);
		line(lines[way])->errors = MODEL(way)->errors;
	}
}

/* A count that cannot be true is refused, and a read that is given up is made again. */
static void step_untrue(unsigned int way)
{
	struct model *m = MODEL(way);
	uint32_t *status = &card.word[(bases[way] + STATUS) / 4];
	uint64_t untrue;

	step_name = "untrue count";
	if (!m->runs || !quiet())
		return;
	model_hand_over_early(way);
	untrue = m->posted + 1 + below(2);
	if (way && records && m->executed < m->posted && one_in(2))
		untrue = m->executed + 1;	/* but there is no record */
	if (records)
		line(lines[way])->buffers = untrue;
	else
		*status = (uint32_t)untrue;
	CHECK_EQUAL(litepcie_dma_wait(&dev, stream_of(way)->direction, 0), -EIO);
	if (records)
		line(lines[way])->buffers = m->executed;
	*status = (uint32_t)m->executed;
	if (UINT32_MAX - (uint32_t)m->known <= m->posted - m->known)
		return;
	card.blocked = bases[way] + STATUS;
	card.given_up = 1 + below(LITEPCIE_READS - 1);
	CHECK_EQUAL(litepcie_dma_wait(&dev, stream_of(way)->direction, 0), 0);
	card.given_up = 0;
}

/* A buffer whose record says more bytes than it has is not acquired. */
static void step_long_record(void)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	struct model *m = MODEL(1);

	step_name = "long record";
	if (!records || !m->runs || m->seen == m->acquired)
		return;
	entry(m->acquired)->bytes = SIZE + 1;
	CHECK_EQUAL(litepcie_stream_acquire(&dev.c2h, &buffer, 0), -EIO);
	entry(m->acquired)->bytes = m->bytes[m->acquired % COUNT];
}

static void random_step(void)
{
	unsigned int way = below(2);

	switch (below(32)) {
	case 0: step_stop(way); break;
	case 1: case 2: step_start(way); break;
	case 3: step_stop_in_wait(way); break;
	case 4: step_untrue(way); break;
	case 5: step_long_record(); break;
	case 6: step_flush(way); break;
	case 7: step_drain(way); break;
	case 8: case 9: case 10: step_send(way); break;
	case 11: case 12: case 13: step_wait(); break;
	case 14: case 15: step_ready(way); break;
	case 16: case 17: case 18: case 19: step_release(way); break;
	case 20: case 21: case 22: case 23: case 24: case 25: step_execute(way); break;
	default: step_acquire(way);
	}
}

static void sequence(unsigned int steps)
{
	records = one_in(2);
	open_card(records);
	memset(models, 0, sizeof(models));
	interrupts = 0;
	backend = fake;
	backend.post = random_post;
	backend.sleep = random_sleep;
	backend.merges = true;
	dev.backend = &backend;
	for (unsigned int step = 0; step < steps && !failed_checks; step++) {
		random_step();
		check_counts(step);
	}
}

int main(int argc, char **argv)
{
	unsigned int first = take_seed("stream_random", argc > 1 ? argv[1] : NULL);
	unsigned int count = argc > 2 ? (unsigned int)atoi(argv[2]) : 40;
	unsigned int steps = argc > 3 ? (unsigned int)atoi(argv[3]) : 1000;

	for (unsigned int n = 0; n < count && !failed_checks; n++) {
		seed = first + n;
		srand(seed);
		sequence(steps);
	}
	free_memory();
	return failed_checks != 0;
}
