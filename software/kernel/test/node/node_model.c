// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * The model of the capture's device node, which predicts what calls return in the random sequences
 * of the test program node.
 */
#include "node_model.h"

#define HOLE	0xffu	/* value of those bytes of a ring that no frame has been written to */

struct known known;
u8 program_rings[QUEUES][MOST_RING] __attribute__((aligned(4096)));
/* expected contents of program_rings, the memory of the rings that were made by RING */
static u8 wanted_rings[QUEUES][MOST_RING];

void model_begin(void)
{
	memset(&known, 0, sizeof(known));
	known.waits = NOBODY;
	for (unsigned int n = 0; n < QUEUES; n++)
		known.queue[n] = (struct known_queue){
			.owner = NOBODY, .event = NOBODY, .wake = NO_WAKE,
		};
	memset(program_rings, HOLE, sizeof(program_rings));
	memset(wanted_rings, HOLE, sizeof(wanted_rings));
}

struct known_queue *known_queue_of(unsigned int file)
{
	return &known.queue[known.file[file].queue];
}

static bool owns(unsigned int file)
{
	return known_queue_of(file)->owner == (int)file;
}

/* Threads that wait, as the model expects them ------------------------------------------------ */

/*
 * Note in the model that the driver must wake the threads that wait for the queue, and signal the
 * eventfd of the queue's last WAKE call if that wake-up has not come yet.
 */
static void tell(struct known_queue *queue)
{
	queue->told = true;
	if (queue->wake != NO_WAKE && queue->event != NOBODY)
		known.signals[queue->event]++;
	queue->wake = NO_WAKE;
	queue->armed = false;
}

static void tell_all(void)
{
	for (unsigned int n = 0; n < QUEUES; n++)
		tell(&known.queue[n]);
}

static void tell_passed(bool only_armed)
{
	for (unsigned int n = 0; n < QUEUES; n++) {
		struct known_queue *queue = &known.queue[n];

		if (queue->wake != NO_WAKE && queue->line > queue->wake &&
		    (!only_armed || queue->armed))
			tell(queue);
	}
}

/*
 * Bring the model up to date with the status lines that the card has written by now, and with what
 * the driver must do at the interrupts that follow these lines.
 */
void known_calls(void)
{
	for (unsigned int n = 0; n < QUEUES; n++) {
		struct known_queue *queue = &known.queue[n];

		if (queue->used)
			queue->line = made.queue[n].told;
		if (made.deaf && queue->line > queue->wake)
			queue->armed = false;
	}
	if (made.interrupts != known.interrupts)
		tell_passed(false);
	else if (known.running && !made.slow && !known.entry)
		tell_passed(true);
	known.interrupts = made.interrupts;
}

/* Note what the driver must do in its watchdog, which checks for lost interrupts once a second. */
void known_watch(void)
{
	known_calls();
	tell_passed(false);
}

void known_arm(struct known_queue *queue, u64 position)
{
	queue->wake = min(position, ~0ull - 1);
	queue->armed = queue->used && known.running;
}

/* Results of calls, as the model expects them ------------------------------------------------- */

int known_owner(unsigned int file)
{
	const struct known_queue *queue = known_queue_of(file);

	if (known.entry)
		return known.entry;
	return queue->owner == NOBODY ? -EINVAL : owns(file) ? queue->error : -EBUSY;
}

/*
 * Returns 0, or the error with which the file's RING or first read() must fail. While the card
 * cannot be used, the error is the one in known.entry. EBUSY: another file has the queue, the
 * capture runs, the queue was started, or the file uses read(). EINVAL: another queue's ring has
 * MBUFs (equal parts of a ring) of another size.
 */
static int may_have_ring(unsigned int file, u32 mbuf)
{
	struct known_queue *own = known_queue_of(file);

	if (known.entry)
		return known.entry;
	if ((own->owner != NOBODY && !owns(file)) || known.running || own->run ||
	    known.file[file].header)
		return -EBUSY;
	for (unsigned int n = 0; n < QUEUES; n++)
		if (&known.queue[n] != own && known.queue[n].ring && known.mbuf != mbuf)
			return -EINVAL;
	return 0;
}

static void take_ring(unsigned int file, size_t bytes, u32 mbuf)
{
	struct known_queue *queue = known_queue_of(file);

	queue->owner = (int)file;
	queue->ring = bytes;
	queue->piece = max(max((size_t)mbuf, contiguous), bytes / SEGMENTS);
	queue->error = 0;
	queue->limit = queue->line = 0;
	known.mbuf = mbuf;
}

int known_ring(unsigned int file, size_t bytes, u32 mbuf)
{
	int err = mbuf > bytes / 4 ? -EINVAL : may_have_ring(file, mbuf);

	if (!err)
		take_ring(file, bytes, mbuf);
	return err;
}

/*
 * Note that queue 0 is started, which begins the run of all queues that have been started. Returns
 * 0, or the error with which the start must fail.
 */
static int begin_together(u32 flags)
{
	size_t least = ~0ul;

	if (made.stuck) {
		known.unquiet = true;
		return -EIO;
	}
	for (unsigned int n = 0; n < QUEUES; n++) {
		struct known_queue *queue = &known.queue[n];

		if (queue->run ? queue->flags != flags :
		    known.sorts && flags & LITEPCIE_CAPTURE_NEWEST)
			return -EINVAL;
		least = queue->run ? min(least, queue->piece) : least;
	}
	for (unsigned int n = 0; n < QUEUES; n++)
		if (known.queue[n].run && known.queue[n].ring / least > SEGMENTS)
			return -EINVAL;
	for (unsigned int n = 0; n < QUEUES; n++) {
		struct known_queue *queue = &known.queue[n];

		queue->used = queue->run;
		queue->position = 0;
		queue->limit = queue->used ? queue->first : 0;
		queue->armed = queue->used && queue->wake != NO_WAKE;
	}
	known.running = true;
	known.flags = flags;
	return 0;
}

static int begin_run(unsigned int file, u32 flags, u64 first, u32 run)
{
	struct known_queue *queue = known_queue_of(file);
	int err = 0;

	if (known.unquiet || known.running)
		return known.unquiet ? -EIO : -EBUSY;
	queue->flags = flags;
	queue->first = first;
	queue->line = 0;
	queue->run = run;
	tell(queue);
	if (queue == known.queue)
		err = begin_together(flags);
	if (err)
		queue->run = LITEPCIE_CAPTURE_RUN_REST;
	return err;
}

int known_start(unsigned int file, u32 flags, u64 first)
{
	int err = known_owner(file);

	if (!err && (known_queue_of(file)->run || known.file[file].header))
		err = -EBUSY;
	if (!err && (first > known_queue_of(file)->ring || flags > LITEPCIE_CAPTURE_HOST_CLOCK))
		err = -EINVAL;
	if (!err && flags & LITEPCIE_CAPTURE_NET)
		err = -EPERM;	/* in random steps nobody has CAP_NET_RAW */
	if (err)
		return err;
	known.file[file].wake = 0;
	return begin_run(file, flags, first, LITEPCIE_CAPTURE_RUN_RING);
}

int known_read_begin(unsigned int file)
{
	struct known_queue *queue = known_queue_of(file);
	int err = known.entry;

	if (!err && owns(file))
		err = -EINVAL;
	if (!err)
		err = may_have_ring(file, READ_MBUF_BYTES);
	if (err)
		return err;
	take_ring(file, READ_RING_BYTES, READ_MBUF_BYTES);
	err = begin_run(file, 0, READ_RING_BYTES, LITEPCIE_CAPTURE_RUN_READ);
	if (err) {
		queue->owner = NOBODY;
		queue->ring = 0;
	}
	known.file[file].header = !err;
	return err;
}

/*
 * Note that the driver must drop the rings that have no owner. The caller knows that the card
 * cannot write to them.
 */
static void drop_left_rings(void)
{
	for (unsigned int n = 0; n < QUEUES; n++)
		if (known.queue[n].owner == NOBODY)
			known.queue[n].ring = known.queue[n].line = 0;
}

static void end_together(int error)
{
	for (unsigned int n = 0; n < QUEUES; n++) {
		struct known_queue *queue = &known.queue[n];

		if (queue->run && (queue->used || error)) {
			queue->run = LITEPCIE_CAPTURE_RUN_REST;
			queue->error = error;
			tell(queue);
		}
		if (queue->used)
			queue->line = known.lost ? made.queue[n].told : queue->position;
		queue->used = false;
	}
	known.running = false;
	known.waits = NOBODY;
}

/*
 * Note that a queue's part of the run ends. If the queue takes part in the run, the card ends the
 * queue's last MBUF (one of the equal parts of its ring).
 */
static void end_part(struct known_queue *queue)
{
	if (queue->used) {
		queue->position = round_up(queue->position, (u64)known.mbuf);
		queue->line = queue->position;
	}
	queue->run = LITEPCIE_CAPTURE_RUN_REST;
	tell(queue);
}

int known_stop(unsigned int file, u64 *position)
{
	struct known_queue *queue = known_queue_of(file);
	bool stuck = made.stuck && known.running;

	*position = 0;
	if (known.entry)
		return known.entry;
	if (!owns(file))
		return queue->owner == NOBODY ? 0 : -EBUSY;
	queue->error = 0;
	if (queue == known.queue) {
		if (known.running)
			end_together(0);
		drop_left_rings();
	} else if (queue->run) {
		end_part(queue);
	}
	*position = queue->line;
	if (queue != known.queue || !stuck)
		return 0;
	known.unquiet = true;
	*position = 0;
	return -EIO;
}

int known_limit(unsigned int file, u64 to)
{
	struct known_queue *queue = known_queue_of(file);
	int err = known_owner(file);

	if (!err && (!queue->used || queue->run != LITEPCIE_CAPTURE_RUN_RING))
		err = -EINVAL;
	if (!err && !(known.flags & LITEPCIE_CAPTURE_NEWEST) && to > queue->line + queue->ring)
		err = -EINVAL;
	if (!err)
		queue->limit = max(queue->limit, to);
	return err;
}

int known_wake(unsigned int file, u64 position, int fd)
{
	struct known_queue *queue = known_queue_of(file);
	int err = known.entry;

	if (!err && fd >= (int)ARRAY_SIZE(events))
		err = -EBADF;
	if (!err)
		err = known_owner(file);
	if (!err && known.file[file].header)
		err = -EBUSY;
	if (err)
		return err;
	known.file[file].wake = position;
	queue->event = fd;
	known_arm(queue, position);
	if (!queue->run)
		tell(queue);
	return 0;
}

bool known_news(unsigned int file)
{
	const struct known_queue *queue = known_queue_of(file);
	const struct known_file *ours = &known.file[file];

	if (!owns(file))
		return queue->owner == NOBODY;
	if (!ours->header)
		return queue->line > ours->wake || !queue->run;
	return ours->header_at < LITEPCIE_CAPTURE_HEADER_BYTES || queue->line > ours->at ||
	       !queue->run;
}

__poll_t known_poll(unsigned int file)
{
	const struct known_file *ours = &known.file[file];
	struct known_queue *queue = known_queue_of(file);
	bool reads = owns(file) && ours->header;
	bool bytes = reads && (ours->header_at < LITEPCIE_CAPTURE_HEADER_BYTES ||
			       queue->line > ours->at);
	__poll_t error = known.lost ? EPOLLHUP | EPOLLERR : 0;

	if (reads && !known_news(file) && !known.entry)
		known_arm(queue, ours->at);
	if (owns(file) && queue->error)
		error |= EPOLLERR;
	if (error)
		return error | (bytes ? EPOLLIN | EPOLLRDNORM : 0);
	return known_news(file) ? EPOLLIN | EPOLLRDNORM : 0;
}

void known_close(unsigned int file)
{
	struct known_queue *queue = known_queue_of(file);
	bool live = !known.entry, first = queue == known.queue;

	if (owns(file)) {
		known.sorts = known.sorts && !first;
		if (first && live) {
			known.generates = false;
			known.unquiet = known.unquiet || (known.running && made.stuck);
			end_together(0);
		}
		if (live && queue->used)
			queue->limit = ~0ull;
		queue->owner = queue->event = NOBODY;
		queue->run = LITEPCIE_CAPTURE_RUN_REST;
		queue->error = 0;
		queue->wake = NO_WAKE;
		queue->armed = false;
		queue->told = true;
		if (!queue->used)
			queue->limit = queue->line = 0;
		if ((live && !queue->used) || known.removed)
			queue->ring = 0;
		if (live && first)
			drop_left_rings();
	}
	known.file[file].filp = NULL;
}

/* The card, as the model expects it ----------------------------------------------------------- */

bool known_room(const struct known_queue *queue, u64 bytes)
{
	return known.flags & LITEPCIE_CAPTURE_NEWEST ||
	       round_up(queue->position + bytes, (u64)known.mbuf) <= queue->limit;
}

/*
 * Note that the card receives a frame for the queue. The frame must get to the ring if the ring has
 * room for it, and counts as lost otherwise.
 */
void known_frame(struct known_queue *queue, unsigned int port, u64 bytes)
{
	u8 *wanted = wanted_rings[queue - known.queue];

	if (!known_room(queue, bytes)) {
		known.lost_frames++;
		return;
	}
	for (u64 n = 0; n < bytes && queue->ring <= MOST_RING; n++)
		wanted[(queue->position + n) & (queue->ring - 1)] = (u8)(port + 1);
	queue->position += bytes;
}

void known_abort(int error)
{
	known.entry = known.lost ? -ENODEV : error;
	known.generates = known.generates && known.lost;
	known.unquiet = known.unquiet || (known.running && made.stuck && !known.lost);
	end_together(error);
	tell_all();
}

void known_settle(void)
{
	known.entry = 0;
	known.lost = known.unquiet = known.generates = false;
	drop_left_rings();
}

void known_lost(void)
{
	known.lost = true;
	known.entry = -ENODEV;
	tell_all();
}

/* Checks that driver and model agree ---------------------------------------------------------- */

static void check_queue(unsigned int n)
{
	const struct known_queue *ours = &known.queue[n];
	const struct litepcie_capture_queue *queue = queue_of(n);
	const struct litepcie_capture_status *status = queue->status;
	const struct litepcie_capture_file *owner =
		ours->owner == NOBODY ? NULL : known.file[ours->owner].filp->private_data;

	need(queue->owner == owner, "another file has the queue");
	need(!queue->ring == !ours->ring, "the queue has a ring too many, or too few");
	need(queue->run == ours->run && queue->used == ours->used, "the state of the run");
	need(queue->error == ours->error && status->error == ours->error, "the run's error");
	need(litepcie_capture_position(queue) == ours->line, "the position in the status page");
	need(queue->limit == ours->limit, "the limit");
	/*
	 * If the owner's file was closed and the queue's ring is kept, the status page may still
	 * say what the queue's run was before.
	 */
	need(status->run == ours->run || (!owner && ours->ring), "the run in the status page");
	need(!ours->told || queue->wait.woken != ours->woken, "those who wait are not woken");
	need((queue->wake == U64_MAX) == (ours->wake == NO_WAKE), "a wake-up is owed, or not");
	if (!ours->used || known.lost)
		return;
	need(status->limit == ours->limit && made.queue[n].limit == ours->limit,
	     "the limit of the card, or of the status page");
	need(made.queue[n].position == ours->position, "the card's position");
}

static void check_counts(void)
{
	unsigned int files = 0, rings = 0, references[2] = { 0 };

	for (unsigned int n = 0; n < FILES; n++)
		files += known.file[n].filp ? 1 + known.file[n].header : 0;
	for (unsigned int n = 0; n < QUEUES; n++) {
		rings += known.queue[n].ring != 0;
		if (known.queue[n].event != NOBODY)
			references[known.queue[n].event]++;
	}
	/*
	 * The driver allocates two pieces of memory for the capture itself, its structure and its
	 * status page, and for each open file one, or two if the file uses read().
	 */
	need(allocated == 2 + files, "memory of files is left, or is given back too early");
	need(pinned == rings && mapped == (known.removed ? 0 : rings),
	     "a ring is left, or is given back too early");
	for (unsigned int n = 0; n < 2; n++)
		need(events[n].references == references[n] &&
		     events[n].signals == known.signals[n], "an eventfd");
}

void check_rings(void)
{
	need(!memcmp(program_rings, wanted_rings, sizeof(wanted_rings)),
	     "the bytes of a ring are not those of its frames");
}

void check_all(void)
{
	known_calls();
	for (unsigned int n = 0; n < QUEUES; n++) {
		check_queue(n);
		known.queue[n].told = false;
		known.queue[n].woken = queue_of(n)->wait.woken;
	}
	check_counts();
	need(card.capture->running == known.running, "the capture runs, or does not");
	need(card.capture->watchdog.pending == known.running, "the watchdog");
	need(made.master_off == known.unquiet, "bus mastering");
	if (known.lost)
		return;
	need(made.lost == known.lost_frames, "the card's lost frames");
	need(!(made.control & LITEPCIE_CAPTURE_BIT_CONTROL_RUN) == !known.running,
	     "the card runs, or does not");
	need(made.enabled == known.running, "the card's interrupt");
	need(!made.generator[0] == !known.generates, "the generator");
	need(known.unquiet || !made.sort == !(known.running && known.sorts),
	     "the card sorts frames, or does not");
}
