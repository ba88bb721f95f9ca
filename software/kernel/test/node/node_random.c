// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Makes random sequences for the program node: calls of up to six open files, actions of the card,
 * and resets, sleeps and removals of the card. Each call must return what the model predicts, and
 * check_all() compares driver and model after each step.
 */
#include "node_model.h"

#define PORTS		16u
/* limit in jiffies for close(), which must not wait for room in a ring */
#define HURRY		100
#define PATIENCE	1000	/* limit in jiffies for a STOP, if the card is not stuck */

static unsigned int state, seed, step;
static char place[160];
/*
 * Most rings have MBUFs (equal parts of a ring) of the size usual_mbuf, and most runs the flags
 * usual_flags, since the queues of a run must agree on both. Both values change now and then.
 */
static u32 usual_mbuf, usual_flags;
/* For each queue, the expected contents of the ring that the driver makes for read(). */
static u8 streams[QUEUES][READ_RING_BYTES];
static u8 bytes[READ_RING_BYTES];

static unsigned int pick(unsigned int below)
{
	return (unsigned int)rand_r(&state) % below;
}

static void name(const char *text, unsigned int number)
{
	snprintf(place, sizeof(place), "seed %u, step %u, %s %u", seed, step, text, number);
	part = place;
}

static void ends(long rc, long wanted)
{
	char text[80];

	if (rc == wanted)
		return;
	snprintf(text, sizeof(text), "it ends with %ld, not with %ld", rc, wanted);
	need(false, text);
}

/* Random steps: frames for the card ----------------------------------------------------------- */

/*
 * Let the card receive a frame. In a run with LOSSLESS the frame waits if its queue's ring has no
 * room.
 */
static void send(unsigned int port, u64 size)
{
	unsigned int n = known.sorts ? port % QUEUES : 0;
	struct known_queue *queue = &known.queue[n];

	if (!known_room(queue, size) && known.flags & LITEPCIE_CAPTURE_LOSSLESS) {
		made.blocked = true;
		known.waits = (int)n;
		known.port = port;
		known.bytes = size;
		return;
	}
	if (known_room(queue, size) && queue->ring > MOST_RING)
		for (u64 i = 0; i < size; i++)
			streams[n][(queue->position + i) % READ_RING_BYTES] = (u8)(port + 1);
	known_frame(queue, port, size);
	frame(port, size);
}

static bool may_send(void)
{
	return known.running && !known.entry && known.waits == NOBODY;
}

/* Let the card write the frame that waits for room to the ring, if the ring has room now. */
static void go_on(void)
{
	if (known.waits == NOBODY)
		made.blocked = false;
	if (known.waits == NOBODY || !known_room(&known.queue[known.waits], known.bytes))
		return;
	made.blocked = false;
	known.waits = NOBODY;
	send(known.port, known.bytes);
}

static void frames(void)
{
	for (unsigned int n = 1 + pick(8); n && may_send(); n--)
		send(pick(PORTS), 1 + pick(pick(4) ? 200 : known.mbuf));
}

/* Random steps: open and close files ---------------------------------------------------------- */

static void close_file(unsigned int file)
{
	struct file *closed = known.file[file].filp;
	unsigned long before = jiffies;
	bool stuck = made.stuck;

	known_close(file);
	node_close(closed);
	need(stuck || jiffies - before < HURRY, "the end of a file waits for room");
}

static void open_or_close(unsigned int file)
{
	unsigned int queue = file % QUEUES;

	if (known.file[file].filp && !pick(4))
		close_file(file);
	else if (!known.file[file].filp && !known.entry)
		known.file[file] = (struct known_file){ .filp = file_of(queue), .queue = queue };
}

static void call_queue(unsigned int file)
{
	unsigned int queue = pick(QUEUES + 1);
	long wanted = known.entry ? known.entry : queue == QUEUES ? -EINVAL :
		      known_queue_of(file)->owner == (int)file ? -EBUSY : 0;

	ends(choose(known.file[file].filp, queue), wanted);
	if (!wanted)
		known.file[file].queue = queue;
}

static void call_ring(unsigned int file)
{
	struct litepcie_capture_ring wanted = {
		.address = (uintptr_t)program_rings[known.file[file].queue],
		.bytes = BYTES << (usual_mbuf == READ_MBUF_BYTES ? 2 + pick(2) : pick(4)), .mbuf_bytes = pick(16) ? usual_mbuf : MBUF << pick(3),
	};
	long rc;

	contiguous = pick(2) ? 0 : (size_t)MBUF << pick(5);
	rc = known_ring(file, wanted.bytes, wanted.mbuf_bytes);
	ends(node_call(known.file[file].filp, LITEPCIE_IOCTL_CAPTURE_RING, &wanted), rc);
	need(rc || (wanted.segment_bytes == known_queue_of(file)->piece &&
		    wanted.segments == wanted.bytes / wanted.segment_bytes), "RING's answer");
}

static void call_start(unsigned int file)
{
	struct litepcie_capture_start wanted = {
		.flags = pick(16) ? usual_flags :
			 pick(9) ? pick(9) : 2 * LITEPCIE_CAPTURE_STAGING,
		.limit = pick(8) ? known_queue_of(file)->ring / 4 * pick(5) : pick(2 * BYTES),
	};
	long rc;

	/* Queue 0 starts last as a rule, so that other queues take part in the run. */
	for (unsigned int n = 1; n < QUEUES && !known.file[file].queue; n++)
		if (known.queue[n].ring && !known.queue[n].run && pick(2))
			return;
	rc = known_start(file, wanted.flags, wanted.limit);
	ends(node_call(known.file[file].filp, LITEPCIE_IOCTL_CAPTURE_START, &wanted), rc);
}

static void call_stop(unsigned int file)
{
	unsigned long before = jiffies;
	u64 position, wanted;
	bool stuck = made.stuck;
	long rc = known_stop(file, &wanted);

	ends(stop(known.file[file].filp, &position), rc);
	need(position == wanted, "STOP's position");
	need(stuck || jiffies - before < PATIENCE, "STOP waits for ever");
}

static void call_limit(unsigned int file)
{
	const struct known_queue *queue = known_queue_of(file);
	u64 to = pick(8) ? queue->line + queue->ring / 8 * pick(9) + (pick(16) ? 0 : 1) :
			   pick(2 * BYTES);
	long rc = known_limit(file, to);

	ends(limit(known.file[file].filp, to), rc);
}

static void call_wake(unsigned int file)
{
	static const int fds[] = { -1, 0, 1, 0, 1, 0, 1, 7 };
	u64 position = pick(8) ? known_queue_of(file)->line + pick(400) - min(100,
		       known_queue_of(file)->line) : ~0ull;
	int fd = fds[pick(ARRAY_SIZE(fds))];
	long rc = known_wake(file, position, fd);

	ends(wake(known.file[file].filp, position, fd), rc);
}

static void call_sort(unsigned int file)
{
	struct litepcie_capture_sort off = { 0 };
	bool on = pick(4);
	long wanted = known_owner(file);

	if (!wanted && known.file[file].queue)
		wanted = -EINVAL;
	if (!wanted && known.running)
		wanted = -EBUSY;
	ends(on ? sort(known.file[file].filp) :
	     node_call(known.file[file].filp, LITEPCIE_IOCTL_CAPTURE_SORT, &off), wanted);
	known.sorts = wanted ? known.sorts : on;
}

static void call_generate(unsigned int file)
{
	struct litepcie_capture_generate wanted = { .size = pick(3) ? 64 : 0, .period = 1 };
	long rc = known_owner(file);

	if (!rc && known.file[file].queue)
		rc = -EINVAL;
	ends(node_call(known.file[file].filp, LITEPCIE_IOCTL_CAPTURE_GENERATE, &wanted), rc);
	known.generates = rc ? known.generates : wanted.size;
}

static void call_info(unsigned int file)
{
	const struct known_queue *queue = known_queue_of(file);
	struct litepcie_capture_info found = { .ask = pick(2) };
	bool owned = queue->owner != NOBODY;

	ends(node_call(known.file[file].filp, LITEPCIE_IOCTL_CAPTURE_INFO, &found), known.entry);
	need(known.entry || (found.position == queue->line && found.limit == queue->limit &&
			     found.run == queue->run && found.error == queue->error &&
			     found.ring_bytes == (owned ? queue->ring : 0) &&
			     found.queue == known.file[file].queue), "INFO's answer");
}

static void call_poll(unsigned int file)
{
	struct poll_table_struct table = { 0 };
	__poll_t wanted = known_poll(file);
	bool listens = false;

	ends(node_poll(known.file[file].filp, &table), wanted);
	for (unsigned int n = 0; n < table.count; n++)
		listens = listens || table.wait[n] == &queue_of(known.file[file].queue)->wait;
	need(listens, "poll() does not listen to the file's queue");
}

/* Random steps: resets, sleeps and removals of the card --------------------------------------- */

static void go_away(int error)
{
	made.raised = false;
	known_abort(error);
	outside = true;
	entry_error = error;
	litepcie_capture_abort(&card, error);
	outside = false;
}

/*
 * Let the card answer again: after a reset, after a sleep without power, or after it had vanished.
 */
static void come_back(void)
{
	bool power = known.lost || pick(2);

	outside = true;
	card.lost = made.gone = made.stuck = false;
	if (power) {
		power_cut();
		known.lost_frames = known.interrupts = 0;
	}
	known_settle();
	need(!litepcie_capture_settle(&card), "the card is not driven after its reset");
	entry_error = 0;
	outside = false;
}

static void reset(void)
{
	if (!known.entry && pick(2))
		return;
	if (known.lost && entry_error != -EIO)
		go_away(-EIO);
	else if (known.entry)
		come_back();
	else
		go_away(-EIO);
}

/*
 * In about a quarter of the calls, if the card can be used: let the card vanish, and let the driver
 * notice that at once.
 */
static void vanish(void)
{
	if (known.entry || pick(4))
		return;
	made.gone = true;
	known_lost();
	outside = true;
	if (known.running)
		litepcie_capture_watch(&card.capture->watchdog.work);
	else
		need(litepcie_check_lost(&card), "the card is there");
	outside = false;
}

/* Unbind the driver from the card. Files of the node may be open. */
static void unbind(void)
{
	if (!known.lost)
		go_away(-ENODEV);
	else
		go_away(-EIO);
	card.lost = known.lost = known.removed = true;
	known.entry = -ENODEV;
	litepcie_capture_unmap(&card);
	for (unsigned int n = 0; n < QUEUES; n++)
		if (known.queue[n].owner == NOBODY)
			known.queue[n].ring = known.queue[n].line = 0;
}

static void look(void)
{
	if (!known.running || known.entry)
		return;
	outside = true;
	litepcie_capture_watch(&card.capture->watchdog.work);
	outside = false;
	known_watch();
}

/*
 * Change at random how the card behaves: whether interrupts are lost or late, status lines are
 * missing or late, reads of the status register return all ones, or the capture block does not
 * stop.
 */
static void change(void)
{
	switch (pick(8)) {
	case 0: made.deaf = !made.deaf; break;
	case 1: case 2: made.slow = !made.slow; break;
	case 3: made.quiet = !made.quiet; break;
	case 4: made.late = pick(6); break;
	case 5: made.given_up = pick(3); break;
	case 6: made.stuck = !known.entry && !pick(16); break;
	default: break;
	}
	if (!made.slow && !known.entry)
		deliver();
}

/* Random steps: calls of read() --------------------------------------------------------------- */

static unsigned int sleeper;	/* number of the queue for whose data a read() sleeps */

/* Called while a read() sleeps: a frame comes, or a reset of the card begins. */
static void meanwhile(void)
{
	bool slow = made.slow, deaf = made.deaf, quiet = made.quiet;

	known_calls();
	if (!pick(8)) {
		go_away(-EIO);
		return;
	}
	made.slow = made.deaf = made.quiet = false;
	deliver();
	send(sleeper, 1 + pick(200));
	known_calls();
	made.slow = slow;
	made.deaf = deaf;
	made.quiet = quiet;
}

/*
 * Check the @got bytes that read() has returned. Note in the model that the driver gives the room
 * of these bytes back to the card, in eighths of the ring.
 */
static void take_bytes(unsigned int file, size_t got)
{
	struct known_file *ours = &known.file[file];
	struct known_queue *queue = known_queue_of(file);

	for (size_t n = 0; n < got; n++)
		need(bytes[n] == streams[ours->queue][(ours->at + n) % READ_RING_BYTES],
		     "read() returns other bytes than the card's");
	ours->at += got;
	if (queue->used && queue->run && !known.entry)
		queue->limit = max(queue->limit, round_down(ours->at, READ_RING_BYTES / 8) +
						 READ_RING_BYTES);
}

/*
 * Returns what a read() with O_NONBLOCK must return if there is nothing to read for the file.
 * *@wait is true if the test means to make a blocking read(). It becomes false if such a read()
 * would sleep for ever, since no frame can come to the queue.
 */
static long known_nothing(unsigned int file, bool *wait)
{
	struct known_queue *queue = known_queue_of(file);

	*wait = *wait && queue->used && known.waits == NOBODY && known_room(queue, 200) &&
		(known.sorts || queue == known.queue);
	if (known.lost)
		return -ENODEV;
	if (!queue->run)
		return queue->error;
	if (known.entry)
		return known.entry;
	known_arm(queue, known.file[file].at);
	return -EAGAIN;
}

static void read_blocks(unsigned int file, size_t room, bool wait)
{
	struct known_file *ours = &known.file[file];
	struct known_queue *queue = known_queue_of(file);
	bool had = queue->line > ours->at;
	long rc = had ? 0 : known_nothing(file, &wait), got;

	sleeper = ours->queue;
	asleep = meanwhile;
	got = node_read(ours->filp, bytes, room, wait);
	asleep = NULL;
	known_calls();
	if (queue->line > ours->at)
		rc = (long)min(room, queue->line - ours->at);
	else if (rc == -EAGAIN && wait)
		rc = queue->error;
	ends(got, rc);
	if (got > 0)
		take_bytes(file, (size_t)got);
}

static void call_read(unsigned int file)
{
	struct known_file *ours = &known.file[file];
	size_t room = pick(8) ? 1 + pick(pick(2) ? 5000 : 200000) : 0;
	bool begins = !ours->header && room;
	long rc = begins ? known_read_begin(file) : 0;

	if (begins && !rc) {
		ours->header_at = ours->at = 0;
		memset(streams[ours->queue], 0, sizeof(streams[0]));
	}
	if (rc || !room) {
		ends(node_read(ours->filp, bytes, room, false), rc);
	} else if (ours->header_at < LITEPCIE_CAPTURE_HEADER_BYTES) {
		rc = (long)min(room, LITEPCIE_CAPTURE_HEADER_BYTES - ours->header_at);
		ends(node_read(ours->filp, bytes, room, pick(2)), rc);
		ours->header_at += (size_t)rc;
	} else {
		read_blocks(file, room, pick(2));
	}
}

static void choose_usual(void)
{
	static const u32 mbufs[] = { MBUF, 2 * MBUF, READ_MBUF_BYTES, READ_MBUF_BYTES };
	static const u32 flags[] = {
		0, 0, LITEPCIE_CAPTURE_NEWEST, LITEPCIE_CAPTURE_LOSSLESS,
	};

	usual_mbuf = mbufs[pick(ARRAY_SIZE(mbufs))];
	usual_flags = flags[pick(ARRAY_SIZE(flags))];
}

/* Sequences of random steps ------------------------------------------------------------------- */

static void one_step(void)
{
	static const struct {
		const char *name;
		unsigned int weight;
		void (*call)(unsigned int file);
		void (*event)(void);
	} kinds[] = {
		{ "open() or close() of file", 8, open_or_close, NULL },
		{ "QUEUE of file", 1, call_queue, NULL }, { "RING of file", 9, call_ring, NULL },
		{ "START of file", 14, call_start, NULL }, { "STOP of file", 3, call_stop, NULL },
		{ "LIMIT of file", 6, call_limit, NULL }, { "WAKE of file", 8, call_wake, NULL },
		{ "SORT of file", 7, call_sort, NULL },
		{ "GENERATE of file", 2, call_generate, NULL },
		{ "INFO of file", 2, call_info, NULL }, { "poll() of file", 5, call_poll, NULL },
		{ "read() of file", 8, call_read, NULL }, { "frames", 19, NULL, frames },
		{ "the watchdog", 1, NULL, look }, { "the card's mood", 5, NULL, change },
		{ "a reset or its end", 1, NULL, reset }, { "the card vanishes", 1, NULL, vanish },
	};
	unsigned int kind = 0, choice = pick(100), file = pick(FILES);

	/*
	 * The weights of the steps add up to 100. While the card cannot be used, and the driver is
	 * not unbound, about a sixth of the steps are replaced by reset() (98), which lets the card
	 * come back, or first begins a reset if the card has vanished.
	 */
	if (known.entry && !known.removed && !pick(6))
		choice = 98;
	while (choice >= kinds[kind].weight)
		choice -= kinds[kind++].weight;
	name(kinds[kind].name, file);
	if (!pick(100))
		choose_usual();
	if (kinds[kind].event && !known.removed)
		kinds[kind].event();
	else if (kinds[kind].call && (known.file[file].filp || !kind))
		kinds[kind].call(file);
	go_on();
	check_all();
	if (step % 16 == 0)
		check_rings();
}

/*
 * Make one random sequence of @steps steps. @number is the seed. Before the last eighth of the
 * steps the driver is unbound from the card, and after the last step all files are closed.
 */
void random_steps(unsigned int number, unsigned int steps)
{
	unsigned int last = steps / 8;

	seed = number;
	state = number;
	model_begin();
	choose_usual();
	for (step = 0; step < steps; step++) {
		if (step == steps - last) {
			name("unbind", 0);
			unbind();
			check_all();
		}
		one_step();
	}
	for (unsigned int file = 0; file < FILES; file++) {
		name("the last close() of file", file);
		if (known.file[file].filp)
			close_file(file);
		check_all();
	}
	check_rings();
}
