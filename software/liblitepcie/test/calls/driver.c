/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The stand-in for the kernel driver. driver.h says what its public functions do. */
#include "driver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "driver_inside.h"
#include "litepcie.h"

#define PAGES		3

struct driver driver;

int driver_bar0 = -1;
int driver_pages = -1;
static volatile uint32_t *registers;
static struct litepcie_status *status;
static struct litepcie_index *index_page;
static struct litepcie_record *records;

bool driver_load(const char *path)
{
	static char image[DRIVER_BAR0];
	FILE *file = __real_fopen(path, "re");
	size_t read = file ? fread(image, 1, sizeof(image), file) : 0;

	if (file)
		fclose(file);
	driver_bar0 = memfd_create("bar0", MFD_CLOEXEC);
	if (read != sizeof(image) || write(driver_bar0, image, read) != (ssize_t)read)
		return false;
	registers = __real_mmap(NULL, DRIVER_BAR0, PROT_READ | PROT_WRITE, MAP_SHARED,
				driver_bar0, 0);
	driver_pages = memfd_create("pages", MFD_CLOEXEC);
	if (registers == MAP_FAILED || ftruncate(driver_pages, PAGES * DRIVER_PAGE) < 0)
		return false;
	status = __real_mmap(NULL, PAGES * DRIVER_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			     driver_pages, 0);
	index_page = (void *)((uint8_t *)status + DRIVER_PAGE);
	records = (void *)((uint8_t *)status + 2 * DRIVER_PAGE);
	return status != MAP_FAILED;
}

volatile uint32_t *driver_register(uint32_t offset)
{
	return registers + offset / sizeof(uint32_t);
}

void driver_reset(void)
{
	memset(&driver, 0, sizeof(driver));
	memset(status, 0, PAGES * DRIVER_PAGE);
	for (int way = 0; way < 2; way++) {
		driver.size[way] = 8192;
		driver.count[way] = 256;
	}
	for (int n = 0; n < 3; n++)
		driver.event[n] = -1;
}

static void signal_event(int n)
{
	if (driver.event[n] >= 0)
		eventfd_write(driver.event[n], 1);
}

static void publish(int way)
{
	__atomic_store_n(&status->way[way].buffers, driver.hardware[way], __ATOMIC_RELEASE);
}

void driver_record(uint64_t number, uint32_t bytes, uint32_t flags)
{
	struct litepcie_record *record = &records[number % DRIVER_RECORDS];

	record->bytes = bytes;
	record->flags = flags;
	__atomic_store_n(&record->sequence, number + 1, __ATOMIC_RELEASE);
}

void driver_errors(int way, uint64_t errors)
{
	status->way[way].errors = errors;
}

void driver_finish(int way, uint64_t buffers)
{
	driver.hardware[way] += buffers;
	driver.interrupts[way]++;
	publish(way);
	signal_event(way);
}

static void set_run(int way, uint32_t run, int error)
{
	status->way[way].error = error;
	__atomic_store_n(&status->way[way].run, run, __ATOMIC_RELEASE);
}

void driver_abort(int error, bool rests)
{
	for (int way = 0; way < 2; way++) {
		if (status->way[way].run != LITEPCIE_RUN_HELD)
			continue;
		set_run(way, rests ? LITEPCIE_RUN_REST : LITEPCIE_RUN_HELD, error);
		signal_event(way);
	}
}

void driver_call(void)
{
	signal_event(2);
}

bool driver_is(int fd)
{
	struct stat device, st;

	return fd >= 0 && fd != driver_bar0 && fd != driver_pages && fstat(fd, &st) == 0 &&
	       S_ISCHR(st.st_mode) && stat(DRIVER_DEVICE, &device) == 0 &&
	       st.st_rdev == device.st_rdev;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

/* The made-up driver's answers to calls ------------------------------------------------------- */

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
	uint8_t granted = 1;

	if (request) {
		granted = !driver.taken[way] && !driver.owned[way];
		driver.owned[way] |= granted;
	}
	if (release) {
		driver.owned[way] = false;
		driver.event[way] = -1;
		set_run(way, LITEPCIE_RUN_REST, 0);
	}
	return granted;
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
			.buffers_per_interrupt = driver.per_interrupt[way],
			.flags = driver.flags[way] | (driver.foreign ? LITEPCIE_RING_MEMORY : 0),
		},
		.ring_offset = (REGION_H2C + (uint64_t)way) << REGION,
		.ring_bytes = (uint64_t)driver.size[way] * driver.count[way],
		.status_offset = (uint64_t)REGION_STATUS << REGION,
		.index_offset = (uint64_t)REGION_INDEX << REGION,
		.records_offset = driver.records ? (uint64_t)REGION_RECORDS << REGION : 0,
		.records_bytes = driver.records ? DRIVER_PAGE : 0,
	};
	return 0;
}

static int ring_setup(const struct litepcie_ring_setup *setup)
{
	if (!driver.owned[setup->way])
		return fail(EBUSY);
	if (driver.no_memory)
		return fail(ENOMEM);
	driver.size[setup->way] = setup->buffer_size;
	driver.count[setup->way] = setup->buffer_count;
	driver.per_interrupt[setup->way] = setup->buffers_per_interrupt;
	driver.flags[setup->way] = setup->flags;
	driver.mode[setup->way] = setup->mode;
	driver.interval_us[setup->way] = setup->interval_us;
	driver.place[setup->way] = 0;
	driver.foreign = false;
	return 0;
}

static int ring_memory(const struct litepcie_ring_memory *memory)
{
	int rc = driver.place_error ? fail(driver.place_error) : ring_setup(&memory->setup);

	if (rc == 0)
		driver.place[memory->setup.way] = memory->address;
	return rc;
}

/*
 * Answer the ioctl EXPORT with a memory file of the ring's size. Only the owner of the ring's
 * direction may export it.
 */
static int export_ring(struct litepcie_export *export)
{
	unsigned int way = export->way;

	if (!driver.owned[way])
		return fail(EBUSY);
	export->fd = memfd_create("dma-buf", export->fd_flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
	return ftruncate(export->fd, (off_t)driver.size[way] * driver.count[way]);
}

static int bar_info(struct litepcie_bar *bar)
{
	if (bar->reserved)
		return fail(EINVAL);
	if (bar->bar)
		return fail(ENODEV);
	bar->offset = (uint64_t)REGION_BAR << REGION;
	bar->size = DRIVER_BAR0;
	bar->write_combining = driver.combining;
	return 0;
}

/*
 * Answer LitePCIe's ioctls DMA_READER and DMA_WRITER, which start and stop its loop (a run in which
 * the card does not wait for software). The library must use these ioctls only to stop a direction,
 * so driver.looped records a start.
 */
static int run_loop(int way, const struct litepcie_ioctl_dma_writer *direction)
{
	driver.looped |= direction->enable;
	set_run(way, LITEPCIE_RUN_REST, 0);
	return 0;
}

static void begin_held(int way)
{
	status->way[way] = (struct litepcie_status_way) { 0 };
	if (way)
		memset(records, 0, DRIVER_PAGE);
	driver.hardware[way] = driver.advanced[way] = 0;
	set_run(way, LITEPCIE_RUN_HELD, 0);
}

static int advance(struct litepcie_advance *advance)
{
	unsigned int way = advance->way;

	if (status->way[way].error)
		return fail(-status->way[way].error);
	if (!driver.owned[way])
		return fail(EBUSY);
	if (status->way[way].run == LITEPCIE_RUN_REST)
		begin_held((int)way);
	if (driver.advanced[way] + advance->count - driver.hardware[way] > driver.count[way])
		return fail(EINVAL);
	for (uint32_t i = 0; !way && i < advance->count; i++)
		driver.lengths[(driver.advanced[0] + i) % DRIVER_RECORDS] =
			advance->lengths ? ((uint32_t *)(uintptr_t)advance->lengths)[i] : 0;
	driver.advanced[way] += advance->count;
	driver.advances[way] += advance->count != 0;
	driver.notify[way] = advance->flags & LITEPCIE_ADVANCE_NOTIFY;
	advance->advanced = driver.advanced[way];
	return 0;
}

/*
 * Answer the ioctl COUNTS with the card's own counts. These counts include buffers that no
 * interrupt has reported.
 */
static int ask(struct litepcie_counts *counts)
{
	unsigned int way = counts->way;

	if (driver.silent)
		return fail(EIO);
	if (status->way[way].run == LITEPCIE_RUN_HELD)
		publish((int)way);
	*counts = (struct litepcie_counts) {
		.way = way, .hardware = driver.hardware[way], .advanced = driver.advanced[way],
		.run = status->way[way].run, .error = status->way[way].error,
	};
	return 0;
}

static int watch(const struct litepcie_event *event)
{
	if (event->reserved[0] || event->reserved[1])
		return fail(EINVAL);
	if (event->way < 2 && !driver.owned[event->way])
		return fail(EBUSY);
	if (driver.event[event->way] == event->fd)
		return 0;
	driver.event[event->way] = event->fd;
	if (event->way < 2 && driver.hardware[event->way])
		/*
		 * as the driver does when it is given an eventfd: signal it at once if buffers are
		 * finished already
		 */
		signal_event((int)event->way);
	return 0;
}

static int set_packets(const struct litepcie_packets *packets)
{
	if (!driver.records)
		return fail(EOPNOTSUPP);
	driver.packets[packets->way] = packets->flags;
	driver.flush_us[packets->way] = packets->flush_us;
	return 0;
}

static int tell_features(struct litepcie_features *features)
{
	features->version = LITEPCIE_VERSION;
	features->flags = LITEPCIE_FEATURE_HELD | LITEPCIE_FEATURE_MEMORY | LITEPCIE_FEATURE_EXPORT;
	if (driver.records)
		features->flags |= LITEPCIE_FEATURE_PACKETS;
	return 0;
}

static int dispatch_ours(unsigned long request, void *argument)
{
	switch (request) {
	case LITEPCIE_IOCTL_RING_INFO:
		return ring_info(argument);
	case LITEPCIE_IOCTL_RING_SETUP:
		return ring_setup(argument);
	case LITEPCIE_IOCTL_RING_MEMORY:
		return ring_memory(argument);
	case LITEPCIE_IOCTL_EXPORT:
		return export_ring(argument);
	case LITEPCIE_IOCTL_BAR:
		return bar_info(argument);
	case LITEPCIE_IOCTL_ADVANCE:
		return advance(argument);
	case LITEPCIE_IOCTL_COUNTS:
		return ask(argument);
	case LITEPCIE_IOCTL_EVENT:
		return watch(argument);
	case LITEPCIE_IOCTL_PACKETS:
		return set_packets(argument);
	case LITEPCIE_IOCTL_FEATURES:
		return tell_features(argument);
	default:
		return fail(ENOTTY);
	}
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
		return run_loop(0, argument);
	case LITEPCIE_IOCTL_DMA_WRITER:
		return run_loop(1, argument);
	case LITEPCIE_IOCTL_DMA:
		return 0;
	default:
		return driver.stock ? fail(ENOTTY) : dispatch_ours(request, argument);
	}
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (!driver_is(fd))
		return __real_ioctl(fd, request, argument);
	driver.calls++;
	return driver.gone ? fail(ENODEV) : dispatch(request, argument);
}

static bool is_further(int way)
{
	uint64_t buffers = __atomic_load_n(&status->way[way].buffers, __ATOMIC_ACQUIRE);
	uint64_t software = __atomic_load_n(&index_page->way[way].software, __ATOMIC_ACQUIRE);

	return way ? software < buffers : software < buffers + driver.count[way] - 1;
}

static short ready(short wanted)
{
	static const short events[] = { POLLOUT, POLLIN };
	short found = driver.gone ? POLLERR | POLLHUP : 0;

	for (int way = 0; way < 2; way++) {
		if (!(wanted & events[way]))
			continue;
		found |= status->way[way].error ? POLLERR : is_further(way) ? events[way] : 0;
	}
	return found;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	int step_ms = driver.doze_ms ? driver.doze_ms : 1;
	const struct timespec step = { .tv_nsec = step_ms * 1000000L };

	if (!driver_is(fds->fd))
		return __real_poll(fds, count, timeout_ms);
	driver.polls++;
	for (int waited = 0; !(fds->revents = ready(fds->events)); waited += step_ms) {
		if (timeout_ms >= 0 && waited >= timeout_ms)
			return 0;
		nanosleep(&step, NULL);
	}
	return 1;
}
