/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The "sim" back end: it reaches the process of a simulated board through a vfio-user socket, with
 * no machine in between.
 *
 * This file and config.c do what a BIOS and an operating system would do for a card: set BAR
 * addresses, maximum sizes and MSI, switch bus mastering on, and provide DMA memory. The board
 * serves one client at a time.
 */
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/capture_pages.h"
#include "sim.h"
#include "vfio_user_protocol.h"

#define DEFAULT_TIMEOUT_S	30
/* most bytes of memory whose pages are populated when the memory is mapped */
#define PREPARED_BYTES		(64u << 20)
/* Least and largest value in bytes that PCIe allows for each of MPS and MRRS. */
#define TLP_LEAST		128u
#define TLP_MOST		4096u

/* The device string of a simulated board ------------------------------------------------------ */

static int parse_size(const char *text, unsigned int *value)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*end || number < TLP_LEAST || number > TLP_MOST || number & (number - 1))
		return litepcie_fail(-EINVAL, "%s in the device string: it must be a power of two "
				     "from %u to %u bytes", text, TLP_LEAST, TLP_MOST);
	*value = (unsigned int)number;
	return 0;
}

static int parse_timeout(const char *text, int *value)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (*end || end == text || number < 1 || number > INT_MAX)
		return litepcie_fail(-EINVAL, "timeout=%s in the device string: it must be a whole "
				     "number of seconds, 1 or more", text);
	*value = (int)number;
	return 0;
}

/* Cut the socket path sim->path at its first comma, and parse the options behind that comma. */
static int parse_options(struct litepcie *dev, int *timeout_s)
{
	struct sim *sim = sim_of(dev);
	char *rest, *option;
	int rc = 0;

	strtok_r(sim->path, ",", &rest);
	while (rc == 0 && (option = strtok_r(NULL, ",", &rest))) {
		if (strncmp(option, "mps=", 4) == 0)
			rc = parse_size(option + 4, &sim->mps);
		else if (strncmp(option, "mrrs=", 5) == 0)
			rc = parse_size(option + 5, &sim->mrrs);
		else if (strncmp(option, "timeout=", 8) == 0)
			rc = parse_timeout(option + 8, timeout_s);
		else
			rc = litepcie_fail(-EINVAL, "option %s in the device string: there are "
					   "mps=, mrrs= and timeout=", option);
	}
	return rc;
}

/* Opening, attaching and closing the card ----------------------------------------------------- */

/*
 * Free the memory of @kind (a LITEPCIE_MEMORY_ value). If it is the program's own, map_file() has
 * put shared pages of a file there. They are replaced by private pages with the same contents, so
 * that the program can give the memory to a stream again.
 */
static void free_memory(struct sim *sim, unsigned int kind)
{
	const struct litepcie_memory *memory = sim->vu.memory[kind];

	if (memory && memory->placed)
		mmap(memory->base, memory->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
		     memory->fd, 0);
	litepcie_memory_drop(sim->vu.memory[kind]);
	sim->vu.memory[kind] = NULL;
}

static bool write_all(int fd, const uint8_t *data, size_t size)
{
	while (size) {
		ssize_t written = write(fd, data, size);

		if (written <= 0)
			return false;
		data += written;
		size -= (size_t)written;
	}
	return true;
}

/*
 * Map the file @fd, which the process of the simulated board will map, too. The pages are populated
 * now, since a page fault at the first use of each would slow down a run. New memory of more than
 * PREPARED_BYTES gets its pages at their first use.
 *
 * The board can only map files. So a program's own memory at @place is replaced by the pages of the
 * file, with the contents that the memory had.
 */
static void *map_file(int fd, size_t size, void *place)
{
	int flags = MAP_SHARED | (size <= PREPARED_BYTES ? MAP_POPULATE : 0);

	if (place && !write_all(fd, place, size))
		return MAP_FAILED;
	return mmap(place, size, PROT_READ | PROT_WRITE, flags | (place ? MAP_FIXED : 0), fd, 0);
}

static void sim_memory_free(struct litepcie *dev, unsigned int kind)
{
	vfio_user_unmap(&sim_of(dev)->vu, kind);
	free_memory(sim_of(dev), kind);
}

static int sim_memory(struct litepcie *dev, unsigned int kind, void *place, size_t size,
		      struct litepcie_memory **memory, uint64_t *iova)
{
	struct sim *sim = sim_of(dev);
	uint64_t pages = place ? 0 : litepcie_pages_asked(dev, kind);
	int rc = vfio_user_unmap(&sim->vu, kind), fd;
	void *base = MAP_FAILED;

	free_memory(sim, kind);
	if (rc < 0)
		return rc;
	fd = litepcie_memory_file(size, litepcie_pages_flags(pages));
	if (fd >= 0)
		base = map_file(fd, size, place);
	if (base == MAP_FAILED) {
		rc = pages ? litepcie_pages_missing(dev, pages, size) :
			     litepcie_fail_errno(errno, "%zu bytes of DMA memory", size);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	sim->vu.memory[kind] = *memory = litepcie_memory_new(base, size, fd, place);
	*iova = litepcie_iova(kind);
	rc = *memory ? vfio_user_map(&sim->vu, kind) : -ENOMEM;
	if (rc < 0)
		free_memory(sim, kind);
	return rc;
}

/*
 * Stop DMA that an earlier client left running, then switch MSI and bus mastering on. If the card
 * became bus master before that stop, its old DMA could write to the memory of the new client.
 */
static int sim_attach(struct litepcie *dev)
{
	return litepcie_table_quiesce(dev) ?: sim_enable_msi(dev) ?: sim_set_master(dev, true);
}

static int sim_reset(struct litepcie *dev)
{
	return vfio_user_reset(&sim_of(dev)->vu) ?: sim_bring_up(dev);
}

/* Undo what sim_open(), sim_attach() and sim_memory() have set up, also if sim_open() failed. */
static void sim_close(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);

	if (sim->vu.fd >= 0 && sim->msi_cap) {
		if (dev->map.irq_enable)
			litepcie_put(dev, dev->map.irq_enable, 0);
		sim_put_down(dev);
		for (unsigned int kind = 0; kind < LITEPCIE_MEMORIES; kind++)
			vfio_user_unmap(&sim->vu, kind);
	}
	vfio_user_drop(&sim->vu);
	for (unsigned int kind = 0; kind < LITEPCIE_MEMORIES; kind++)
		free_memory(sim, kind);
	if (sim->msi >= 0)
		close(sim->msi);
	free(sim->path);
	free(sim);
}

static int sim_open(struct litepcie *dev)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	int timeout_s = DEFAULT_TIMEOUT_S, rc;

	if (!sim)
		return litepcie_fail(-ENOMEM, "%s: no memory for the handle", dev->name);
	dev->priv = sim;
	sim->vu.fd = -1;
	sim->msi = dev->interrupt = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sim->path = sim->msi < 0 ? NULL : strdup(strchr(dev->name, ':') + 1);
	rc = sim->path ? parse_options(dev, &timeout_s) :
			 litepcie_fail(-errno, "%s: an eventfd and the path: %s", dev->name,
				       strerror(errno));
	rc = rc ?: vfio_user_connect(&sim->vu, sim->path, timeout_s);
	dev->mmio_path = sim->vu.write_multi ? "vfio-user" : "vfio-user, one write in a message";
	rc = rc ?: sim_bring_up(dev);
	if (rc < 0)
		sim_close(dev);
	return rc;
}

/* Register and BAR accesses ------------------------------------------------------------------- */

static int sim_read_words(struct litepcie *dev, uint32_t offset, uint32_t *words, size_t count)
{
	int rc = 0;

	if (count == 1)
		return vfio_user_read(&sim_of(dev)->vu, REGION_BAR0, offset, words, 4);
	while (rc == 0 && count) {
		size_t n = count < VFIO_USER_READS ? count : VFIO_USER_READS;

		rc = vfio_user_read_words(&sim_of(dev)->vu, REGION_BAR0, offset, words, n);
		offset += 4 * (uint32_t)n;
		words += n;
		count -= n;
	}
	return rc;
}

static int sim_post(struct litepcie *dev, const struct litepcie_post *posts, size_t count,
		    enum litepcie_post_by by)
{
	if (by == LITEPCIE_POST_LATER && count == 1)
		return vfio_user_hold(&sim_of(dev)->vu, posts);
	return vfio_user_post(&sim_of(dev)->vu, posts, count);
}

static int sim_bar_read(struct litepcie *dev, unsigned int bar, uint64_t offset, void *data,
			size_t size)
{
	return vfio_user_read(&sim_of(dev)->vu, REGION_BAR0 + bar, offset, data, size);
}

static int sim_bar_write(struct litepcie *dev, unsigned int bar, uint64_t offset, const void *data,
			 size_t size)
{
	return vfio_user_write(&sim_of(dev)->vu, REGION_BAR0 + bar, offset, data, size);
}

/* Interrupts of the simulated card ------------------------------------------------------------ */

static int sim_state(struct litepcie *dev)
{
	return sim_of(dev)->vu.fd < 0;
}

/*
 * Sleep until the eventfd of the MSIs is readable, and return 1. Returns 0 when the time is over or
 * when the timer has fired by which the card is polled, or -errno, as when the connection is lost.
 * Requests of the board are answered during the sleep.
 */
static int sim_sleep(struct litepcie *dev, int timeout_ms)
{
	struct sim *sim = sim_of(dev);
	int64_t deadline = litepcie_now_ms() + timeout_ms;
	struct pollfd fds[3] = {
		{ .fd = sim->msi, .events = POLLIN },
		{ .fd = sim->vu.fd, .events = POLLIN },
		{ .fd = litepcie_timer(dev), .events = POLLIN },
	};
	uint64_t count;
	int rc = vfio_user_flush(&sim->vu);

	if (rc < 0)
		return rc;
	do {
		int64_t left = deadline - litepcie_now_ms();

		rc = litepcie_poll(dev, fds, 3, left > 0 ? (int)left : 0);
		if (rc < 0)
			return rc;
		count = litepcie_take_event(sim->msi);
		if (count) {
			dev->stats.interrupts += (int64_t)count;
			return 1;
		}
		/*
		 * Poll the socket again, with the lock held, before a message is read from it. The
		 * message that woke this thread may have been a reply to another thread, which has
		 * read it meanwhile.
		 */
		if (sim->vu.fd < 0)
			return vfio_user_lost(&sim->vu);
		if (poll(&fds[1], 1, 0) > 0 && vfio_user_serve(&sim->vu) < 0)
			return -ENODEV;
	} while (rc > 0 && !fds[2].revents);
	return 0;
}

const struct litepcie_backend litepcie_sim_backend = {
	.name = "sim",
	.channel = &litepcie_table_channel,
	.open = sim_open,
	.attach = sim_attach,
	.close = sim_close,
	.read_words = sim_read_words,
	.post = sim_post,
	.bar_read = sim_bar_read,
	.bar_write = sim_bar_write,
	.serial = true,
	.exchanges = true,
	.reset = sim_reset,
	.memory = sim_memory,
	.memory_free = sim_memory_free,
	.sleep = sim_sleep,
	.state = sim_state,
};
