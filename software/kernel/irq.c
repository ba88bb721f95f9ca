// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Handles the card's interrupts.  An interrupt cause is a bit for one source, such as a direction.
 * With MSI-X each cause has a message of its own.  With MSI one message stands for all causes, and
 * a register tells which causes are set.
 *
 * With MSI the handler clears a cause before it reads the count from the card's register, so
 * progress after that raises another message.  In a run in which the card writes the count to host
 * memory, the handler reads no count from a register.  The handler's load of the count may then
 * happen before the posted write has cleared the cause.  If the card makes progress between the
 * load and the clearing, the card raises a message, but the cause is not set any more when that
 * message is handled.  Other causes may be set by then.  For this reason the handler of an MSI
 * checks all counts in host memory whose causes are enabled, whatever causes are set.  The queues
 * of virtio devices and the position of a capture are in host memory, too, and are checked as well.
 */

#include <linux/interrupt.h>

#include "capture/capture.h"
#include "virtio/interrupt.h"

static bool is_captures(const struct litepcie *card, u32 cause)
{
	return card->capture && card->capture->cause == cause;
}

/*
 * Check the counts that the card writes to host memory for the interrupt causes @others, which are
 * enabled but not set.  The handler of an earlier message may have cleared one of them, but loaded
 * the count before the card's write of the count had arrived.
 *
 * The function is not inlined, so that the handler, which often does not call it, is shorter.
 */
static noinline void poll_memory(struct litepcie *card, u32 others)
{
	struct litepcie_way *way;

	for (unsigned int n = 0; (way = litepcie_nth_way(card, n)); n++)
		if (READ_ONCE(way->reports) && others & BIT(way->cause) &&
		    litepcie_dma_progress(way))
			litepcie_dma_news(way);
	if (card->capture && others & BIT(card->capture->cause))
		litepcie_capture_interrupt(card);
}

/*
 * Signal the eventfd of the user's logic, once the clearing of its cause has arrived at the card.
 * If the logic raises its interrupt again before that, the cause is cleared for that interrupt,
 * too, and this signal serves both.  A later interrupt sets the cause again.
 */
static void settled_user_interrupt(struct litepcie *card)
{
	litepcie_cause_settle(card);
	litepcie_user_interrupt(card);
}

/*
 * Handle an interrupt of the direction.  In adaptive mode a timer asks the card for further
 * progress, so litepcie_timer_interrupt() first disables the direction's cause.
 */
static void handle_way(struct litepcie_way *way)
{
	if (READ_ONCE(way->mode) == LITEPCIE_MODE_ADAPTIVE)
		litepcie_timer_interrupt(way);
	litepcie_dma_interrupt(way);
}

static irqreturn_t litepcie_interrupt(int irq, void *data)
{
	struct litepcie *card = data;
	u32 causes, enabled, others, virtio;

	/*
	 * The registers of a card that is not live, since it is being reset, sleeps or has gone,
	 * may read as all ones, so no register is read.
	 */
	if (READ_ONCE(card->state) != LITEPCIE_LIVE)
		return IRQ_HANDLED;
	causes = readl(card->irq_vector);
	if (causes == ~0u && litepcie_check_lost(card))
		return IRQ_HANDLED;
	enabled = READ_ONCE(card->irq_enabled);
	causes &= enabled;
	if (causes)
		writel(causes, card->irq_clear);
	/* All queues that are in use are looked at, since they are in host memory. */
	virtio = (causes & card->virtio_causes) | (enabled & card->virtio_queues);
	litepcie_virtio_interrupt(card, irq, virtio);
	enabled &= ~card->virtio_causes;
	causes &= enabled;
	others = enabled & ~causes;
	if (others)
		poll_memory(card, others);
	while (causes) {
		unsigned int cause = __ffs(causes);

		causes &= causes - 1;
		if (card->cause[cause])
			handle_way(card->cause[cause]);
		else if (cause == card->user.cause)
			settled_user_interrupt(card);
		else if (is_captures(card, cause))
			litepcie_capture_interrupt(card);
	}
	/* IRQ_NONE is never returned: an earlier handler may have cleared this message's cause. */
	return IRQ_HANDLED;
}

static irqreturn_t litepcie_way_interrupt(int irq, void *data)
{
	struct litepcie_way *way = data;

	if (READ_ONCE(litepcie_of(way)->state) == LITEPCIE_LIVE)
		handle_way(way);
	return IRQ_HANDLED;
}

static irqreturn_t litepcie_user_message(int irq, void *data)
{
	struct litepcie *card = data;

	if (READ_ONCE(card->state) == LITEPCIE_LIVE)
		litepcie_user_interrupt(card);
	return IRQ_HANDLED;
}

static irqreturn_t litepcie_capture_message(int irq, void *data)
{
	struct litepcie *card = data;

	if (READ_ONCE(card->state) == LITEPCIE_LIVE)
		litepcie_capture_interrupt(card);
	return IRQ_HANDLED;
}

/* Disable all causes.  When this function returns, no interrupt handler of the card runs. */
void litepcie_irq_silence(struct litepcie *card)
{
	unsigned long flags;

	spin_lock_irqsave(&card->irq_lock, flags);
	WRITE_ONCE(card->irq_enabled, 0);
	writel(0, card->irq_enable);
	spin_unlock_irqrestore(&card->irq_lock, flags);
	for (unsigned int n = 0; n < card->messages; n++)
		synchronize_irq(pci_irq_vector(card->pdev, n));
}

static int find_registers(struct litepcie *card)
{
	const struct litepcie_block *block =
		litepcie_block_find(card, LITEPCIE_BLOCK_INTERRUPTS, 0);
	u32 delivery = block ? litepcie_parameter(block, LITEPCIE_INTERRUPTS_DELIVERY) : 0;
	void __iomem *base;

	if (!block || !litepcie_block_is_known(block, LITEPCIE_INTERRUPTS_VECTOR) ||
	    block->size < sizeof(u32))
		return -EINVAL;
	for (unsigned int n = LITEPCIE_INTERRUPTS_ENABLE; n <= LITEPCIE_INTERRUPTS_VECTOR; n++)
		if (litepcie_parameter(block, n) > block->size - sizeof(u32))
			return -EINVAL;
	card->msix = delivery & LITEPCIE_DELIVERY_MSIX;
	base = card->bar0 + block->offset;
	card->irq_enable = base + litepcie_parameter(block, LITEPCIE_INTERRUPTS_ENABLE);
	card->irq_clear = base + litepcie_parameter(block, LITEPCIE_INTERRUPTS_CLEAR);
	card->irq_vector = base + litepcie_parameter(block, LITEPCIE_INTERRUPTS_VECTOR);
	return 0;
}

/* Returns how many MSI-X vectors are needed: one for each cause up to the highest one in use. */
static int count_vectors(struct litepcie *card)
{
	struct litepcie_way *way;
	unsigned int vectors = 1;

	for (unsigned int n = 0; (way = litepcie_nth_way(card, n)); n++)
		vectors = max(vectors, way->cause + 1);
	if (card->user.cause < LITEPCIE_CAUSES_MAX)
		vectors = max(vectors, card->user.cause + 1);
	if (card->capture)
		vectors = max(vectors, card->capture->cause + 1);
	return max_t(unsigned int, vectors, fls(card->virtio_causes));
}

/*
 * Free the interrupts that request_messages() has requested, and give the card's vectors back to
 * the kernel.  With MSI the one vector was requested for the card.  With MSI-X, vector n was
 * requested for the direction with cause n, or for the card if cause n is that of the user's logic
 * or of the capture.  virtio.c requests and frees the vectors of virtio devices.
 */
static void free_messages(struct litepcie *card)
{
	for (unsigned int n = 0; n < card->messages; n++)
		if (!card->pdev->msix_enabled)
			free_irq(pci_irq_vector(card->pdev, n), card);
		else if (card->cause[n])
			free_irq(pci_irq_vector(card->pdev, n), card->cause[n]);
		else if (n == card->user.cause || is_captures(card, n))
			free_irq(pci_irq_vector(card->pdev, n), card);
	card->messages = 0;
	pci_free_irq_vectors(card->pdev);
}

/*
 * Request the first @count vectors for the handlers of their causes, or none if one request fails.
 * With MSI-X the vectors of virtio devices are left to litepcie_virtio_listen().  The names of the
 * interrupts in /proc/interrupts tell cards apart.
 */
static int request_messages(struct litepcie *card, unsigned int count)
{
	struct pci_dev *pdev = card->pdev;
	int err = 0;

	for (unsigned int n = 0; !err && n < count; n++) {
		struct litepcie_way *way = card->cause[n];
		int irq = pci_irq_vector(pdev, n);

		if (!pdev->msix_enabled)
			err = request_irq(irq, litepcie_interrupt, 0, dev_name(&card->chan[0]->dev),
					  card);
		else if (way)
			err = request_irq(irq, litepcie_way_interrupt, 0, way->irq_name, way);
		else if (n == card->user.cause)
			err = request_irq(irq, litepcie_user_message, 0, card->user.irq_name, card);
		else if (is_captures(card, n))
			err = request_irq(irq, litepcie_capture_message, 0,
					  card->capture->irq_name, card);
		if (!err)
			card->messages = n + 1;
	}
	if (err)
		free_messages(card);
	return err;
}

/*
 * Disable all causes and request the card's interrupts: MSI-X vectors up to that of the highest
 * cause in use, if gateware and kernel offer that many, and otherwise one MSI for all causes.
 * Returns -errno if the card has no usable interrupt or litepcie_user_init() fails.  The reason is
 * then in the log, and nothing stays requested.
 */
int litepcie_irq_init(struct litepcie *card)
{
	struct pci_dev *pdev = card->pdev;
	int count, wanted, err = find_registers(card);

	if (err)
		return dev_err_probe(&pdev->dev, err,
				     "the capability table has no usable interrupt block\n");
	err = litepcie_user_init(card);
	if (err)
		return dev_err_probe(&pdev->dev, err,
				     "the interrupt of the capability table's user block is not free\n");
	writel(0, card->irq_enable);
	count = -ENODEV;
	wanted = count_vectors(card);
	if (card->msix) {
		count = pci_alloc_irq_vectors(pdev, wanted, wanted, PCI_IRQ_MSIX);
		if (count < 0)
			dev_info(&pdev->dev, "MSI-X offers fewer than the %d vectors that the causes need (%d): all share one MSI\n",
				 wanted, count);
	}
	if (count < 0)
		count = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI);
	if (count < 0)
		return dev_err_probe(&pdev->dev, count,
				     "the kernel gives this card no MSI: is pci=nomsi set?\n");
	err = request_messages(card, count);
	if (err)
		return dev_err_probe(&pdev->dev, err, "the interrupt cannot be requested\n");
	return 0;
}

void litepcie_irq_exit(struct litepcie *card)
{
	free_messages(card);
}
