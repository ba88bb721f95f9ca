/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * How long the card takes from a doorbell to what follows from it, one transfer at a time.
 *
 * Hardware time comes from the card's counters alone: from the first beat of the doorbell (CQ) to
 * the last beat of the data that comes back (RQ). Buffers of the library are no smaller than a page,
 * so descriptors of 64 bytes and more are put into the card's table here, by the registers' names,
 * at the addresses that the table itself shows of the library's own run just before.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>

#include "latency.h"
#include "progress.h"

#define PAGE		4096u
#define FEWEST		16u
#define TIMEOUT_MS	10000
#define POLLS		100000u
#define IRQ_DISABLE	(1u << 24)	/* of a descriptor, as LitePCIe's DMA has them */
#define LAST_DISABLE	(1u << 25)

/* One direction's registers: offsets in BAR0, found by name. */
struct way {
	uint32_t	enable, value, loop, status, flush;
	uint64_t	address;	/* of a buffer, as the card sees it */
};

struct raw {
	struct litepcie	*dev;
	struct way	h2c, c2h;
};

/* Registers ----------------------------------------------------------------------------------- */

static int find(struct litepcie *dev, const char *side, const char *name, uint32_t *offset)
{
	struct litepcie_register found;
	char full[64];
	int rc;

	snprintf(full, sizeof(full), "pcie_dma0_%s_%s", side, name);
	rc = litepcie_register_find(dev, full, &found);
	*offset = found.offset;
	return rc;
}

static int find_way(struct litepcie *dev, const char *side, struct way *way)
{
	int rc = find(dev, side, "enable", &way->enable);

	if (rc == 0)
		rc = find(dev, side, "table_value", &way->value);
	if (rc == 0)
		rc = find(dev, side, "table_loop_prog_n", &way->loop);
	if (rc == 0)
		rc = find(dev, side, "table_loop_status", &way->status);
	return rc < 0 ? rc : find(dev, side, "table_reset", &way->flush);
}

/* The last descriptor's address, which its registers still hold. */
static int read_address(struct litepcie *dev, struct way *way)
{
	uint32_t low, high;
	int rc = litepcie_readl(dev, way->value + 4, &low);

	if (rc == 0)
		rc = litepcie_readl(dev, way->value + 8, &high);
	if (rc == 0)
		way->address = (uint64_t)high << 32 | low;
	return rc;
}

struct shot {
	double	hardware_ns, whole_ns;
};

/* Distribution of latency->samples. */
static void fill_row(struct latency *latency, struct latency_row *row)
{
	histogram_make(&row->hardware, latency->samples, latency->count);
	row->p90 = latency->samples[(latency->count - 1) * 90 / 100];
	row->p999 = latency->samples[(latency->count - 1) * 999 / 1000];
	row->software = NAN;
	row->valid = true;
}

/* Whole and hardware time belong together sample by sample, so the difference comes first. */
static void fill_both(struct latency *latency, struct latency_row *row)
{
	struct histogram software;

	for (size_t i = 0; i < latency->count; i++)
		latency->whole[i] = fmax(latency->whole[i] - latency->samples[i], 0);
	fill_row(latency, row);
	histogram_make(&software, latency->whole, latency->count);
	if (latency->real)
		row->software = software.median;
}

/* Interrupt ----------------------------------------------------------------------------------- */

static int wait_readable(struct litepcie *dev)
{
	struct pollfd waiting = { .fd = litepcie_dma_fd(dev), .events = POLLIN };
	int rc;

	if (waiting.fd < 0)
		return waiting.fd;
	rc = poll(&waiting, 1, TIMEOUT_MS);
	return rc > 0 ? 0 : rc < 0 ? -errno : -ETIMEDOUT;
}

/* Whatever woke us up, the buffer must be there, and goes back. */
static int collect(struct litepcie *dev)
{
	uint64_t first;
	int rc = litepcie_dma_wait(dev, LITEPCIE_C2H, TIMEOUT_MS);

	if (rc >= 0)
		rc = litepcie_c2h_peek(dev, &first, TIMEOUT_MS);
	if (rc > 0)
		return litepcie_c2h_release(dev, (unsigned int)rc);
	return rc < 0 ? rc : -ETIMEDOUT;
}

/* By the host's clock, since the card does not stamp its interrupts. */
static int shoot_interrupt(struct litepcie *dev, bool timed, double *ns)
{
	uint64_t first;
	double began;
	int rc = litepcie_h2c_get(dev, &first, TIMEOUT_MS);

	if (rc <= 0)
		return rc < 0 ? rc : -ETIMEDOUT;
	began = progress_now();
	rc = litepcie_h2c_submit(dev, 1);
	if (rc == 0)
		rc = litepcie_dma_flush(dev, LITEPCIE_H2C);
	if (rc == 0 && timed)
		rc = wait_readable(dev);
	*ns = (progress_now() - began) * 1e9;
	return rc < 0 ? rc : collect(dev);
}

static int run_interrupts(struct util *util, struct latency *latency)
{
	const struct litepcie_dma_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H, .loopback = true, .interrupt_every = 1,
	};
	struct latency_row *row = &latency->row[0];
	int rc = litepcie_dma_start(util->dev, &config), stopped;

	if (rc < 0)
		return rc;
	/* One is needed in any case: its descriptors show the buffers' addresses. */
	for (size_t i = 0; rc == 0 && i < (latency->real ? latency->count : 1); i++)
		rc = util_interrupted() ? -EINTR : shoot_interrupt(util->dev, latency->real,
								     &latency->samples[i]);
	stopped = litepcie_dma_stop(util->dev);
	if (rc < 0 || stopped < 0)
		return rc < 0 ? rc : stopped;
	if (latency->real)
		fill_row(latency, row);
	else
		snprintf(row->reason, sizeof(row->reason), "the card does not stamp its interrupts, "
			 "and in simulation the host's clock means nothing; make sim shows it from "
			 "the trace, in build/report.html");
	return 0;
}

/* Round trip ---------------------------------------------------------------------------------- */

static int post(struct raw *raw, const struct way *way, size_t size)
{
	const uint64_t words[] = {
		IRQ_DISABLE | LAST_DISABLE | (uint32_t)size, (uint32_t)way->address,
		way->address >> 32,
	};

	/* Back to back, so that the doorbell is one event. */
	return litepcie_mmio_write_burst(raw->dev, way->value, 4, 4, words, 3);
}

static int arm(struct raw *raw, const struct way *way)
{
	int rc = litepcie_writel(raw->dev, way->flush, 1);

	if (rc == 0)
		rc = litepcie_writel(raw->dev, way->loop, 0);
	return rc < 0 ? rc : litepcie_writel(raw->dev, way->enable, 1);
}

static int disarm(struct raw *raw)
{
	int rc = litepcie_writel(raw->dev, raw->h2c.enable, 0);

	if (rc == 0)
		rc = litepcie_writel(raw->dev, raw->c2h.enable, 0);
	if (rc == 0)
		rc = litepcie_writel(raw->dev, raw->h2c.flush, 1);
	if (rc == 0)
		rc = litepcie_writel(raw->dev, raw->c2h.flush, 1);
	return rc < 0 ? rc : litepcie_register_write(raw->dev, "pcie_dma0_loopback_enable", 0);
}

static int shoot(struct raw *raw, size_t size, struct shot *shot)
{
	struct litepcie_counters counters;
	uint32_t before, now = 0;
	double began;
	int rc = litepcie_readl(raw->dev, raw->c2h.status, &before);

	if (rc == 0)
		rc = post(raw, &raw->c2h, size);
	if (rc == 0)
		rc = litepcie_counters_clear(raw->dev);
	began = progress_now();
	if (rc == 0)
		rc = post(raw, &raw->h2c, size);
	now = before;
	for (unsigned int i = 0; rc == 0 && now == before; i++)
		rc = i < POLLS ? litepcie_readl(raw->dev, raw->c2h.status, &now) : -ETIMEDOUT;
	shot->whole_ns = (progress_now() - began) * 1e9;
	/* Done is when the last write has entered the core: a second look comes behind it. */
	if (rc == 0)
		rc = litepcie_readl(raw->dev, raw->c2h.status, &now);
	if (rc == 0)
		rc = litepcie_counters(raw->dev, &counters);
	if (rc < 0)
		return rc;
	if (counters.rq.payload_bytes != size || counters.rc.payload_bytes != size)
		return -EIO;
	shot->hardware_ns = (double)(counters.rq.last + 1 - counters.cq.first) *
			    util_tick_ns(raw->dev);
	return 0;
}

static int run_size(struct util *util, struct raw *raw, struct latency *latency, size_t size)
{
	struct shot shot = { 0 };
	int rc = litepcie_register_write(util->dev, "pcie_dma0_loopback_enable", 1), stopped;

	if (rc == 0)
		rc = arm(raw, &raw->c2h);
	if (rc == 0)
		rc = arm(raw, &raw->h2c);
	for (size_t i = 0; rc == 0 && i < latency->count; i++) {
		rc = util_interrupted() ? -EINTR : shoot(raw, size, &shot);
		latency->samples[i] = shot.hardware_ns;
		latency->whole[i] = shot.whole_ns;
	}
	stopped = disarm(raw);
	return rc < 0 ? rc : stopped;
}

/* Rows ---------------------------------------------------------------------------------------- */

static void refuse_all(struct latency *latency, const char *reason)
{
	for (int i = 0; i < LATENCY_ROWS; i++)
		snprintf(latency->row[i].reason, sizeof(latency->row[i].reason), "%s", reason);
}

int latency_measure(struct util *util, struct latency *latency)
{
	struct raw raw = { .dev = util->dev };
	struct progress progress;
	int rc;

	if (litepcie_dma_freerunning(util->dev)) {
		refuse_all(latency, "the kernel driver lets the card go round its rings without "
			   "waiting, so no single transfer can be timed; give the card to VFIO "
			   "(litepcie_util vfio bind)");
		return 0;
	}
	latency->real = strcmp(litepcie_backend(util->dev), "sim") != 0;
	rc = find_way(util->dev, "reader", &raw.h2c);
	if (rc == 0)
		rc = find_way(util->dev, "writer", &raw.c2h);
	if (rc == 0)
		rc = litepcie_ring_setup(util->dev, PAGE, FEWEST);
	if (rc == 0)
		rc = run_interrupts(util, latency);
	if (rc < 0)
		return rc;
	rc = read_address(util->dev, &raw.h2c);
	if (rc == 0)
		rc = read_address(util->dev, &raw.c2h);
	progress_begin(&progress, "latency", "sizes", LATENCY_SIZES, 0);
	for (int i = 1; rc == 0 && i < LATENCY_ROWS; i++) {
		rc = run_size(util, &raw, latency, latency->row[i].size);
		if (rc == 0)
			fill_both(latency, &latency->row[i]);
		progress_show(&progress, i);
	}
	progress_end(&progress);
	return rc;
}
