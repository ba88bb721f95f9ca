/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A capture behind Lanebox's driver, by /dev/litepcieN-capture.
 *
 * The ring is memory of this process. The memory is allocated by take(), at the first start of the
 * capture or of the generator, or by litepcie_capture_sort(). So a program that only reads counts
 * of frames needs no ring, and can run beside a program that captures. The driver's status page has
 * the status line of each queue.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/capture_pages.h"
#include "kernel.h"
#include "litepcie_capability.h"
#include "litepcie_capture_node.h"

/* the flags of START that every driver with a capture node knows */
#define EARLY_FLAGS	(LITEPCIE_CAPTURE_KEEP_BAD | LITEPCIE_CAPTURE_LOSSLESS | \
			 LITEPCIE_CAPTURE_NEWEST)

struct kernel_capture {
	int				fd;
	/*
	 * @page: the driver's status page; @status: the part of the page for this capture's queue,
	 * which begins with the queue's status line; both NULL: the page is not mapped yet
	 */
	const struct litepcie_capture_status *page, *status;
	struct litepcie_memory		*ring;
	bool				taken;	/* true: the driver has taken the ring's memory */
};

static struct kernel_capture *port_of(const struct litepcie_capture *capture)
{
	return capture->priv;
}

static int call(struct litepcie_capture *capture, unsigned long request, void *arg,
		const char *doing)
{
	struct litepcie *dev = capture->dev;

	if (ioctl(port_of(capture)->fd, request, arg) == 0)
		return 0;
	if (errno == EBUSY && capture->config.queue)
		return litepcie_fail(-EBUSY, "%s: %s: another program has queue %u, or queue 0 "
				     "runs already: let it finish first", dev->name, doing,
				     capture->config.queue);
	if (errno == EBUSY)
		return litepcie_fail(-EBUSY, "%s: %s: another program has the capture: let it "
				     "finish first", dev->name, doing);
	if (errno == ENODEV)
		return litepcie_fail(-ENODEV, "%s: %s: the card is gone", dev->name, doing);
	if (errno == EIO)
		return litepcie_fail(-EIO, "%s: %s: the card was reset while it captured, or does "
				     "not stop", dev->name, doing);
	return litepcie_fail_errno(errno, "%s: %s", dev->name, doing);
}

/* Opening and closing a capture --------------------------------------------------------------- */

static int open_node(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	char name[64];

	snprintf(name, sizeof(name), "/dev/litepcie%u-capture", kernel_of(dev)->minor);
	port_of(capture)->fd = open(name, O_RDWR | O_CLOEXEC);
	if (port_of(capture)->fd >= 0)
		return 0;
	if (errno == ENOENT)
		return litepcie_fail(-EOPNOTSUPP, "%s: there is no %s: load the litepcie.ko that "
				     "came with this library, or give the card to VFIO "
				     "(litepcie_util vfio bind)", dev->name, name);
	return litepcie_fail_errno(errno, "%s", name);
}

static int choose_queue(struct litepcie_capture *capture, int rc)
{
	struct litepcie_capture_choice choice = { .queue = capture->config.queue };

	if (rc < 0 || !choice.queue)
		return rc;
	return call(capture, LITEPCIE_IOCTL_CAPTURE_QUEUE, &choice, "choice of a queue");
}

static int open_capture(struct litepcie_capture *capture)
{
	struct kernel_capture *port = calloc(1, sizeof(*port));

	if (!port)
		return litepcie_fail_memory("the state of a capture", sizeof(*port));
	port->fd = -1;
	capture->priv = port;
	return choose_queue(capture, open_node(capture));
}

/*
 * When the file is closed, the driver takes the queue from this program and unpins its ring, if the
 * card answers. The close of queue 0 first ends the run of all queues. If another queue is closed
 * during a run, its ring stays pinned until that run ends.
 */
static void close_capture(struct litepcie_capture *capture)
{
	struct kernel_capture *port = port_of(capture);

	if (!port)
		return;
	if (port->fd >= 0)
		close(port->fd);
	if (port->page)
		munmap((void *)port->page, CAPTURE_STATUS_BYTES);
	litepcie_memory_drop(port->ring);
	free(port);
}

/* Memory of the ring -------------------------------------------------------------------------- */

/*
 * Give the driver the memory that the library has allocated for the ring. Returns -EMSGSIZE,
 * without a sentence, if the pages of that memory are too small for an MBUF (a part of the ring) to
 * lie in one page.
 */
static int give_ring(struct litepcie_capture *capture)
{
	struct kernel_capture *port = port_of(capture);
	struct litepcie_capture_ring ring = {
		.address = (uintptr_t)port->ring->base, .bytes = capture->config.ring_bytes,
		.mbuf_bytes = capture->config.mbuf_bytes,
	};

	if (ioctl(port->fd, LITEPCIE_IOCTL_CAPTURE_RING, &ring) == 0)
		return 0;
	if (errno == EMSGSIZE)
		return -EMSGSIZE;
	if (errno == ENOMEM)
		return litepcie_fail(-ENOMEM, "%s: no memory for a ring of %llu bytes, or more "
				     "than this user may lock (ulimit -l): a smaller ring, or a "
				     "higher limit", capture->dev->name,
				     (unsigned long long)capture->config.ring_bytes);
	return call(capture, LITEPCIE_IOCTL_CAPTURE_RING, &ring, "the ring of a capture");
}

/*
 * Try the kinds of pages, the largest first, until the driver accepts a ring of such pages, or
 * refuses one for another reason than the size of its pages. If the program has asked for a size of
 * pages, only that kind is tried.
 */
static int take_ring(struct litepcie_capture *capture)
{
	struct kernel_capture *port = port_of(capture);
	uint64_t asked = capture->config.page_bytes;
	unsigned int kind = asked == LITEPCIE_CAPTURE_PAGES_2M ? KERNEL_PAGES_2M : KERNEL_PAGES_1G;
	unsigned int end = asked ? kind + 1 : KERNEL_PAGES;
	struct litepcie *dev = capture->dev;
	bool found = false;
	int rc = -EMSGSIZE;

	for (; rc == -EMSGSIZE && kind < end; kind++) {
		port->ring = kernel_pages_get(dev, kind, capture->config.ring_bytes);
		if (!port->ring)
			continue;
		found = true;
		rc = give_ring(capture);
		if (rc < 0) {
			litepcie_memory_drop(port->ring);
			port->ring = NULL;
		}
	}
	if (rc == -EMSGSIZE && asked && found)
		return litepcie_fail(rc, "%s: an MBUF of %u bytes must lie in one page, and pages "
				     "of %llu were asked for", dev->name,
				     capture->config.mbuf_bytes, (unsigned long long)asked);
	if (rc == -EMSGSIZE && asked)
		return litepcie_pages_missing(dev, asked, capture->config.ring_bytes);
	if (rc == -EMSGSIZE)
		return litepcie_fail(rc, "%s: no huge pages for a ring of %llu bytes with MBUFs of "
				     "%u: set `sysctl vm.nr_hugepages=%llu`, or write madvise to "
				     "/sys/kernel/mm/transparent_hugepage/enabled", dev->name,
				     (unsigned long long)capture->config.ring_bytes,
				     capture->config.mbuf_bytes, (unsigned long long)
				     (capture->config.ring_bytes + (2 << 20) - 1) >> 21);
	return rc;
}

static int map_status(struct litepcie_capture *capture)
{
	void *page = mmap(NULL, CAPTURE_STATUS_BYTES, PROT_READ, MAP_SHARED,
			  port_of(capture)->fd, 0);

	if (page == MAP_FAILED)
		return litepcie_fail_errno(errno, "%s: the capture's status cannot be mapped",
					   capture->dev->name);
	port_of(capture)->page = page;
	port_of(capture)->status = port_of(capture)->page + capture->config.queue;
	return 0;
}

/*
 * Reserve the capture queue for this handle in the driver: map the status page, and allocate the
 * ring and give it to the driver. After a call that succeeded, further calls do nothing.
 * capture->line is set only now, since before the status line may be that of another program's
 * capture.
 */
static int take(struct litepcie_capture *capture)
{
	struct kernel_capture *port = port_of(capture);
	int rc;

	if (port->taken)
		return 0;
	rc = (port->status ? 0 : map_status(capture)) ?: take_ring(capture);
	if (rc < 0)
		return rc;
	port->taken = true;
	capture->ring = port->ring->base;
	capture->line = (const struct litepcie_capture_line *)port->status;
	return 0;
}

/* Flags of a start, and drivers that are older than the library ------------------------------- */

static int get_info(struct litepcie_capture *capture, struct litepcie_capture_info *info)
{
	return call(capture, LITEPCIE_IOCTL_CAPTURE_INFO, info, "accounts of the capture");
}

/* True if the queue is to use another part of the staging memory than an equal one. */
static bool has_own_staging(const struct litepcie_capture *capture)
{
	return capture->config.staging_bytes != capture->dev->map.capture.staging_bytes;
}

/* Returns the flags with which the settings of the capture are to be started. */
static uint32_t flags_of(const struct litepcie_capture *capture)
{
	const struct litepcie_capture_config *config = &capture->config;

	return (config->keep_bad ? LITEPCIE_CAPTURE_KEEP_BAD : 0) |
	       (config->lossless ? LITEPCIE_CAPTURE_LOSSLESS : 0) |
	       (config->newest ? LITEPCIE_CAPTURE_NEWEST : 0) |
	       (config->net ? LITEPCIE_CAPTURE_NET : 0) |
	       (has_own_staging(capture) ? LITEPCIE_CAPTURE_STAGING : 0) |
	       (litepcie_capture_is_clocked(capture->dev, config) ?
		LITEPCIE_CAPTURE_HOST_CLOCK : 0);
}

/* Returns -EOPNOTSUPP with a sentence: the driver does not know the flags @unknown. */
static int fail_old_driver(const struct litepcie_capture *capture, uint32_t unknown)
{
	static const struct {
		uint32_t	flag;
		const char	*cannot, *instead;
	} sentences[] = {
		{ LITEPCIE_CAPTURE_NET, "record the frames of a net device",
		  "record without them" },
		{ LITEPCIE_CAPTURE_STAGING, "give a queue its own part of the staging memory",
		  "leave staging_bytes out" },
		{ UINT32_MAX, "set the card's clock to the host's time",
		  "record by the card's clock" },
	};
	char version[32];
	size_t n = 0;

	while (!(unknown & sentences[n].flag))
		n++;
	sysfs_driver_version(version, sizeof(version));
	return litepcie_fail(-EOPNOTSUPP, "%s: the driver litepcie.ko%s%s is older than this "
			     "library and cannot %s: load the driver that came with the library, "
			     "%s, or %s", capture->dev->name, *version ? " " : "", version,
			     sentences[n].cannot, LITEPCIE_RELEASE, sentences[n].instead);
}

/*
 * Set *@flags to the flags of START. A driver refuses a START with a flag that it does not know. So
 * if the program has left the choice of the clock to the library (LITEPCIE_CLOCK_AUTO) and the
 * driver cannot set the clock, the capture is started by the card's clock. If the driver does not
 * know another flag, the function returns -EOPNOTSUPP. A driver that says no flags in INFO is asked
 * for none but EARLY_FLAGS.
 */
static int choose_flags(struct litepcie_capture *capture, uint32_t *flags)
{
	struct litepcie_capture_info info = { 0 };
	uint32_t unknown;
	int rc;

	*flags = flags_of(capture);
	if (!(*flags & ~EARLY_FLAGS))
		return 0;
	rc = get_info(capture, &info);
	if (rc < 0)
		return rc;
	unknown = *flags & ~(info.start_flags ? info.start_flags : EARLY_FLAGS);
	if (unknown & LITEPCIE_CAPTURE_HOST_CLOCK && capture->config.clock == LITEPCIE_CLOCK_AUTO) {
		capture->config.clock = LITEPCIE_CLOCK_CARD;
		*flags &= ~LITEPCIE_CAPTURE_HOST_CLOCK;
		unknown &= ~LITEPCIE_CAPTURE_HOST_CLOCK;
	}
	return unknown ? fail_old_driver(capture, unknown) : 0;
}

/* Start, stop and limit of a capture ---------------------------------------------------------- */

static int start_capture(struct litepcie_capture *capture)
{
	const struct litepcie_capture_config *config = &capture->config;
	struct litepcie_capture_start start = {
		.snap = config->snap,
		.wait_cycles = litepcie_capture_wait_cycles(capture->dev, config->wait_ns),
		.staging_bytes = has_own_staging(capture) ? config->staging_bytes : 0,
		.limit = config->ring_bytes,
	};
	int rc = take(capture) ?: choose_flags(capture, &start.flags) ?:
		 call(capture, LITEPCIE_IOCTL_CAPTURE_START, &start, "start of a capture");

	if (rc == -EIO)
		rc = litepcie_fail(-ETIMEDOUT, "%s: the capture does not come to rest or does not "
				   "clear its counts, or the card is being reset: reset it",
				   capture->dev->name);
	if (rc == -EPERM && config->net)
		rc = litepcie_fail(rc, "%s: the frames of a net device are the host's network "
				   "traffic: their capture needs CAP_NET_RAW: run it as root, or "
				   "with `setcap cap_net_raw+ep` on the program",
				   capture->dev->name);
	if (rc == 0) {
		capture->limit = start.limit;
		capture->limits = 1;
	}
	return rc;
}

static int stop_capture(struct litepcie_capture *capture)
{
	struct litepcie_capture_stop stop = { 0 };
	int rc = call(capture, LITEPCIE_IOCTL_CAPTURE_STOP, &stop, "stop of a capture");

	if (rc == -EIO)
		rc = litepcie_fail(-ETIMEDOUT, "%s: the capture does not come to rest, or the card "
				   "is being reset: the driver keeps the card from memory until the "
				   "reset: reset it", capture->dev->name);
	if (rc == 0)
		capture->end = stop.position;
	return rc < 0 ? rc : litepcie_capture_poll(capture);
}

static int allow(struct litepcie_capture *capture, uint64_t limit)
{
	struct litepcie_capture_limit wanted = { .limit = limit };

	return call(capture, LITEPCIE_IOCTL_CAPTURE_LIMIT, &wanted, "limit of a capture");
}

/* Waiting for the card's position ------------------------------------------------------------- */

/*
 * Check that the card is there and that a started capture still runs. Returns -ENODEV if poll()
 * says that the card has gone, or -EIO if the driver's status page says that the run has ended. If
 * the stop of queue 0 has ended the run of another queue without an error, the function sets
 * capture->ended and returns 0.
 */
static int check(struct litepcie_capture *capture)
{
	const struct litepcie_capture_status *status = port_of(capture)->status;
	struct pollfd fd = { .fd = port_of(capture)->fd };
	struct litepcie *dev = capture->dev;

	if (poll(&fd, 1, 0) > 0 && fd.revents & POLLHUP)
		return litepcie_fail(-ENODEV, "%s: the card is gone", dev->name);
	if (!status || !capture->running ||
	    __atomic_load_n(&status->run, __ATOMIC_ACQUIRE) == LITEPCIE_CAPTURE_RUN_RING)
		return 0;
	capture->ended = capture->config.queue && !status->error;
	if (!capture->ended)
		return litepcie_fail(-EIO, "%s: the card was reset while it captured", dev->name);
	return 0;
}

/*
 * The driver ends the run of all queues with that of queue 0, when the card has come to rest. While
 * queue 0 runs, the card may also write to the ring of a queue that was stopped.
 */
static bool is_complete(const struct litepcie_capture *capture)
{
	const struct litepcie_capture_status *first = port_of(capture)->page;

	return first &&
	       __atomic_load_n(&first->run, __ATOMIC_ACQUIRE) == LITEPCIE_CAPTURE_RUN_REST &&
	       !first->error;
}

/*
 * Ask the card for an interrupt beyond the position in capture->seen, and sleep for up to @most_ms.
 * Before the sleep the status line is read once more: it may have come before the card was asked.
 * Returns 0, -EINTR after a signal, or another -errno.
 */
static int wait_for_line(struct litepcie_capture *capture, int most_ms)
{
	struct litepcie_capture_wake wake = { .position = capture->seen.position, .fd = -1 };
	struct pollfd fd = { .fd = port_of(capture)->fd, .events = POLLIN };
	int rc = call(capture, LITEPCIE_IOCTL_CAPTURE_WAKE, &wake, "a wait for the capture");

	if (rc < 0)
		return rc;
	if (__atomic_load_n(&capture->line->position, __ATOMIC_ACQUIRE) > wake.position)
		return 0;
	rc = poll(&fd, 1, most_ms);
	if (rc < 0 && errno == EINTR)
		return litepcie_fail(-EINTR, "a signal ended the wait for the capture");
	if (rc < 0)
		return litepcie_fail_errno(errno, "the wait for the capture");
	return fd.revents & (POLLERR | POLLHUP) ? check(capture) : 0;
}

/* Counts of frames, and the generator of test frames ------------------------------------------ */

/*
 * Returns @rc, the result of an ioctl that lets the card copy its counts. In place of -EIO it
 * returns -ETIMEDOUT with a sentence: the card did not end the copy.
 */
static int check_copy(const struct litepcie_capture *capture, int rc)
{
	if (rc != -EIO)
		return rc;
	return litepcie_fail(-ETIMEDOUT, "%s: the copy of the counts did not end: %s",
			     capture->dev->name, LITEPCIE_RESET_ADVICE);
}

/*
 * The accounts of the library begin with the same members as those of the driver, so memcpy()
 * copies the accounts of a port or of a rule.
 */
_Static_assert(offsetof(struct litepcie_port_accounts, reserved) ==
		       sizeof(struct litepcie_capture_port) &&
	       sizeof(struct litepcie_account) == sizeof(struct litepcie_capture_account),
	       "accounts of library and driver");

static int get_accounts(struct litepcie_capture *capture, struct litepcie_capture_stats *stats)
{
	struct litepcie_capture_info info = { .ask = LITEPCIE_CAPTURE_ASK_ACCOUNTS };
	int rc = check_copy(capture, get_info(capture, &info));

	for (unsigned int port = 0; port < LITEPCIE_CAPTURE_PORTS; port++)
		memcpy(&stats->port[port], &info.port[port], sizeof(info.port[port]));
	stats->net_lost = info.net_lost;
	if (rc == 0 && !port_of(capture)->taken && info.ring_bytes) {
		stats->position = info.position;
		stats->released = info.limit - info.ring_bytes;
	}
	return rc;
}

static int get_discards(struct litepcie_capture *capture, struct litepcie_discards *discards)
{
	struct litepcie_capture_discards found = { 0 };
	int rc = call(capture, LITEPCIE_IOCTL_CAPTURE_DISCARDS, &found, "accounts of the rules");

	memcpy(discards->rule, found.account, sizeof(discards->rule));
	memcpy(discards->port, found.account + LITEPCIE_CAPTURE_RULES, sizeof(discards->port));
	return check_copy(capture, rc);
}

static int sort(struct litepcie_capture *capture, const struct litepcie_sorting *sorting)
{
	struct litepcie_capture_sort wanted = { 0 };
	int rc = take(capture);

	if (sorting) {
		wanted.flags = LITEPCIE_CAPTURE_SORT_ON |
			       (sorting->by_port ? LITEPCIE_CAPTURE_SORT_BY_PORT : 0);
		wanted.rules = sorting->rules;
		memcpy(wanted.rule, sorting->rule, sizeof(wanted.rule));
		memcpy(wanted.spread, sorting->spread, sizeof(wanted.spread));
	}
	return rc ?: call(capture, LITEPCIE_IOCTL_CAPTURE_SORT, &wanted, "rules of a capture");
}

static int generated(struct litepcie_capture *capture, uint32_t *made)
{
	struct litepcie_capture_info info = { 0 };
	int rc = get_info(capture, &info);

	*made = info.generated;
	return rc < 0 ? rc : !info.generating;
}

static int put_generator(struct litepcie_capture *capture, struct litepcie_capture_generate wanted)
{
	return call(capture, LITEPCIE_IOCTL_CAPTURE_GENERATE, &wanted, "the generator of frames");
}

/*
 * Stop the generator, and wait until its last frame has left, for rest_ms at most. Without this
 * wait the driver would itself wait for that frame at the start of the generator, but for about a
 * second, whatever rest_ms says.
 */
static int end_generator(struct litepcie_capture *capture)
{
	int64_t deadline = litepcie_deadline(capture->config.rest_ms);
	int rc = put_generator(capture, (struct litepcie_capture_generate) { .size = 0 });
	unsigned int nap_us = 10;
	uint32_t made;

	while (rc == 0) {
		rc = generated(capture, &made);
		if (rc)
			break;
		if (!litepcie_slice(deadline))
			return litepcie_capture_late(capture, LITEPCIE_GENERATOR_FRAME,
						     LITEPCIE_GENERATOR_ADVICE);
		litepcie_capture_nap(&nap_us);
	}
	return rc < 0 ? rc : 0;
}

/*
 * Start the generator, or stop it if @generator is NULL. A stop does nothing if this handle has not
 * reserved the capture queue: then it has not started the generator either.
 */
static int generate(struct litepcie_capture *capture, const struct litepcie_generator *generator)
{
	struct litepcie_capture_generate wanted = { 0 };
	int rc;

	if (!generator)
		return port_of(capture)->taken ? put_generator(capture, wanted) : 0;
	wanted = (struct litepcie_capture_generate) {
		.size = generator->size, .period = generator->period, .count = generator->count,
		.seed = generator->seed, .port_mask = generator->port_mask,
	};
	rc = take(capture) ?: end_generator(capture);
	return rc < 0 ? rc : put_generator(capture, wanted);
}

const struct litepcie_capture_access litepcie_kernel_capture = {
	.open = open_capture,
	.close = close_capture,
	.start = start_capture,
	.stop = stop_capture,
	.allow = allow,
	.answers = check,
	.is_complete = is_complete,
	.accounts = get_accounts,
	.sort = sort,
	.discards = get_discards,
	.generate = generate,
	.generated = generated,
	.wait = wait_for_line,
};
