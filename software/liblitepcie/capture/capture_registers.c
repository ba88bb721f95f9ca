/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The capture block by its registers, for the back ends that reach registers and memory themselves.
 *
 * The ring is one segment: these back ends give the card a ring at one bus address. The block's
 * registers may change only while it is at rest, so each start sets all of them.
 */
#include "capture.h"

#include <string.h>

/* Bits of the register capture_control. */
#define RUN		(1u << LITEPCIE_CAPTURE_CONTROL_RUN_OFFSET)
#define KEEP_BAD	(1u << LITEPCIE_CAPTURE_CONTROL_KEEP_BAD_OFFSET)
#define LOSSLESS	(1u << LITEPCIE_CAPTURE_CONTROL_LOSSLESS_OFFSET)
#define NEWEST		(1u << LITEPCIE_CAPTURE_CONTROL_NEWEST_OFFSET)
#define CLEAR		(1u << LITEPCIE_CAPTURE_CONTROL_CLEAR_OFFSET)

#define STATUS_BYTES	4096u		/* memory of the status line: a page of its own */
#define REST_MS		30000		/* longest time in which the block must come to rest */
/* time in which a stop finds that a frame waits for room that nobody gives back */
#define STUCK_MS	500
#define NO_ANSWER	UINT32_MAX
#define FATES		4u	/* delivered, bad, lost for the ring, lost for the staging memory */
#define GENERATE	(1u << LITEPCIE_CAPTURE_GENERATOR_CONTROL_RUN_OFFSET)

/* Registers ----------------------------------------------------------------------------------- */

int litepcie_capture_put64(struct litepcie_capture *capture, uint32_t offset, uint64_t value)
{
	const uint64_t halves[2] = { value >> 32, (uint32_t)value };

	return litepcie_mmio_write_burst(capture->dev, offset, 4, 4, halves, 2);
}

/* Read the status of a card that must answer and must not have been reset. */
static int get_status(struct litepcie_capture *capture, uint32_t *status)
{
	struct litepcie *dev = capture->dev;
	uint32_t control = 0;
	int rc = litepcie_readl(dev, dev->map.capture.status, status);

	if (rc == 0)
		rc = litepcie_readl(dev, dev->map.capture.control, &control);
	if (rc < 0)
		return rc;
	if (*status == NO_ANSWER)
		return litepcie_fail(dev, -EIO, "%s: the card does not answer", dev->name);
	if (capture->running && !(control & RUN))
		return litepcie_fail(dev, -EIO, "%s: the card was reset while it captured",
				     dev->name);
	return 0;
}

int litepcie_capture_status(struct litepcie_capture *capture, uint32_t *status)
{
	struct litepcie *dev = capture->dev;
	int rc = get_status(capture, status);

	if (rc < 0 || !dev->backend->asked_back)
		return rc;
	litepcie_lock(dev);
	return litepcie_unlock(dev, dev->backend->asked_back(dev));
}

/* Called to bring the card to rest: a signal does not end this wait, only the time. */
int litepcie_capture_await(struct litepcie_capture *capture, uint32_t mask, uint32_t value,
			   const char *what)
{
	int64_t deadline = litepcie_deadline(REST_MS);
	unsigned int nap_us = 10;
	uint32_t status = 0;
	int rc = litepcie_capture_status(capture, &status);

	while (rc == 0 && (status & mask) != value) {
		if (!litepcie_slice(deadline))
			return litepcie_fail(capture->dev, -ETIMEDOUT, "%s: %s did not end within "
					     "%d s", capture->dev->name, what, REST_MS / 1000);
		litepcie_capture_nap(capture, &nap_us);
		rc = litepcie_capture_status(capture, &status);
	}
	return rc;
}

/* Called with the lock held. */
int litepcie_capture_quiesce(struct litepcie *dev)
{
	const struct litepcie_capture_registers *registers = &dev->map.capture;
	int rc;

	if (!registers->control)
		return 0;
	rc = litepcie_put(dev, registers->generator_control, 0);
	if (rc == 0 && dev->map.player.control)
		rc = litepcie_put(dev, dev->map.player.control, 0);
	return rc < 0 ? rc : litepcie_put(dev, registers->control, 0);
}

/* Memory -------------------------------------------------------------------------------------- */

/* Called with the lock held. */
static int get_memory(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	struct litepcie_memory *memory = NULL;
	int rc = dev->backend->memory(dev, LITEPCIE_MEMORY_CAPTURE, NULL,
				      capture->config.ring_bytes, &memory, &capture->ring_iova);

	if (rc < 0)
		return rc;
	capture->ring = memory->base;
	rc = dev->backend->memory(dev, LITEPCIE_MEMORY_CAPTURE_STATUS, NULL, STATUS_BYTES, &memory,
				  &capture->line_iova);
	if (rc == 0)
		capture->line = memory->base;
	return rc;
}

static void close_registers(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;

	litepcie_lock(dev);
	dev->backend->memory_free(dev, LITEPCIE_MEMORY_CAPTURE);
	dev->backend->memory_free(dev, LITEPCIE_MEMORY_CAPTURE_STATUS);
	litepcie_unlock(dev, 0);
}

static int open_registers(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	/* The block may still write for an earlier program, to addresses that get memory now. */
	int rc = litepcie_capture_await(capture, CAPTURE_IDLE, CAPTURE_IDLE,
					"the capture of an earlier program");

	if (rc < 0)
		return rc;
	litepcie_lock(dev);
	return litepcie_unlock(dev, get_memory(capture));
}

/* Start and stop ------------------------------------------------------------------------------ */

static unsigned int log2_of(uint64_t value)
{
	return 63 - (unsigned int)__builtin_clzll(value);
}

static uint32_t control_of(const struct litepcie_capture *capture)
{
	const struct litepcie_capture_config *config = &capture->config;

	return (config->keep_bad ? KEEP_BAD : 0) | (config->lossless ? LOSSLESS : 0) |
	       (config->newest ? NEWEST : 0);
}

static int put_settings(struct litepcie_capture *capture)
{
	const struct litepcie_capture_registers *registers = &capture->dev->map.capture;
	const struct litepcie_capture_config *config = &capture->config;
	struct litepcie *dev = capture->dev;
	const struct {
		uint32_t offset, value;
	} words[] = {
		{ registers->segment_index, 0 },
		{ registers->last_segment, 0 },
		{ registers->segment_log2, log2_of(config->ring_bytes) },
		{ registers->mbuf_log2, log2_of(config->mbuf_bytes) },
		{ registers->snap, config->snap },
		{ registers->wait, litepcie_capture_wait_cycles(dev, config->wait_ns) },
	};
	int rc = litepcie_capture_put64(capture, registers->segment_base, capture->ring_iova);

	for (size_t i = 0; rc == 0 && i < sizeof(words) / sizeof(words[0]); i++)
		rc = litepcie_writel(dev, words[i].offset, words[i].value);
	if (rc == 0)
		rc = litepcie_capture_put64(capture, registers->status_base, capture->line_iova);
	return rc;
}

static int allow_registers(struct litepcie_capture *capture, uint64_t limit)
{
	return litepcie_capture_put64(capture, capture->dev->map.capture.limit, limit);
}

/*
 * The memory of the status line is zero when the card begins, so that the line of an earlier start
 * cannot be taken for one of this start.
 */
static int start_registers(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	uint32_t offset = dev->map.capture.control;
	int rc = litepcie_capture_await(capture, CAPTURE_IDLE, CAPTURE_IDLE, "the last capture");

	if (rc == 0)
		rc = put_settings(capture);
	memset((void *)capture->line, 0, sizeof(*capture->line));
	if (rc == 0)
		rc = litepcie_writel(dev, offset, CLEAR);
	if (rc == 0)
		rc = litepcie_capture_await(capture, CAPTURE_IDLE | CAPTURE_ACCOUNTS_BUSY,
					    CAPTURE_IDLE, "the clearing of the accounts");
	if (rc == 0)
		rc = litepcie_capture_allow(capture, capture->config.ring_bytes);
	if (rc == 0)
		rc = litepcie_writel(dev, offset, control_of(capture) | RUN);
	return rc;
}

/* True if the card may not begin another MBUF, so a frame may wait for room. */
static bool is_full(const struct litepcie_capture *capture)
{
	uint64_t mbuf = capture->config.mbuf_bytes;
	uint64_t begun = (capture->seen.position + mbuf - 1) / mbuf * mbuf;

	return !capture->config.newest && begun + mbuf > capture->limit;
}

/*
 * Let no frame wait for room any longer, if the ring is full and stands still: only the program
 * could give room, and it waits for the stop. With a status line that cannot be true nobody knows
 * how full the ring is, so it counts as full.
 */
static void unblock(struct litepcie_capture *capture, int64_t *moved_ms, uint64_t *position)
{
	bool known = litepcie_capture_look(capture) == 0;

	if (!capture->config.lossless)
		return;
	if (known && (capture->seen.position != *position || !is_full(capture))) {
		*position = capture->seen.position;
		*moved_ms = litepcie_now_ms();
	} else if (litepcie_now_ms() - *moved_ms > STUCK_MS) {
		litepcie_writel(capture->dev, capture->dev->map.capture.control,
				control_of(capture) & ~LOSSLESS);
	}
}

/*
 * Wait until the card writes no more. A status line that cannot be true does not end the wait, and
 * neither does a kernel that wants the card back: the ring's memory must not be freed before.
 */
static int come_to_rest(struct litepcie_capture *capture)
{
	int64_t deadline = litepcie_deadline(REST_MS), moved_ms = litepcie_now_ms();
	uint64_t position = capture->seen.position;
	unsigned int nap_us = 10;
	uint32_t status = 0;
	int rc = get_status(capture, &status);

	while (rc == 0 && !(status & CAPTURE_IDLE)) {
		if (!litepcie_slice(deadline))
			return litepcie_fail(capture->dev, -ETIMEDOUT, "%s: the capture did not "
					     "come to rest within %d s: reset the card",
					     capture->dev->name,
					     REST_MS / 1000);
		unblock(capture, &moved_ms, &position);
		litepcie_capture_nap(capture, &nap_us);
		rc = get_status(capture, &status);
	}
	return rc;
}

/* Wait for the last status line, which may come after the register says that the block is idle. */
static int await_last_line(struct litepcie_capture *capture)
{
	int64_t deadline = litepcie_deadline(REST_MS);
	unsigned int nap_us = 10;
	uint64_t position;
	uint32_t status;
	int rc = litepcie_readq(capture->dev, capture->dev->map.capture.position, &position);

	if (rc == 0)
		rc = litepcie_capture_look(capture);
	while (rc == 0 && capture->seen.position != position) {
		if (!litepcie_slice(deadline))
			return litepcie_fail(capture->dev, -EIO, "%s: the capture ended at %llu "
					     "bytes, but its status line says %llu",
					     capture->dev->name,
					     (unsigned long long)position,
					     (unsigned long long)capture->seen.position);
		litepcie_capture_nap(capture, &nap_us);
		rc = get_status(capture, &status);
		if (rc == 0)
			rc = litepcie_capture_look(capture);
	}
	if (rc == 0 && position % capture->config.mbuf_bytes)
		rc = litepcie_fail(capture->dev, -EIO, "%s: the capture ended at %llu bytes, "
				   "inside an MBUF of %u: the card must seal the last one",
				   capture->dev->name, (unsigned long long)position,
				   capture->config.mbuf_bytes);
	return rc;
}

static int stop_registers(struct litepcie_capture *capture)
{
	int rc = litepcie_writel(capture->dev, capture->dev->map.capture.control,
				 control_of(capture));

	if (rc == 0)
		rc = come_to_rest(capture);
	return rc < 0 ? rc : await_last_line(capture);
}

static int check_registers(struct litepcie_capture *capture)
{
	uint32_t status;

	return litepcie_capture_status(capture, &status);
}

/* A stop begins with this look: a card that was reset is not asked to stop. */
static int answers(struct litepcie_capture *capture)
{
	uint32_t status;

	return get_status(capture, &status);
}

static int get64(struct litepcie *dev, uint32_t offset, uint64_t *value)
{
	uint32_t words[2] = { 0 };
	int rc;

	litepcie_lock(dev);
	rc = litepcie_unlock(dev, litepcie_get_words(dev, offset, words, 2));
	*value = (uint64_t)words[0] << 32 | words[1];
	return rc;
}

static int get_account(struct litepcie *dev, unsigned int number, struct litepcie_account *account)
{
	const struct litepcie_capture_registers *registers = &dev->map.capture;
	int rc = litepcie_writel(dev, registers->account_control, number);

	if (rc == 0)
		rc = get64(dev, registers->account_frames, &account->frames);
	if (rc == 0)
		rc = get64(dev, registers->account_bytes, &account->bytes);
	return rc;
}

static int get_port(struct litepcie *dev, unsigned int port, struct litepcie_port_accounts *found)
{
	struct litepcie_account *const fates[FATES] = {
		&found->delivered, &found->bad, &found->lost_ring, &found->lost_staging,
	};
	int rc = 0;

	for (unsigned int fate = 0; rc == 0 && fate < FATES; fate++)
		rc = get_account(dev, FATES * port + fate, fates[fate]);
	return rc;
}

static int accounts_by_registers(struct litepcie_capture *capture,
				 struct litepcie_port_accounts *ports)
{
	struct litepcie *dev = capture->dev;
	int rc = litepcie_writel(dev, dev->map.capture.account_control, CAPTURE_SNAPSHOT);

	if (rc == 0)
		rc = litepcie_capture_await(capture, CAPTURE_ACCOUNTS_BUSY, 0,
					    "the copy of the accounts");
	for (unsigned int port = 0; rc == 0 && port < LITEPCIE_CAPTURE_PORTS; port++)
		rc = get_port(dev, port, &ports[port]);
	return rc;
}

static int run_generator(struct litepcie *dev, const struct litepcie_generator *generator)
{
	const struct litepcie_capture_registers *registers = &dev->map.capture;
	const struct {
		uint32_t offset, value;
	} words[] = {
		{ registers->generator_size, generator->size },
		{ registers->generator_period, generator->period },
		{ registers->generator_count, generator->count },
		{ registers->generator_seed, generator->seed },
		{ registers->generator_port_mask, generator->port_mask },
		{ registers->generator_control, GENERATE },
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(words) / sizeof(words[0]); i++)
		rc = litepcie_writel(dev, words[i].offset, words[i].value);
	return rc;
}

static int generate_by_registers(struct litepcie_capture *capture,
				 const struct litepcie_generator *generator)
{
	struct litepcie *dev = capture->dev;
	int rc = litepcie_writel(dev, dev->map.capture.generator_control, 0);

	if (rc == 0 && generator) {
		rc = litepcie_capture_await(capture, CAPTURE_GENERATOR_IDLE, CAPTURE_GENERATOR_IDLE,
					    "the generator's last frame");
		if (rc == 0)
			rc = run_generator(dev, generator);
	}
	return rc;
}

/* The count comes after the state: an idle generator has counted its last frame. */
static int generated_by_registers(struct litepcie_capture *capture, uint32_t *made)
{
	struct litepcie *dev = capture->dev;
	uint32_t status = 0;
	int rc = litepcie_capture_status(capture, &status);

	if (rc == 0)
		rc = litepcie_readl(dev, dev->map.capture.generator_made, made);
	return rc < 0 ? rc : (status & CAPTURE_GENERATOR_IDLE) != 0;
}

const struct litepcie_capture_access litepcie_capture_by_registers = {
	.open = open_registers,
	.close = close_registers,
	.start = start_registers,
	.stop = stop_registers,
	.allow = allow_registers,
	.answers = answers,
	.check = check_registers,
	.accounts = accounts_by_registers,
	.generate = generate_by_registers,
	.generated = generated_by_registers,
};
