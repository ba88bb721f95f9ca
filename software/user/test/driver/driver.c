/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* See driver.h for the promises. */
#include "driver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "litepcie.h"

#define REGION		40	/* bits of an offset for mmap() within a region */
#define REGION_H2C	1
#define REGION_C2H	2
#define REGION_INDEX	3
#define REGION_BAR	4

struct driver driver;

static int bar0 = -1;		/* a memory file */
static volatile uint32_t *registers;

int __real_ioctl(int fd, unsigned long request, void *argument);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
FILE *__real_fopen(const char *path, const char *mode);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

bool driver_load(const char *path)
{
	static char image[DRIVER_BAR0];
	FILE *file = __real_fopen(path, "re");
	size_t read = file ? fread(image, 1, sizeof(image), file) : 0;

	if (file)
		fclose(file);
	bar0 = memfd_create("bar0", MFD_CLOEXEC);
	if (read != sizeof(image) || write(bar0, image, read) != (ssize_t)read)
		return false;
	registers = __real_mmap(NULL, DRIVER_BAR0, PROT_READ | PROT_WRITE, MAP_SHARED, bar0, 0);
	return registers != MAP_FAILED;
}

volatile uint32_t *driver_register(uint32_t offset)
{
	return registers + offset / sizeof(uint32_t);
}

void driver_reset(void)
{
	memset(&driver, 0, sizeof(driver));
	for (int way = 0; way < 2; way++) {
		driver.size[way] = 8192;
		driver.count[way] = 256;
	}
}

static bool is_ours(int fd)
{
	struct stat device, st;

	return fd >= 0 && fd != bar0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	       stat(DRIVER_DEVICE, &device) == 0 && st.st_rdev == device.st_rdev;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

/* Calls --------------------------------------------------------------------------------------- */

static int access_register(struct litepcie_ioctl_reg *reg)
{
	if (driver.silent)
		return fail(EIO);
	if (reg->is_write) {
		*driver_register(reg->addr) = reg->val;
		driver.writes++;
	} else {
		reg->val = *driver_register(reg->addr);
		driver.reads++;
	}
	return 0;
}

static uint8_t take(int way, bool request, bool release)
{
	uint8_t status = 1;

	if (request) {
		status = !driver.taken[way] && !driver.owned[way];
		driver.owned[way] |= status;
	}
	if (release)
		driver.owned[way] = false;
	return status;
}

static int lock(struct litepcie_ioctl_lock *lock)
{
	lock->dma_reader_status = take(0, lock->dma_reader_request, lock->dma_reader_release);
	lock->dma_writer_status = take(1, lock->dma_writer_request, lock->dma_writer_release);
	return 0;
}

static int stock_info(struct litepcie_ioctl_mmap_dma_info *info)
{
	*info = (struct litepcie_ioctl_mmap_dma_info) {
		.dma_tx_buf_size = driver.size[0], .dma_tx_buf_count = driver.count[0],
		.dma_rx_buf_size = driver.size[1], .dma_rx_buf_count = driver.count[1],
		.dma_rx_buf_offset = (uint64_t)driver.size[0] * driver.count[0],
	};
	return 0;
}

static int ring_info(struct litepcie_ring_info *info)
{
	unsigned int way = info->way;

	*info = (struct litepcie_ring_info) {
		.way = way,
		.setup = {
			.buffer_size = driver.size[way], .buffer_count = driver.count[way],
			.buffers_per_interrupt = driver.count[way] / 8,
			.flags = driver.foreign ? LITEPCIE_RING_MEMORY : 0,
		},
		.ring_offset = (REGION_H2C + (uint64_t)way) << REGION,
		.ring_bytes = (uint64_t)driver.size[way] * driver.count[way],
		.index_offset = (uint64_t)REGION_INDEX << REGION,
	};
	return 0;
}

static int ring_setup(const struct litepcie_ring_setup *setup)
{
	if (!driver.owned[setup->way])
		return fail(EBUSY);
	driver.size[setup->way] = setup->buffer_size;
	driver.count[setup->way] = setup->buffer_count;
	driver.foreign = false;
	return 0;
}

static int bar_info(struct litepcie_bar *bar)
{
	if (bar->bar)
		return fail(ENODEV);
	bar->offset = (uint64_t)REGION_BAR << REGION;
	bar->size = DRIVER_BAR0;
	return 0;
}

static int count(int way, struct litepcie_ioctl_dma_writer *counts)
{
	counts->hw_count = driver.hardware[way];
	return 0;
}

static int dispatch(unsigned long request, void *argument)
{
	switch (request) {
	case LITEPCIE_IOCTL_REG:
		return access_register(argument);
	case LITEPCIE_IOCTL_LOCK:
		return lock(argument);
	case LITEPCIE_IOCTL_MMAP_DMA_INFO:
		return stock_info(argument);
	case LITEPCIE_IOCTL_DMA_READER:
		return count(0, argument);
	case LITEPCIE_IOCTL_DMA_WRITER:
		return count(1, argument);
	case LITEPCIE_IOCTL_DMA:
	case LITEPCIE_IOCTL_MMAP_DMA_READER_UPDATE:
	case LITEPCIE_IOCTL_MMAP_DMA_WRITER_UPDATE:
		return 0;
	case LITEPCIE_IOCTL_RING_INFO:
		return driver.stock ? fail(ENOTTY) : ring_info(argument);
	case LITEPCIE_IOCTL_RING_SETUP:
		return driver.stock ? fail(ENOTTY) : ring_setup(argument);
	case LITEPCIE_IOCTL_BAR:
		return driver.stock ? fail(ENOTTY) : bar_info(argument);
	default:
		return fail(ENOTTY);
	}
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	return is_ours(fd) ? dispatch(request, argument) : __real_ioctl(fd, request, argument);
}

/* No interrupt ever comes. */
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	return __real_poll(fds, is_ours(fds->fd) ? 0 : count, timeout_ms);
}

/* Memory -------------------------------------------------------------------------------------- */

/* A user gets no mapping for writing that has a page which is not allowed. */
static void *map_bar(void *address, size_t size, int protection, int flags, uint64_t offset)
{
	for (uint64_t at = offset; at < offset + size; at += DRIVER_PAGE)
		if (driver.user && protection & PROT_WRITE && !driver.allowed[at / DRIVER_PAGE]) {
			errno = EPERM;
			return MAP_FAILED;
		}
	return __real_mmap(address, size, protection, flags, bar0, (off_t)offset);
}

/* A ring is its owner's, whatever its shape; LitePCIe's are for all. */
static void *map_ring(int way, size_t size, int protection)
{
	bool whole = size == (size_t)driver.size[way] * driver.count[way];

	if (!whole || driver.foreign || (!driver.stock && !driver.owned[way])) {
		errno = whole ? EADDRINUSE : EINVAL;
		return MAP_FAILED;
	}
	return __real_mmap(NULL, size, protection, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	uint64_t place = (uint64_t)offset, region = place >> REGION;

	if (!is_ours(fd))
		return __real_mmap(address, size, protection, flags, fd, offset);
	place &= (1ull << REGION) - 1;
	if (region == REGION_BAR)
		return map_bar(address, size, protection, flags, place);
	if (region == REGION_INDEX) {	/* the counts are asked for */
		errno = EINVAL;
		return MAP_FAILED;
	}
	return map_ring(region ? (int)region - REGION_H2C : place != 0, size, protection);
}

/* Files --------------------------------------------------------------------------------------- */

static FILE *text_file(const char *text)
{
	FILE *file = tmpfile();

	if (file) {
		fputs(text, file);
		rewind(file);
	}
	return file;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	static const char folder[] = "/sys/class/litepcie/litepcie7/";	/* as DRIVER_DEVICE's number */
	char text[32];

	if (strcmp(path, "/proc/interrupts") == 0)
		return text_file(driver.lines ? driver.lines : "");
	if (strncmp(path, folder, sizeof(folder) - 1))
		return __real_fopen(path, mode);
	path += sizeof(folder) - 1;
	if (!driver.counts || driver.stock)
		return NULL;
	snprintf(text, sizeof(text), "%lld\n", (long long)driver.interrupts[path[0] == 'c']);
	return text_file(text);
}
