// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Two open files of one card: the second looks, and neither sees nor changes
 * what the first has.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../uapi/litepcie_capability.h"
#include "member.h"

#define PATTERN_TYPE	LITEPCIE_BLOCK_PATTERN
#define SECRET		0x5ec2e700u

static uint32_t read_register(int fd, uint32_t addr)
{
	struct litepcie_ioctl_reg reg = { .addr = addr };

	need(!ioctl(fd, LITEPCIE_IOCTL_REG, &reg), "reading a register");
	return reg.val;
}

/* Where the first block of this type has its registers. */
static uint32_t find_block(int fd, unsigned int type)
{
	uint32_t blocks = read_register(fd, LITEPCIE_CAP_OFFSET + 4 * LITEPCIE_CAP_HEADER_BLOCKS);
	uint32_t at = LITEPCIE_CAP_OFFSET + 4 * LITEPCIE_CAP_HEADER_WORDS;

	for (uint32_t n = 0; n < blocks; n++) {
		if ((read_register(fd, at) & 0xffff) == type)
			return read_register(fd, at + 4 * LITEPCIE_CAP_ENTRY_OFFSET);
		at += read_register(fd, at + 4 * LITEPCIE_CAP_ENTRY_LENGTH) & 0xffff;
	}
	fail("no block of type %u", type);
}

static int set_loopback(int fd, int enable)
{
	struct litepcie_ioctl_dma dma = { .loopback_enable = (unsigned char)enable };

	return ioctl(fd, LITEPCIE_IOCTL_DMA, &dma);
}

static int set_pattern(int fd, uint32_t value)
{
	struct litepcie_ioctl_reg reg = {
		.addr = find_block(fd, PATTERN_TYPE), .val = value, .is_write = 1,
	};

	return ioctl(fd, LITEPCIE_IOCTL_REG, &reg);
}

static uint32_t *map_ring(int fd, unsigned int way)
{
	struct litepcie_ring_info info = info_of(fd, way);
	uint32_t *ring = map_or_null(fd, info.ring_offset, info.ring_bytes, PROT_READ | PROT_WRITE);

	need(ring, "the file's own ring");
	return ring;
}

static void refuse_mappings(int fd)
{
	static const int prots[] = { PROT_READ, PROT_READ | PROT_WRITE };

	for (unsigned int way = 0; way < 2; way++) {
		struct litepcie_ring_info info = info_of(fd, way);
		struct litepcie_export export = { .way = way };

		for (int i = 0; i < 2; i++) {
			refused(map_or_null(fd, info.ring_offset, info.ring_bytes, prots[i]) ?
				0 : -1, EBUSY, "another's ring, mapped");
			refused(map_or_null(fd, way * RING, RING, prots[i]) ? 0 : -1, EBUSY,
				"another's ring in LitePCIe's place");
		}
		refused(ioctl(fd, LITEPCIE_IOCTL_EXPORT, &export), EBUSY, "another's ring, exported");
	}
}

/* What a program that only looks needs works, and says whose the rings are. */
static void look(int fd)
{
	struct litepcie_ioctl_mmap_dma_info rings = { 0 };
	struct litepcie_ring_info h2c = info_of(fd, 0), c2h = info_of(fd, 1);

	need(!ioctl(fd, LITEPCIE_IOCTL_MMAP_DMA_INFO, &rings), "rings");
	if (rings.dma_tx_buf_size != rings.dma_rx_buf_size ||
	    rings.dma_tx_buf_count != rings.dma_rx_buf_count)
		fail("LitePCIe's rings differ for a file that has none");
	if (!(h2c.setup.flags & LITEPCIE_RING_BUSY) || !(c2h.setup.flags & LITEPCIE_RING_BUSY))
		fail("RING_INFO does not say that the card is in use");
	if (c2h.setup.buffer_size != 4096 || c2h.setup.buffer_count != 64)
		fail("RING_INFO does not tell the shape of the ring that runs");
	if (read_register(fd, LITEPCIE_CAP_OFFSET) != LITEPCIE_CAP_MAGIC)
		fail("the capability table cannot be read");
}

static void write_to_index(int owner, int other)
{
	struct litepcie_index *theirs = map_index(owner), *mine = map_index(other);

	for (unsigned int way = 0; way < 2; way++) {
		mine->way[way].software = mine->way[way].hardware = SECRET;
		mine->way[way].running = 7;
	}
	for (unsigned int way = 0; way < 2; way++)
		if (theirs->way[way].software == SECRET || theirs->way[way].hardware == SECRET ||
		    theirs->way[way].running != 1)
			fail("another's index page was written to");
	munmap(theirs, 4096);	/* a mapping keeps its file open */
	munmap(mine, 4096);
}

static void need_zeros(const uint32_t *words, size_t bytes, const char *what)
{
	for (size_t i = 0; i < bytes / 4; i++)
		if (words[i])
			fail("%s: word %zu is %#x", what, i, words[i]);
}

static void fill(uint32_t *words, size_t bytes)
{
	for (size_t i = 0; i < bytes / 4; i++)
		words[i] = SECRET;
}

/* A file may map its rings before the direction is its own: they are nobody else's. */
static void map_early(const char *device)
{
	int first = open_or_fail(device), second = open_or_fail(device);
	uint32_t *h2c = map_ring(first, 0), *c2h = map_ring(first, 1);
	struct litepcie_index *index = map_index(first);
	long long count = 0;

	fill(h2c, RING);
	need_zeros(map_ring(second, 0), RING, "the h2c ring of a second file");
	need(take(first, true, true) == 2 && !set_loopback(first, 1), "taking both");
	need(!run_c2h(first, 1, NULL) && !run_h2c(first, 1, NULL), "start");
	while (__atomic_load_n(&index->way[1].hardware, __ATOMIC_ACQUIRE) < 4)
		usleep(1000);
	if (c2h[0] != SECRET || c2h[BUFFER / 4] != SECRET)
		fail("a ring that was mapped early is not the one that the card fills");
	/* The mappings of the first stay, and with them its open file. */
	release(first);
	need(take(second, true, true) == 2, "taking what was released");
	need_zeros(map_ring(second, 1), RING, "the c2h ring of the next file");
	need(!run_c2h(second, 1, NULL) && !run_h2c(second, 1, NULL), "start by the second file");
	fill(c2h, RING);
	while (!run_c2h(second, 1, &count) && count < 64)
		usleep(1000);
	for (size_t i = 0; i < RING / 4; i++)
		if (c2h[i] != SECRET)
			fail("the card writes to word %zu of a ring that was released", i);
	release(second);
	close(first);
	close(second);
}

int beside(const char *device)
{
	struct litepcie_ring_setup shape = {
		.way = LITEPCIE_WAY_C2H, .buffer_size = 4096, .buffer_count = 64,
		.buffers_per_interrupt = 8,
	};
	int owner = open_or_fail(device), other = open_or_fail(device);

	need(take(owner, true, true) == 2, "taking both");
	need(!ioctl(owner, LITEPCIE_IOCTL_RING_SETUP, &shape), "setup");
	need(!set_loopback(owner, 1) && !set_pattern(owner, 0), "steering one's own");
	need(!run_c2h(owner, 1, NULL) && !run_h2c(owner, 1, NULL), "start");
	look(other);
	refuse_mappings(other);
	refused(set_loopback(other, 0), EBUSY, "another's loopback");
	need(!set_loopback(other, 1), "the loopback as it is");
	refused(set_pattern(other, 1), EBUSY, "another's pattern, generated");
	refused(set_pattern(other, 2), EBUSY, "another's pattern, checked");
	refused(run_c2h(other, 0, NULL), EBUSY, "stopping another's direction");
	write_to_index(owner, other);
	/* One who has h2c alone leaves c2h, and what it carries, as it is. */
	need(!run_h2c(owner, 0, NULL), "stop");
	need(!ioctl(owner, LITEPCIE_IOCTL_LOCK, &(struct litepcie_ioctl_lock) {
		.dma_reader_release = 1 }), "release of h2c");
	need(take(other, true, false) == 1, "taking h2c");
	refused(set_loopback(other, 0), EBUSY, "the loopback of half a channel");
	refused(set_pattern(other, 1), EBUSY, "the pattern of another's c2h");
	need(!set_pattern(other, 2) && !set_pattern(other, 0), "the check of one's own h2c");
	close(owner);
	need(!set_loopback(other, 0), "the loopback when nobody else has a direction");
	close(other);
	map_early(device);
	printf("beside: ok\n");
	return 0;
}

/* leftovers ----------------------------------------------------------------------------------- */

/* Buffers that write() takes at once. */
static unsigned int write_some(int fd, unsigned int most, uint32_t word)
{
	static uint32_t buffer[BUFFER / 4];
	unsigned int done = 0;

	fill(buffer, sizeof(buffer));
	for (size_t i = 0; word != SECRET && i < BUFFER / 4; i++)
		buffer[i] = word;
	need(!fcntl(fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
	while (done < most && write(fd, buffer, sizeof(buffer)) == (ssize_t)sizeof(buffer))
		done++;
	return done;
}

static volatile sig_atomic_t too_late;

static void give_up(int signal)
{
	(void)signal;
	too_late = 1;
}

/* In a process of its own: fills the ring of h2c, says so, and leaves it later. */
static pid_t fill_for_a_while(const char *device, int said)
{
	pid_t child = fork();

	need(child >= 0, "fork");
	if (child)
		return child;
	if (write_some(open_or_fail(device), 256, 1) != 128)
		fail("the ring that is to be filled has no room");
	need(write(said, "", 1) == 1, "pipe");
	usleep(200000);
	_exit(0);
}

/* A file that waits for room in the ring gets it when the file that filled the ring is closed. */
static void wait_for_another(const char *device)
{
	static const struct sigaction interrupt = { .sa_handler = give_up };
	static char buffer[BUFFER];
	int fd, said[2], status;
	pid_t child;

	need(!pipe(said), "pipe");
	child = fill_for_a_while(device, said[1]);
	close(said[1]);
	need(read(said[0], buffer, 1) == 1, "the other process");
	close(said[0]);
	fd = open_or_fail(device);
	need(!sigaction(SIGALRM, &interrupt, NULL), "sigaction");
	alarm(20);
	need(write(fd, buffer, BUFFER) == BUFFER, "write() when another file is closed");
	/* A signal wakes as well, and what was waited for is looked at once more. */
	if (too_late)
		fail("nobody wakes a write() that waits for another file to be closed");
	alarm(0);
	need(waitpid(child, &status, 0) == child && !status, "the other process's end");
	close(fd);
}

/* The next file has all its room, and sends what it wrote itself and nothing else. */
int leftovers(const char *device)
{
	int fd = open_or_fail(device);
	struct litepcie_index *index;
	uint32_t *c2h;

	if (write_some(fd, 16, SECRET) != 16)
		fail("write() takes no 16 buffers: %s", strerror(errno));
	close(fd);
	wait_for_another(device);
	fd = open_or_fail(device);
	need(take(fd, true, true) == 2 && !set_loopback(fd, 1), "taking both");
	c2h = map_ring(fd, 1);
	index = map_index(fd);
	if (write_some(fd, 256, 1) != 128)
		fail("what another file wrote takes the room of this one");
	need(!run_c2h(fd, 1, NULL) && !run_h2c(fd, 1, NULL), "start");
	while (__atomic_load_n(&index->way[1].hardware, __ATOMIC_ACQUIRE) < 250)
		usleep(1000);
	for (size_t i = 0; i < RING / 4; i++)
		if (c2h[i] == SECRET)
			fail("word %zu was written by another file, and sent for this one", i);
	printf("leftovers: ok\n");
	return 0;
}
