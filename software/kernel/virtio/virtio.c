// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Offers each virtio device of the card as an auxiliary device, which litepcie_virtio.ko drives.
 * litepcie.ko itself needs no module of virtio.
 *
 * A virtio driver cannot go on with a device that has forgotten its queues.  So the auxiliary
 * devices are removed before a reset of the card and added anew after it.  At a removal before a
 * reset the card as a rule still answers, so the virtio devices are reset, too.
 */

#include <linux/idr.h>
#include <linux/iopoll.h>
#include <linux/irq.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <uapi/linux/virtio_mmio.h>

#include "card.h"
#include "virtio.h"

#define RESET_POLL_US		10
/* longest time of a device's reset in us: the device's reads of host memory must end first */
#define RESET_TIMEOUT_US	(40 * LITEPCIE_LONGEST_READ_US)

/* allocates the numbers N of the auxiliary devices litepcie.virtio.N, for all cards together */
static DEFINE_IDA(numbers);

/* Virtio devices in the capability table ---------------------------------- */

/*
 * Returns the interrupt causes of a virtio device as a mask: one for each queue, and one for
 * changes of its configuration.  Returns 0 if the entry in the capability table is not valid.
 */
static u32 causes_of(const struct litepcie_block *block)
{
	u32 first = litepcie_parameter(block, LITEPCIE_VIRTIO_CAUSE);
	u32 queues = litepcie_parameter(block, LITEPCIE_VIRTIO_QUEUES);

	if (!litepcie_block_is_known(block, LITEPCIE_VIRTIO_CAUSE) ||
	    !IS_ALIGNED(block->offset, sizeof(u32)) || block->size < LITEPCIE_VIRTIO_PAGE ||
	    !queues || queues > LITEPCIE_VIRTIO_QUEUES_MAX ||
	    first >= LITEPCIE_CAUSES_MAX || queues >= LITEPCIE_CAUSES_MAX - first)
		return 0;
	return GENMASK(first + queues, first);
}

static u32 causes_of_channels(struct litepcie *card)
{
	struct litepcie_way *way;
	u32 causes = 0;

	for (unsigned int n = 0; (way = litepcie_nth_way(card, n)); n++)
		causes |= BIT(way->cause);
	return causes;
}

/*
 * Find the card's virtio devices in the capability table, before interrupts are requested.  A
 * device is left out if its entry is not valid, or if a DMA channel or an earlier virtio device has
 * one of its interrupt causes.  The rest of the card works without it.
 */
void litepcie_virtio_find(struct litepcie *card)
{
	u32 taken = causes_of_channels(card);
	const struct litepcie_block *block;

	for (unsigned int n = 0; n < LITEPCIE_VIRTIO_MAX; n++) {
		u32 causes;

		block = litepcie_block_find(card, LITEPCIE_BLOCK_VIRTIO, n);
		if (!block)
			continue;
		causes = causes_of(block);
		if (!causes || causes & taken) {
			dev_warn(&card->pdev->dev, "the capability table's entry for virtio device %u is not valid: this device is not used\n",
				 n);
			continue;
		}
		taken |= causes;
		card->virtio[n].block = block;
		card->virtio_causes |= causes;
		/*
		 * A device's highest cause stands for changes of its configuration, not for a
		 * queue.
		 */
		card->virtio_queues |= causes & ~BIT(fls(causes) - 1);
	}
}

/*
 * Reset all virtio devices at the probe, and after a reset or sleep of the card.  If this kernel
 * was started by a kexec, the kernel before may have left their queues in use.  Returns -ENODEV if
 * the card is lost, or -EIO if a device does not end its reset: bus mastering is then off for the
 * whole card, since the device may go on to use its queues.
 */
int litepcie_virtio_halt(struct litepcie *card)
{
	for (unsigned int n = 0; n < LITEPCIE_VIRTIO_MAX; n++) {
		const struct litepcie_block *block = card->virtio[n].block;
		void __iomem *status;
		u32 cause, value;

		if (!block)
			continue;
		cause = litepcie_parameter(block, LITEPCIE_VIRTIO_CAUSE);
		status = card->bar0 + block->offset + VIRTIO_MMIO_STATUS;
		/*
		 * A device whose status is 0 is reset already.  A write of 0 would begin another
		 * reset, during which the device ignores writes for some cycles.
		 */
		if (readl(status))
			writel(0, status);
		if (readl_poll_timeout(status, value, !value, RESET_POLL_US, RESET_TIMEOUT_US)) {
			if (value == ~0u && litepcie_check_lost(card))
				return -ENODEV;
			litepcie_master_off(card, cause);
			dev_err(&card->pdev->dev, "virtio device %u does not end its reset (status %#x): the card is not driven, and bus mastering is off\n",
				n, value);
			return -EIO;
		}
		litepcie_master_on(card, cause);
	}
	return 0;
}

/* Auxiliary devices ------------------------------------------------------- */

/*
 * Free a struct litepcie_virtio whose last reference was put, and all resources allocated for it so
 * far.
 */
static void litepcie_virtio_release(struct device *dev)
{
	struct litepcie_virtio *virtio = litepcie_virtio_of(to_auxiliary_dev(dev));

	if (virtio->number >= 0)
		ida_free(&numbers, virtio->number);
	litepcie_card_put(virtio->card);
	kfree(virtio);
}

static struct litepcie_virtio *add(struct litepcie *card, const struct litepcie_block *block)
{
	struct litepcie_virtio *virtio = kzalloc(sizeof(*virtio), GFP_KERNEL);
	int err;

	if (!virtio)
		return ERR_PTR(-ENOMEM);
	litepcie_card_get(card);
	virtio->card = card;
	virtio->page = card->bar0 + block->offset;
	virtio->queues = litepcie_parameter(block, LITEPCIE_VIRTIO_QUEUES);
	virtio->cause = litepcie_parameter(block, LITEPCIE_VIRTIO_CAUSE);
	virtio->adev.name = LITEPCIE_VIRTIO_NAME;
	virtio->adev.dev.parent = &card->pdev->dev;
	virtio->adev.dev.release = litepcie_virtio_release;
	virtio->number = ida_alloc_max(&numbers, INT_MAX, GFP_KERNEL);
	virtio->adev.id = virtio->number;
	err = virtio->number < 0 ? virtio->number : auxiliary_device_init(&virtio->adev);
	if (err) {
		litepcie_virtio_release(&virtio->adev.dev);
		return ERR_PTR(err);
	}
	err = auxiliary_device_add(&virtio->adev);
	if (err) {
		auxiliary_device_uninit(&virtio->adev);
		return ERR_PTR(err);
	}
	return virtio;
}

/*
 * Add an auxiliary device for each virtio device of the card that has none.  The card must be
 * LITEPCIE_LIVE.  A device that cannot be added is left out, with a warning.
 */
void litepcie_virtio_add(struct litepcie *card)
{
	for (unsigned int n = 0; n < LITEPCIE_VIRTIO_MAX; n++) {
		struct litepcie_virtio *virtio;

		if (!card->virtio[n].block || card->virtio[n].device)
			continue;
		virtio = add(card, card->virtio[n].block);
		if (IS_ERR(virtio))
			dev_warn(&card->pdev->dev, "virtio device %u cannot be added: %ld\n", n,
				 PTR_ERR(virtio));
		else
			card->virtio[n].device = virtio;
	}
}

/*
 * Remove the auxiliary devices.  Their driver resets the virtio devices, unless the card no longer
 * answers.  So this function must be called before the card is stopped.
 */
void litepcie_virtio_del(struct litepcie *card)
{
	for (unsigned int n = 0; n < LITEPCIE_VIRTIO_MAX; n++) {
		struct litepcie_virtio *virtio = card->virtio[n].device;

		if (!virtio)
			continue;
		card->virtio[n].device = NULL;
		auxiliary_device_delete(&virtio->adev);
		auxiliary_device_uninit(&virtio->adev);
	}
}

/* Interrupts of virtio devices -------------------------------------------- */

/*
 * Let @handler be called with @data for the interrupts of @source: a queue's number, or the number
 * of queues for changes of the configuration.  Enable the cause of these interrupts.  With MSI-X
 * /proc/interrupts shows @name.  Returns -EINVAL if the device has no such source, or the error of
 * request_irq().
 *
 * The card may interrupt again for news that an earlier interrupt has announced, and @handler may
 * then return IRQ_NONE.  The kernel switches off an interrupt whose handler often returns IRQ_NONE,
 * except an interrupt with IRQ_IS_POLLED.
 */
int litepcie_virtio_listen(struct litepcie_virtio *virtio, unsigned int source,
			   irq_handler_t handler, const char *name, void *data)
{
	struct litepcie *card = virtio->card;
	unsigned int cause = virtio->cause + source;
	int err = 0;

	if (source > virtio->queues)
		return -EINVAL;
	if (card->pdev->msix_enabled) {
		int irq = pci_irq_vector(card->pdev, cause);

		irq_set_status_flags(irq, IRQ_IS_POLLED);
		err = request_irq(irq, handler, 0, name, data);
	}
	if (err)
		return err;
	card->listener[cause].data = data;
	/* The interrupt handler must see @data if it sees @handler. */
	smp_store_release(&card->listener[cause].handler, handler);
	litepcie_cause_enable(card, cause, true);
	return 0;
}
EXPORT_SYMBOL_GPL(litepcie_virtio_listen);

/* Undo litepcie_virtio_listen().  When this function returns, the handler no longer runs. */
void litepcie_virtio_ignore(struct litepcie_virtio *virtio, unsigned int source, void *data)
{
	struct litepcie *card = virtio->card;
	unsigned int cause = virtio->cause + source;

	litepcie_cause_enable(card, cause, false);
	WRITE_ONCE(card->listener[cause].handler, NULL);
	if (card->pdev->msix_enabled) {
		litepcie_virtio_steer(virtio, source, NULL);
		free_irq(pci_irq_vector(card->pdev, cause), data);
	} else {
		synchronize_irq(pci_irq_vector(card->pdev, 0));
	}
}
EXPORT_SYMBOL_GPL(litepcie_virtio_ignore);

/*
 * Let the interrupts of @source, which has a handler, go to one of @processors, and tell irqbalance
 * so.  The kernel keeps the pointer until the next call, or until litepcie_virtio_ignore().  NULL
 * takes the wish back.  Without MSI-X nothing is done, since all causes have one interrupt.
 * Returns 0, or an error of irq_set_affinity_and_hint().
 */
int litepcie_virtio_steer(struct litepcie_virtio *virtio, unsigned int source,
			  const struct cpumask *processors)
{
	struct pci_dev *pdev = virtio->card->pdev;

	if (!pdev->msix_enabled)
		return 0;
	return irq_set_affinity_and_hint(pci_irq_vector(pdev, virtio->cause + source), processors);
}
EXPORT_SYMBOL_GPL(litepcie_virtio_steer);

/*
 * If @mute is true, keep the handler of @source from being called, and wait until it no longer
 * runs.  If @mute is false, let it be called again.  The two calls must alternate, and
 * litepcie_virtio_ignore() may follow either.
 */
void litepcie_virtio_mute(struct litepcie_virtio *virtio, unsigned int source, bool mute)
{
	struct litepcie *card = virtio->card;
	unsigned int cause = virtio->cause + source;

	/* The handler of an MSI calls no handler of a cause that is not enabled. */
	litepcie_cause_enable(card, cause, !mute);
	if (!card->pdev->msix_enabled)
		synchronize_irq(pci_irq_vector(card->pdev, 0));
	else if (mute)
		disable_irq(pci_irq_vector(card->pdev, cause));
	else
		enable_irq(pci_irq_vector(card->pdev, cause));
}
EXPORT_SYMBOL_GPL(litepcie_virtio_mute);

/* Wait until all interrupt handlers of the device that run at the moment have returned. */
void litepcie_virtio_synchronize(struct litepcie_virtio *virtio)
{
	struct pci_dev *pdev = virtio->card->pdev;

	if (!pdev->msix_enabled)
		synchronize_irq(pci_irq_vector(pdev, 0));
	else
		for (unsigned int source = 0; source <= virtio->queues; source++)
			synchronize_irq(pci_irq_vector(pdev, virtio->cause + source));
}
EXPORT_SYMBOL_GPL(litepcie_virtio_synchronize);

/* Devices that do not stop, and lost cards -------------------------------- */

/*
 * Called after a reset of the virtio device, and after a reset of a single queue if that has not
 * ended.  @quiet says that the reset has ended.  If it has not, bus mastering is off for the whole
 * card once this function returns, since the kernel is about to free or reuse the queues' memory.
 */
void litepcie_virtio_quiet(struct litepcie_virtio *virtio, bool quiet)
{
	if (quiet)
		litepcie_master_on(virtio->card, virtio->cause);
	else
		litepcie_master_off(virtio->card, virtio->cause);
}
EXPORT_SYMBOL_GPL(litepcie_virtio_quiet);

/*
 * Returns true if the card no longer answers or counts as lost already.  The function may be called
 * in any context.
 */
bool litepcie_virtio_check_lost(struct litepcie_virtio *virtio)
{
	return litepcie_check_lost(virtio->card);
}
EXPORT_SYMBOL_GPL(litepcie_virtio_check_lost);
