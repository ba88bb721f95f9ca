// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Every way in which a call may end, and what makes it end so whatever was before.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"
#include "fuzz.h"

#define BURST		8	/* calls for one preparation */
#define WAIT_MS		2000	/* for data, on a busy machine */
#define FAR		(1ll << 40)

#define REGION(n)	((off_t)(n) << 40)
#define BAR_REGION(n)	REGION(4 + (n))
#define BAR0_SIZE	0x20000
#define SAFE_PAGE	0x10000		/* registers that drive nothing */

union argument {
	struct litepcie_ioctl_reg reg;
	struct litepcie_ioctl_dma_writer run;
	struct litepcie_ioctl_lock lock;
	struct litepcie_ioctl_mmap_dma_update update;
	struct litepcie_ring_setup setup;
	struct litepcie_ring_info ring;
	struct litepcie_event event;
	struct litepcie_bar bar;
	struct litepcie_export export;
	unsigned char bytes[96];
};

struct branch {
	enum call call;
	int error;
	const char *what;
	void (*prepare)(void);
	int user;			/* which file makes the call */
	bool bad;			/* with a pointer that leads nowhere */
	union argument argument;	/* of an ioctl */
	size_t size;			/* of read, write and mmap */
	off_t offset;
	int prot, flags;
	unsigned long hits, tries;
};

static int event_fd;
static unsigned int driving;		/* a register that only root may write */

/* Preparations -------------------------------------------------------------------------------- */

static void lock_both(int fd, bool request)
{
	struct litepcie_ioctl_lock lock = {
		.dma_reader_request = request, .dma_writer_request = request,
		.dma_reader_release = !request, .dma_writer_release = !request,
	};

	ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock);
}

static void nobodys(void)
{
	for (int i = 0; i < FDS; i++)
		lock_both(fds[i], false);
}

static void first_owns(void)
{
	nobodys();
	lock_both(fds[0], true);
}

static void second_owns(void)
{
	nobodys();
	lock_both(fds[1], true);
}

static void set_count(unsigned long request, long long software)
{
	struct litepcie_ioctl_mmap_dma_update update = { .sw_count = software };

	ioctl(fds[0], request, &update);
}

static void has_room(void)
{
	nobodys();
	set_count(LITEPCIE_IOCTL_MMAP_DMA_READER_UPDATE, 0);
}

static void has_no_room(void)
{
	nobodys();
	set_count(LITEPCIE_IOCTL_MMAP_DMA_READER_UPDATE, FAR);
}

static void others_have_room(void)
{
	has_room();
	lock_both(fds[1], true);
}

/* Runs for the first file, and its buffers are data again however many were read. */
static void has_data(void)
{
	struct pollfd poller = { .fd = fds[0], .events = POLLIN };
	struct litepcie_ioctl_lock first = { .dma_writer_request = 1 };
	long long hw = 0;

	if (ioctl(fds[0], LITEPCIE_IOCTL_LOCK, &first) || run_c2h(fds[0], 1, &hw) || hw == 0) {
		first_owns();
		loopback(fds[0], 1);
		run_c2h(fds[0], 1, NULL);
		run_h2c(fds[0], 1, NULL);
		poll(&poller, 1, WAIT_MS);
	}
	set_count(LITEPCIE_IOCTL_MMAP_DMA_WRITER_UPDATE, 0);
}

/* Calls --------------------------------------------------------------------------------------- */

static void *bad_pointer(void)
{
	return pick(2) ? NULL : (void *)0xffff800000000000ul;
}

static unsigned long request_of(enum call call)
{
	return call == UNKNOWN ? _IOC(_IOC_WRITE, 'S', 128 + pick(128), 1 + pick(64)) :
				 requests[call];
}

static bool make_ioctl(const struct branch *branch, int fd)
{
	union argument argument = branch->argument;
	bool ok;

	if (branch->call == EVENT && argument.event.fd == 0)
		argument.event.fd = event_fd;
	if (branch->call == REG && branch->error == EPERM)
		argument.reg.addr = driving;
	ok = ioctl(fd, request_of(branch->call), branch->bad ? bad_pointer() : &argument) == 0;
	if (ok && branch->call == EXPORT)
		close(argument.export.fd);
	/* Refusing is no error of this call: the status says so. */
	if (ok && branch->call == LOCK)
		ok = argument.lock.dma_reader_status == !branch->user;
	return ok;
}

static bool make_mmap(const struct branch *branch, int fd)
{
	void *place = mmap(NULL, branch->size, branch->prot, branch->flags, fd, branch->offset);

	if (place == MAP_FAILED)
		return false;
	munmap(place, branch->size);
	return true;
}

static bool make_data(const struct branch *branch, int fd)
{
	static char buffer[2 * BUFFER];
	void *pointer = branch->bad ? (void *)8 : buffer;
	ssize_t done = branch->call == READ ? read(fd, pointer, branch->size) :
					      write(fd, pointer, branch->size);

	if (done == 0)
		errno = 0;
	return done > 0;
}

static bool make_poll(int fd)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN | POLLOUT };

	return poll(&poller, 1, 0) >= 0;
}

static bool make_open(void)
{
	close(fds[FDS - 1]);
	fds[FDS - 1] = open(device, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return fds[FDS - 1] >= 0;
}

static bool make(const struct branch *branch)
{
	int fd = fds[branch->user];

	switch (branch->call) {
	case MMAP:
		return make_mmap(branch, fd);
	case READ:
	case WRITE:
		return make_data(branch, fd);
	case POLL:
		return make_poll(fd);
	case OPEN:
		return make_open();
	default:
		return make_ioctl(branch, fd);
	}
}

/* Branches ------------------------------------------------------------------------------------ */

#define IOCTL(_call, _error, _what, _prepare, ...) \
	{ .call = _call, .error = _error, .what = _what, .prepare = _prepare, \
	  .argument = { __VA_ARGS__ } }
#define LOST(_call) \
	{ .call = _call, .error = EFAULT, .what = "pointer", .prepare = nobodys, .bad = true }
#define RING_OF(_error, _what, _prepare, _way, _size, _count, _per, _mode, _us, _flags, _rest) \
	IOCTL(SETUP, _error, _what, _prepare, \
	      .setup = { _way, _size, _count, _per, _mode, _us, _flags, _rest })
#define MAP(_error, _what, _offset, _size, _prot, _flags) \
	{ .call = MMAP, .error = _error, .what = _what, .prepare = nobodys, .offset = _offset, \
	  .size = _size, .prot = _prot, .flags = _flags }
#define DATA(_call, _error, _what, _prepare, _user, _bad, _size) \
	{ .call = _call, .error = _error, .what = _what, .prepare = _prepare, .user = _user, \
	  .bad = _bad, .size = _size }
#define ANY	(PROT_READ | PROT_WRITE)

static struct branch branches[] = {
	IOCTL(REG, 0, "read", NULL, .reg = { .addr = 4 }),
	IOCTL(REG, 0, "write", NULL, .reg = { .addr = 4, .val = 1, .is_write = 1 }),
	IOCTL(REG, EINVAL, "alignment", NULL, .reg = { .addr = 6 }),
	IOCTL(REG, EINVAL, "beyond the BAR", NULL, .reg = { .addr = BAR0_SIZE }),
	IOCTL(REG, EPERM, "drives DMA", NULL, .reg = { .is_write = 1 }),
	IOCTL(LOOPBACK, 0, "on", NULL, .bytes = { 1 }),
	IOCTL(C2H, 0, "start", nobodys, .run = { .enable = 1 }),
	IOCTL(C2H, 0, "stop", nobodys, .run = { .enable = 0 }),
	IOCTL(C2H, EBUSY, "another's", second_owns, .run = { .enable = 1 }),
	IOCTL(H2C, 0, "start", nobodys, .run = { .enable = 1 }),
	IOCTL(H2C, 0, "stop", nobodys, .run = { .enable = 0 }),
	IOCTL(H2C, EBUSY, "another's", second_owns, .run = { .enable = 1 }),
	IOCTL(INFO, 0, "info", NULL, .bytes = { 0 }),
	IOCTL(LOCK, 0, "given", nobodys, .lock = { .dma_reader_request = 1, .dma_reader_release = 1 }),
	{ .call = LOCK, .what = "refused", .prepare = first_owns, .user = 1,
	  .argument.lock = { .dma_reader_request = 1 } },
	IOCTL(C2H_UPDATE, 0, "nobody's", nobodys, .update = { 5 }),
	IOCTL(C2H_UPDATE, EBUSY, "another's", second_owns, .update = { 5 }),
	IOCTL(C2H_UPDATE, EINVAL, "negative", first_owns, .update = { -1 }),
	IOCTL(H2C_UPDATE, 0, "nobody's", nobodys, .update = { 5 }),
	IOCTL(H2C_UPDATE, EBUSY, "another's", second_owns, .update = { 5 }),
	IOCTL(H2C_UPDATE, EINVAL, "negative", first_owns, .update = { -1 }),
	LOST(REG), LOST(LOOPBACK), LOST(C2H), LOST(H2C), LOST(INFO), LOST(LOCK), LOST(C2H_UPDATE),
	LOST(H2C_UPDATE), LOST(SETUP), LOST(RING_INFO), LOST(EVENT), LOST(BAR), LOST(EXPORT),
	LOST(UNKNOWN), IOCTL(UNKNOWN, ENOTTY, "number", NULL, .bytes = { 0 }),

	RING_OF(0, "interrupts", first_owns, 0, 4096, 16, 1, 0, 0, 0, 0),
	RING_OF(0, "adaptive", first_owns, 1, 8192, 8, 2, 1, 100, 1, 0),
	RING_OF(EBUSY, "not the owner's", nobodys, 0, 4096, 16, 1, 0, 0, 0, 0),
	RING_OF(EBUSY, "running", has_data, 1, 4096, 16, 1, 0, 0, 0, 0),
	RING_OF(ENOMEM, "a gigabyte", first_owns, 0, 4u << 20, 256, 1, 0, 0, 0, 0),
	RING_OF(EINVAL, "way", NULL, 2, 4096, 16, 1, 0, 0, 0, 0),
	RING_OF(EINVAL, "size no power of two", NULL, 0, 12288, 16, 1, 0, 0, 0, 0),
	RING_OF(EINVAL, "size too small", NULL, 0, 2048, 16, 1, 0, 0, 0, 0),
	RING_OF(EINVAL, "size too large", NULL, 0, 8u << 20, 16, 1, 0, 0, 0, 0),
	RING_OF(EINVAL, "count too small", NULL, 0, 4096, 3, 1, 0, 0, 0, 0),
	RING_OF(EINVAL, "count too large", NULL, 0, 4096, 1u << 20, 1, 0, 0, 0, 0),
	RING_OF(EINVAL, "interrupt each 0", NULL, 0, 4096, 16, 0, 0, 0, 0, 0),
	RING_OF(EINVAL, "interrupt each 17", NULL, 0, 4096, 16, 17, 0, 0, 0, 0),
	RING_OF(EINVAL, "mode", NULL, 0, 4096, 16, 1, 3, 100, 0, 0),
	RING_OF(EINVAL, "interval too short", NULL, 0, 4096, 16, 1, 2, 9, 0, 0),
	RING_OF(EINVAL, "interval too long", NULL, 0, 4096, 16, 1, 2, 1000001, 0, 0),
	RING_OF(EINVAL, "interval for nothing", NULL, 0, 4096, 16, 1, 0, 100, 0, 0),
	RING_OF(EINVAL, "flags", NULL, 0, 4096, 16, 1, 0, 0, 2, 0),
	RING_OF(EINVAL, "reserved", NULL, 0, 4096, 16, 1, 0, 0, 0, 1),
	IOCTL(RING_INFO, 0, "info", NULL, .ring = { .way = 1 }),
	IOCTL(RING_INFO, EINVAL, "way", NULL, .ring = { .way = 2 }),
	IOCTL(RING_INFO, EINVAL, "reserved", NULL, .ring = { .reserved = 1 }),
	IOCTL(EVENT, 0, "set", first_owns, .event = { .way = 1 }),
	IOCTL(EVENT, 0, "taken back", first_owns, .event = { .way = 1, .fd = -1 }),
	IOCTL(EVENT, EBUSY, "not the owner's", nobodys, .event = { .way = 1 }),
	IOCTL(EVENT, EINVAL, "way", NULL, .event = { .way = 2 }),
	IOCTL(EVENT, EINVAL, "descriptor", NULL, .event = { .way = 1, .fd = -2 }),
	IOCTL(EVENT, EINVAL, "no eventfd", NULL, .event = { .way = 1, .fd = 1 }),
	IOCTL(EVENT, EBADF, "not open", NULL, .event = { .way = 1, .fd = 9999 }),
	IOCTL(BAR, 0, "registers", NULL, .bar = { .bar = 0 }),
	IOCTL(BAR, EINVAL, "number", NULL, .bar = { .bar = 6 }),
	IOCTL(BAR, ENODEV, "not there", NULL, .bar = { .bar = 5 }),
	IOCTL(EXPORT, 0, "ring", NULL, .export = { .way = 1, .fd_flags = O_CLOEXEC }),
	IOCTL(EXPORT, EINVAL, "way", NULL, .export = { .way = 2 }),
	IOCTL(EXPORT, EINVAL, "reserved", NULL, .export = { .way = 1, .reserved = 1 }),
	IOCTL(EXPORT, EINVAL, "flags", NULL, .export = { .way = 1, .fd_flags = O_NONBLOCK }),

	MAP(0, "h2c", 0, RING, ANY, MAP_SHARED),
	MAP(0, "c2h", RING, RING, PROT_READ, MAP_SHARED),
	MAP(0, "h2c by region", REGION(1), RING, ANY, MAP_SHARED),
	MAP(0, "c2h by region", REGION(2), RING, ANY, MAP_SHARED),
	MAP(0, "index", REGION(3), 4096, ANY, MAP_SHARED),
	MAP(0, "registers", BAR_REGION(0) + SAFE_PAGE, 4096, ANY, MAP_SHARED),
	MAP(0, "registers to read", BAR_REGION(0), BAR0_SIZE, PROT_READ, MAP_SHARED),
	MAP(EPERM, "registers that drive DMA", BAR_REGION(0), BAR0_SIZE, ANY, MAP_SHARED),
	MAP(EINVAL, "beyond the BAR", BAR_REGION(0), 2 * BAR0_SIZE, PROT_READ, MAP_SHARED),
	MAP(EINVAL, "registers private", BAR_REGION(0), 4096, PROT_READ, MAP_PRIVATE),
	MAP(ENODEV, "no such BAR", BAR_REGION(5), 4096, PROT_READ, MAP_SHARED),
	MAP(EINVAL, "no such region", REGION(12), 4096, PROT_READ, MAP_SHARED),
	MAP(EINVAL, "offset in a region", REGION(1) + 4096, 4096, PROT_READ, MAP_SHARED),
	MAP(EINVAL, "offset", 4096, RING, ANY, MAP_SHARED),
	MAP(EINVAL, "size", 0, 4096, ANY, MAP_SHARED),
	MAP(EINVAL, "ring private", 0, RING, ANY, MAP_PRIVATE),
	MAP(EINVAL, "index private", REGION(3), 4096, ANY, MAP_PRIVATE),

	DATA(READ, 0, "buffer", has_data, 0, false, BUFFER),
	DATA(READ, EAGAIN, "no data", nobodys, 0, false, BUFFER),
	DATA(READ, EFAULT, "pointer", has_data, 0, true, BUFFER),
	DATA(READ, EBUSY, "another's", has_data, 1, false, BUFFER),
	DATA(READ, EINVAL, "no whole buffer", has_data, 0, false, BUFFER - 1),
	DATA(WRITE, 0, "buffer", has_room, 0, false, BUFFER),
	DATA(WRITE, EAGAIN, "no room", has_no_room, 0, false, BUFFER),
	DATA(WRITE, EFAULT, "pointer", has_room, 0, true, BUFFER),
	DATA(WRITE, EBUSY, "another's", others_have_room, 0, false, BUFFER),
	DATA(WRITE, EINVAL, "no whole buffer", has_room, 0, false, BUFFER - 1),
	{ .call = POLL, .what = "now" },
	{ .call = OPEN, .what = "again" },
};

#define BRANCHES	(sizeof(branches) / sizeof(*branches))

static void find_driving(void)
{
	struct litepcie_ioctl_reg reg = { .is_write = 1 };

	for (; ioctl(fds[0], LITEPCIE_IOCTL_REG, &reg) == 0; reg.addr += 4)
		;
	driving = reg.addr;
}

void branches_init(void)
{
	event_fd = eventfd(0, EFD_CLOEXEC);
	find_driving();
}

/* A branch that is hard to reach is tried more often, but must not starve the others. */
static unsigned long rank(const struct branch *branch)
{
	return branch->hits + branch->tries / 8;
}

void branches_step(void)
{
	struct branch *rarest = &branches[0];

	for (size_t i = 1; i < BRANCHES; i++)
		if (rank(&branches[i]) < rank(rarest))
			rarest = &branches[i];
	if (rarest->prepare)
		rarest->prepare();
	for (int i = 0; i < BURST; i++) {
		rarest->tries++;
		errno = 0;
		if (count(rarest->call, make(rarest)) != rarest->error)
			break;
		rarest->hits++;
	}
}

bool branches_below(unsigned long least)
{
	for (size_t i = 0; i < BRANCHES; i++)
		if (branches[i].hits < least)
			return true;
	return false;
}

void branches_print(void)
{
	for (size_t i = 0; i < BRANCHES; i++)
		printf("branch %lu of %lu: %s %s: %s\n", branches[i].hits, branches[i].tries,
		       names[branches[i].call], outcome_name(branches[i].error), branches[i].what);
}
