/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * LitePCIe's calls for the DMA on top of Lanebox's library. Those that take a struct
 * litepcie_dma_ctrl work with every back end. Those that take the descriptor of an opened
 * /dev/litepcieN work with a kernel driver only. If the environment has LITEPCIE_DEVICE,
 * litepcie_dma_init() opens the card of that name instead of the one that the program names.
 *
 * These things differ from LitePCIe's library. litepcie_dma_init() already starts the DMA. A buffer
 * that the program has got goes back to the card at the next litepcie_dma_process(), and the card
 * waits for it, so a program that is late loses no data. No data is copied, with zero_copy or
 * without. LitePCIe's own driver has no runs in which the card waits for buffers, so behind that
 * driver litepcie_dma_init() fails and says which driver to load.
 */
#ifndef LITEPCIE_STOCK_DMA_H
#define LITEPCIE_STOCK_DMA_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "../litepcie_diagnostics.h"
#include "litepcie_capability.h"
#include "litepcie_helpers.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Fixed sizes of LitePCIe's rings, which programs written for LitePCIe rely on: bytes of a buffer,
 * buffers of a ring, bytes of a ring, and buffers from one interrupt to the next.
 */
#define DMA_BUFFER_SIZE		LITEPCIE_STOCK_BUFFER_SIZE
#define DMA_BUFFER_COUNT	LITEPCIE_STOCK_BUFFERS
#define DMA_BUFFER_TOTAL_SIZE	(DMA_BUFFER_COUNT * DMA_BUFFER_SIZE)
#define DMA_BUFFER_PER_IRQ	LITEPCIE_STOCK_BUFFERS_PER_INTERRUPT

#define LITEPCIE_STOCK_WAIT_MS	100	/* longest wait in litepcie_dma_process(), in ms */

/* One direction of the DMA. LitePCIe's own library has no such structure. */
struct litepcie_stock_way {
	/* the stream of this direction; NULL: the program does not use the direction */
	struct litepcie_stream *stream;
	/* number, counted from the start of the stream, of the buffer that the program gets next */
	uint64_t next;
	unsigned kept;	/* how many buffers the program has got and not given back yet */
};

struct litepcie_dma_ctrl {
	uint8_t use_reader, use_writer, loopback, zero_copy;
	struct pollfd fds;
	/* addresses of the c2h ring (buf_rd) and the h2c ring (buf_wr); NULL: not in use */
	char *buf_rd, *buf_wr;
	uint8_t reader_enable;
	uint8_t writer_enable;
	int64_t reader_hw_count, reader_sw_count;
	int64_t writer_hw_count, writer_sw_count;
	unsigned buffers_available_read, buffers_available_write;
	unsigned usr_read_buf_offset, usr_write_buf_offset;
	/*
	 * @dev, @read and @write are Lanebox's own. LitePCIe's struct of this name has two other
	 * fields in their place.
	 */
	struct litepcie *dev;
	struct litepcie_stock_way read, write;	/* the streams c2h (@read) and h2c (@write) */
};

static inline void litepcie_dma_set_loopback(int fd, uint8_t loopback_enable)
{
	struct litepcie_ioctl_dma loopback = { .loopback_enable = loopback_enable };

	checked_ioctl(fd, LITEPCIE_IOCTL_DMA, &loopback);
}

static inline void litepcie_dma_writer(int fd, uint8_t enable, int64_t *hw_count, int64_t *sw_count)
{
	struct litepcie_ioctl_dma_writer writer = { .enable = enable };

	checked_ioctl(fd, LITEPCIE_IOCTL_DMA_WRITER, &writer);
	*hw_count = writer.hw_count;
	*sw_count = writer.sw_count;
}

static inline void litepcie_dma_reader(int fd, uint8_t enable, int64_t *hw_count, int64_t *sw_count)
{
	struct litepcie_ioctl_dma_reader reader = { .enable = enable };

	checked_ioctl(fd, LITEPCIE_IOCTL_DMA_READER, &reader);
	*hw_count = reader.hw_count;
	*sw_count = reader.sw_count;
}

static inline uint8_t litepcie_request_dma(int fd, uint8_t reader, uint8_t writer)
{
	struct litepcie_ioctl_lock lock = {
		.dma_reader_request = reader > 0, .dma_writer_request = writer > 0,
	};

	checked_ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock);
	return (!reader || lock.dma_reader_status) && (!writer || lock.dma_writer_status);
}

static inline void litepcie_release_dma(int fd, uint8_t reader, uint8_t writer)
{
	struct litepcie_ioctl_lock lock = {
		.dma_reader_release = reader > 0, .dma_writer_release = writer > 0,
	};

	checked_ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock);
}

/* Open and start the stream of @direction. *@base becomes the address of the stream's ring. */
static inline int litepcie_stock_start(struct litepcie_dma_ctrl *dma, unsigned int direction,
				       struct litepcie_stock_way *way, char **base)
{
	struct litepcie_stream_options options = { 0 };
	struct litepcie_stream_info info = { 0 };
	int rc;

	options.struct_size = sizeof(options);
	options.loopback = dma->loopback != 0;
	info.struct_size = sizeof(info);
	rc = litepcie_stream_open(dma->dev, direction, &options, &way->stream);
	if (rc == 0)
		rc = litepcie_stream_start(way->stream);
	if (rc == 0)
		rc = litepcie_stream_info(way->stream, &info);
	*base = (char *)info.base;
	return rc;
}

static inline int litepcie_dma_init(struct litepcie_dma_ctrl *dma, const char *device_name,
				    uint8_t zero_copy)
{
	const char *other = getenv("LITEPCIE_DEVICE");
	char why[LITEPCIE_WHY_SIZE];
	int rc = 0;

	dma->zero_copy = zero_copy;
	dma->fds.fd = -1;
	memset(&dma->read, 0, sizeof(dma->read));
	memset(&dma->write, 0, sizeof(dma->write));
	dma->buf_rd = dma->buf_wr = NULL;
	dma->reader_hw_count = dma->reader_sw_count = 0;
	dma->writer_hw_count = dma->writer_sw_count = 0;
	if (litepcie_open(&dma->dev, other ? other : device_name, why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		return -1;
	}
	if (dma->use_writer)
		rc = litepcie_stock_start(dma, LITEPCIE_C2H, &dma->read, &dma->buf_rd);
	if (rc == 0 && dma->use_reader)
		rc = litepcie_stock_start(dma, LITEPCIE_H2C, &dma->write, &dma->buf_wr);
	if (rc < 0) {
		fprintf(stderr, "%s\n", litepcie_why(dma->dev));
		litepcie_close(dma->dev);
		dma->dev = NULL;
		return -1;
	}
	return 0;
}

static inline void litepcie_dma_cleanup(struct litepcie_dma_ctrl *dma)
{
	litepcie_close(dma->dev);
	dma->dev = NULL;
}

/*
 * Handle the result of a library call. -EINTR becomes 0. Any other error ends the program with a
 * sentence, as in LitePCIe's library.
 */
static inline int litepcie_stock_result(struct litepcie_dma_ctrl *dma, int rc)
{
	if (rc >= 0 || rc == -EINTR)
		return rc < 0 ? 0 : rc;
	fprintf(stderr, "%s\n", litepcie_why(dma->dev));
	abort();
}

/*
 * Give back to the card those buffers that the program has got since the last
 * litepcie_dma_process().
 */
static inline void litepcie_stock_give_back(struct litepcie_dma_ctrl *dma,
					    struct litepcie_stock_way *way)
{
	if (way->kept)
		litepcie_stock_result(dma, litepcie_stream_release(way->stream, way->kept));
	way->kept = 0;
}

/* Returns the number of buffers that the program can get, or 0 if the direction is not enabled. */
static inline unsigned litepcie_stock_ready(struct litepcie_dma_ctrl *dma,
					    struct litepcie_stock_way *way, int enabled)
{
	if (!enabled)
		return 0;
	return (unsigned)litepcie_stock_result(dma, litepcie_stream_ready(way->stream, 0));
}

static inline void litepcie_stock_look(struct litepcie_dma_ctrl *dma)
{
	dma->buffers_available_read =
		litepcie_stock_ready(dma, &dma->read, dma->use_writer && dma->writer_enable);
	dma->buffers_available_write =
		litepcie_stock_ready(dma, &dma->write, dma->use_reader && dma->reader_enable);
	dma->usr_read_buf_offset = (unsigned)(dma->read.next % DMA_BUFFER_COUNT);
	dma->usr_write_buf_offset = (unsigned)(dma->write.next % DMA_BUFFER_COUNT);
}

/*
 * Returns the address of the next buffer that belongs to the program, or NULL if *@available is 0.
 * *@offset becomes the place in the ring, counted in buffers, of the buffer after that one.
 */
static inline char *litepcie_stock_next(struct litepcie_dma_ctrl *dma,
					struct litepcie_stock_way *way, unsigned *available,
					unsigned *offset)
{
	struct litepcie_buffer buffer = { 0 };

	if (!*available)
		return NULL;
	buffer.struct_size = sizeof(buffer);
	litepcie_stock_result(dma, litepcie_stream_acquire(way->stream, &buffer, 0));
	--*available;
	way->kept++;
	way->next = buffer.sequence + 1;
	*offset = (unsigned)(way->next % DMA_BUFFER_COUNT);
	return (char *)buffer.data;
}

static inline void litepcie_dma_process(struct litepcie_dma_ctrl *dma)
{
	unsigned directions = (dma->use_reader && dma->reader_enable ? LITEPCIE_H2C : 0) |
			      (dma->use_writer && dma->writer_enable ? LITEPCIE_C2H : 0);
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	litepcie_stock_give_back(dma, &dma->read);
	litepcie_stock_give_back(dma, &dma->write);
	litepcie_stock_look(dma);
	if (directions && !dma->buffers_available_read && !dma->buffers_available_write) {
		litepcie_stock_result(dma, litepcie_dma_wait(dma->dev, directions,
							     LITEPCIE_STOCK_WAIT_MS));
		litepcie_stock_look(dma);
	} else if (directions) {
		litepcie_stock_result(dma, litepcie_dma_wait(dma->dev, directions, 0));
	}
	litepcie_stats(dma->dev, &stats);
	dma->reader_hw_count = (int64_t)stats.h2c_done;
	dma->reader_sw_count = (int64_t)stats.h2c_submitted;
	dma->writer_hw_count = (int64_t)stats.c2h_done;
	dma->writer_sw_count = (int64_t)stats.c2h_released;
}

static inline char *litepcie_dma_next_read_buffer(struct litepcie_dma_ctrl *dma)
{
	return litepcie_stock_next(dma, &dma->read, &dma->buffers_available_read,
				   &dma->usr_read_buf_offset);
}

static inline char *litepcie_dma_next_write_buffer(struct litepcie_dma_ctrl *dma)
{
	return litepcie_stock_next(dma, &dma->write, &dma->buffers_available_write,
				   &dma->usr_write_buf_offset);
}

#ifdef __cplusplus
}
#endif

#endif /* LITEPCIE_STOCK_DMA_H */
