// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Lists the branches, which are the outcomes of calls that the program fuzz must reach, and chooses
 * the branch that is tried next.
 */
#include <limits.h>
#include <sys/mman.h>

#include "uapi/litepcie_capability.h"
#include "calls.h"
#include "fuzz.h"

/* largest number of calls that aim at one outcome after one preparation */
#define BURST		8
/* largest number of calls that are made for each outcome while the card is being reset */
#define RESET_BURST	64

#define REGION(n)	((off_t)(n) << 40)
#define BAR_REGION(n)	REGION(6 + (n))
#define BAR0_SIZE	LITEPCIE_BAR0_SIZE
/*
 * bytes of the mapping of a ring's records, by which the card reports finished c2h buffers: 16
 * bytes for each descriptor of the card's table
 */
#define RECORDS		4096
/* offset in BAR0 of a page of the card's block memory, which every user may map for writing */
#define SAFE_PAGE	0x10000

#define IOCTL(_call, _error, _what, _prepare, ...) \
	{ .call = _call, .error = _error, .what = _what, .prepare = _prepare, \
	  .argument = { __VA_ARGS__ } }
#define LOST(_call) \
	{ .call = _call, .error = EFAULT, .what = "pointer", .prepare = nobodys, .bad = true }
#define RING_OF(_error, _what, _prepare, _way, _size, _count, _per, _mode, _us, _flags, _rest) \
	IOCTL(SETUP, _error, _what, _prepare, \
	      .setup = { _way, _size, _count, _per, _mode, _us, _flags, _rest })
#define IN_MEMORY(_error, _what, _prepare, _place, _offset, _way, _size, _count, _flags, _rest) \
	{ .call = MEMORY, .error = _error, .what = _what, .prepare = _prepare, .place = _place, \
	  .argument.memory = { { _way, _size, _count, 1, 0, 0, _flags, 0 }, _offset, _rest } }
#define MAP(_error, _what, _offset, _size, _prot, _flags) \
	{ .call = MMAP, .error = _error, .what = _what, .prepare = nobodys, .offset = _offset, \
	  .size = _size, .prot = _prot, .flags = _flags }
#define DATA(_call, _error, _what, _prepare, _user, _bad, _size) \
	{ .call = _call, .error = _error, .what = _what, .prepare = _prepare, .user = _user, \
	  .bad = _bad, .size = _size }
#define LEFT(_call, ...) \
	{ .call = _call, .error = ENODEV, .what = "card gone", .card = GONE, .user = FDS, \
	  __VA_ARGS__ }
#define AWAY(_call, ...) \
	LEFT(_call, __VA_ARGS__), \
	{ .call = _call, .error = EIO, .what = "card in reset", .card = IN_RESET, __VA_ARGS__ }
#define ANY	(PROT_READ | PROT_WRITE)

static struct branch branches[] = {
	IOCTL(REG, 0, "read", NULL, .reg = { .addr = 4 }),
	IOCTL(REG, 0, "write", NULL, .reg = { .addr = 4, .val = 1, .is_write = 1 }),
	IOCTL(REG, EINVAL, "alignment", NULL, .reg = { .addr = 6 }),
	IOCTL(REG, EINVAL, "beyond the BAR", NULL, .reg = { .addr = BAR0_SIZE }),
	IOCTL(REG, EPERM, "drives DMA", NULL, .reg = { .is_write = 1 }),
	IOCTL(REG, EBUSY, "another's pattern", second_steers,
	      .reg = { .addr = PATTERN_CONTROL, .val = 1, .is_write = 1 }),
	IOCTL(LOOPBACK, 0, "on", nobodys, .bytes = { 1 }),
	IOCTL(LOOPBACK, EBUSY, "another's", second_steers, .bytes = { 1 }),
	IOCTL(C2H, 0, "start", small_rings, .run = { .enable = 1 }),
	IOCTL(C2H, 0, "stop", nobodys, .run = { .enable = 0 }),
	IOCTL(C2H, EBUSY, "another's", second_owns, .run = { .enable = 1 }),
	IOCTL(H2C, 0, "start", small_rings, .run = { .enable = 1 }),
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
	LOST(H2C_UPDATE), LOST(SETUP), LOST(MEMORY), LOST(RING_INFO), LOST(EVENT), LOST(BAR), LOST(EXPORT),
	LOST(ADVANCE), LOST(COUNTS), LOST(PACKETS),
	IOCTL(UNKNOWN, ENOTTY, "number", NULL, .bytes = { 0 }),

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

	IN_MEMORY(0, "huge pages", first_owns, HUGE_PAGES, 0, 0, 65536, 32, 0, 0),
	IN_MEMORY(0, "small pages", first_owns, SMALL_PAGES, 0, 0, 4096, 16, 1, 0),
	IN_MEMORY(EBUSY, "not the owner's", nobodys, SMALL_PAGES, 0, 0, 4096, 16, 0, 0),
	IN_MEMORY(EBUSY, "running", has_data, SMALL_PAGES, 0, 1, 4096, 16, 0, 0),
	IN_MEMORY(ENOMEM, "beyond the limit", first_owns, HUGE_PAGES, 0, 0, 2u << 20, 256, 0, 0),
	IN_MEMORY(EMSGSIZE, "small pages", first_owns, SMALL_PAGES, 0, 0, 8192, 16, 0, 0),
	IN_MEMORY(EMSGSIZE, "across huge pages", first_owns, HUGE_PAGES, 4096, 0, 65536, 32, 0, 0),
	IN_MEMORY(EOPNOTSUPP, "shared", first_owns, SHARED, 0, 0, 4096, 16, 0, 0),
	IN_MEMORY(EFAULT, "nothing there", first_owns, GIVEN, 0, 0, 4096, 16, 0, 0),
	IN_MEMORY(EFAULT, "beyond the end", first_owns, HUGE_PAGES, 4096, 0, 65536, 64, 0, 0),
	IN_MEMORY(EFAULT, "to read", first_owns, READ_ONLY, 0, 0, 4096, 16, 0, 0),
	IN_MEMORY(EINVAL, "address", first_owns, HUGE_PAGES, 512, 0, 4096, 16, 0, 0),
	IN_MEMORY(EINVAL, "shape", first_owns, HUGE_PAGES, 0, 0, 12288, 16, 0, 0),
	IN_MEMORY(EINVAL, "way", first_owns, HUGE_PAGES, 0, 2, 4096, 16, 0, 0),
	IN_MEMORY(EINVAL, "flags", first_owns, HUGE_PAGES, 0, 0, 4096, 16, 2, 0),
	IN_MEMORY(EINVAL, "reserved", first_owns, HUGE_PAGES, 0, 0, 4096, 16, 0, 1),
	IOCTL(RING_INFO, 0, "info", NULL, .ring = { .way = 1 }),
	IOCTL(RING_INFO, EINVAL, "way", NULL, .ring = { .way = 2 }),
	IOCTL(RING_INFO, EINVAL, "reserved", NULL, .ring = { .reserved = 1 }),
	IOCTL(EVENT, 0, "set", first_owns, .event = { .way = 1 }),
	IOCTL(EVENT, 0, "taken back", first_owns, .event = { .way = 1, .fd = -1 }),
	IOCTL(EVENT, EBUSY, "not the owner's", nobodys, .event = { .way = 1 }),
	IOCTL(EVENT, ENXIO, "no user interrupt", NULL, .event = { .way = 2 }),
	IOCTL(EVENT, EINVAL, "way", NULL, .event = { .way = 3 }),
	IOCTL(EVENT, EINVAL, "descriptor", NULL, .event = { .way = 1, .fd = -2 }),
	IOCTL(EVENT, EINVAL, "no eventfd", NULL, .event = { .way = 1, .fd = 1 }),
	IOCTL(EVENT, EBADF, "not open", NULL, .event = { .way = 1, .fd = 9999 }),
	IOCTL(BAR, 0, "registers", NULL, .bar = { .bar = 0 }),
	IOCTL(BAR, EINVAL, "number", NULL, .bar = { .bar = 6 }),
	IOCTL(BAR, ENODEV, "not there", NULL, .bar = { .bar = 5 }),
	IOCTL(EXPORT, EBUSY, "another's", second_owns, .export = { .way = 1 }),
	IOCTL(EXPORT, 0, "ring", nobodys, .export = { .way = 1, .fd_flags = O_CLOEXEC }),
	IOCTL(EXPORT, EADDRINUSE, "own memory", own_memory, .export = { .way = 1 }),
	IOCTL(EXPORT, EINVAL, "way", NULL, .export = { .way = 2 }),
	IOCTL(EXPORT, EINVAL, "reserved", NULL, .export = { .way = 1, .reserved = 1 }),
	IOCTL(EXPORT, EINVAL, "flags", NULL, .export = { .way = 1, .fd_flags = O_NONBLOCK }),

	MAP(0, "h2c", 0, RING, ANY, MAP_SHARED),
	MAP(0, "c2h", RING, RING, PROT_READ, MAP_SHARED),
	MAP(0, "h2c by region", REGION(1), RING, ANY, MAP_SHARED),
	MAP(0, "c2h by region", REGION(2), RING, ANY, MAP_SHARED),
	MAP(0, "status", REGION(3), 4096, PROT_READ, MAP_SHARED),
	MAP(EPERM, "status to write", REGION(3), 4096, ANY, MAP_SHARED),
	MAP(EINVAL, "status private", REGION(3), 4096, PROT_READ, MAP_PRIVATE),
	MAP(0, "index", REGION(4), 4096, ANY, MAP_SHARED),
	MAP(0, "records", REGION(5), RECORDS, PROT_READ, MAP_SHARED),
	MAP(EPERM, "records to write", REGION(5), RECORDS, ANY, MAP_SHARED),
	MAP(EINVAL, "records private", REGION(5), RECORDS, PROT_READ, MAP_PRIVATE),
	MAP(EINVAL, "more than the records", REGION(5), 2 * RECORDS, PROT_READ, MAP_SHARED),
	MAP(0, "registers", BAR_REGION(0) + SAFE_PAGE, 4096, ANY, MAP_SHARED),
	MAP(0, "registers to read", BAR_REGION(0), BAR0_SIZE, PROT_READ, MAP_SHARED),
	MAP(EPERM, "registers that drive DMA", BAR_REGION(0), BAR0_SIZE, ANY, MAP_SHARED),
	MAP(EINVAL, "beyond the BAR", BAR_REGION(0), 2 * BAR0_SIZE, PROT_READ, MAP_SHARED),
	MAP(EINVAL, "registers private", BAR_REGION(0), 4096, PROT_READ, MAP_PRIVATE),
	MAP(ENODEV, "no such BAR", BAR_REGION(5), 4096, PROT_READ, MAP_SHARED),
	MAP(EINVAL, "no such region", REGION(13), 4096, PROT_READ, MAP_SHARED),
	MAP(EINVAL, "offset in a region", REGION(1) + 4096, 4096, PROT_READ, MAP_SHARED),
	MAP(EINVAL, "offset", 4096, RING, ANY, MAP_SHARED),
	MAP(EINVAL, "size", 0, 4096, ANY, MAP_SHARED),
	MAP(EINVAL, "ring private", 0, RING, ANY, MAP_PRIVATE),
	{ .call = MMAP, .error = EBUSY, .what = "another's", .prepare = second_owns,
	  .offset = REGION(1), .size = RING, .prot = PROT_READ, .flags = MAP_SHARED },
	{ .call = MMAP, .error = EADDRINUSE, .what = "own memory", .prepare = own_memory,
	  .offset = REGION(2), .size = RING, .prot = ANY, .flags = MAP_SHARED },
	MAP(EINVAL, "index private", REGION(4), 4096, ANY, MAP_PRIVATE),

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
	DATA(READ, EBUSY, "held", held, 0, false, 1),
	DATA(WRITE, 0, "a byte", nobodys, 0, false, 1),
	DATA(WRITE, 0, "some bytes", streams, 0, false, BUFFER + 5),
	DATA(WRITE, EAGAIN, "a full ring", full_stream, 0, false, 64),
	DATA(WRITE, EFAULT, "stream's pointer", streams, 0, true, 1),
	DATA(WRITE, EBUSY, "another's stream", streams, 1, false, 1),
	DATA(WRITE, 0, "a packet", packets, 0, false, BUFFER + 5),
	DATA(WRITE, EMSGSIZE, "more than a packet", packets, 0, false, 32 * BUFFER),
	DATA(WRITE, EFAULT, "packet's pointer", packets, 0, true, BUFFER),
	DATA(READ, EAGAIN, "no packet", packets, 0, false, BUFFER),
	{ .call = SYNC, .what = "nothing", .prepare = nobodys },
	{ .call = SYNC, .what = "a byte", .prepare = streams },
	{ .call = SYNC, .what = "a loop", .prepare = has_room },

	IOCTL(ADVANCE, 0, "start", small_rings, .advance = { .way = 1, .count = 32 }),
	IOCTL(ADVANCE, 0, "the last", held, .advance = { .way = 1, .count = 1, .flags = 1 }),
	IOCTL(ADVANCE, EINVAL, "too many", held, .advance = { .way = 1, .count = 2 }),
	IOCTL(ADVANCE, EINVAL, "more than the table", NULL, .advance = { .way = 1, .count = 1u << 20 }),
	IOCTL(ADVANCE, EINVAL, "way", NULL, .advance = { .way = 2 }),
	IOCTL(ADVANCE, EINVAL, "flags", NULL, .advance = { .flags = 2 }),
	IOCTL(ADVANCE, EINVAL, "reserved", NULL, .advance = { .reserved = 1 }),
	IOCTL(ADVANCE, EINVAL, "lengths of c2h", NULL,
	      .advance = { .way = 1, .count = 1, .lengths = 4096 }),
	IOCTL(ADVANCE, EFAULT, "lengths", small_rings, .advance = { .count = 1, .lengths = 8 }),
	IOCTL(ADVANCE, EBUSY, "another's", second_owns, .advance = { .way = 1 }),
	IOCTL(ADVANCE, EBUSY, "a loop", has_room, .advance = { .way = 0 }),
	IOCTL(ADVANCE, EBUSY, "a stream", streams, .advance = { .way = 0 }),
	IOCTL(COUNTS, 0, "held", held, .counts = { .way = 1 }),
	IOCTL(COUNTS, 0, "nobody's", nobodys, .counts = { .way = 0 }),
	IOCTL(COUNTS, EINVAL, "way", NULL, .counts = { .way = 2 }),
	IOCTL(COUNTS, EINVAL, "reserved", NULL, .counts = { .reserved = 1 }),
	IOCTL(PACKETS, 0, "on", nobodys, .packets = { .way = 0, .flags = 1 }),
	IOCTL(PACKETS, 0, "flush time", nobodys, .packets = { .way = 1, .flush_us = 1000000 }),
	IOCTL(PACKETS, EINVAL, "way", NULL, .packets = { .way = 2 }),
	IOCTL(PACKETS, EINVAL, "flags", NULL, .packets = { .flags = 2 }),
	IOCTL(PACKETS, EINVAL, "flush time", NULL, .packets = { .flush_us = 1000001 }),
	IOCTL(PACKETS, EINVAL, "reserved", NULL, .packets = { .reserved = { 0, 0, 0, 0, 1 } }),
	IOCTL(H2C, EBUSY, "a stream", streams, .run = { .enable = 1 }),
	IOCTL(C2H, EBUSY, "held", held, .run = { .enable = 1 }),
	{ .call = POLL, .what = "now" },
	{ .call = OPEN, .what = "again" },

	AWAY(REG, .argument.reg = { .addr = 4 }),
	AWAY(LOOPBACK, .argument.bytes = { 1 }),
	AWAY(C2H, .argument.run = { .enable = 1 }),
	AWAY(H2C, .argument.run = { .enable = 1 }),
	AWAY(LOCK, .argument.lock = { .dma_reader_request = 1 }),
	LEFT(C2H_UPDATE, .argument.update = { 5 }),
	LEFT(H2C_UPDATE, .argument.update = { 5 }),
	AWAY(SETUP, .argument.setup = { 0, 4096, 16, 1, 0, 0, 0, 0 }),
	AWAY(MEMORY, .place = SMALL_PAGES, .argument.memory.setup = { 0, 4096, 16, 1, 0, 0, 0, 0 }),
	LEFT(EVENT, .argument.event = { .way = 1, .fd = -1 }),
	AWAY(EVENT, .argument.event = { .way = LITEPCIE_EVENT_USER, .fd = -1 }),
	AWAY(ADVANCE, .argument.advance = { .way = 1 }),
	AWAY(COUNTS, .argument.counts = { .way = 1 }),
	LEFT(PACKETS, .argument.packets = { .way = 1 }),
	AWAY(BAR, .argument.bar = { .bar = 0 }),
	AWAY(EXPORT, .argument.export = { .way = 1 }),
	AWAY(MMAP, .size = RING, .prot = ANY, .flags = MAP_SHARED),
	AWAY(OPEN, .flags = 0),
	LEFT(SYNC, .flags = 0),
	AWAY(READ, .size = BUFFER),
	AWAY(WRITE, .size = BUFFER),
};

#define BRANCHES	(sizeof(branches) / sizeof(*branches))

static bool is_possible(const struct branch *branch)
{
	return branch->card == THERE || (branch->card == GONE ? fds[FDS] : reset_fd) >= 0;
}

/*
 * Returns the weight by which the rank of a branch (an outcome that the program must reach) is
 * multiplied. The weight is 4 for a branch that takes long, so that this branch is tried about a
 * quarter as often, and 1 for other branches.
 */
static unsigned long share(const struct branch *branch)
{
	return branch->prepare == has_data || branch->error == ENOMEM ||
	       branch->card == IN_RESET ? 4 : 1;
}

/*
 * Returns the rank of a branch, which is an outcome that the program must reach: the branch with
 * the lowest rank is tried next. The rank grows by share() each time the branch is reached, and by
 * share() for eight tries. So a branch that is hard to reach is tried more often, but does not keep
 * the others from being tried. A branch that is not possible in this run of the program has the
 * highest rank.
 */
static unsigned long rank(const struct branch *branch)
{
	if (!is_possible(branch))
		return ULONG_MAX;
	return share(branch) * (branch->hits + branch->tries / 8);
}

static void make_burst(struct branch *branch, int calls)
{
	for (int i = 0; i < calls; i++) {
		branch->tries++;
		errno = 0;
		if (count(branch->call, make(branch)) != branch->error)
			break;
		branch->hits++;
	}
}

/*
 * Reset the card once and try every branch (outcome that the program must reach) that needs a
 * reset. One reset serves all these branches, since a reset takes long.
 */
static void reset_step(void)
{
	both_run();
	reset_begin();
	for (size_t i = 0; i < BRANCHES; i++)
		if (branches[i].card == IN_RESET)
			make_burst(&branches[i], RESET_BURST);
	reset_end();
}

void branches_step(void)
{
	struct branch *rarest = &branches[0];

	for (size_t i = 1; i < BRANCHES; i++)
		if (rank(&branches[i]) < rank(rarest))
			rarest = &branches[i];
	if (rarest->card == IN_RESET) {
		reset_step();
		return;
	}
	if (rarest->prepare)
		rarest->prepare();
	make_burst(rarest, BURST);
}

unsigned long branches_least(void)
{
	unsigned long least = ULONG_MAX;

	for (size_t i = 0; i < BRANCHES; i++)
		if (is_possible(&branches[i]) && branches[i].hits < least)
			least = branches[i].hits;
	return least;
}

void branches_print(void)
{
	for (size_t i = 0; i < BRANCHES; i++)
		if (is_possible(&branches[i]))
			printf("branch %lu of %lu: %s %s: %s\n", branches[i].hits,
			       branches[i].tries, names[branches[i].call],
			       outcome_name(branches[i].error), branches[i].what);
}
