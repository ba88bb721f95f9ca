/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Open, start and stop the card's capture block. litepcie_capture.h says what each call promises.
 *
 * The ring is one segment: the back ends that reach memory themselves give the card a ring at one
 * bus address. The block's registers may change only while it is at rest, so each start sets all of
 * them.
 */
#include "capture.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "litepcie_capability.h"

/* Bits of the register capture_control. */
#define RUN		(1u << LITEPCIE_CAPTURE_CONTROL_RUN_OFFSET)
#define KEEP_BAD	(1u << LITEPCIE_CAPTURE_CONTROL_KEEP_BAD_OFFSET)
#define LOSSLESS	(1u << LITEPCIE_CAPTURE_CONTROL_LOSSLESS_OFFSET)
#define NEWEST		(1u << LITEPCIE_CAPTURE_CONTROL_NEWEST_OFFSET)
#define CLEAR		(1u << LITEPCIE_CAPTURE_CONTROL_CLEAR_OFFSET)

#define WAIT_BITS	24		/* width of the register capture_wait */
#define DEFAULT_WAIT_NS	1000u
#define STATUS_BYTES	4096u		/* memory of the status line: a page of its own */
#define REST_MS		30000		/* longest time in which the block must come to rest */
/* time in which a stop finds that a frame waits for room that nobody gives back */
#define STUCK_MS	500
#define NO_ANSWER	UINT32_MAX
#define NAP_MOST_US	1000u

/* Settings ------------------------------------------------------------------------------------ */

static bool power_of_two(uint64_t value, uint64_t low, uint64_t high)
{
	return value >= low && value <= high && !(value & (value - 1));
}

static unsigned int log2_of(uint64_t value)
{
	return 63 - (unsigned int)__builtin_clzll(value);
}

static uint64_t wait_cycles(const struct litepcie *dev, uint32_t wait_ns)
{
	uint64_t cycles = (uint64_t)wait_ns * dev->card.clock_hz / 1000000000;

	if (wait_ns == LITEPCIE_CAPTURE_AT_ONCE)
		return 0;
	return cycles ? cycles : 1;
}

static void set_defaults(struct litepcie_capture_config *config)
{
	if (!config->ring_bytes)
		config->ring_bytes = LITEPCIE_CAPTURE_RING_DEFAULT;
	if (!config->mbuf_bytes)
		config->mbuf_bytes = config->ring_bytes / 4 < LITEPCIE_CAPTURE_MBUF_DEFAULT ?
				     (uint32_t)(config->ring_bytes / 4) :
				     LITEPCIE_CAPTURE_MBUF_DEFAULT;
	if (!config->wait_ns)
		config->wait_ns = DEFAULT_WAIT_NS;
}

static int check_sizes(struct litepcie *dev, const struct litepcie_capture_config *config)
{
	uint64_t ring = config->ring_bytes;
	uint32_t mbuf = config->mbuf_bytes;

	if (!power_of_two(ring, LITEPCIE_CAPTURE_RING_SMALLEST, LITEPCIE_CAPTURE_RING_LARGEST))
		return litepcie_fail(dev, -EINVAL, "a ring of %llu bytes: it must be a power of "
				     "two from 65536 to 1073741824 (64 KiB to 1 GiB)",
				     (unsigned long long)ring);
	if (!power_of_two(mbuf, LITEPCIE_CAPTURE_MBUF_SMALLEST, LITEPCIE_CAPTURE_MBUF_LARGEST))
		return litepcie_fail(dev, -EINVAL, "an MBUF of %u bytes: it must be a power of two "
				     "from 4096 to 4194304 (4 KiB to 4 MiB)", mbuf);
	if (mbuf > ring / 4)
		return litepcie_fail(dev, -EINVAL, "an MBUF of %u bytes in a ring of %llu: it must "
				     "be at most a quarter of the ring", mbuf,
				     (unsigned long long)ring);
	return 0;
}

static int check_config(struct litepcie *dev, const struct litepcie_capture_config *config)
{
	uint32_t staging = dev->map.capture.staging_bytes;
	int rc = check_sizes(dev, config);

	if (rc < 0)
		return rc;
	if (config->snap > LITEPCIE_CAPTURE_FRAME_LARGEST)
		return litepcie_fail(dev, -EINVAL, "a snap length of %u bytes: it must be at most "
				     "%u, the size of the largest frame", config->snap,
				     LITEPCIE_CAPTURE_FRAME_LARGEST);
	if (wait_cycles(dev, config->wait_ns) >> WAIT_BITS)
		return litepcie_fail(dev, -EINVAL, "records that wait for %u ns: it must be at "
				     "most %llu", config->wait_ns, (unsigned long long)
				     ((UINT64_C(1) << WAIT_BITS) - 1) * 1000000000 /
				     dev->card.clock_hz);
	if (config->newest && config->lossless)
		return litepcie_fail(dev, -EINVAL, "newest and lossless: a card that writes over "
				     "the oldest data has always room, so choose one of them");
	if (config->newest && config->ring_bytes / 4 < staging)
		return litepcie_fail(dev, -EINVAL, "newest with a ring of %llu bytes: it must have "
				     "%u or more, four times the card's staging memory",
				     (unsigned long long)config->ring_bytes, 4 * staging);
	return 0;
}

static uint32_t control_of(const struct litepcie_capture *capture)
{
	const struct litepcie_capture_config *config = &capture->config;

	return (config->keep_bad ? KEEP_BAD : 0) | (config->lossless ? LOSSLESS : 0) |
	       (config->newest ? NEWEST : 0);
}

int litepcie_capture_settings(const struct litepcie_capture *capture,
			      struct litepcie_capture_config *config)
{
	return litepcie_struct_out(capture->dev, config, &capture->config, sizeof(*config),
				   "litepcie_capture_config");
}

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

int litepcie_capture_nap(struct litepcie_capture *capture, unsigned int *nap_us)
{
	struct timespec nap = { .tv_nsec = 1000 * (long)*nap_us };
	int rc = nanosleep(&nap, NULL);

	if (*nap_us < NAP_MOST_US)
		*nap_us = 2 * *nap_us < NAP_MOST_US ? 2 * *nap_us : NAP_MOST_US;
	if (rc < 0)
		return litepcie_fail(capture->dev, -EINTR, "a signal ended the wait for the "
				     "capture");
	return 0;
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
	return rc < 0 ? rc : litepcie_put(dev, registers->control, 0);
}

/* Opening and closing ------------------------------------------------------------------------- */

static int check_card(struct litepcie *dev)
{
	const struct litepcie_block *block =
		litepcie_find_block(dev, LITEPCIE_BLOCK_CAPTURE, 0);

	if (!block)
		return litepcie_fail(dev, -ENODEV, "%s: the card has no capture block: build its "
				     "gateware with --capture", dev->name);
	if (!dev->map.capture.control)
		return litepcie_fail(dev, -EPROTO, "%s: the card's capture block has version %u, "
				     "this library understands 1: use the library that came with "
				     "the gateware", dev->name, block->version);
	if (!dev->backend->memory)
		return litepcie_fail(dev, -EOPNOTSUPP, "%s: the kernel driver cannot capture yet: "
				     "give the card to VFIO (litepcie_util vfio bind) and open it "
				     "as vfio:ADDRESS", dev->name);
	if (dev->capture)
		return litepcie_fail(dev, -EBUSY, "%s: this handle has a capture already: close it "
				     "first", dev->name);
	return 0;
}

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

static void free_capture(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;

	litepcie_lock(dev);
	dev->backend->memory_free(dev, LITEPCIE_MEMORY_CAPTURE);
	dev->backend->memory_free(dev, LITEPCIE_MEMORY_CAPTURE_STATUS);
	dev->capture = NULL;
	litepcie_unlock(dev, 0);
	free(capture);
}

static int set_up(struct litepcie_capture *capture)
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

int litepcie_capture_open(struct litepcie *dev, const struct litepcie_capture_config *config,
			  struct litepcie_capture **result)
{
	struct litepcie_capture_config wanted = { .struct_size = sizeof(wanted) };
	struct litepcie_capture *capture;
	int rc = check_card(dev);

	*result = NULL;
	if (rc == 0 && config)
		rc = litepcie_struct_in(dev, &wanted, sizeof(wanted), config,
					 "litepcie_capture_config");
	set_defaults(&wanted);
	if (rc == 0)
		rc = check_config(dev, &wanted);
	if (rc < 0)
		return rc;
	capture = calloc(1, sizeof(*capture));
	if (!capture)
		return litepcie_fail(dev, -ENOMEM, "%s", strerror(ENOMEM));
	capture->dev = dev;
	capture->config = wanted;
	dev->capture = capture;
	rc = set_up(capture);
	if (rc < 0) {
		free_capture(capture);
		return rc;
	}
	*result = capture;
	return 0;
}

void litepcie_capture_close(struct litepcie_capture *capture)
{
	if (!capture)
		return;
	if (capture->running) {
		litepcie_capture_generate(capture, NULL);
		litepcie_capture_stop(capture);
	}
	free_capture(capture);
}

/* Start and stop ------------------------------------------------------------------------------ */

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
		{ registers->wait, (uint32_t)wait_cycles(dev, config->wait_ns) },
	};
	int rc = litepcie_capture_put64(capture, registers->segment_base, capture->ring_iova);

	for (size_t i = 0; rc == 0 && i < sizeof(words) / sizeof(words[0]); i++)
		rc = litepcie_writel(dev, words[i].offset, words[i].value);
	if (rc == 0)
		rc = litepcie_capture_put64(capture, registers->status_base, capture->line_iova);
	return rc;
}

int litepcie_capture_start(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	uint32_t offset = dev->map.capture.control;
	int rc;

	if (capture->running)
		return litepcie_fail(dev, -EBUSY, "the capture takes frames already: stop it "
				     "first");
	rc = litepcie_capture_await(capture, CAPTURE_IDLE, CAPTURE_IDLE, "the last capture");
	if (rc == 0)
		rc = put_settings(capture);
	litepcie_capture_rewind(capture);
	if (rc == 0)
		rc = litepcie_writel(dev, offset, CLEAR);
	if (rc == 0)
		rc = litepcie_capture_await(capture, CAPTURE_IDLE | CAPTURE_ACCOUNTS_BUSY,
					    CAPTURE_IDLE, "the clearing of the accounts");
	if (rc == 0)
		rc = litepcie_capture_allow(capture, capture->config.ring_bytes);
	if (rc == 0)
		rc = litepcie_writel(dev, offset, control_of(capture) | RUN);
	capture->running = rc == 0;
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

int litepcie_capture_stop(struct litepcie_capture *capture)
{
	uint64_t mbuf = capture->config.mbuf_bytes, limit;
	uint32_t status;
	int rc;

	if (!capture->running)
		return 0;
	rc = get_status(capture, &status);
	capture->running = false;
	/* Tell the card of all room there is, so that frames that wait for it can come. */
	limit = capture->released / mbuf * mbuf + capture->config.ring_bytes;
	if (rc == 0 && limit > capture->limit)
		rc = litepcie_capture_allow(capture, limit);
	if (rc == 0)
		rc = litepcie_writel(capture->dev, capture->dev->map.capture.control,
				     control_of(capture));
	if (rc == 0)
		rc = come_to_rest(capture);
	return rc < 0 ? rc : await_last_line(capture);
}
