/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Open, start and stop the card's capture block. litepcie_capture.h says what each call promises.
 *
 * This file has the code that is common to all back ends. The functions of a struct
 * litepcie_capture_access reach the card: by its registers (capture_access.c, for sim and vfio), or
 * by ioctl()s of the driver (kernel/capture.c).
 */
#include "capture.h"
#include "capture_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "litepcie_capability.h"

#define DEFAULT_WAIT_NS	1000u

/* Settings of a capture ----------------------------------------------------------------------- */

static bool power_of_two(uint64_t value, uint64_t low, uint64_t high)
{
	return value >= low && value <= high && !(value & (value - 1));
}

static void set_defaults(const struct litepcie *dev, struct litepcie_capture_config *config)
{
	if (!config->ring_bytes)
		config->ring_bytes = LITEPCIE_CAPTURE_RING_DEFAULT;
	if (!config->mbuf_bytes)
		config->mbuf_bytes = config->ring_bytes / 4 < LITEPCIE_CAPTURE_MBUF_DEFAULT ?
				     (uint32_t)(config->ring_bytes / 4) :
				     LITEPCIE_CAPTURE_MBUF_DEFAULT;
	if (!config->wait_ns)
		config->wait_ns = DEFAULT_WAIT_NS;
	if (!config->rest_ms)
		config->rest_ms = LITEPCIE_CAPTURE_REST_MS;
	if (!config->link_type)
		config->link_type = LITEPCIE_LINK_ETHERNET;
	if (!config->staging_bytes)
		config->staging_bytes = dev->map.capture.staging_bytes;
}

static int check_sizes(const struct litepcie_capture_config *config)
{
	uint64_t ring = config->ring_bytes;
	uint32_t mbuf = config->mbuf_bytes;

	if (!power_of_two(ring, LITEPCIE_CAPTURE_RING_LEAST, LITEPCIE_CAPTURE_RING_MOST))
		return litepcie_fail(-EINVAL, "a ring of %llu bytes: it must be a power of two "
				     "from %u to %u", (unsigned long long)ring,
				     LITEPCIE_CAPTURE_RING_LEAST, LITEPCIE_CAPTURE_RING_MOST);
	if (!power_of_two(mbuf, LITEPCIE_CAPTURE_MBUF_LEAST, LITEPCIE_CAPTURE_MBUF_MOST))
		return litepcie_fail(-EINVAL, "an MBUF of %u bytes: it must be a power of two from "
				     "%u to %u", mbuf, LITEPCIE_CAPTURE_MBUF_LEAST,
				     LITEPCIE_CAPTURE_MBUF_MOST);
	if (mbuf > ring / 4)
		return litepcie_fail(-EINVAL, "an MBUF of %u bytes in a ring of %llu: it must be "
				     "at most a quarter of the ring", mbuf,
				     (unsigned long long)ring);
	return 0;
}

/* Check the bytes of the staging memory that a queue is to use, unless they are an equal part. */
static int check_staging(const struct litepcie *dev, const struct litepcie_capture_config *config)
{
	uint32_t bytes = config->staging_bytes;

	if (bytes == dev->map.capture.staging_bytes)
		return 0;
	if (bytes < LITEPCIE_CAPTURE_STAGING_LEAST || bytes > LITEPCIE_CAPTURE_STAGING_MOST ||
	    bytes % LITEPCIE_CAPTURE_CELL)
		return litepcie_fail(-EINVAL, "%u bytes of the staging memory: it must be a "
				     "multiple of %u from %u to %u", bytes, LITEPCIE_CAPTURE_CELL,
				     LITEPCIE_CAPTURE_STAGING_LEAST, LITEPCIE_CAPTURE_STAGING_MOST);
	if (!dev->map.sorter.quota)
		return litepcie_fail(-EOPNOTSUPP, "%s: each queue of the card has %u bytes of the "
				     "staging memory, and that cannot be set: build newer gateware "
				     "with several queues, or leave staging_bytes out", dev->name,
				     dev->map.capture.staging_bytes);
	return 0;
}

static uint32_t count_queues(const struct litepcie *dev)
{
	return dev->map.sorter.queues ? dev->map.sorter.queues : 1;
}

static int check_config(struct litepcie *dev, const struct litepcie_capture_config *config)
{
	uint32_t staging = config->staging_bytes;
	int rc = check_sizes(config);

	if (rc == 0)
		rc = litepcie_pages_check(config->page_bytes, config->ring_bytes);
	if (rc == 0)
		rc = check_staging(dev, config);
	if (rc < 0)
		return rc;
	if (config->snap > LITEPCIE_CAPTURE_FRAME_MOST)
		return litepcie_fail(-EINVAL, "a snap length of %u bytes: it must be at most %u, "
				     "the size of the largest frame", config->snap,
				     LITEPCIE_CAPTURE_FRAME_MOST);
	if (config->link_type > UINT16_MAX)
		return litepcie_fail(-EINVAL, "link type %u: it must be at most %u, like %u for a "
				     "user's own frames", config->link_type, UINT16_MAX,
				     LITEPCIE_LINK_USER0);
	if (litepcie_capture_wait_cycles(dev, config->wait_ns) >> LITEPCIE_CAPTURE_WAIT_BITS)
		return litepcie_fail(-EINVAL, "records that wait for %u ns: it must be at "
				     "most %llu", config->wait_ns, (unsigned long long)
				     ((UINT64_C(1) << LITEPCIE_CAPTURE_WAIT_BITS) - 1) * 1000000000 /
				     dev->card.clock_hz);
	if (config->newest && config->lossless)
		return litepcie_fail(-EINVAL, "newest and lossless: a card that writes over the "
				     "oldest data has always room, so choose one of them");
	if (config->net && !dev->map.net.control)
		return litepcie_fail(-EOPNOTSUPP, "%s: the card cannot capture the frames of a net "
				     "device: build its gateware with --capture and --virtio",
				     dev->name);
	if (config->clock > LITEPCIE_CLOCK_HOST)
		return litepcie_fail(-EINVAL, "clock %u: it must be at most %u, for the host's "
				     "clock", config->clock, LITEPCIE_CLOCK_HOST);
	if (config->clock == LITEPCIE_CLOCK_HOST && !dev->map.capture.clock_offset)
		return litepcie_fail(-EOPNOTSUPP, "%s: the clock of the card's capture block "
				     "cannot be set: build newer gateware, or record by the "
				     "card's clock", dev->name);
	if (config->queue && config->queue >= dev->map.sorter.queues)
		return litepcie_fail(-EINVAL, "queue %u: the card has %u, the first is 0: the "
				     "number is that of its gateware's --capture", config->queue,
				     count_queues(dev));
	if (config->newest && config->ring_bytes / 4 < staging)
		return litepcie_fail(-EINVAL, "newest with a ring of %llu bytes: it must have %u "
				     "or more, four times the queue's staging memory",
				     (unsigned long long)config->ring_bytes, 4 * staging);
	return 0;
}

int litepcie_capture_settings(const struct litepcie_capture *capture,
			      struct litepcie_capture_config *config)
{
	return litepcie_struct_out(config, &capture->config, sizeof(*config),
				   "litepcie_capture_config");
}

/* Opening and closing a capture --------------------------------------------------------------- */

static int check_card(struct litepcie *dev)
{
	const struct litepcie_block *block =
		litepcie_find_block(dev, LITEPCIE_BLOCK_CAPTURE, 0);

	if (!block)
		return litepcie_fail(-ENODEV, "%s: the card has no capture block: build its "
				     "gateware with --capture", dev->name);
	if (!dev->map.capture.control)
		return litepcie_fail(-EPROTO, "%s: the card's capture block has version %u, this "
				     "library understands %u: use the library that came with "
				     "the gateware", dev->name, block->version,
				     LITEPCIE_CAP_BLOCK_VERSION);
	return 0;
}

bool litepcie_has_capture(const struct litepcie *dev)
{
	for (unsigned int queue = 0; queue < LITEPCIE_QUEUES_MOST; queue++)
		if (dev->captures[queue])
			return true;
	return false;
}

int litepcie_capture_queues(struct litepcie *dev)
{
	int rc = check_card(dev);

	return rc < 0 ? rc : (int)count_queues(dev);
}

static void free_capture(struct litepcie_capture *capture)
{
	capture->access->close(capture);
	capture->dev->captures[capture->config.queue] = NULL;
	free(capture);
}

int litepcie_capture_open(struct litepcie *dev, const struct litepcie_capture_config *config,
			  struct litepcie_capture **result)
{
	struct litepcie_capture_config wanted = { .struct_size = sizeof(wanted) };
	struct litepcie_capture *capture;
	int rc = check_card(dev);

	*result = NULL;
	if (rc == 0 && config)
		rc = litepcie_struct_in(&wanted, sizeof(wanted), config, "litepcie_capture_config");
	set_defaults(dev, &wanted);
	if (rc == 0)
		rc = check_config(dev, &wanted);
	if (rc == 0 && dev->captures[wanted.queue])
		rc = litepcie_fail(-EBUSY, "%s: this handle has a capture of queue %u already: "
				   "close it first", dev->name, wanted.queue);
	if (rc < 0)
		return rc;
	capture = calloc(1, sizeof(*capture));
	if (!capture)
		return litepcie_fail_memory("the state of a capture", sizeof(*capture));
	capture->dev = dev;
	capture->config = wanted;
	capture->access = dev->backend->capture ? dev->backend->capture :
						&litepcie_capture_by_registers;
	dev->captures[wanted.queue] = capture;
	rc = capture->access->open(capture);
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
		if (!capture->config.queue)
			litepcie_capture_generate_stop(capture);
		litepcie_capture_stop(capture);
	}
	free_capture(capture);
}

/* Start and stop of a capture ----------------------------------------------------------------- */

int litepcie_capture_start(struct litepcie_capture *capture)
{
	bool is_clocked;
	int rc;

	if (capture->running)
		return litepcie_fail(-EBUSY, "the capture takes frames already: stop it first");
	litepcie_capture_rewind(capture);
	capture->end = UINT64_MAX;
	capture->ended = false;
	rc = capture->access->start(capture);
	is_clocked = litepcie_capture_is_clocked(capture->dev, &capture->config);
	if (rc == 0 && !capture->config.queue)
		capture->config.clock = is_clocked ? LITEPCIE_CLOCK_HOST : LITEPCIE_CLOCK_CARD;
	__atomic_store_n(&capture->running, rc == 0, __ATOMIC_RELAXED);
	return rc;
}

int litepcie_capture_stop(struct litepcie_capture *capture)
{
	uint64_t mbuf = capture->config.mbuf_bytes, limit;
	char why[LITEPCIE_WHY_SIZE];
	int rc;

	if (!capture->running)
		return 0;
	rc = capture->access->answers(capture);
	__atomic_store_n(&capture->running, false, __ATOMIC_RELAXED);
	if (rc == 0 && capture->ended)
		return litepcie_capture_poll(capture);
	/*
	 * The limit moves on only now and then during a run, so the ring may have free room beyond
	 * it. At a stop the card gets all whole MBUFs (parts of the ring) of that room, for frames
	 * that wait on the card.
	 */
	limit = capture->released / mbuf * mbuf + capture->config.ring_bytes;
	if (rc == 0 && limit > capture->limit)
		rc = litepcie_capture_allow(capture, limit);
	if (rc == 0)
		return capture->access->stop(capture);
	/*
	 * After an error, as when the card was reset, the run is stopped all the same. Otherwise it
	 * would count as begun, and the capture could not be started again. litepcie_capture_stop()
	 * returns the first error, and not one of access->stop().
	 */
	snprintf(why, sizeof(why), "%s", litepcie_why(capture->dev));
	capture->access->stop(capture);
	return litepcie_fail(rc, "%s", why);
}
