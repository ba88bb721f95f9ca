// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Includes those files of the driver that implement the capture's device node, and has stand-ins
 * for the kernel, for litepcie_enter() and for the driver's rings. node_card.c has the made-up card
 * and the stand-ins for the driver's other files.
 */
#include "node_card.h"

char said[256];
unsigned long jiffies;
static struct task task = { "node" };
struct task *const current = &task;
void (*asleep)(void);
unsigned int allocated, pinned, mapped;
size_t contiguous;
struct eventfd_ctx events[2];
int entry_error;
static bool held[RANKS];

/* Stand-ins for the kernel's locks ------------------------------------------------------------ */

void lock_take(struct lock *lock)
{
	for (int rank = lock->rank; rank < RANKS; rank++)
		need(!held[rank], "a lock is taken within itself, or within one of a later rank");
	held[lock->rank] = true;
}

void lock_leave(struct lock *lock)
{
	need(held[lock->rank], "a lock is left that is not held");
	held[lock->rank] = false;
}

bool lock_held(int rank)
{
	return held[rank];
}

void must_be_held(int rank, const char *name)
{
	need(held[rank], name);
}

static struct lock live = { RANK_LIVE };

int litepcie_enter(struct litepcie *ours)
{
	lock_take(&live);
	if (!entry_error && !ours->lost)
		return 0;
	lock_leave(&live);
	return ours->lost ? -ENODEV : entry_error;
}

void litepcie_exit(struct litepcie *ours)
{
	(void)ours;
	lock_leave(&live);
	if (!made.slow)
		deliver();
}

/* Stand-ins for the kernel's waits and memory ------------------------------------------------- */

void sleep_on(wait_queue_head_t *wait)
{
	unsigned int woken = wait->woken;

	for (int rank = 0; rank < RANKS; rank++)
		need(!held[rank], "the driver sleeps with a lock held");
	need(asleep, "the driver sleeps for ever");
	asleep();
	need(wait->woken != woken, "what a thread sleeps for happens, but wakes nobody");
}

void poll_wait(void *filp, wait_queue_head_t *wait, struct poll_table_struct *table)
{
	(void)filp;
	if (table)
		table->wait[table->count++] = wait;
}

u64 ktime_get_real_ns(void)
{
	return real_ns;
}

void usleep_range(unsigned int from, unsigned int to)
{
	(void)from, (void)to;
	need(!held[RANK_WAIT] && !held[RANK_SELECT], "the driver sleeps with a spinlock held");
	jiffies++;
	end_of_late_lines();
}

void schedule_delayed_work(struct delayed_work *work, unsigned long delay)
{
	(void)delay;
	work->pending = true;
}

void cancel_delayed_work_sync(struct delayed_work *work)
{
	work->pending = false;
}

void litepcie_eventfd_signal(struct eventfd_ctx *event)
{
	need(event->references, "an eventfd is signalled that the driver has no reference to");
	event->signals++;
}

struct eventfd_ctx *eventfd_ctx_fdget(int fd)
{
	if (fd >= (int)ARRAY_SIZE(events))
		return ERR_PTR(-EBADF);
	events[fd].references++;
	return &events[fd];
}

void eventfd_ctx_put(struct eventfd_ctx *event)
{
	need(event->references--, "the reference to an eventfd is put twice");
}

void *memory_take(size_t bytes)
{
	allocated++;
	return calloc(1, bytes);
}

void *memory_page(void)
{
	allocated++;
	return memset(aligned_alloc(PAGE_SIZE, PAGE_SIZE), 0, PAGE_SIZE);
}

void memory_give(const void *pointer)
{
	allocated -= pointer != NULL;
	free((void *)pointer);
}

unsigned long copy_from_user(void *to, const void *from, unsigned long bytes)
{
	need(!held[RANK_LIVE] && !held[RANK_MUTEX], "user memory is read with a lock held");
	if (from)
		memcpy(to, from, bytes);
	return from ? 0 : bytes;
}

unsigned long copy_to_user(void *to, const void *from, unsigned long bytes)
{
	return copy_from_user(to, from, bytes);
}

size_t copy_to_iter(const void *from, size_t bytes, struct iov_iter *to)
{
	need(!held[RANK_LIVE] && !held[RANK_MUTEX], "user memory is written with a lock held");
	bytes = min(bytes, to->left);
	memcpy(to->to, from, bytes);
	to->to += bytes;
	to->left -= bytes;
	return bytes;
}

void *memchr_inv(const void *start, int byte, size_t bytes)
{
	for (size_t n = 0; n < bytes; n++)
		if (((const u8 *)start)[n] != byte)
			return (u8 *)start + n;
	return NULL;
}

/* Stand-ins for rings in memory --------------------------------------------------------------- */

void *litepcie_memory_pin(unsigned long address, size_t bytes)
{
	(void)bytes;
	need(!held[RANK_LIVE] && !held[RANK_MUTEX], "memory is pinned with a lock held");
	pinned++;
	return (void *)address;
}

void litepcie_memory_unpin(void *memory)
{
	(void)memory;
	pinned--;
}

struct litepcie_ring *litepcie_ring_wrap(struct device *dev, int direction,
					 const struct litepcie_geometry *shape, void *memory)
{
	struct litepcie_ring *made_ring = calloc(1, sizeof(*made_ring));

	need(direction == DMA_FROM_DEVICE, "a ring is mapped in the wrong direction");
	made_ring->dev = dev;
	made_ring->memory = memory;
	made_ring->bytes = (size_t)shape->size * shape->count;
	made_ring->chunk_bytes = max(shape->size, contiguous);
	made_ring->chunk_bytes = max(made_ring->chunk_bytes,
				     made_ring->bytes / ARRAY_SIZE(made_ring->chunk));
	made_ring->chunks = made_ring->bytes / made_ring->chunk_bytes;
	for (unsigned int n = 0; n < made_ring->chunks; n++)
		made_ring->chunk[n].dma = (uintptr_t)memory + n * made_ring->chunk_bytes;
	mapped++;
	return made_ring;
}

struct litepcie_ring *litepcie_ring_alloc(struct device *dev, int direction,
					  const struct litepcie_geometry *shape,
					  struct litepcie_allowance *allowance)
{
	size_t bytes = (size_t)shape->size * shape->count;

	need(allowance, "a ring of read() is charged");
	pinned++;
	return litepcie_ring_wrap(dev, direction, shape,
				  memset(aligned_alloc(PAGE_SIZE, bytes), 0, bytes));
}

/*
 * Stands for the driver's litepcie_ring_put() at the last reference. The memory in which the ring
 * lies is not freed.
 */
void litepcie_ring_put(struct litepcie_ring *ours)
{
	if (!ours)
		return;
	need(!ours->dev, "a ring that is mapped for the card is freed");
	pinned--;
	free(ours);
}

void litepcie_ring_unmap(struct litepcie_ring *ours)
{
	need(!may_write_to((uintptr_t)ours->memory) || made.master_off || card.lost,
	     "a ring is unmapped while the card may write to it");
	mapped -= ours->dev != NULL;
	ours->dev = NULL;
}

size_t litepcie_ring_bytes(const struct litepcie_ring *ours)
{
	return ours->bytes;
}

size_t litepcie_chunk_bytes(const struct litepcie_ring *ours)
{
	return ours->chunk_bytes;
}

struct page *litepcie_ring_page(const struct litepcie_ring *ours, size_t offset)
{
	return (struct page *)((u8 *)ours->memory + offset / PAGE_SIZE * PAGE_SIZE);
}

/* The driver's files, which are tested here --------------------------------------------------- */

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#define begin	select_queue
#include "../../capture/capture_registers.c"
#undef begin
#include "../../capture/capture_news.c"
#define put	put_control
#include "../../capture/capture.c"
#include "../../capture/capture_sort.c"
#include "../../capture/capture_owner.c"
#include "../../capture/capture_read.c"
#include "../../capture/capture_calls.c"
#include "../../capture/capture_node.c"

/* Open files of the capture node -------------------------------------------------------------- */

struct file *node_open(void)
{
	struct inode inode = { &card.capture->cdev };
	struct file *filp = calloc(1, sizeof(*filp));

	need(!capture_fops.open(&inode, filp), "open() fails");
	return filp;
}

long node_call(struct file *filp, unsigned int number, void *argument)
{
	long rc = capture_fops.unlocked_ioctl(filp, number, (unsigned long)argument);

	for (int rank = 0; rank < RANKS; rank++)
		need(!held[rank], "a call leaves a lock held");
	return rc;
}

ssize_t node_read(struct file *filp, void *to, size_t bytes, bool wait)
{
	struct kiocb iocb = { filp, wait ? 0 : IOCB_NOWAIT };
	struct iov_iter iter = { to, bytes };

	return capture_fops.read_iter(&iocb, &iter);
}

__poll_t node_poll(struct file *filp, struct poll_table_struct *table)
{
	return capture_fops.poll(filp, table);
}

int node_mmap(struct file *filp, unsigned long flags, unsigned long bytes)
{
	struct vm_area_struct vma = { .vm_end = bytes, .vm_flags = flags | VM_MAYWRITE };
	int err = capture_fops.mmap(filp, &vma);

	need(err || !(vma.vm_flags & VM_MAYWRITE), "the status page can be made writable");
	return err;
}

void node_close(struct file *filp)
{
	capture_fops.release(NULL, filp);
	free(filp);
}
