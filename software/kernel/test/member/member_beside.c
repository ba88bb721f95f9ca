// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests two open files of one card. The second file makes calls while the first one uses the card.
 * It must not see the first file's data, and must not change the first file's data and settings.
 * The tests show, too, that a file that is closed leaves none of its data to the next one.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "uapi/litepcie_capability.h"
#include "member.h"

#define PATTERN_TYPE	LITEPCIE_BLOCK_PATTERN
#define SECRET		0x5ec2e700u

static uint32_t read_register(int fd, uint32_t addr)
{
	struct litepcie_ioctl_reg reg = { .addr = addr };

	need(!ioctl(fd, LITEPCIE_IOCTL_REG, &reg), "reading a register");
	return reg.val;
}

/* Returns the offset in BAR0 of the first block of type @type in the capability table. */
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

/*
 * Make the calls of a program that only reads the state of a card in use. These calls succeed.
 * RING_INFO says that another file owns the rings, and describes the ring that runs.
 */
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

/*
 * A file's index page can be written to only by a mapping of that file. Every file may read the
 * status page, and no file may write to the status page.
 */
static void write_to_pages(int owner, int other)
{
	struct litepcie_index *theirs = map_index(owner), *mine = map_index(other);
	struct litepcie_status *status = (struct litepcie_status *)map_status(other);

	for (unsigned int way = 0; way < 2; way++)
		mine->way[way].software = SECRET;
	for (unsigned int way = 0; way < 2; way++) {
		if (theirs->way[way].software == SECRET)
			fail("another's index page was written to");
		if (status->way[way].run != LITEPCIE_RUN_LOOP)
			fail("the status page does not say that the card runs");
	}
	for (int n = 0; n < 2; n++) {
		int fd = n ? owner : other;

		if (map_or_null(fd, info_of(fd, 0).status_offset, 4096, PROT_READ | PROT_WRITE))
			fail("the status page can be mapped for writing");
		refused(-1, EPERM, "the status page for writing");
	}
	refused(mprotect(status, 4096, PROT_READ | PROT_WRITE), EACCES, "the status page, later");
	/* a mapping keeps its file open, so all mappings are removed before the file is closed */
	munmap(status, 4096);
	munmap(theirs, 4096);
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

/*
 * A file may map its rings before it owns the direction, as long as no other file owns it. No other
 * file uses these rings. Once the file is the owner, the card must fill the ring that was mapped.
 * After the file has released the direction and a second file runs DMA, the card must not write to
 * that ring any more.
 */
static void map_early(const char *device)
{
	int first = open_or_fail(device), second = open_or_fail(device);
	uint32_t *h2c = map_ring(first, 0), *c2h = map_ring(first, 1);
	const struct litepcie_status *status = map_status(first);
	long long count = 0;

	fill(h2c, RING);
	need_zeros(map_ring(second, 0), RING, "the h2c ring of a second file");
	need(take(first, true, true) == 2 && !set_loopback(first, 1), "taking both");
	need(!run_c2h(first, 1, NULL) && !run_h2c(first, 1, NULL), "start");
	while (__atomic_load_n(&status->way[1].buffers, __ATOMIC_ACQUIRE) < 4)
		usleep(1000);
	if (c2h[0] != SECRET || c2h[BUFFER / 4] != SECRET)
		fail("a ring that was mapped early is not the one that the card fills");
	/*
	 * The first file's mappings of its rings stay after it has released its directions, and
	 * keep the file open.
	 */
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
	write_to_pages(owner, other);
	/* While another file owns c2h, a file that owns only h2c cannot change the data of c2h. */
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

/* Tests that an earlier file leaves nothing to the next one ----------------------------------- */

static void write_secret(int fd)
{
	static uint32_t buffer[BUFFER / 4];

	fill(buffer, sizeof(buffer));
	for (int n = 0; n < 16; n++)
		need(write(fd, buffer, sizeof(buffer)) == (ssize_t)sizeof(buffer), "write()");
}

/*
 * The direction h2c, which a file has taken by write(), belongs to this file until the file is
 * closed or releases it. Meanwhile write() of another file fails with EBUSY. A later file then
 * writes nothing to its h2c ring, and lets the card send the ring's buffers again and again
 * (LitePCIe's loop) and return them by the loopback: no word that the first file wrote may come
 * back.
 */
int leftovers(const char *device)
{
	int fd = open_or_fail(device), other;
	const struct litepcie_status *status;
	uint32_t *c2h;

	write_secret(fd);
	other = open_or_fail(device);
	refused(write(other, "", 1) < 0 ? -1 : 0, EBUSY, "write() while another file writes");
	close(fd);
	need(write(other, "", 1) == 1, "write() when the other file is closed");
	close(other);
	fd = open_or_fail(device);
	need(take(fd, true, true) == 2 && !set_loopback(fd, 1), "taking both");
	c2h = map_ring(fd, 1);
	status = map_status(fd);
	need(!run_c2h(fd, 1, NULL) && !run_h2c(fd, 1, NULL), "start");
	while (__atomic_load_n(&status->way[1].buffers, __ATOMIC_ACQUIRE) < 250)
		usleep(1000);
	for (size_t i = 0; i < RING / 4; i++)
		if (c2h[i] == SECRET)
			fail("word %zu was written by another file, and sent for this one", i);
	printf("leftovers: ok\n");
	return 0;
}
