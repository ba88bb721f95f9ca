// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests how dma.c of the driver stops a direction, on a card that this file makes up. A direction
 * that still runs may count as stopped only if bus mastering is off: otherwise the driver would
 * free a ring to which the card still writes. A read that the root port has given up returns all
 * ones, and so does each read of a card that has gone. All ones end the driver's wait before its
 * time limit only if the card has gone.
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr).
 */
#include "dma.h"

#include "../../dma/dma.c"

#define CAUSE	3u

char said[256];

static struct pci_dev pdev;
static struct litepcie card;
static struct litepcie_chan channel;
static struct litepcie_status_way status;
static struct litepcie_way way;

/* The made-up DMA direction, which the tests stop. */
static struct {
	/* number of the next reads of the register `enable` that return all ones */
	unsigned int	given_up;
	/*
	 * number of reads of the register `enable` that return 0, which means that the direction is
	 * not idle yet; these reads follow those that return all ones (`given_up`)
	 */
	unsigned int	runs_on;
	bool		gone;		/* true: the card has gone; each read returns all ones */
	/* true: the direction runs: the driver has not written 0 to its register `enable` yet */
	bool		running;
	unsigned int	reads;
	/* number of reads of `enable` before the descriptor table was reset; 0: it was not reset */
	unsigned int	settled;
	bool		is_reset;
} made;
static const char *part;

void need(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "dma: %s: %s\n", part, what);
	exit(1);
}

static bool rests(void)
{
	return !made.given_up && !made.runs_on && !made.running;
}

u32 readl(const u8 *address)
{
	need(address == way.regs + LITEPCIE_DMA_GROUP_ENABLE, "another register is read");
	made.reads++;
	if (made.gone)
		return ~0u;
	if (made.given_up) {
		made.given_up--;
		return ~0u;
	}
	if (made.runs_on) {
		made.runs_on--;
		return 0;
	}
	return made.running ? LITEPCIE_DMA_ENABLE_RUN : LITEPCIE_DMA_ENABLE_IDLE;
}

void writel(u32 value, u8 *address)
{
	switch (address - way.regs) {
	case LITEPCIE_DMA_GROUP_ENABLE:
		made.running = value;
		break;
	case LITEPCIE_DMA_GROUP_TABLE_RESET:
		need(rests() && !made.gone, "the table is emptied while the direction runs");
		made.is_reset = true;
		made.settled = made.reads;
		break;
	default:
		need(address - way.regs == LITEPCIE_DMA_GROUP_TABLE_LOOP_PROG_N && !value,
		     "another register is written");
	}
}

/* Stand-ins for the driver's other files ------------------------------------------------------ */

bool litepcie_is_gone(const struct litepcie *ours) { return ours->lost; }

bool litepcie_check_lost(struct litepcie *ours)
{
	ours->lost = made.gone;
	return ours->lost;
}

struct litepcie *litepcie_of(struct litepcie_way *ours) { return ours->chan->card; }
struct device *litepcie_dev(struct litepcie_way *ours) { return &ours->chan->dev; }
void litepcie_dma_ask(struct litepcie_way *ours) { (void)ours; }
void litepcie_dma_news(struct litepcie_way *ours) { (void)ours; }
int litepcie_owner_ring(struct litepcie_way *ours) { return ours->ring ? 0 : -ENOMEM; }
void litepcie_owner_set(struct litepcie_way *ours, struct litepcie_file *file)
{
	ours->owner = file;
}
void litepcie_owner_forget(struct litepcie_way *ours, bool live) { (void)ours, (void)live; }
void litepcie_owner_drop_orphan(struct litepcie_way *ours) { (void)ours; }
void litepcie_notices_start(struct litepcie_way *ours, u32 us) { (void)ours, (void)us; }
void litepcie_notices_stop(struct litepcie_way *ours, bool live) { (void)ours, (void)live; }
void litepcie_notices_off(struct litepcie_way *ours) { (void)ours; }
void litepcie_timer_init(struct litepcie_way *ours) { (void)ours; }
void litepcie_timer_start(struct litepcie_way *ours) { (void)ours; }
void litepcie_timer_stop(struct litepcie_way *ours) { (void)ours; }

dma_addr_t litepcie_ring_dma(const struct litepcie_ring *ring, u32 buffer)
{
	return (dma_addr_t)buffer * ring->geometry.size;
}

/* Tests of the stop of a direction ------------------------------------------------------------ */

static void test_a_direction_that_runs_on_is_waited_for(void)
{
	made.runs_on = 1000;
	need(!litepcie_dma_halt(&way) && made.is_reset, "the direction does not stop");
	need(pdev.master && !card.unquiet, "bus mastering is off");
}

static void test_a_read_that_was_given_up_says_nothing(void)
{
	for (unsigned int n = 1; n < 20; n++) {
		made.given_up = n;
		made.runs_on = 5;
		made.running = true;
		made.is_reset = false;
		need(!litepcie_dma_halt(&way), "all ones are taken for a card that has gone");
		need(rests() && made.is_reset, "all ones are taken for a direction at rest");
	}
}

static void test_reads_that_are_given_up_for_ever_cost_bus_mastering(void)
{
	made.given_up = ~0u;
	need(litepcie_dma_halt(&way) == -EIO, "all ones are taken for a direction at rest");
	need(!pdev.master && card.unquiet == BIT(CAUSE), "the card may write on");
	need(!made.is_reset, "the table is emptied");
}

static void test_a_card_that_has_gone_is_not_waited_for(void)
{
	made.gone = true;
	need(litepcie_dma_halt(&way) == -ENODEV && card.lost, "a card that has gone");
	need(made.reads == 1, "a card that has gone is waited for");
	need(pdev.master && !card.unquiet, "bus mastering is switched off for a card that is gone");
}

/*
 * A stop that fails switches bus mastering off. Bus mastering must be on again only when each part
 * of the card whose stop has failed has been stopped.
 */
static void test_bus_mastering_comes_back_with_the_last_part(void)
{
	made.runs_on = ~0u;
	need(litepcie_dma_halt(&way) == -EIO && !pdev.master, "a direction that does not stop");
	litepcie_master_off(&card, CAUSE + 1);
	made.runs_on = 0;
	need(!litepcie_dma_halt(&way) && !pdev.master, "another part has not stopped");
	litepcie_master_on(&card, CAUSE + 1);
	need(pdev.master && !card.unquiet, "bus mastering stays off");
}

static void test_reads_under_way_are_waited_for(void)
{
	way.in_flight = 4096;
	need(!litepcie_dma_halt(&way), "the direction does not stop");
	need(made.settled > LITEPCIE_SETTLE_READS,
	     "completions may come after the direction has stopped");
}

static void test_a_run_that_does_not_end_counts_as_stopped(void)
{
	way.run = LITEPCIE_RUN_HELD;
	way.mutex = true;
	way.watchdog.pending = true;
	made.given_up = ~0u;
	need(litepcie_dma_stop(&way) == -EIO && !pdev.master, "the card may write on");
	need(!way.run && !way.watchdog.pending && way.generation == 1, "the run goes on");
}

static void run(const char *name, void (*test)(void))
{
	part = name;
	made = (typeof(made)){ .running = true };
	pdev = (struct pci_dev){ .master = true };
	card = (struct litepcie){ .pdev = &pdev };
	channel = (struct litepcie_chan){ .card = &card };
	way = (struct litepcie_way){
		.chan = &channel, .cause = CAUSE, .regs = (u8 *)0x1000, .status = &status,
	};
	test();
}

#define RUN(_test)	run(#_test, _test)

int main(void)
{
	RUN(test_a_direction_that_runs_on_is_waited_for);
	RUN(test_a_read_that_was_given_up_says_nothing);
	RUN(test_reads_that_are_given_up_for_ever_cost_bus_mastering);
	RUN(test_a_card_that_has_gone_is_not_waited_for);
	RUN(test_bus_mastering_comes_back_with_the_last_part);
	RUN(test_reads_under_way_are_waited_for);
	RUN(test_a_run_that_does_not_end_counts_as_stopped);
	puts("dma: ok");
	return 0;
}
