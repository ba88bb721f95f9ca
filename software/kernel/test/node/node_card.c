// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * The made-up card of the test program node: the registers of the capture block and of its queues.
 * They behave as those of gateware/capture, as far as the driver uses them. The register `select`
 * names the queue whose registers are read and written. The card writes only to rings and status
 * lines whose addresses were written to it.
 */
#include "node_card.h"

#define BLOCK	0x1000u
#define SORTER	0x2000u
#define NET	0x3000u
#define LINE	32	/* bytes of a queue's status line, which the card writes */

static const u32 parameters[] = {
	[LITEPCIE_CAPTURE_CONTROL] = 0, [LITEPCIE_CAPTURE_LIMIT] = 0x20,
	[LITEPCIE_CAPTURE_SEGMENT_BASE] = 0x28, [LITEPCIE_CAPTURE_STATUS_BASE] = 0x38,
	[LITEPCIE_CAPTURE_ACCOUNT_CONTROL] = 0x40, [LITEPCIE_CAPTURE_GENERATOR_CONTROL] = 0x60,
	[LITEPCIE_CAPTURE_SEGMENTS] = SEGMENTS, [LITEPCIE_CAPTURE_STAGING_BYTES] = 1u << 20,
	[LITEPCIE_CAPTURE_STATUS] = 0x80, [LITEPCIE_CAPTURE_WAKE] = 0x90,
	[LITEPCIE_CAPTURE_CAUSE] = CAUSE, [LITEPCIE_CAPTURE_CLOCK_OFFSET] = 0xa0,
};
static const u32 sorter_parameters[] = {
	0, 4, 8, 0xc, 0x10, 0x14, 0x18, 0x20, QUEUES, LITEPCIE_CAPTURE_RULES,
	LITEPCIE_CAPTURE_SPREAD, 0x28,
};
static const u32 net_parameters[] = { 0, 4, LITEPCIE_CAPTURE_PORTS - 2 };
static const struct litepcie_block blocks[] = {
	{ LITEPCIE_BLOCK_CAPTURE, 1, 0, 0, BLOCK, 0x1000, ARRAY_SIZE(parameters), parameters },
	{ LITEPCIE_BLOCK_CAPTURE_QUEUES, 1, 0, 0, SORTER, 0x1000, ARRAY_SIZE(sorter_parameters),
	  sorter_parameters },
	{ LITEPCIE_BLOCK_CAPTURE_NET, 1, 0, 0, NET, 0x1000, ARRAY_SIZE(net_parameters),
	  net_parameters },
	/* the capture block of an older gateware, whose clock cannot be set */
	{ LITEPCIE_BLOCK_CAPTURE, 1, 0, 0, BLOCK, 0x1000, LITEPCIE_CAPTURE_CLOCK_OFFSET,
	  parameters },
	/* the queues of an older gateware, which have equal parts of the staging memory */
	{ LITEPCIE_BLOCK_CAPTURE_QUEUES, 1, 0, 0, SORTER, 0x1000, LITEPCIE_CAPTURE_QUEUES_QUOTA,
	  sorter_parameters },
};
static u8 bar0[0x4000];
static struct pci_dev pdev;

struct made_card made;
struct litepcie card = { .pdev = &pdev, .bar0 = bar0, .target = "test" };
bool outside, no_net, clocked, quotas, allowed;
u64 real_ns;
const char *part;

void need(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "node: %s: %s\n", part, what);
	exit(1);
}

/*
 * Cut the power of the made-up card: all its registers lose their values, and all faults that a
 * test has switched on end.
 */
void power_cut(void)
{
	memset(&made, 0, sizeof(made));
}

/* Status lines of the made-up card ------------------------------------------------------------ */

static void write_line(struct made_queue *queue)
{
	u64 line[LINE / 8] = { queue->position };

	if (!queue->status_base || made.master_off)
		return;
	memcpy((void *)(uintptr_t)queue->status_base, line, LINE);
	queue->told = queue->position;
}

/*
 * Raise the card's interrupt if the position in the queue's last status line is beyond the position
 * in the queue's register `wake`. One write of that register leads to one interrupt at most. The
 * interrupt is lost if its cause is disabled or made.deaf is set. deliver() delivers the interrupt
 * to the driver.
 */
static void call_host(struct made_queue *queue)
{
	if (!queue->armed || queue->told <= queue->wake)
		return;
	queue->armed = false;
	made.raised = made.raised || (made.enabled && !made.deaf);
}

void deliver(void)
{
	if (!made.raised)
		return;
	made.raised = false;
	made.interrupts++;
	litepcie_capture_interrupt(&card);
}

/*
 * Write the status line of each queue whose position has changed since the last one. No line is
 * written for a queue for which the driver has set no address of a line, and none at all while bus
 * mastering is off.
 */
static void write_lines(void)
{
	for (unsigned int n = 0; n < QUEUES; n++) {
		if (made.queue[n].told == made.queue[n].position)
			continue;
		write_line(&made.queue[n]);
		call_host(&made.queue[n]);
	}
}

/*
 * Let time pass on the card. The card ends the MBUFs (equal parts of rings) that the driver has
 * asked it to seal. made.late, the time until late status lines come, is then counted down by 1
 * unless it is 0. When made.late becomes 0, the card writes the status lines that are missing.
 */
void end_of_late_lines(void)
{
	for (unsigned int n = 0; n < QUEUES; n++)
		if (made.queue[n].sealing) {
			made.queue[n].sealing = false;
			made.queue[n].position = round_up(made.queue[n].position,
							  1ull << made.mbuf_log2);
			write_line(&made.queue[n]);
			call_host(&made.queue[n]);
		}
	if (made.late && !--made.late)
		write_lines();
}

/* Frames that the made-up card records -------------------------------------------------------- */

static struct made_queue *queue_for(unsigned int port)
{
	need(!(made.sort & LITEPCIE_CAPTURE_QUEUES_BIT_SORT) ||
	     made.sort & LITEPCIE_CAPTURE_QUEUES_BIT_BY_PORT, "frames are sorted by their hash");
	return &made.queue[made.sort ? made.spread[port] : 0];
}

/*
 * Let the card receive a frame from @port, whose record has @bytes bytes. Each byte of the record
 * is @port + 1. The queue's limit is the position up to which the driver lets the card write. If
 * the record's MBUF (equal part of the ring) would end beyond the limit, the frame is lost, unless
 * the flag NEWEST lets the card ignore the limit.
 */
void frame(unsigned int port, u64 bytes)
{
	struct made_queue *queue = queue_for(port);
	u64 segment = 1ull << made.segment_log2;
	u64 ring_bytes = (queue->last_segment + 1) * segment;

	need(made.control & LITEPCIE_CAPTURE_BIT_CONTROL_RUN, "a frame comes, but no run began");
	if (!(made.control & LITEPCIE_CAPTURE_BIT_CONTROL_NEWEST) &&
	    round_up(queue->position + bytes, 1ull << made.mbuf_log2) > queue->limit) {
		made.lost++;
		return;
	}
	for (; bytes; bytes--, queue->position++) {
		u64 offset = queue->position & (ring_bytes - 1);
		u64 base = queue->segment[offset >> made.segment_log2];

		need(base, "the card was not told where a segment of the ring is");
		*(u8 *)(uintptr_t)(base + (offset & (segment - 1))) = (u8)(port + 1);
	}
	if (made.quiet)
		return;
	write_line(queue);
	call_host(queue);
	if (!made.slow)
		deliver();
}

/*
 * Returns true if the card's registers still let it write frames to the ring that begins at address
 * @memory.
 */
bool may_write_to(u64 memory)
{
	bool newest = made.control & LITEPCIE_CAPTURE_BIT_CONTROL_NEWEST;

	if (!(made.control & LITEPCIE_CAPTURE_BIT_CONTROL_RUN))
		return false;
	for (unsigned int n = 0; n < QUEUES; n++)
		if (made.queue[n].segment[0] == memory && (!n || made.sort) &&
		    (newest || made.queue[n].position < made.queue[n].limit))
			return true;
	return false;
}

/* Registers of the made-up card --------------------------------------------------------------- */

static u32 offset_of(const u8 *address)
{
	need(lock_held(RANK_LIVE) || outside, "a register is used outside litepcie_enter()");
	return (u32)(address - bar0);
}

/* Returns the queue that the register `select` names. The driver must hold select_lock. */
static struct made_queue *selected(void)
{
	need(lock_held(RANK_SELECT),
	     "a queue's register is used without the lock of the selection");
	need(made.select < QUEUES, "a queue is selected that the card does not have");
	return &made.queue[made.select];
}

static u32 half(u64 value, u32 place)
{
	return place % 8 ? lower_32_bits(value) : upper_32_bits(value);
}

static u32 status(void)
{
	bool waits = made.blocked && made.control & LITEPCIE_CAPTURE_BIT_CONTROL_LOSSLESS;
	bool idle = !(made.control & LITEPCIE_CAPTURE_BIT_CONTROL_RUN) && !made.stuck && !waits;

	return (idle ? LITEPCIE_CAPTURE_BIT_STATUS_IDLE : 0) |
	       (made.generator[0] ? 0 : LITEPCIE_CAPTURE_BIT_STATUS_GENERATOR_IDLE);
}

/*
 * Read the lower half of the card's clock, which latches its upper half. Only one of a few reads
 * comes to the card in 100 ns. The others take 1100 ns until they have reached it. The way back to
 * the host takes 100 ns.
 */
static u32 read_clock(void)
{
	u64 time;

	if (++made.clock_reads % 6)
		real_ns += 1000;
	real_ns += 100;
	time = real_ns + made.clock_ahead;
	real_ns += 100;
	made.clock_high = upper_32_bits(time);
	return lower_32_bits(time);
}

/*
 * Read the latched upper half of the card's clock. Another process then has the processor for 5 s,
 * in which the lower half overflows.
 */
static u32 read_clock_high(void)
{
	real_ns += 5ull * 1000000000;
	return made.clock_high;
}

static u32 read_block(u32 at)
{
	switch (at) {
	case 0x80:
		if (!made.given_up)
			return status();
		made.given_up--;
		return ~0u;
	case 0x84: case 0x88:
		return half(selected()->position, at - 0x84);
	case 0x44: case 0x48:
		need(made.snapshot, "an account is read that was not copied");
		return half(1000 * (made.select + 1) + made.account, at - 0x44);
	case 0x4c: case 0x50:
		return half(selected()->position, at - 0x4c);
	case 0x78:
		return 7;
	case 0xac:
		return read_clock();
	case 0xb0:
		return read_clock_high();
	}
	need(false, "a register of the block is read that the driver has no use for");
	return 0;
}

static u32 read_sorter(u32 at)
{
	need(at >= 0x18 && at < 0x28, "a register of the sorter is read that tells nothing");
	need(made.snapshot, "an account of discarded frames is read that was not copied");
	return half(at < 0x20 ? made.discard_index : made.discard_index + 100, at);
}

u32 readl(const u8 *address)
{
	u32 at = offset_of(address);

	if (made.gone)
		return ~0u;
	if (at == NET + 4)
		return made.net_lost;
	return at < SORTER ? read_block(at - BLOCK) : read_sorter(at - SORTER);
}

bool capable(int capability)
{
	need(capability == CAP_NET_RAW, "another capability is asked for");
	return allowed;
}

static void write_control(u32 value)
{
	if (value & LITEPCIE_CAPTURE_BIT_CONTROL_SEAL) {
		/*
		 * If the queue's MBUF (equal part of the ring) has no data, the card does not seal
		 * it (end it by a block). The card then writes a status line only if the last line
		 * has an older position.
		 */
		selected()->sealing = selected()->position % (1ull << made.mbuf_log2) ||
				      selected()->position != selected()->told;
		selected()->seals++;
		if (made.behind) {
			u64 bytes = made.behind;

			made.behind = 0;
			end_of_late_lines();
			frame(selected() - made.queue, bytes);
		}
	}
	if (value & LITEPCIE_CAPTURE_BIT_CONTROL_CLEAR)
		for (unsigned int n = 0; n < QUEUES; n++) {
			made.queue[n].position = made.queue[n].limit = made.queue[n].told = 0;
			made.queue[n].armed = false;
		}
	if (made.control & ~value & LITEPCIE_CAPTURE_BIT_CONTROL_RUN && !made.late)
		write_lines();
	made.control = value;
}

static void write_generator(u32 number, u32 value)
{
	need(number || !value || (made.generator[1] && made.generator[1] <= 16383),
	     "the generator starts without a size");
	made.generator[number] = value;
}

static void write_block(u32 at, u32 value)
{
	switch (at) {
	case 0x00: write_control(value); break;
	case 0x04: made.snap = value; break;
	case 0x08: made.wait = value; break;
	case 0x0c: made.mbuf_log2 = value; break;
	case 0x10: made.segment_log2 = value; break;
	case 0x14: selected()->last_segment = value; break;
	case 0x20: case 0x28: case 0x38: case 0x90: case 0xa0: made.upper = value; break;
	case 0x24: selected()->limit = (u64)made.upper << 32 | value; break;
	case 0x2c: made.segment_upper = made.upper; made.rule_data = value; break;
	case 0x30:
		selected()->segment[value] = (u64)made.segment_upper << 32 | made.rule_data;
		break;
	case 0x3c: selected()->status_base = (u64)made.upper << 32 | value; break;
	case 0x40:
		made.snapshot = made.snapshot || value & LITEPCIE_CAPTURE_BIT_ACCOUNT_SNAPSHOT;
		made.account = value & ~LITEPCIE_CAPTURE_BIT_ACCOUNT_SNAPSHOT;
		break;
	case 0x94:
		selected()->wake = (u64)made.upper << 32 | value;
		selected()->armed = true;
		call_host(selected());
		break;
	case 0xa4:
		need(!(made.control & LITEPCIE_CAPTURE_BIT_CONTROL_RUN),
		     "the clock is set while frames are taken");
		made.clock_ahead += (u64)made.upper << 32 | value;
		break;
	default:
		need(at >= 0x60 && at < 0x78, "a register of the block is written that is none");
		write_generator((at - 0x60) / 4, value);
	}
}

static void write_sorter(u32 at, u32 value)
{
	bool rests = !(made.control & LITEPCIE_CAPTURE_BIT_CONTROL_RUN);

	switch (at) {
	case 0x00: made.select = value; break;
	case 0x04:
		need(rests, "the way of frames changes while they are taken");
		made.sort = value;
		break;
	case 0x08: made.rule_data = value; break;
	case 0x0c: made.rule[value] = made.rule_data; break;
	case 0x10:
		need(rests, "the spread changes while frames are taken");
		made.spread[value & 127] =
			(u8)(value >> LITEPCIE_CAPTURE_QUEUES_QUEUE_PLACE);
		break;
	case 0x14: made.discard_index = value; break;
	case 0x28:
		need(quotas, "a register of the sorter is written that the card does not have");
		selected()->quota = value;
		break;
	default: need(false, "a register of the sorter is written that is none");
	}
}

void writel(u32 value, u8 *address)
{
	u32 at = offset_of(address);

	if (made.gone)
		return;
	if (at == NET)
		made.net = value;
	else if (at < SORTER)
		write_block(at - BLOCK, value);
	else
		write_sorter(at - SORTER, value);
}

/* Stand-ins for the driver's other files ------------------------------------------------------ */

u64 litepcie_load_reported(const __le64 *word)
{
	return *word;
}

bool litepcie_block_is_known(const struct litepcie_block *block, unsigned int last)
{
	return !block->bar && block->version == LITEPCIE_CAP_BLOCK_VERSION &&
	       block->parameters > last;
}

u32 litepcie_parameter(const struct litepcie_block *block, unsigned int n)
{
	return n < block->parameters ? block->parameter[n] : 0;
}

const struct litepcie_block *litepcie_block_find(struct litepcie *ours, u16 type,
						 unsigned int index)
{
	(void)ours, (void)index;
	return type == LITEPCIE_BLOCK_CAPTURE ? &blocks[clocked ? 0 : 3] :
	       type == LITEPCIE_BLOCK_CAPTURE_QUEUES ? &blocks[quotas ? 1 : 4] :
	       type == LITEPCIE_BLOCK_CAPTURE_NET && !no_net ? &blocks[2] : NULL;
}

u64 litepcie_cycles(struct litepcie *ours, u32 microseconds)
{
	(void)ours;
	return microseconds * 250;
}

bool litepcie_check_lost(struct litepcie *ours)
{
	if (made.gone && !ours->lost) {
		ours->lost = true;
		litepcie_capture_news(ours->capture);
	}
	return ours->lost;
}

bool litepcie_is_gone(const struct litepcie *ours)
{
	return ours->lost;
}

void litepcie_master_on(struct litepcie *ours, u32 cause)
{
	need(cause == CAUSE, "bus mastering is switched for another part of the card");
	ours->unquiet = 0;
	made.master_off = false;
}

void litepcie_master_off(struct litepcie *ours, u32 cause)
{
	need(cause == CAUSE, "bus mastering is switched for another part of the card");
	ours->unquiet = 1;
	made.master_off = true;
}

void litepcie_cause_enable(struct litepcie *ours, u32 cause, bool enable)
{
	(void)ours;
	need(cause == CAUSE, "another interrupt cause is switched");
	made.enabled = enable;
}

static struct litepcie_allowance allowance;

struct litepcie_allowance *litepcie_allowance_alloc(void) { return &allowance; }
void litepcie_allowance_put(struct litepcie_allowance *ours) { (void)ours; }
void litepcie_card_get(struct litepcie *ours) { (void)ours; }
void litepcie_card_put(struct litepcie *ours) { (void)ours; }
