// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Makes random sequences for the test program transport: actions of virtio drivers, of both virtio
 * devices and of the card, with resets, sleeps, refused interrupt requests and removals of the
 * card. A small model says what each step must do to rings, registers, interrupts and memory. After
 * each step check_all() compares them with the model.
 */
#include "transport_card.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "../../virtio/virtio_device.h"

#define RESET		BIT_ULL(40)	/* the feature bit VIRTIO_F_RING_RESET */
#define NEEDED		(BIT_ULL(VIRTIO_F_VERSION_1) | BIT_ULL(VIRTIO_F_ACCESS_PLATFORM))
#define BEFORE_WRAP	0xfffau		/* a ring's index shortly before it wraps to 0 */
#define NEVER		(~0u)

struct known_ring {
	bool		there, callback;
	/*
	 * @avail and @used: indices of the available and of the used ring. @quiet: flags of the
	 * used ring.
	 */
	u16		avail, used, quiet;
	/*
	 * head descriptors of the buffers that the card has, each at its available index modulo
	 * SIZE
	 */
	u16		head[SIZE];
	unsigned int	calls;
};

struct known_device {
	bool			there, driven, asleep, broken, stuck;
	u64			features;
	unsigned int		changed;
	u32			doorbells;
	u8			config[CONFIG_BYTES];
	struct known_ring	ring[QUEUES];
};

static struct known_device known[DEVICES];
static unsigned int state, seed, step;
static char place[160];

static unsigned int pick(unsigned int below)
{
	return (unsigned int)rand_r(&state) % below;
}

static void name(const char *text)
{
	snprintf(place, sizeof(place), "seed %u, step %u, %s", seed, step, text);
	part = place;
}

static struct litepcie_vdev *driver_of(unsigned int n)
{
	return card.virtio[n].device ? card.virtio[n].device->adev.dev.driver_data : NULL;
}

/*
 * Returns true if a virtio driver adds a buffer to this queue and then waits until the card has
 * used it.
 */
static bool is_waited(unsigned int n, unsigned int queue)
{
	return !known[n].ring[queue].callback || (made[n].id == VIRTIO_ID_CONSOLE && queue % 2);
}

/* Checks after each random step --------------------------------------------------------------- */

static void check_ring(unsigned int n, unsigned int queue, const struct virtqueue *vq)
{
	const struct known_ring *ours = &known[n].ring[queue];
	const struct made_queue *registers = &made[n].queue[queue];
	const struct vring_used *used = vq->vring.used;

	need(vq->calls == ours->calls, "a queue's interrupts");
	need(used->idx == ours->used, "the used index");
	need(used->flags == ours->quiet, "the used ring's flags");
	for (u16 at = ours->used; at != ours->avail; at++)
		need(vq->vring.avail->ring[at % vq->vring.num] == ours->head[at % SIZE],
		     "the available ring");
	need(gone || (registers->ready && registers->num == vq->vring.num &&
		      registers->address[0] == (uintptr_t)vq->vring.desc &&
		      registers->address[1] == (uintptr_t)vq->vring.avail &&
		      registers->address[2] == (uintptr_t)vq->vring.used),
	     "the card uses the queue at another place");
}

/* Check device @n. Returns the mask of the interrupt causes that must be enabled for the device. */
static u32 check_device(unsigned int n)
{
	const struct known_device *ours = &known[n];
	struct litepcie_vdev *d = driver_of(n);
	u32 causes = 0, first = parameters[n][LITEPCIE_VIRTIO_CAUSE];

	need(!card.virtio[n].device == !ours->there && !d == !ours->there, "a device is missing");
	for (unsigned int queue = 0; queue < QUEUES; queue++) {
		bool there = ours->driven && ours->ring[queue].there;

		need(!d || !d->vq[queue] == !there, "a queue too many, or too few");
		need(there || gone || made[n].queue[queue].ready == 0 || ours->stuck,
		     "the card uses a queue that is gone");
		if (there)
			check_ring(n, queue, d->vq[queue]);
		causes |= there ? BIT(first + queue) : 0;
	}
	if (!ours->driven)
		return 0;
	need(made[n].accepted == ours->features || gone, "the features");
	need(made[n].doorbells == ours->doorbells, "the doorbells");
	need(d->vdev.changed == ours->changed, "changes of the configuration");
	need(!memcmp(made[n].config, ours->config, CONFIG_BYTES), "the configuration");
	return causes | BIT(first + QUEUES);
}

static void check_all(void)
{
	unsigned int devices = 0, rings = 0;
	u32 causes = 0;
	bool off = false;

	for (unsigned int n = 0; n < DEVICES; n++) {
		causes |= check_device(n);
		devices += known[n].there;
		off = off || known[n].stuck;
		for (unsigned int queue = 0; queue < QUEUES; queue++)
			rings += known[n].driven && known[n].ring[queue].there;
	}
	need(live_queues == rings, "rings are left");
	need(allocated == 2 * devices + rings, "memory is left, or is given back too early");
	need(card.references == devices, "references to the card");
	need(card.enabled == causes, "the interrupt causes that are enabled");
	need(requested() == (pdev.msix_enabled ? (unsigned int)__builtin_popcount(causes) : 0),
	     "the interrupts that are requested");
	for (unsigned int n = 0; n < LITEPCIE_CAUSES_MAX; n++)
		need(!card.listener[n].handler == !(causes & BIT(n)), "a cause's handler");
	need(master_off == off, "bus mastering");
}

/* Random steps: resets, sleeps and removals --------------------------------------------------- */

/*
 * Reset the registers of device @n, as a reset or a power cut of the card does, and choose its
 * features and its configuration at random.
 */
static void forget(unsigned int n)
{
	memset(made[n].queue, 0, sizeof(made[n].queue));
	made[n].status = made[n].resetting = 0;
	known[n].stuck = false;
	made[n].accepted = 0;
	for (unsigned int i = 0; i < CONFIG_BYTES; i++)
		made[n].config[i] = known[n].config[i] = (u8)pick(256);
	made[n].offered = NEEDED | BIT_ULL(5) | (pick(2) ? DATA : 0) | (pick(3) ? 0 : PACKED) |
			  (pick(3) ? RESET : 0);
}

/*
 * Choose the queues that the next virtio drivers ask for, how long resets take, and with MSI-X
 * sometimes an interrupt vector that is refused.
 */
static void choose(void)
{
	static const char *const all[QUEUES] = { "rx", "tx", "ctrl", "more" };

	wanted = QUEUES;
	for (unsigned int n = 0; n < QUEUES; n++) {
		names[n] = pick(4) ? all[n] : NULL;
		callbacks[n] = pick(4) ? on_buffer : NULL;
	}
	refused_irq = pdev.msix_enabled && !pick(8) ?
		parameters[pick(DEVICES)][LITEPCIE_VIRTIO_CAUSE] + pick(QUEUES + 1) : 0;
	for (unsigned int n = 0; n < DEVICES; n++)
		made[n].reset_takes = pick(2) ? 0 : pick(100);
}

/* Set the model of device @n, which its driver has just brought up or failed to bring up. */
static void brought_up(unsigned int n)
{
	struct known_device *ours = &known[n];
	u32 first = parameters[n][LITEPCIE_VIRTIO_CAUSE];
	u64 offered = made[n].offered;
	unsigned int count = 0;

	ours->broken = ours->asleep = false;
	memset(ours->ring, 0, sizeof(ours->ring));
	/* The driver accepts no packed queues for a console. */
	if (made[n].id == VIRTIO_ID_CONSOLE)
		offered &= ~PACKED;
	ours->features = offered & (offered & PACKED ? ~DATA : ~0ull);
	for (unsigned int i = 0; i < QUEUES; i++)
		if (names[i])
			ours->ring[count++] = (struct known_ring){
				.there = true, .callback = callbacks[i] != NULL,
				.avail = BEFORE_WRAP, .used = BEFORE_WRAP,
			};
	ours->driven = !gone && !(refused_irq == first + QUEUES) &&
		       !(refused_irq >= first && refused_irq < first + count);
	ours->doorbells = made[n].doorbells;
	need(gone || (made[n].status == OK) == ours->driven, "the device is driven, or not");
	if (!ours->driven)
		return;
	for (unsigned int i = 0; i < count; i++) {
		struct virtqueue *vq = driver_of(n)->vq[i];

		need(vq && vq->index == i, "a queue has another one's number");
		vq->vring.avail->idx = vq->vring.used->idx = BEFORE_WRAP;
	}
}

static void halt(void)
{
	bool ends = !known[0].stuck && !known[1].stuck;

	/* A device that did not stop at its last reset may fail to stop at this reset, too. */
	if (!ends && pick(2)) {
		need(litepcie_virtio_halt(&card) == -EIO && master_off, "a device does not stop");
		/*
		 * litepcie_virtio_halt() ends at the first device that does not stop. The devices
		 * before it have ended their reset.
		 */
		known[0].stuck = made[0].reset_takes == NEVER && made[0].status;
		known[1].stuck = known[1].stuck || (made[1].reset_takes == NEVER && made[1].status);
	}
	for (unsigned int n = 0; n < DEVICES; n++) {
		made[n].reset_takes = 0;
		known[n].stuck = false;
	}
	need(!litepcie_virtio_halt(&card), "the halt fails");
	need(!made[0].status && !made[1].status && !master_off, "the card after the halt");
}

static void add(void)
{
	choose();
	litepcie_virtio_add(&card);
	for (unsigned int n = 0; n < DEVICES; n++) {
		known[n].there = true;
		known[n].changed = 0;
		brought_up(n);
	}
}

static void check_given_back(const struct virtqueue *vq, struct known_ring *ours)
{
	const struct vring_used *used = vq->vring.used;

	for (; ours->used != ours->avail; ours->used++) {
		const struct vring_used_elem *entry = &used->ring[ours->used % vq->vring.num];

		need(entry->id == ours->head[ours->used % SIZE] && !entry->len,
		     "a buffer is given back that is not the next one");
	}
	ours->quiet = 0;
	need(vring_avail_event(&vq->vring) == ours->avail, "the next buffer rings no doorbell");
}

/*
 * When a virtio driver leaves a lost card, the buffers of split queues that it waits for must have
 * been given back, or it would hang.
 */
static void on_last_use(void)
{
	struct litepcie_vdev *d = litepcie_vdev_of(leaving);
	unsigned int n = leaving->id.device == VIRTIO_ID_CONSOLE;

	for (unsigned int queue = 0; gone && queue < QUEUES; queue++) {
		const struct virtqueue *vq = d->vq[queue];
		struct known_ring *ours = &known[n].ring[queue];
		bool back = vq && is_waited(n, queue) && !d->packed;

		need(!vq || vq->vring.used->idx == (back ? ours->avail : ours->used),
		     "a driver waits for a card that is lost, or gets another buffer back");
		if (back)
			check_given_back(vq, ours);
	}
}

static void leave(unsigned int n)
{
	known[n].stuck = known[n].there && !known[n].asleep && made[n].status && !gone &&
			 made[n].reset_takes == NEVER;
	known[n].driven = false;
}

static void del(void)
{
	if (!pick(8) && !gone)
		made[pick(DEVICES)].reset_takes = NEVER;
	for (unsigned int n = 0; n < DEVICES; n++) {
		leave(n);
		known[n].there = known[n].asleep = false;
	}
	litepcie_virtio_del(&card);
}

/* Reset the card, which may be lost: all its virtio devices are removed and added again. */
static void reset_card(void)
{
	del();
	check_all();
	if (gone || pick(2)) {
		gone = card.lost = false;
		for (unsigned int n = 0; n < DEVICES; n++)
			forget(n);
	}
	halt();
	add();
}

static void sleep_and_wake(void)
{
	bool power = pick(2), lost = !pick(8);

	if (known[0].asleep || known[1].asleep)
		return;
	for (unsigned int n = 0; n < DEVICES; n++) {
		leave(n);
		known[n].asleep = true;
		need(!transport_driver->driver.pm->suspend(&card.virtio[n].device->adev.dev),
		     "suspend");
	}
	check_all();
	for (unsigned int n = 0; power && !gone && n < DEVICES; n++)
		forget(n);
	gone = gone || lost;
	if (!gone)
		halt();
	choose();
	for (unsigned int n = 0; n < DEVICES; n++) {
		int err = transport_driver->driver.pm->resume(&card.virtio[n].device->adev.dev);

		brought_up(n);
		need(!err == known[n].driven, "resume");
	}
}

static void vanish(void)
{
	gone = gone || !pick(3);
}

/* Random steps: buffers and interrupts -------------------------------------------------------- */

/*
 * Choose a device, and one of its queues. Returns NULL if the device is not driven, or has no queue
 * of the chosen number.
 */
static struct virtqueue *some_queue(unsigned int *n)
{
	struct litepcie_vdev *d;

	*n = pick(DEVICES);
	d = known[*n].driven ? driver_of(*n) : NULL;
	return d ? d->vq[pick(QUEUES)] : NULL;
}

static void buffer(void)
{
	unsigned int n;
	struct virtqueue *vq = some_queue(&n);
	struct known_ring *ours;
	u32 reads, doorbell;
	bool packed, idle, waited;

	if (!vq)
		return;
	ours = &known[n].ring[vq->index];
	if ((u16)(ours->avail - ours->used) == vq->vring.num)
		return;
	packed = known[n].features & PACKED;
	idle = gone || known[n].broken;
	waited = is_waited(n, vq->index);
	ours->head[ours->avail % SIZE] = (u16)pick(SIZE);
	add_buffer(vq, ours->head[ours->avail++ % SIZE]);
	reads = made[n].status_reads;
	need(vq->notify(vq) == !(waited && idle && packed), "a queue breaks, or does not");
	need(gone || made[n].status_reads - reads == waited, "a doorbell's register reads");
	doorbell = known[n].features & DATA ? (u32)ours->avail << 16 | vq->index : vq->index;
	known[n].doorbells += !gone;
	need(gone || made[n].doorbell == doorbell, "another doorbell");
	if (waited && idle && !packed)
		check_given_back(vq, ours);
}

/*
 * Let the card use up to three buffers of a split queue, ask for doorbells or for none, and
 * interrupt.
 */
static void use(void)
{
	unsigned int n;
	struct virtqueue *vq = some_queue(&n);
	struct known_ring *ours;
	u32 cause;

	if (!vq || gone || known[n].broken || known[n].features & PACKED)
		return;
	ours = &known[n].ring[vq->index];
	for (unsigned int count = pick(4); count && ours->used != ours->avail; count--) {
		vq->vring.used->ring[ours->used % vq->vring.num] = (struct vring_used_elem){
			.id = ours->head[ours->used % SIZE], .len = 1 + pick(1000),
		};
		vq->vring.used->idx = ++ours->used;
	}
	ours->quiet = vq->vring.used->flags = pick(2) ? VRING_USED_F_NO_NOTIFY : 0;
	cause = parameters[n][LITEPCIE_VIRTIO_CAUSE] + vq->index;
	raise(cause);
	ours->calls++;
}

/* Reset a queue alone, and let it go on with a new ring. */
static void reset_queue(void)
{
	unsigned int n;
	struct virtqueue *vq = some_queue(&n);
	struct known_ring *ours;

	if (!vq)
		return;
	ours = &known[n].ring[vq->index];
	made[n].queue_reset_takes = pick(2) ? 0 : pick(100);
	if (!(known[n].features & RESET)) {
		need(vq->vdev->config->disable_vq_and_reset(vq) == -ENOENT, "a queue is reset");
		return;
	}
	need(!vq->vdev->config->disable_vq_and_reset(vq), "the reset of a queue");
	need(gone || !made[n].queue[vq->index].ready, "the card uses the queue");
	raise(parameters[n][LITEPCIE_VIRTIO_CAUSE] + vq->index);
	vring_init(&vq->vring, 1u << pick(3), memset(vq->memory, 0, 4096), 64);
	ours->avail = ours->used = ours->quiet = 0;
	need(!vq->vdev->config->enable_vq_after_reset(vq), "the restart of a queue");
}

/* Raise causes of both devices: with MSI together by one message, with MSI-X one by one. */
static void interrupts(void)
{
	u32 causes = (u32)rand_r(&state) & (u32)rand_r(&state);

	for (unsigned int n = 0; n < DEVICES; n++) {
		u32 first = parameters[n][LITEPCIE_VIRTIO_CAUSE];

		for (unsigned int queue = 0; known[n].driven && queue < QUEUES; queue++)
			known[n].ring[queue].calls += causes >> (first + queue) & 1;
		known[n].changed += known[n].driven && causes >> (first + QUEUES) & 1;
	}
	if (!pdev.msix_enabled)
		litepcie_virtio_interrupt(&card, 100, causes);
	for (unsigned int cause = 0; pdev.msix_enabled && cause < LITEPCIE_CAUSES_MAX; cause++)
		if (causes & BIT(cause))
			raise(cause);
}

/* Let a device find an invalid ring: it then needs a reset. */
static void break_device(void)
{
	unsigned int n = pick(DEVICES);

	if (!known[n].driven || gone || pick(3))
		return;
	known[n].broken = true;
	made[n].status |= VIRTIO_CONFIG_S_NEEDS_RESET;
}

static void configure(void)
{
	unsigned int n = pick(DEVICES), offset = pick(CONFIG_BYTES);
	unsigned int len = 1 + pick(CONFIG_BYTES - offset);
	struct litepcie_vdev *d = driver_of(n);
	u8 data[CONFIG_BYTES];

	if (!known[n].driven || gone)
		return;
	if (pick(2)) {
		d->vdev.config->get(&d->vdev, offset, data, len);
		need(!memcmp(data, known[n].config + offset, len), "other bytes are read");
		return;
	}
	for (unsigned int i = 0; i < len; i++)
		known[n].config[offset + i] = data[i] = (u8)pick(256);
	d->vdev.config->set(&d->vdev, offset, data, len);
}

/* Sequences of random steps ------------------------------------------------------------------- */

static void one_step(void)
{
	static const struct {
		const char *name;
		unsigned int weight;
		void (*call)(void);
	} kinds[] = {
		{ "a buffer", 40, buffer }, { "the card uses buffers", 32, use },
		{ "interrupts", 8, interrupts }, { "the configuration", 6, configure },
		{ "a reset of a queue", 3, reset_queue },
		{ "a device breaks", 4, break_device }, { "a reset of the card", 3, reset_card },
		{ "a sleep", 3, sleep_and_wake }, { "the card vanishes", 1, vanish },
	};
	unsigned int kind = 0, choice = pick(100);

	while (choice >= kinds[kind].weight)
		choice -= kinds[kind++].weight;
	name(kinds[kind].name);
	kinds[kind].call();
	check_all();
}

/*
 * Shut the machine down at the end of a sequence: the devices must stop, unless the card has gone,
 * and no driver of a split queue may wait for a buffer any more.
 */
static void end(void)
{
	for (unsigned int n = 0; n < DEVICES; n++) {
		struct litepcie_vdev *d = driver_of(n);

		if (!known[n].driven)
			continue;
		transport_driver->shutdown(&card.virtio[n].device->adev);
		need(gone || !made[n].status, "a device runs after the shutdown");
		for (unsigned int queue = 0; queue < QUEUES; queue++)
			if (d->vq[queue] && is_waited(n, queue) && !d->packed)
				check_given_back(d->vq[queue], &known[n].ring[queue]);
	}
}

void random_steps(unsigned int number, unsigned int steps)
{
	seed = state = number;
	memset(known, 0, sizeof(known));
	on_leave = on_last_use;
	pdev.msix_enabled = pick(2);
	for (unsigned int n = 0; n < DEVICES; n++)
		forget(n);
	name("the probe");
	litepcie_virtio_find(&card);
	halt();
	add();
	check_all();
	for (step = 0; step < steps; step++)
		one_step();
	name("the shutdown");
	if (pick(2))
		end();
	name("the unbind");
	del();
	check_all();
}
