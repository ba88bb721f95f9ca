// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Reads and writes the registers of the capture block.
 *
 * Some registers belong to the queue whose number is in the register `select`.  The functions of
 * this file whose names begin with litepcie_queue_ read and write these registers.  Each of these
 * functions first writes its queue's number to `select`, if the card has the block CAPTURE_QUEUES,
 * and holds select_lock until its last access.
 */

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>

#include "capture.h"

#define POLL_US			10
/* the host's clock is compared with the card's so often, and the best comparison is used */
#define CLOCK_LOOKS		8
/*
 * The capture block counts as stuck if it has made no progress for STUCK jiffies and for
 * STUCK_POLLS reads of its status.  The reads are counted because a virtual machine may be paused
 * for longer than STUCK.
 */
#define STUCK			msecs_to_jiffies(40 * LITEPCIE_LONGEST_READ_US / USEC_PER_MSEC)
#define STUCK_POLLS		500

/* Registers that all queues share ----------------------------------------- */

static void __iomem *reg_of(const struct litepcie_capture *capture, unsigned int parameter)
{
	return capture->regs + litepcie_parameter(capture->block, parameter);
}

void litepcie_capture_write(struct litepcie_capture *capture, unsigned int parameter, u32 offset,
			    u32 value)
{
	writel(value, reg_of(capture, parameter) + offset);
}

u32 litepcie_capture_read(struct litepcie_capture *capture, unsigned int parameter, u32 offset)
{
	return readl(reg_of(capture, parameter) + offset);
}

/*
 * Write a 64-bit register.  The register's upper half has the lower address, and the new value
 * takes effect when the lower half is written.
 */
static void put64(void __iomem *reg, u64 value)
{
	writel(upper_32_bits(value), reg);
	writel(lower_32_bits(value), reg + 4);
}

static u64 get64(void __iomem *reg)
{
	u64 upper = readl(reg);

	return upper << 32 | readl(reg + 4);
}

void litepcie_sorter_put(struct litepcie_capture *capture, unsigned int parameter, u32 value)
{
	writel(value, capture->sorter_regs + litepcie_parameter(capture->sorter, parameter));
}

u64 litepcie_sorter_get64(struct litepcie_capture *capture, unsigned int parameter)
{
	return get64(capture->sorter_regs + litepcie_parameter(capture->sorter, parameter));
}

/* Let the card copy the frames of its net device to the capture, or not. */
void litepcie_capture_put_net(struct litepcie_capture *capture, bool on)
{
	u32 control = litepcie_parameter(capture->net, LITEPCIE_CAPTURE_NET_CONTROL);

	writel(on ? LITEPCIE_CAPTURE_NET_BIT_ON : 0, capture->net_regs + control);
}

u32 litepcie_capture_net_lost(struct litepcie_capture *capture)
{
	return readl(capture->net_regs +
		     litepcie_parameter(capture->net, LITEPCIE_CAPTURE_NET_LOST));
}

/*
 * Set the capture's clock, which gives frames their times, to the host's time.  The clock only adds
 * a number to its time, so the time that passes between the read and the write makes no error.  A
 * read of the clock's lower half latches the upper half.  The read is the shortest of some, so that
 * it is known best when the card has answered it.
 */
void litepcie_capture_set_clock(struct litepcie_capture *capture)
{
	void __iomem *offset = reg_of(capture, LITEPCIE_CAPTURE_CLOCK_OFFSET);
	u64 least = U64_MAX, ahead = 0;

	for (unsigned int n = 0; n < CLOCK_LOOKS; n++) {
		u64 before = ktime_get_real_ns();
		u64 card = readl(offset + LITEPCIE_CAPTURE_GROUP_CLOCK_LOW);
		u64 took = ktime_get_real_ns() - before;

		card |= (u64)readl(offset + LITEPCIE_CAPTURE_GROUP_CLOCK_HIGH) << 32;
		if (took < least) {
			least = took;
			ahead = before + took / 2 - card;
		}
	}
	put64(offset, ahead);
}

/* Registers of the selected queue ----------------------------------------- */

/*
 * Take select_lock, and write @queue's number to the register `select`.  Interrupts are off until
 * end(): select_lock is also taken with a queue's wait.lock held, and the interrupt handler takes
 * wait.lock, too.
 */
static unsigned long begin(struct litepcie_capture_queue *queue)
	__acquires(&queue->capture->select_lock)
{
	struct litepcie_capture *capture = queue->capture;
	unsigned long flags;

	spin_lock_irqsave(&capture->select_lock, flags);
	if (capture->sorter)
		litepcie_sorter_put(capture, LITEPCIE_CAPTURE_QUEUES_SELECT, queue->number);
	return flags;
}

static void end(struct litepcie_capture_queue *queue, unsigned long flags)
	__releases(&queue->capture->select_lock)
{
	spin_unlock_irqrestore(&queue->capture->select_lock, flags);
}

void litepcie_queue_put(struct litepcie_capture_queue *queue, unsigned int parameter, u32 offset,
			u32 value)
{
	unsigned long flags = begin(queue);

	litepcie_capture_write(queue->capture, parameter, offset, value);
	end(queue, flags);
}

void litepcie_queue_put64(struct litepcie_capture_queue *queue, unsigned int parameter, u64 value)
{
	unsigned long flags = begin(queue);

	put64(reg_of(queue->capture, parameter), value);
	end(queue, flags);
}

u64 litepcie_queue_get64(struct litepcie_capture_queue *queue, unsigned int parameter, u32 offset)
{
	unsigned long flags = begin(queue);
	u64 value = get64(reg_of(queue->capture, parameter) + offset);

	end(queue, flags);
	return value;
}

/* Let the queue use @bytes of the card's staging memory at once, on a card with quotas. */
void litepcie_queue_put_staging(struct litepcie_capture_queue *queue, u32 bytes)
{
	unsigned long flags = begin(queue);

	litepcie_sorter_put(queue->capture, LITEPCIE_CAPTURE_QUEUES_QUOTA,
			    bytes / LITEPCIE_CAPTURE_CELL);
	end(queue, flags);
}

/* Give segment @number of the queue's ring the bus address @address. */
void litepcie_queue_put_segment(struct litepcie_capture_queue *queue, unsigned int number,
				dma_addr_t address)
{
	void __iomem *reg = reg_of(queue->capture, LITEPCIE_CAPTURE_SEGMENT_BASE);
	unsigned long flags = begin(queue);

	put64(reg, address);
	writel(number, reg + LITEPCIE_CAPTURE_GROUP_SEGMENT_INDEX);
	end(queue, flags);
}

/*
 * Read count @number of the queue (frames and bytes) from the card's last snapshot of all counts.
 */
void litepcie_queue_get_account(struct litepcie_capture_queue *queue, u32 number,
				struct litepcie_capture_account *account)
{
	void __iomem *reg = reg_of(queue->capture, LITEPCIE_CAPTURE_ACCOUNT_CONTROL);
	unsigned long flags;

	lockdep_assert_held(&queue->capture->mutex);

	flags = begin(queue);
	writel(number, reg);
	account->frames = get64(reg + LITEPCIE_CAPTURE_GROUP_ACCOUNT_FRAMES);
	account->bytes = get64(reg + LITEPCIE_CAPTURE_GROUP_ACCOUNT_BYTES);
	end(queue, flags);
}

/* Waits for the state of the capture block -------------------------------- */

u32 litepcie_capture_status(struct litepcie_capture *capture)
{
	return litepcie_capture_read(capture, LITEPCIE_CAPTURE_STATUS, 0);
}

/* Begin a wait for the capture block, or begin it again because the block has made progress. */
void litepcie_be_patient(struct litepcie_patience *patience)
{
	*patience = (struct litepcie_patience){ .since = jiffies };
}

/*
 * Call this after each read of the block's status that shows no progress.  Returns true once the
 * wait has lasted STUCK jiffies and STUCK_POLLS such reads.
 */
bool litepcie_is_stuck(struct litepcie_patience *patience)
{
	return ++patience->polls > STUCK_POLLS && time_after(jiffies, patience->since + STUCK);
}

/*
 * Wait until the bits @mask of the capture block's status are @value.  Returns 0, -ENODEV if the
 * card is lost, or -EIO if the bits still differ when litepcie_is_stuck() ends the wait.
 */
int litepcie_capture_await(struct litepcie_capture *capture, u32 mask, u32 value)
{
	struct litepcie_patience patience;
	u32 status;

	litepcie_be_patient(&patience);
	do {
		status = litepcie_capture_status(capture);
		if (status == ~0u && litepcie_check_lost(capture->card))
			return -ENODEV;
		if (status != ~0u && (status & mask) == value)
			return 0;
		usleep_range(POLL_US, 2 * POLL_US);
	} while (!litepcie_is_stuck(&patience));
	return -EIO;
}

/* Entries of the capability table ----------------------------------------- */

/* Returns true if @bytes from the register of @parameter on are inside @block. */
static bool holds(const struct litepcie_block *block, unsigned int parameter, u32 bytes)
{
	u32 offset = litepcie_parameter(block, parameter);

	return !(offset % 4) && bytes <= block->size && offset <= block->size - bytes;
}

/*
 * Returns true if the driver can use the capture block: its version is 1, and it has an interrupt
 * cause, room for the address of one segment or more, and all registers that the driver uses,
 * within its own address range in BAR0.
 */
bool litepcie_capture_is_usable(const struct litepcie_block *block)
{
	static const struct {
		unsigned int first;
		u32 bytes;
	} groups[] = {
		{ LITEPCIE_CAPTURE_CONTROL, LITEPCIE_CAPTURE_GROUP_LAST_SEGMENT + 4 },
		{ LITEPCIE_CAPTURE_LIMIT, 8 },
		{ LITEPCIE_CAPTURE_SEGMENT_BASE, LITEPCIE_CAPTURE_GROUP_SEGMENT_INDEX + 4 },
		{ LITEPCIE_CAPTURE_STATUS_BASE, 8 },
		{ LITEPCIE_CAPTURE_ACCOUNT_CONTROL, LITEPCIE_CAPTURE_GROUP_ACCOUNT_BYTES + 8 },
		{ LITEPCIE_CAPTURE_GENERATOR_CONTROL, LITEPCIE_CAPTURE_GROUP_GENERATOR_MADE + 4 },
		{ LITEPCIE_CAPTURE_STATUS, LITEPCIE_CAPTURE_GROUP_POSITION + 8 },
		{ LITEPCIE_CAPTURE_WAKE, 8 },
	};

	for (size_t n = 0; n < ARRAY_SIZE(groups); n++)
		if (!holds(block, groups[n].first, groups[n].bytes))
			return false;
	return litepcie_block_is_known(block, LITEPCIE_CAPTURE_CAUSE) &&
	       litepcie_parameter(block, LITEPCIE_CAPTURE_CAUSE) < LITEPCIE_CAUSES_MAX &&
	       litepcie_parameter(block, LITEPCIE_CAPTURE_SEGMENTS);
}

/*
 * Returns the capability entry of the block CAPTURE_QUEUES, which has the registers for several
 * queues.  Returns NULL if the card has no such block that the driver can use.  The driver then
 * uses queue 0 only.
 */
const struct litepcie_block *litepcie_capture_find_sorter(struct litepcie *card)
{
	const struct litepcie_block *block =
		litepcie_block_find(card, LITEPCIE_BLOCK_CAPTURE_QUEUES, 0);
	u32 queues;

	if (!block || !litepcie_block_is_known(block, LITEPCIE_CAPTURE_QUEUES_ENTRIES))
		return NULL;
	for (unsigned int n = 0; n <= LITEPCIE_CAPTURE_QUEUES_DISCARD_BYTES; n++)
		if (!holds(block, n, n < LITEPCIE_CAPTURE_QUEUES_DISCARD_FRAMES ? 4 : 8))
			return NULL;
	queues = litepcie_parameter(block, LITEPCIE_CAPTURE_QUEUES_QUEUES);
	if (!queues || queues > LITEPCIE_CAPTURE_QUEUES ||
	    litepcie_parameter(block, LITEPCIE_CAPTURE_QUEUES_RULES) !=
		    LITEPCIE_CAPTURE_RULES ||
	    litepcie_parameter(block, LITEPCIE_CAPTURE_QUEUES_ENTRIES) !=
		    LITEPCIE_CAPTURE_SPREAD)
		return NULL;
	return block;
}

/* True if the block's clock can be set.  Older gateware has no registers for that. */
bool litepcie_capture_has_clock(const struct litepcie_block *block)
{
	return litepcie_block_is_known(block, LITEPCIE_CAPTURE_CLOCK_OFFSET) &&
	       litepcie_parameter(block, LITEPCIE_CAPTURE_CLOCK_OFFSET) &&
	       holds(block, LITEPCIE_CAPTURE_CLOCK_OFFSET,
		     LITEPCIE_CAPTURE_GROUP_CLOCK_HIGH + 4);
}

/*
 * True if @sorter, the entry that litepcie_capture_find_sorter() has returned, has a register of
 * quotas: the part of the staging memory that a queue may use.  Older gateware has none.
 */
bool litepcie_capture_has_quotas(const struct litepcie_block *sorter)
{
	return sorter && litepcie_block_is_known(sorter, LITEPCIE_CAPTURE_QUEUES_QUOTA) &&
	       litepcie_parameter(sorter, LITEPCIE_CAPTURE_QUEUES_QUOTA) &&
	       holds(sorter, LITEPCIE_CAPTURE_QUEUES_QUOTA, 4);
}

/*
 * Returns the capability entry of the block CAPTURE_NET, by which the frames of the card's net
 * device are captured.  Returns NULL if the card has no such block that the driver can use.
 */
const struct litepcie_block *litepcie_capture_find_net(struct litepcie *card)
{
	const struct litepcie_block *block =
		litepcie_block_find(card, LITEPCIE_BLOCK_CAPTURE_NET, 0);

	if (!block || !litepcie_block_is_known(block, LITEPCIE_CAPTURE_NET_LOST) ||
	    !holds(block, LITEPCIE_CAPTURE_NET_CONTROL, 4) ||
	    !holds(block, LITEPCIE_CAPTURE_NET_LOST, 4))
		return NULL;
	return block;
}
