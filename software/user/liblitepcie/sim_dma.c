/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * DMA of the "sim" back end: interrupts, and what comes before and after a run. The descriptors and
 * their counts are in sim_table.c.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "registers.h"
#include "sim.h"

#define DEFAULT_INTERRUPT_EVERY	32u	/* buffers, as the kernel driver */
#define INTERRUPT_GRACE_MS	500	/* for an interrupt that is due */
#define IDLE_READS		64	/* of a register, some 700 ns of device time each */

/* Device time after which reads that were issued have come back, or never will. */
#define READS_SETTLE_TICKS	(LITEPCIE_TICKS_PER_S / 1000000 * 16)

/* Interrupts ---------------------------------------------------------------------------------- */

/*
 * Two directions may share one message, so of both only the larger number must have come. Where one
 * speaks for both, or runs alone, every single interrupt that is lost is noticed.
 */
static int64_t interrupts_due(const struct sim *sim)
{
	return (int64_t)(sim->h2c.asked > sim->c2h.asked ? sim->h2c.asked : sim->c2h.asked);
}

/* Sleep until the eventfd counts: 1, or the time is over: 0. What the board asks is answered. */
static int sleep_for_msi(struct litepcie *dev, int timeout_ms)
{
	struct sim *sim = sim_of(dev);
	int64_t deadline = litepcie_now_ms() + timeout_ms;
	struct pollfd fds[2] = {
		{ .fd = sim->msi, .events = POLLIN },
		{ .fd = sim->vu.fd, .events = POLLIN },
	};
	uint64_t count;
	int rc;

	do {
		int64_t left = deadline - litepcie_now_ms();

		rc = poll(fds, 2, left > 0 ? (int)left : 0);
		if (rc < 0)
			return litepcie_fail(dev, -errno, "the wait for an interrupt: %s",
					     strerror(errno));
		if (read(sim->msi, &count, sizeof(count)) == sizeof(count)) {
			dev->stats.interrupts += (int64_t)count;
			return 1;
		}
		if (fds[1].revents && vfio_user_serve(&sim->vu) < 0)
			return -ENODEV;
	} while (rc > 0);
	return 0;
}

/*
 * The time was over. If a descriptor that asks for an interrupt has run since the last one, and
 * nothing comes in a while more, that interrupt was lost, also where messages may be shared.
 */
static int look_for_lost(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);
	uint64_t asked = sim->h2c.asked + sim->c2h.asked;
	int rc = sim_dma_poll(dev);

	if (rc < 0 || sim->h2c.asked + sim->c2h.asked == asked)
		return rc;
	rc = sleep_for_msi(dev, INTERRUPT_GRACE_MS);
	if (rc == 0)
		dev->stats.interrupts_missed++;
	return rc;
}

/* The vector register is for drivers that share a line; it is cleared to say no nonsense. */
int sim_dma_wait(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	int rc = sleep_for_msi(dev, timeout_ms);

	(void)directions;
	if (rc == 0)
		rc = look_for_lost(dev);
	if (rc > 0) {
		int error = litepcie_writel(dev, REG_MSI_CLEAR, MSI_H2C | MSI_C2H);

		if (error < 0)
			return error;
	}
	return rc;
}

/* Take in what came; what has not after the grace is lost. */
static int settle_interrupts(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);
	int64_t due = interrupts_due(sim), deadline = litepcie_now_ms() + INTERRUPT_GRACE_MS;
	int rc = sleep_for_msi(dev, 0);

	while (rc >= 0 && dev->stats.interrupts < due) {
		int64_t left = deadline - litepcie_now_ms();

		if (left <= 0)
			break;
		rc = sleep_for_msi(dev, (int)left);
	}
	dev->stats.interrupts_expected = due;
	if (due - dev->stats.interrupts > (int64_t)dev->stats.interrupts_missed)
		dev->stats.interrupts_missed = (uint64_t)(due - dev->stats.interrupts);
	return rc < 0 ? rc : 0;
}

/* Start, stop --------------------------------------------------------------------------------- */

/* A direction that is disabled finishes its TLP first; in its idle state it forgets everything. */
static int disable(struct litepcie *dev, const struct litepcie_dma_registers *registers)
{
	uint32_t state = 0;
	int rc = litepcie_writel(dev, registers->enable, 0);

	for (int i = 0; rc == 0 && i < IDLE_READS; i++) {
		rc = litepcie_readl(dev, registers->enable, &state);
		if (rc == 0 && state & DMA_IDLE)
			break;
	}
	if (rc == 0)
		rc = litepcie_writel(dev, registers->flush, 1);
	if (rc == 0)
		rc = litepcie_writel(dev, registers->loop, 0);
	if (rc == 0 && !(state & DMA_IDLE))
		return litepcie_fail(dev, -EIO, "the DMA does not come to rest (enable register "
				     "0x%x); start the board again", state);
	return rc;
}

/*
 * Answers to reads of an earlier run would be taken for data of the next: let them come first. A
 * card whose time stands still is dead, and no reason to stay.
 */
static int let_reads_settle(struct litepcie *dev)
{
	uint64_t start = 0, now;
	int rc = litepcie_time(dev, &start);

	now = start;
	for (int i = 0; rc == 0 && i < IDLE_READS && now - start < READS_SETTLE_TICKS; i++)
		rc = litepcie_time(dev, &now);
	return rc;
}

/* The user's own interrupt is not ours to switch. */
static int enable_interrupts(struct litepcie *dev, uint32_t mask)
{
	uint32_t enabled;
	int rc = litepcie_readl(dev, REG_MSI_ENABLE, &enabled);

	enabled = (enabled & ~(MSI_H2C | MSI_C2H)) | mask;
	return rc < 0 ? rc : litepcie_writel(dev, REG_MSI_ENABLE, enabled);
}

int sim_dma_quiesce(struct litepcie *dev)
{
	int rc = disable(dev, &sim_h2c_registers);

	if (rc == 0)
		rc = disable(dev, &sim_c2h_registers);
	if (rc == 0)
		rc = litepcie_writel(dev, REG_LOOPBACK, 0);
	if (rc == 0)
		rc = enable_interrupts(dev, 0);
	return rc;
}

static int received_bytes(struct litepcie *dev, uint64_t *bytes)
{
	uint32_t high, low;
	int rc = litepcie_writel(dev, REG_COUNTERS_CONTROL, COUNTERS_SNAPSHOT);

	if (rc == 0)
		rc = litepcie_readl(dev, REG_RC_PAYLOAD_BYTES, &high);
	if (rc == 0)
		rc = litepcie_readl(dev, REG_RC_PAYLOAD_BYTES + 4, &low);
	if (rc == 0)
		*bytes = (uint64_t)high << 32 | low;
	return rc;
}

int sim_h2c_received(struct litepcie *dev, uint64_t *bytes)
{
	int rc = received_bytes(dev, bytes);

	*bytes -= sim_of(dev)->received_before;
	return rc;
}

/* Clear what an earlier run left in the eventfd, so that counts are this run's own. */
static int start_interrupts(struct litepcie *dev, unsigned int directions)
{
	uint32_t mask = (directions & LITEPCIE_H2C ? MSI_H2C : 0) |
			(directions & LITEPCIE_C2H ? MSI_C2H : 0);
	int rc = sleep_for_msi(dev, 0);

	dev->stats.interrupts = 0;
	dev->stats.interrupts_expected = 0;
	if (rc >= 0)
		rc = litepcie_writel(dev, REG_MSI_CLEAR, MSI_H2C | MSI_C2H);
	if (rc == 0)
		rc = enable_interrupts(dev, mask);
	return rc;
}

/* The card is quiet since it was opened, or since the last stop. */
int sim_dma_start(struct litepcie *dev, const struct litepcie_dma_config *config)
{
	struct sim *sim = sim_of(dev);
	int rc;

	sim->h2c = (struct sim_channel) { .silent = config->loopback };
	sim->c2h = (struct sim_channel) { 0 };
	sim->c2h_limit = config->c2h_limit;
	sim->interrupt_every = config->interrupt_every ? config->interrupt_every :
							 DEFAULT_INTERRUPT_EVERY;
	rc = received_bytes(dev, &sim->received_before);
	if (rc == 0)
		rc = start_interrupts(dev, config->directions);
	if (rc == 0)
		rc = litepcie_writel(dev, REG_LOOPBACK, config->loopback);
	if (rc == 0 && dev->c2h.active)
		rc = sim_post_c2h(dev, 0);
	if (rc == 0 && dev->c2h.active)
		rc = litepcie_writel(dev, sim_c2h_registers.enable, DMA_ENABLE);
	if (rc == 0 && dev->h2c.active)
		rc = litepcie_writel(dev, sim_h2c_registers.enable, DMA_ENABLE);
	return rc;
}

int sim_dma_stop(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);
	bool in_flight = dev->h2c.active && dev->h2c.hw != dev->h2c.sw;
	int settled, rc;

	if (sim->vu.fd < 0)	/* the board has gone, and said so already */
		return 0;
	settled = settle_interrupts(dev);
	sim->h2c = (struct sim_channel) { 0 };
	sim->c2h = (struct sim_channel) { 0 };
	rc = sim_dma_quiesce(dev);
	if (rc == 0 && in_flight)
		rc = let_reads_settle(dev);
	return settled < 0 ? settled : rc;
}
