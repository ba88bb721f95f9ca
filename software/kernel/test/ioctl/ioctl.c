// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests the table of calls in the driver's ioctl.c. Functions of this file stand for the kernel and
 * for the driver's other files. The tests show that each ioctl() number reaches its function,
 * except for MMAP_DMA_WRITER_UPDATE and MMAP_DMA_READER_UPDATE, which are not tried. A function
 * that accesses the card's registers must run only between litepcie_enter() and litepcie_exit(). No
 * argument may be copied between these two calls. An unknown number, or a number with another size,
 * must be refused.
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr).
 */
#include "ioctl.h"

static struct litepcie_status_way status;
static char registers[64];
static struct litepcie_chan chan;
static struct litepcie card = { registers, sizeof(registers), { &chan } };
static struct litepcie_chan chan = {
	.card = &card, .loopback = registers, .way = {
		{ .id = LITEPCIE_WAY_H2C, .depth = 32, .status = &status },
		{ .id = LITEPCIE_WAY_C2H, .depth = 32, .status = &status },
	},
};
static struct litepcie_file file = { &chan };
static struct file filp = { &file };
static struct file dmabuf_file;
static struct dma_buf dmabuf = { &dmabuf_file };

static bool gone;		/* true: the stand-in for litepcie_enter() fails */
static unsigned int entered;	/* 1 between litepcie_enter() and litepcie_exit(), else 0 */
/*
 * @reached: argument of the last call of reach(), by which most stand-ins say that they were
 * called; "nothing": no such stand-in was called since the ioctl() began.  @inside: true if reach()
 * was then called between litepcie_enter() and litepcie_exit().
 */
static const char *reached;
static bool inside;
static const char *tried;	/* name of the ioctl() call under test */

static void need(bool true_, const char *what)
{
	if (true_)
		return;
	fprintf(stderr, "ioctl: %s: %s\n", tried, what);
	exit(1);
}

static int reach(const char *name)
{
	reached = name;
	inside = entered;
	return 0;
}

/* Stand-ins for the kernel and the driver's other files ---------------------------------------- */

static unsigned long copy_from_user(void *to, const void *from, unsigned long bytes)
{
	need(!entered, "an argument is read while the card is entered");
	if (!from || !to)
		return bytes;
	memcpy(to, from, bytes);
	return 0;
}

static unsigned long copy_to_user(void *to, const void *from, unsigned long bytes)
{
	need(!entered, "an argument is written while the card is entered");
	return copy_from_user(to, from, bytes);
}

static void *vmemdup_user(const void *from, size_t bytes)
{
	need(!entered, "lengths are read while the card is entered");
	return memcpy(malloc(bytes), from, bytes);
}

static int litepcie_enter(struct litepcie *ours)
{
	need(ours == &card && !entered, "the card is entered twice");
	entered += !gone;
	return gone ? -ENODEV : 0;
}

static void litepcie_exit(struct litepcie *ours)
{
	need(ours == &card && entered--, "the card is left without having been entered");
}

static bool litepcie_is_gone(const struct litepcie *ours)
{
	return ours == &card && gone;
}

static struct litepcie_way *litepcie_find_way(struct litepcie_file *ours, u32 id)
{
	return id < LITEPCIE_WAYS ? &ours->chan->way[id] : NULL;
}

static u32 readl(const char *at) { (void)at; reach("readl"); return 7; }
static void writel(u32 value, char *at) { (void)value, (void)at; reach("writel"); }
static bool litepcie_check_lost(struct litepcie *ours) { (void)ours; return false; }
static u32 litepcie_steered(u32 id) { return id; }
static int get_unused_fd_flags(unsigned int flags) { (void)flags; return 5; }
static void put_unused_fd(int fd) { (void)fd; reach("put_unused_fd"); }
static void fd_install(int fd, struct file *ours) { (void)fd, (void)ours; reach("fd_install"); }
static void dma_buf_put(struct dma_buf *ours) { (void)ours; }

static enum litepcie_right litepcie_right(struct litepcie *ours, unsigned int bar, u64 at, u64 size)
{
	(void)ours, (void)bar, (void)size;
	return at ? LITEPCIE_RIGHT_WRITE : LITEPCIE_RIGHT_NONE;
}

static int litepcie_owner_steer(struct litepcie_file *ours, struct litepcie_chan *channel, void *at,
				u32 value, const u32 *acts_on)
{
	(void)ours, (void)channel, (void)at, (void)value, (void)acts_on;
	return reach("steer");
}

static int litepcie_dma_start(struct litepcie_way *way, struct litepcie_file *ours, u32 run)
{
	(void)ours, (void)run;
	way->hw_count = 3;
	way->sw_count = 2;
	return reach(way->id == LITEPCIE_WAY_C2H ? "start c2h" : "start h2c");
}

static void litepcie_dma_news(struct litepcie_way *way)
{
	(void)way;
}

static int litepcie_dma_end(struct litepcie_way *way, struct litepcie_file *ours)
{
	(void)ours;
	return reach(way->id == LITEPCIE_WAY_C2H ? "end c2h" : "end h2c");
}

static struct litepcie_geometry litepcie_owner_geometry(struct litepcie_way *way,
							struct litepcie_file *ours)
{
	(void)way, (void)ours;
	reach("geometry");
	return (struct litepcie_geometry){ 8192, 256 };
}

static int litepcie_owner_take(struct litepcie_way *way, struct litepcie_file *ours)
{
	way->owner = ours;
	return reach("take");
}

static void litepcie_dma_give(struct litepcie_way *way, struct litepcie_file *ours, bool live)
{
	(void)ours;
	need(live, "a direction is given back as if the card were away");
	way->owner = NULL;
	reach("give");
}

static int litepcie_held_advance(struct litepcie_file *ours, struct litepcie_advance *advance,
				 const u32 *lengths)
{
	(void)ours, (void)lengths;
	advance->advanced = 9;
	return reach("advance");
}

static void litepcie_dma_ask(struct litepcie_way *way) { (void)way; reach("ask"); }

static int litepcie_bar_info(struct litepcie *ours, struct litepcie_bar *bar)
{
	(void)ours;
	bar->size = 4096;
	return reach("bar");
}

static struct dma_buf *litepcie_dmabuf_export(struct litepcie_way *way, struct litepcie_file *ours,
					      u32 flags)
{
	(void)way, (void)ours, (void)flags;
	need(entered, "a ring is exported while the card is not entered");
	return &dmabuf;
}

#define SETUP(_name) \
	static int litepcie_setup_##_name(struct litepcie_file *ours, void *argument) \
	{ \
		(void)ours, (void)argument; \
		return reach(#_name); \
	}
SETUP(ring) SETUP(memory) SETUP(info) SETUP(event) SETUP(packets) SETUP(features)

long litepcie_ioctl(struct file *ours, unsigned int number, unsigned long argument);
long litepcie_compat_ioctl(struct file *ours, unsigned int number, unsigned long argument);

#include "../../file/ioctl.c"

/* Tests of the table of ioctl() calls ---------------------------------------------------------- */

/*
 * An ioctl() call, the function that it must reach, and whether that function must be called
 * between litepcie_enter() and litepcie_exit(). The driver's functions for RING_MEMORY, EVENT,
 * ADVANCE and EXPORT call litepcie_enter() themselves, for the part of their work that needs the
 * card.
 */
static const struct expected {
	const char	*name;
	unsigned int	number;
	const char	*reaches;
	bool		inside;
	u32		word[4];	/* first words of the call's argument */
} expected[] = {
	{ "REG read", LITEPCIE_IOCTL_REG, "readl", true, { 4 } },
	{ "REG write", LITEPCIE_IOCTL_REG, "writel", true, { 4, 1, 1 } },
	{ "DMA", LITEPCIE_IOCTL_DMA, "steer", true, { 1 } },
	{ "WRITER", LITEPCIE_IOCTL_DMA_WRITER, "start c2h", true, { 1 } },
	{ "WRITER end", LITEPCIE_IOCTL_DMA_WRITER, "end c2h", true, { 0 } },
	{ "READER", LITEPCIE_IOCTL_DMA_READER, "start h2c", true, { 1 } },
	{ "INFO", LITEPCIE_IOCTL_MMAP_DMA_INFO, "geometry", false, { 0 } },
	{ "LOCK", LITEPCIE_IOCTL_LOCK, "take", true, { 0x0001 } },
	{ "UNLOCK", LITEPCIE_IOCTL_LOCK, "give", true, { 0x0100 << 8 } },
	{ "SETUP", LITEPCIE_IOCTL_RING_SETUP, "ring", true, { 0 } },
	{ "MEMORY", LITEPCIE_IOCTL_RING_MEMORY, "memory", false, { 0 } },
	{ "RING_INFO", LITEPCIE_IOCTL_RING_INFO, "info", false, { 0 } },
	{ "EVENT", LITEPCIE_IOCTL_EVENT, "event", false, { 0 } },
	{ "BAR", LITEPCIE_IOCTL_BAR, "bar", true, { 0 } },
	{ "EXPORT", LITEPCIE_IOCTL_EXPORT, "fd_install", false, { 1 } },
	{ "ADVANCE", LITEPCIE_IOCTL_ADVANCE, "advance", true, { 1, 1 } },
	{ "COUNTS", LITEPCIE_IOCTL_COUNTS, "ask", true, { 1 } },
	{ "PACKETS", LITEPCIE_IOCTL_PACKETS, "packets", false, { 0 } },
	{ "FEATURES", LITEPCIE_IOCTL_FEATURES, "features", false, { 0 } },
};

static long call(const struct expected *e, unsigned int number, unsigned char bytes[256])
{
	long rc;

	memset(bytes, 0xa5, 256);
	memset(bytes, 0, _IOC_SIZE(e->number));
	memcpy(bytes, e->word, _IOC_SIZE(e->number) < sizeof(e->word) ? _IOC_SIZE(e->number) :
									sizeof(e->word));
	reached = "nothing";
	tried = e->name;
	rc = litepcie_ioctl(&filp, number, (unsigned long)bytes);
	need(!entered, "the card is still entered after the call");
	need(bytes[_IOC_SIZE(e->number)] == 0xa5, "the call writes behind its argument");
	return rc;
}

static void refuse_others(const struct expected *e)
{
	unsigned char bytes[256];
	unsigned int size = _IOC_SIZE(e->number), nr = _IOC_NR(e->number);

	need(call(e, _IOC(_IOC_DIR(e->number), 'S', nr, size + 8), bytes) == -ENOTTY, "longer");
	need(call(e, _IOC(_IOC_DIR(e->number), 'S', nr, 0), bytes) == -ENOTTY, "shorter");
	need(call(e, _IOC(_IOC_DIR(e->number), 'T', nr, size), bytes) == -ENOTTY, "another type");
	need(call(e, _IOC(_IOC_DIR(e->number), 'S', 255, size), bytes) == -ENOTTY, "unknown");
	need(!strcmp(reached, "nothing"), "a refused call reaches a function");
	need(litepcie_ioctl(&filp, e->number, 0) == -EFAULT, "a bad pointer");
}

static void try_call(const struct expected *e)
{
	unsigned char bytes[256];

	need(call(e, e->number, bytes) == 0, "the call fails");
	need(!strcmp(reached, e->reaches), "another function is reached");
	need(inside == e->inside, "the card is entered, or not, against the list");
	gone = true;
	if (e->inside)
		need(call(e, e->number, bytes) == -ENODEV && !strcmp(reached, "nothing"),
		     "a card that has gone is reached");
	gone = false;
	refuse_others(e);
}

/*
 * Try @number, which a 32-bit program uses for DMA_WRITER or DMA_READER. Its argument has another
 * size than that of a 64-bit program.
 */
static void try_compat(unsigned int number, const char *reaches)
{
	struct compat_run argument = { .enable = 1 };

	tried = reaches;
	need(litepcie_compat_ioctl(&filp, number, (unsigned long)&argument) == 0, "compat fails");
	need(!strcmp(reached, reaches) && inside, "compat reaches another function");
	need(argument.hw_count == 3 && argument.sw_count == 2, "compat returns other counts");
	need(litepcie_compat_ioctl(&filp, number, 0) == -EFAULT, "compat with a bad pointer");
}

int main(void)
{
	unsigned char bytes[256];

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		try_call(&expected[i]);
	need(call(&expected[0], LITEPCIE_IOCTL_REG, bytes) == 0 && bytes[4] == 7, "the value read");
	need(call(&expected[3], LITEPCIE_IOCTL_DMA_WRITER, bytes) == 0 && bytes[8] == 3, "a count");
	try_compat(COMPAT_DMA_WRITER, "start c2h");
	try_compat(COMPAT_DMA_READER, "start h2c");
	puts("ioctl: ok");
	return 0;
}
