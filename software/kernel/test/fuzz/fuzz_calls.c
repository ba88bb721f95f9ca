// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Prepares the state in which a call has the outcome that its branch of fuzz_branches.c names,
 * whatever the state was before, and makes the call.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"
#include "fuzz.h"

#define WAIT_MS		2000	/* longest wait for data in ms, long enough for a busy machine */
#define FAR		(1ll << 40)

static int event_fd;
static unsigned int driving;		/* BAR0 offset of a register that only root may write to */

/* Preparations for a call --------------------------------------------------------------------- */

static void set_packets(int fd, unsigned int flags)
{
	for (unsigned int way = 0; way < 2; way++) {
		struct litepcie_packets packets = { .way = way, .flags = flags };

		ioctl(fd, LITEPCIE_IOCTL_PACKETS, &packets);
	}
}

static void lock_both(int fd, bool request)
{
	struct litepcie_ioctl_lock lock = {
		.dma_reader_request = request, .dma_writer_request = request,
		.dma_reader_release = !request, .dma_writer_release = !request,
	};

	ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock);
}

/*
 * Let the first FDS files own no direction, and switch their packets off by the ioctl PACKETS. A
 * mapping keeps a file that was closed, and so the directions that the file owns. So all mappings
 * that random calls have made are removed first.
 */
void nobodys(void)
{
	unmap_all();
	for (int i = 0; i < FDS; i++) {
		lock_both(fds[i], false);
		set_packets(fds[i], 0);
	}
}

void first_owns(void)
{
	nobodys();
	lock_both(fds[0], true);
}

void second_owns(void)
{
	nobodys();
	lock_both(fds[1], true);
}

void small_rings(void)
{
	nobodys();
	small_ring(fds[0], LITEPCIE_WAY_H2C);
	small_ring(fds[0], LITEPCIE_WAY_C2H);
}

void packets(void)
{
	small_rings();
	set_packets(fds[0], LITEPCIE_PACKETS_ON);
}

void own_memory(void)
{
	struct litepcie_ring_memory memory = {
		.setup = { LITEPCIE_WAY_C2H, BUFFER, 64, 1, 0, 0, 0, 0 },
		.address = memory_at(HUGE_PAGES),
	};

	first_owns();
	ioctl(fds[0], LITEPCIE_IOCTL_RING_MEMORY, &memory);
}

static void set_count(unsigned long request, long long software)
{
	struct litepcie_ioctl_mmap_dma_update update = { .sw_count = software };

	ioctl(fds[0], request, &update);
}

void has_room(void)
{
	small_rings();
	run_h2c(fds[0], 1, NULL);
	set_count(LITEPCIE_IOCTL_MMAP_DMA_READER_UPDATE, 0);
}

void has_no_room(void)
{
	small_rings();
	run_h2c(fds[0], 1, NULL);
	set_count(LITEPCIE_IOCTL_MMAP_DMA_READER_UPDATE, FAR);
}

/*
 * Start a held run, in which the card uses only the buffers that ADVANCE hands over
 * (LITEPCIE_RUN_HELD), of c2h for the first file. Hand the card all buffers of its ring but one.
 */
void held(void)
{
	struct litepcie_advance most = { .way = LITEPCIE_WAY_C2H, .count = 31 };

	small_rings();
	ioctl(fds[0], LITEPCIE_IOCTL_ADVANCE, &most);
}

void streams(void)
{
	small_rings();
	if (write(fds[0], "", 1) != 1)
		fail("write() of a byte: %s", strerror(errno));
}

/*
 * Fill the h2c ring by write() until the ring has no room. The DMA's loopback is on, and the card
 * has no c2h buffer. So the data that comes back for c2h fills the card, and h2c cannot go on.
 */
void full_stream(void)
{
	struct litepcie_advance none = { .way = LITEPCIE_WAY_C2H };
	static char buffer[32 * BUFFER];

	small_rings();
	loopback(fds[0], 1);
	ioctl(fds[0], LITEPCIE_IOCTL_ADVANCE, &none);
	for (int n = 0; n < 1000 && write(fds[0], buffer, sizeof(buffer)) > 0; n++)
		usleep(1000);
}

void others_have_room(void)
{
	nobodys();
	lock_both(fds[1], true);
}

/*
 * Make the second file the owner of both directions, with the loopback and the pattern block off.
 * The first file may then switch on neither of the two.
 */
void second_steers(void)
{
	struct litepcie_ioctl_reg pattern = { .addr = PATTERN_CONTROL, .is_write = 1 };

	second_owns();
	loopback(fds[1], 0);
	ioctl(fds[1], LITEPCIE_IOCTL_REG, &pattern);
}

/*
 * Unless the first file has c2h data already, run both directions for it through the loopback, and
 * wait for c2h data, WAIT_MS at most. Then set c2h's software count (buffers that the program is
 * done with) to 0, so that buffers that were read count as unread again.
 */
void has_data(void)
{
	struct pollfd poller = { .fd = fds[0], .events = POLLIN };
	struct litepcie_ioctl_lock first = { .dma_writer_request = 1 };
	long long hw = 0;

	if (ioctl(fds[0], LITEPCIE_IOCTL_LOCK, &first) || run_c2h(fds[0], 1, &hw) || hw == 0) {
		small_rings();
		loopback(fds[0], 1);
		run_c2h(fds[0], 1, NULL);
		run_h2c(fds[0], 1, NULL);
		poll(&poller, 1, WAIT_MS);
	}
	set_count(LITEPCIE_IOCTL_MMAP_DMA_WRITER_UPDATE, 0);
}

/*
 * Start LitePCIe's loop, in which the card goes round the ring again and again, in both directions
 * for the first file.
 */
void both_run(void)
{
	small_rings();
	if (run_c2h(fds[0], 1, NULL) || run_h2c(fds[0], 1, NULL))
		fail("both directions do not run before a reset: %s", strerror(errno));
}

/* Making the call ----------------------------------------------------------------------------- */

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
	if (branch->place)
		argument.memory.address += memory_at(branch->place);
	if (branch->call == REG && branch->error == EPERM)
		argument.reg.addr = driving;
	ok = ioctl(fd, request_of(branch->call), branch->bad ? bad_pointer() : &argument) == 0;
	if (ok && branch->call == EXPORT)
		close(argument.export.fd);
	/*
	 * The ioctl LOCK does not fail when it refuses a direction: the status in its argument says
	 * so. It counts as a success here if the direction was granted to the first file, or
	 * refused to the second.
	 */
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

static bool make_sync(int fd)
{
	return fsync(fd) == 0;
}

static bool make_poll(int fd)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN | POLLOUT };

	return poll(&poller, 1, 0) >= 0;
}

static bool make_open(const struct branch *branch)
{
	int fd = open(branch->card == GONE ? gone_path : device, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return false;
	close(fds[FDS - 1]);
	fds[FDS - 1] = fd;
	return true;
}

bool make(const struct branch *branch)
{
	int fd = fds[branch->user];

	switch (branch->call) {
	case MMAP:
		return make_mmap(branch, fd);
	case READ:
	case WRITE:
		return make_data(branch, fd);
	case SYNC:
		return make_sync(fd);
	case POLL:
		return make_poll(fd);
	case OPEN:
		return make_open(branch);
	default:
		return make_ioctl(branch, fd);
	}
}

static void find_driving(void)
{
	struct litepcie_ioctl_reg reg = { .is_write = 1 };

	for (; ioctl(fds[0], LITEPCIE_IOCTL_REG, &reg) == 0; reg.addr += 4)
		;
	driving = reg.addr;
}

void calls_init(void)
{
	event_fd = eventfd(0, EFD_CLOEXEC);
	find_driving();
}
