/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Make single transfers by descriptors that this program writes itself. latency.h says
 * what each function promises.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "latency.h"
#include "litepcie_capability.h"

#define TIMEOUT_MS	10000
#define POLLS		100000u

int transfer_fails(struct transfer *transfer, int rc, const char *why)
{
	transfer->why = why;
	return rc;
}

/* Registers of the DMA and of the stamps ------------------------------------------------------ */

static int find(struct litepcie *dev, const char *side, const char *name, uint32_t *offset)
{
	struct litepcie_register found = { .struct_size = sizeof(found) };
	char full[64];
	int rc;

	snprintf(full, sizeof(full), "%s_%s", side, name);
	rc = litepcie_register_find(dev, full, &found);
	if (rc == 0)
		*offset = found.offset;
	return rc;
}

/*
 * Find the registers of one direction of the DMA channel transfer->channel. @role is LitePCIe's
 * name for the direction: "reader" for h2c, "writer" for c2h.
 */
static int find_way(const struct transfer *transfer, const char *role, struct transfer_way *way)
{
	struct litepcie *dev = transfer->dev;
	char side[32];

	snprintf(side, sizeof(side), "pcie_dma%u_%s", transfer->channel, role);
	return find(dev, side, "enable", &way->enable) ?:
	       find(dev, side, "table_value", &way->value) ?:
	       find(dev, side, "table_loop_prog_n", &way->loop) ?:
	       find(dev, side, "table_loop_status", &way->status) ?:
	       find(dev, side, "table_reset", &way->flush);
}

static void find_stamps(struct transfer *transfer)
{
	struct litepcie *dev = transfer->dev;

	transfer->stamped = find(dev, "stamps", "doorbell", &transfer->doorbell) == 0 &&
			    find(dev, "stamps", "interrupt", &transfer->interrupt) == 0 &&
			    find(dev, "stamps", "waiting", &transfer->waiting) == 0;
}

/*
 * Read the bus address of a buffer from the card. The value registers of the descriptor table still
 * hold the address of the last descriptor that the library has written.
 */
static int read_address(struct litepcie *dev, struct transfer_way *way)
{
	uint32_t low, high;
	int rc = litepcie_readl(dev, way->value + 4, &low) ?:
		 litepcie_readl(dev, way->value + 8, &high);

	if (rc == 0)
		way->address = (uint64_t)high << 32 | low;
	return rc;
}

/*
 * Open the library's streams and move one buffer in each direction, so that the library writes
 * descriptors, then stop the streams. The address in the last descriptor of each direction can then
 * be read back from the card. Returns 0 or -errno.
 */
static int run_once(struct transfer *transfer)
{
	struct streams *streams = &transfer->streams;
	const struct litepcie_stream_options options = {
		.struct_size = sizeof(options), .buffer_size = LATENCY_PAGE,
		.buffer_count = LITEPCIE_STREAM_BUFFERS_LEAST, .loopback = true,
		.interrupt_every = 1,
	};
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	int rc = streams_start(transfer->dev, LITEPCIE_H2C | LITEPCIE_C2H, &options, streams);

	if (rc < 0)
		return rc;
	rc = litepcie_stream_acquire(streams->h2c, &buffer, TIMEOUT_MS);
	if (rc > 0)
		rc = litepcie_stream_release(streams->h2c, 1);
	if (rc == 0)
		rc = litepcie_stream_acquire(streams->c2h, &buffer, TIMEOUT_MS);
	litepcie_stream_stop(streams->c2h);
	litepcie_stream_stop(streams->h2c);
	if (rc == 0)
		return transfer_fails(transfer, -ETIMEDOUT, "the card has not moved the first "
				      "buffer within 10 s");
	return rc < 0 ? rc : 0;
}

unsigned int transfer_channel(const char *backend, const char *device)
{
	const char *option = strcmp(backend, "vfio") == 0 ? strstr(device, ",channel=") : NULL;

	return option ? (unsigned int)strtoul(strchr(option, '=') + 1, NULL, 10) : 0;
}

static int find_ways(struct transfer *transfer)
{
	return find_way(transfer, "reader", &transfer->h2c) ?:
	       find_way(transfer, "writer", &transfer->c2h);
}

int transfer_find(struct transfer *transfer)
{
	struct litepcie *dev = transfer->dev;

	find_stamps(transfer);
	return find_ways(transfer) ?:
	       run_once(transfer) ?:
	       read_address(dev, &transfer->h2c) ?:
	       read_address(dev, &transfer->c2h);
}

/* Begin and end of the transfers -------------------------------------------------------------- */

/* Enable the interrupt cause of c2h in the card. The other causes stay as they are. */
static int enable_cause(const struct transfer *transfer)
{
	struct litepcie_block dma = { .struct_size = sizeof(dma) };
	struct litepcie *dev = transfer->dev;
	uint64_t enabled;
	int rc = litepcie_block_find(dev, LITEPCIE_BLOCK_DMA, transfer->channel, &dma) ?:
		 litepcie_register_read(dev, "pcie_msi_enable", &enabled);

	if (rc < 0)
		return rc;
	return litepcie_register_write(dev, "pcie_msi_enable",
				       enabled | 1u << dma.parameter[LITEPCIE_DMA_C2H_CAUSE]);
}

static int loop_back(const struct transfer *transfer)
{
	char name[64];

	snprintf(name, sizeof(name), "pcie_dma%u_loopback_enable", transfer->channel);
	return litepcie_register_write(transfer->dev, name, 1);
}

static int arm(struct transfer *transfer, const struct transfer_way *way)
{
	return litepcie_writel(transfer->dev, way->flush, 1) ?:
	       litepcie_writel(transfer->dev, way->loop, 0) ?:
	       litepcie_writel(transfer->dev, way->enable, 1);
}

/*
 * If the card has records and status lines, by which it tells the library which buffers are
 * finished, switch them off. They would add to the time of a transfer, and would report buffers
 * that the library has not submitted. h2c, which the library has started without a buffer, is
 * disabled first, and the function waits until h2c is idle.
 */
static int tell_nothing(struct transfer *transfer)
{
	struct litepcie *dev = transfer->dev;
	uint32_t control = 0, state = 0;
	char notices[32];
	int rc;

	snprintf(notices, sizeof(notices), "pcie_notices%u", transfer->channel);
	if (find(dev, notices, "control", &control) < 0)
		return 0;
	rc = litepcie_writel(dev, transfer->h2c.enable, 0);
	for (unsigned int i = 0; rc == 0 && !(state & LITEPCIE_DMA_ENABLE_IDLE); i++)
		rc = i < POLLS ? litepcie_readl(dev, transfer->h2c.enable, &state) :
		     transfer_fails(transfer, -ETIMEDOUT, "h2c was disabled, and does not become "
				    "idle");
	return rc < 0 ? rc : litepcie_writel(dev, control, 0);
}

/*
 * Begin the transfers. The library starts h2c, so that it handles the card's interrupts, but gets
 * no buffer to send. c2h is enabled through registers, without the library.
 */
int transfer_begin(struct transfer *transfer)
{
	int rc = litepcie_stream_start(transfer->streams.h2c);

	if (rc < 0)
		return rc;
	rc = tell_nothing(transfer) ?:
	     loop_back(transfer) ?:
	     enable_cause(transfer) ?:
	     arm(transfer, &transfer->c2h) ?:
	     arm(transfer, &transfer->h2c);
	if (rc < 0)
		transfer_end(transfer);
	return rc;
}

/*
 * Disable c2h, which transfer_begin() has enabled without the library, and empty its descriptor
 * table: after a failed transfer it may hold a descriptor that points to a buffer of the library.
 * Behind the kernel driver packet_begin() has started c2h by the library, and no register is
 * written.
 */
static int disable_c2h(const struct transfer *transfer)
{
	if (transfer->driven)
		return 0;
	return litepcie_writel(transfer->dev, transfer->c2h.enable, 0) ?:
	       litepcie_writel(transfer->dev, transfer->c2h.flush, 1);
}

int transfer_end(struct transfer *transfer)
{
	int disabled = disable_c2h(transfer);
	int h2c = litepcie_stream_stop(transfer->streams.h2c);
	int c2h = litepcie_stream_stop(transfer->streams.c2h);

	return disabled < 0 ? disabled : h2c < 0 ? h2c : c2h;
}

/* Single transfers ---------------------------------------------------------------------------- */

static int post(struct transfer *transfer, const struct transfer_way *way, size_t size,
		uint32_t flags)
{
	const uint64_t words[] = {
		flags | LITEPCIE_DESCRIPTOR_LAST_DISABLE | (uint32_t)size,
		(uint32_t)way->address, way->address >> 32,
	};

	/*
	 * A descriptor is written to three registers. litepcie_bar_write_burst() writes them back
	 * to back if the back end can do so, so that the program adds no time between the writes.
	 */
	return litepcie_bar_write_burst(transfer->dev, 0, way->value, 4, 4, words, 3);
}

int transfer_take_time(struct transfer *transfer, size_t size, size_t more, struct shot *shot)
{
	struct litepcie *dev = transfer->dev;
	struct litepcie_counters counters = { .struct_size = sizeof(counters) };
	int rc = litepcie_counters(dev, &counters);

	if (rc < 0)
		return rc;
	if (counters.rq.payload_bytes < size || counters.rq.payload_bytes > size + more ||
	    counters.rc.payload_bytes != size)
		return transfer_fails(transfer, -EIO, "the card has counted other bytes than "
				      "those of one transfer: another program may use the card");
	shot->hardware_ns = (double)(counters.rq.last + 1 - counters.cq.first) * util_tick_ns(dev);
	return 0;
}

int transfer_to_memory(struct transfer *transfer, size_t size, struct shot *shot)
{
	struct litepcie *dev = transfer->dev;
	uint32_t before = 0, now;
	double began;
	int rc = litepcie_readl(dev, transfer->c2h.status, &before) ?:
		 post(transfer, &transfer->c2h, size, LITEPCIE_DESCRIPTOR_IRQ_DISABLE) ?:
		 litepcie_counters_clear(dev);

	began = util_now();
	rc = rc ?: post(transfer, &transfer->h2c, size, LITEPCIE_DESCRIPTOR_IRQ_DISABLE);
	now = before;
	for (unsigned int i = 0; rc == 0 && now == before; i++)
		rc = i < POLLS ? litepcie_readl(dev, transfer->c2h.status, &now) :
		     transfer_fails(transfer, -ETIMEDOUT, "the card has not written a transfer "
				    "back");
	shot->whole_ns = (util_now() - began) * 1e9;
	/*
	 * The card counts a descriptor as finished when its last write has entered the endpoint.
	 * The completion of the register read that shows this may pass the write inside the card.
	 * A second read gives the write a whole round trip to leave the card. If the write has not
	 * left by then, the counters lack bytes, and the transfer fails with -EIO.
	 */
	return rc ?: litepcie_readl(dev, transfer->c2h.status, &now) ?:
		     transfer_take_time(transfer, size, 0, shot);
}

static int wait_readable(struct transfer *transfer)
{
	struct pollfd waiting = { .fd = litepcie_dma_fd(transfer->dev), .events = POLLIN };
	int rc;

	if (waiting.fd < 0)
		return waiting.fd;
	rc = poll(&waiting, 1, TIMEOUT_MS);
	if (rc < 0)
		return transfer_fails(transfer, -errno, strerror(errno));
	if (rc == 0)
		return transfer_fails(transfer, -ETIMEDOUT, "the interrupt of a transfer has not "
				      "come within 10 s");
	return 0;
}

/*
 * Let the library take the interrupt, so that the file descriptor of litepcie_dma_fd() is no longer
 * readable. The table of h2c descriptors is emptied first: otherwise the library would find a
 * finished descriptor although it has submitted no buffer.
 */
static int collect(struct transfer *transfer)
{
	int rc = litepcie_writel(transfer->dev, transfer->h2c.flush, 1) ?:
		 litepcie_dma_wait(transfer->dev, LITEPCIE_H2C, 0);

	return rc < 0 ? rc : 0;
}

/*
 * Wait for the interrupt message whose time the card keeps in a register. *@woken becomes the time,
 * from util_now(), at which poll() last returned. An older message may wake poll() first. The
 * register at transfer->waiting then says that the right message is still to come, and the wait
 * goes on.
 */
static int wait_for_message(struct transfer *transfer, double *woken)
{
	uint32_t waiting = 1;
	int rc = 0;

	while (rc == 0 && waiting) {
		rc = wait_readable(transfer);
		*woken = util_now();
		rc = rc ?: litepcie_readl(transfer->dev, transfer->waiting, &waiting) ?:
			   collect(transfer);
	}
	return rc;
}

int transfer_to_interrupt(struct transfer *transfer, size_t size, struct shot *shot)
{
	struct litepcie *dev = transfer->dev;
	uint32_t doorbell, interrupt;
	double began, woken = 0;
	int rc = post(transfer, &transfer->c2h, size, 0);

	began = util_now();
	rc = rc ?: post(transfer, &transfer->h2c, size, LITEPCIE_DESCRIPTOR_IRQ_DISABLE) ?:
		   wait_for_message(transfer, &woken) ?:
		   litepcie_readl(dev, transfer->doorbell, &doorbell) ?:
		   litepcie_readl(dev, transfer->interrupt, &interrupt);
	if (rc < 0)
		return rc;
	shot->whole_ns = (woken - began) * 1e9;
	shot->hardware_ns = (double)(interrupt - doorbell) * util_tick_ns(dev);
	return 0;
}
