/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The rings of Lanebox's driver: which program owns them, their sizes, and their memory in this
 * process.
 *
 * A ring belongs to the program that owns its direction. The library takes the direction at the
 * start of a stream, and makes and maps the ring only then. Before the start another program may
 * use the direction with other sizes.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "kernel.h"
#include "litepcie_capability.h"

/* Memory of a ring ---------------------------------------------------------------------------- */

unsigned int kernel_way(const struct litepcie_stream *stream)
{
	return stream->direction == LITEPCIE_H2C ? LITEPCIE_WAY_H2C : LITEPCIE_WAY_C2H;
}

void kernel_free(struct litepcie_stream *stream)
{
	litepcie_memory_drop(stream->memory);
	stream->memory = NULL;
	stream->base = NULL;
}

/*
 * Make the @size bytes at @base, which are mapped already, the memory of the stream's ring.
 * @placed: they are the program's own memory, which the library never unmaps.
 */
static int take_memory(struct litepcie_stream *stream, void *base, size_t size, bool placed)
{
	stream->memory = litepcie_memory_new(base, size, -1, placed);
	stream->base = stream->memory ? base : NULL;
	return stream->memory ? 0 : -ENOMEM;
}

static int map_ring(struct litepcie_stream *stream, uint64_t offset, uint64_t size)
{
	struct litepcie *dev = stream->dev;
	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, kernel_of(dev)->fd,
			  (off_t)offset);

	if (base == MAP_FAILED)
		return litepcie_fail_errno(errno, "%s: the driver's DMA buffers cannot be mapped",
					   dev->name);
	return take_memory(stream, base, size, false);
}

/*
 * Export the ring as a dma-buf. The descriptor of the dma-buf keeps the ring's memory after the end
 * of the run.
 */
int kernel_export(const struct litepcie_stream *stream)
{
	struct litepcie_export export = {
		.way = kernel_way(stream), .fd_flags = O_RDWR | O_CLOEXEC,
	};
	int rc = kernel_ioctl(stream->dev, LITEPCIE_IOCTL_EXPORT, &export, "descriptor of a DMA ring");

	return rc < 0 ? rc : export.fd;
}

/*
 * Map @size bytes of the device file from @offset on. On failure returns NULL with a sentence, and
 * sets *@error to -errno.
 */
static void *map_page(struct litepcie *dev, uint64_t offset, size_t size, int protection,
		      int *error)
{
	void *page = mmap(NULL, size, protection, MAP_SHARED, kernel_of(dev)->fd, (off_t)offset);

	if (page != MAP_FAILED)
		return page;
	*error = litepcie_fail_errno(errno, "%s: the driver's counts cannot be mapped", dev->name);
	return NULL;
}

/*
 * Set the places of the status lines, which are in the status page, and map the records. If the
 * card does not write the status lines itself, the driver writes them to the page. Records exist
 * only if the card writes them.
 */
static int map_notices(struct litepcie *dev, const struct litepcie_ring_info *info)
{
	const struct litepcie_status *status = kernel_of(dev)->status;
	struct litepcie_notices *notices = &dev->notices;
	int rc = 0;

	notices->h2c = &status->way[LITEPCIE_WAY_H2C];
	notices->c2h = &status->way[LITEPCIE_WAY_C2H];
	if (!info->records_bytes)
		return 0;
	notices->records = map_page(dev, info->records_offset, info->records_bytes, PROT_READ, &rc);
	notices->mask = info->records_bytes / sizeof(struct litepcie_record) - 1;
	return rc;
}

static int map_counts(struct litepcie *dev)
{
	struct litepcie_ring_info info = { .way = LITEPCIE_WAY_C2H };
	struct kernel *kernel = kernel_of(dev);
	int rc = kernel_ioctl(dev, LITEPCIE_IOCTL_RING_INFO, &info, "place of the DMA's counts");

	if (rc < 0)
		return rc;
	kernel->status = map_page(dev, info.status_offset, sizeof(*kernel->status), PROT_READ, &rc);
	if (kernel->status)
		kernel->index = map_page(dev, info.index_offset, sizeof(*kernel->index),
					 PROT_READ | PROT_WRITE, &rc);
	return rc < 0 ? rc : map_notices(dev, &info);
}

/*
 * The ioctl MMAP_DMA_INFO comes first, since both Lanebox's and LitePCIe's driver know it: its
 * error ENOTTY says that the device file is of neither driver. LitePCIe's driver does not know the
 * ioctl FEATURES, so it has none of them. The pages with the driver's counts are mapped only if the
 * driver has held runs (in which the card waits for buffers).
 */
int kernel_dma_map(struct litepcie *dev)
{
	struct litepcie_ioctl_mmap_dma_info rings = { 0 };
	struct litepcie_features features = { 0 };
	int rc = kernel_ioctl(dev, LITEPCIE_IOCTL_MMAP_DMA_INFO, &rings, "size of the DMA rings");

	dev->able = LITEPCIE_HAS_BAR_MAP;
	if (rc < 0 || ioctl(kernel_of(dev)->fd, LITEPCIE_IOCTL_FEATURES, &features) < 0)
		return rc;
	if (features.flags & LITEPCIE_FEATURE_PACKETS)
		dev->able |= LITEPCIE_HAS_PACKETS;
	if (!(features.flags & LITEPCIE_FEATURE_HELD))
		return 0;
	dev->able |= LITEPCIE_HAS_STREAMS;
	return map_counts(dev);
}

void kernel_dma_unmap(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);

	if (kernel->status)
		munmap((void *)kernel->status, sizeof(*kernel->status));
	if (kernel->index)
		munmap(kernel->index, sizeof(*kernel->index));
	if (dev->notices.records)
		munmap((void *)dev->notices.records,
		       (dev->notices.mask + 1) * sizeof(struct litepcie_record));
	dev->notices = (struct litepcie_notices) { 0 };
}

int kernel_check_held(struct litepcie *dev)
{
	if (dev->able & LITEPCIE_HAS_STREAMS)
		return 0;
	return litepcie_fail(-EOPNOTSUPP, "%s: LitePCIe's driver cannot hold a stream: load "
			     "Lanebox's litepcie.ko, or give the card to VFIO (litepcie_util vfio "
			     "bind)", dev->name);
}

/* Shape of a ring ----------------------------------------------------------------------------- */

static int refused(const struct litepcie_stream *stream, int rc)
{
	const struct litepcie_stream_options *options = &stream->options;
	struct litepcie *dev = stream->dev;

	if (rc == -ENOMEM)
		return litepcie_fail(rc, "%s: no memory for %u buffers of %zu bytes, or more than "
				     "this user may lock (ulimit -l): smaller rings, or a higher "
				     "limit", dev->name, options->buffer_count,
				     options->buffer_size);
	if (rc == -EMSGSIZE)
		return litepcie_fail(rc, "%s: of the ring's memory at %p each buffer of %zu bytes "
				     "must lie in one page: take huge ones (MADV_HUGEPAGE or "
				     "MAP_HUGETLB) at a multiple of 2 MiB, or buffers of %u "
				     "bytes", dev->name, options->memory, options->buffer_size,
				     LITEPCIE_BUFFER_LEAST);
	if (options->memory && rc == -EOPNOTSUPP)
		return litepcie_fail(rc, "%s: the ring's memory at %p is shared memory or a "
				     "file's, or the card does not reach all memory: take private "
				     "anonymous memory or hugetlbfs", dev->name, options->memory);
	return rc;
}

static uint32_t mode_of(const struct litepcie_stream_options *options)
{
	if (!options->poll_us)
		return LITEPCIE_MODE_INTERRUPT;
	return options->adaptive ? LITEPCIE_MODE_ADAPTIVE : LITEPCIE_MODE_POLL;
}

/*
 * Set the size and number of the ring's buffers, how the card's progress is noticed, and the
 * program's own memory if the options name it, in the driver. Only the owner of the direction may
 * do so, so this is done at each start. Returns 0, or -errno with a sentence.
 */
static int set_shape(const struct litepcie_stream *stream)
{
	const struct litepcie_stream_options *options = &stream->options;
	struct litepcie_ring_memory memory = {
		.setup = {
			.way = kernel_way(stream), .buffer_size = (uint32_t)options->buffer_size,
			.buffer_count = options->buffer_count,
			.buffers_per_interrupt = stream->interrupt_every,
			.flags = LITEPCIE_RING_INDEXED, .mode = mode_of(options),
			.interval_us = options->poll_us,
		},
		.address = (uintptr_t)options->memory,
	};
	int rc;

	if (options->memory)
		rc = kernel_ioctl(stream->dev, LITEPCIE_IOCTL_RING_MEMORY, &memory,
				  "memory of a DMA ring");
	else
		rc = kernel_ioctl(stream->dev, LITEPCIE_IOCTL_RING_SETUP, &memory.setup,
				  "shape of a DMA ring");
	return rc < 0 ? refused(stream, rc) : 0;
}

/*
 * Make and map the ring of a direction that this handle has just taken. The ring of the last run is
 * unmapped first: the driver's memory may count against the user's limit of locked memory for as
 * long as it is mapped.
 */
static int prepare(struct litepcie_stream *stream)
{
	struct litepcie_ring_info info = { .way = kernel_way(stream) };
	int rc;

	kernel_free(stream);
	rc = set_shape(stream);
	if (rc == 0 && stream->options.memory)
		return take_memory(stream, stream->options.memory, litepcie_ring_bytes(stream),
				   true);
	if (rc == 0)
		rc = kernel_ioctl(stream->dev, LITEPCIE_IOCTL_RING_INFO, &info,
				  "place of a DMA ring");
	return rc < 0 ? rc : map_ring(stream, info.ring_offset, info.ring_bytes);
}

/* Taking and giving back a direction ---------------------------------------------------------- */

static int give(struct litepcie_stream *stream)
{
	bool h2c = stream->direction == LITEPCIE_H2C;
	struct litepcie_ioctl_lock unlock = {
		.dma_reader_release = h2c, .dma_writer_release = !h2c,
	};

	return kernel_ioctl(stream->dev, LITEPCIE_IOCTL_LOCK, &unlock, "DMA unlock");
}

/*
 * Take the direction from the driver, make its ring and map it. Returns -EBUSY, with a sentence
 * that names the programs which have the card open, if another program has the direction.
 */
static int take(struct litepcie_stream *stream)
{
	bool h2c = stream->direction == LITEPCIE_H2C;
	struct litepcie_ioctl_lock lock = {
		.dma_reader_request = h2c, .dma_writer_request = !h2c,
	};
	struct litepcie *dev = stream->dev;
	char users[LITEPCIE_WHY_SIZE / 2];
	int rc = kernel_ioctl(dev, LITEPCIE_IOCTL_LOCK, &lock, "DMA lock");

	if (rc < 0)
		return rc;
	if (h2c ? !lock.dma_reader_status : !lock.dma_writer_status) {
		kernel_users(dev, users, sizeof(users));
		return litepcie_fail(-EBUSY, "%s: %s is in use; the device is open in %s: let it "
				     "finish first", dev->name, stream->name, users);
	}
	rc = prepare(stream);
	if (rc < 0)
		give(stream);
	return rc;
}

int kernel_own(struct litepcie_stream *stream, bool on)
{
	return on ? take(stream) : give(stream);
}
