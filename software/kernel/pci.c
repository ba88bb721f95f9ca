// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements the PCI driver: probe, remove, shutdown, reset, error recovery and sleep of a card.
 *
 * Guarantees, and when they hold:
 *   during the probe	The driver starts no DMA before go_live().  DMA that an earlier kernel has
 *			started is stopped by halt_everything(), before host memory is mapped for
 *			the card.  A probe that fails undoes all that it has done, except that
 *			struct litepcie stays until the last open file is closed.
 *   after the probe	litepcie_enter() succeeds, and the device nodes exist.  If the kernel has
 *			an auxiliary bus, so do the auxiliary devices of virtio devices, except
 *			those that could not be added, which the log names.
 *   after a removal	litepcie_enter() fails with -ENODEV.  The card makes no request, no handler
 *			of its interrupts runs, and no memory is mapped for it.  struct litepcie
 *			stays until the last open file is closed.
 *   surprise removal	As after a removal, and nothing has waited for an answer of the card.
 *   reset, PCIe error	Runs end with -EIO.  Open files and their rings stay, and a new run may
 *			start when the card is back.  Virtio devices are removed, and added anew.
 *   sleep		As at a reset, but virtio devices stay, and their drivers freeze.
 *   shutdown		The card makes no request, so a kexec's next kernel may use all memory.
 *
 * Limits: a card is one PCI function, without virtual functions and without runtime power
 * management.  A card that comes back with other gateware is given up until it is bound again.  A
 * card with a part that does not stop loses bus mastering until that part has stopped.
 *
 * The table `stages` has the order in which a card is brought up.  A card is taken down in the
 * reverse order.
 */

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pm.h>

#include "card.h"

/* The channels of a card -------------------------------------------------- */

static int way_find(struct litepcie *card, struct litepcie_way *way,
		    const struct litepcie_block *block)
{
	bool h2c = way->id == LITEPCIE_WAY_H2C;
	u32 group = litepcie_parameter(block, h2c ? LITEPCIE_DMA_H2C : LITEPCIE_DMA_C2H);

	way->cause = litepcie_parameter(block, h2c ? LITEPCIE_DMA_H2C_CAUSE :
						     LITEPCIE_DMA_C2H_CAUSE);
	way->depth = litepcie_parameter(block, LITEPCIE_DMA_TABLE_DEPTH);
	way->regs = card->bar0 + block->offset + group;
	if (h2c && !litepcie_parameter(block, LITEPCIE_DMA_H2C_SETTLED))
		way->in_flight = litepcie_parameter(block, LITEPCIE_DMA_H2C_BUFFERED);
	way->tells_taken = h2c && litepcie_parameter(block, LITEPCIE_DMA_H2C_TAKEN);
	if (group > block->size || block->size - group < LITEPCIE_DMA_GROUP_TABLE_RESET + 4 ||
	    way->cause >= LITEPCIE_CAUSES_MAX || card->cause[way->cause] ||
	    way->depth < LITEPCIE_GEOMETRY_DEFAULT.count ||
	    way->depth >= 1u << LITEPCIE_INDEX_BITS || (block->offset + group) % 4)
		return -EINVAL;
	card->cause[way->cause] = way;
	/*
	 * The ring way->held.end has at least an entry for each descriptor of the card's table, and
	 * one more for the last descriptor that the card has finished.
	 */
	way->held.mask = roundup_pow_of_two(way->depth + 1) - 1;
	way->held.end = kvcalloc(way->held.mask + 1, sizeof(*way->held.end), GFP_KERNEL);
	return way->held.end ? 0 : -ENOMEM;
}

static int chan_find(struct litepcie *card, struct litepcie_chan *chan,
		     const struct litepcie_block *block)
{
	u32 loopback = litepcie_parameter(block, LITEPCIE_DMA_LOOPBACK);
	int err = 0;

	if (!litepcie_block_is_known(block, LITEPCIE_DMA_C2H_CAUSE) || block->size < 4 ||
	    loopback > block->size - 4)
		return -EINVAL;
	chan->loopback = card->bar0 + block->offset + loopback;
	for (unsigned int n = 0; n < LITEPCIE_WAYS && !err; n++)
		err = way_find(card, &chan->way[n], block);
	return err;
}

static void put_channels(struct litepcie *card)
{
	unsigned int n = card->channels;

	card->channels = 0;
	while (n--)
		put_device(&card->chan[n]->dev);
}

static int make_channels(struct litepcie *card)
{
	const struct litepcie_block *block;
	int err = 0;

	while (!err && card->channels < LITEPCIE_CHANNELS_MAX) {
		struct litepcie_chan *chan;

		block = litepcie_block_find(card, LITEPCIE_BLOCK_DMA, card->channels);
		if (!block)
			break;
		chan = litepcie_chan_alloc(card);
		if (IS_ERR(chan)) {
			err = PTR_ERR(chan);
			break;
		}
		card->chan[card->channels++] = chan;
		err = chan_find(card, chan, block);
	}
	if (!err && !card->channels)
		err = -ENODEV;
	if (err) {
		put_channels(card);
		return dev_err_probe(&card->pdev->dev, err,
				     "the capability table has no DMA channel that can be driven\n");
	}
	return 0;
}

static void del_nodes(struct litepcie *card)
{
	while (card->nodes)
		litepcie_chan_del(card->chan[--card->nodes]);
}

/* Make the device nodes of all channels, or none. */
static int add_nodes(struct litepcie *card)
{
	while (card->nodes < card->channels) {
		int err = litepcie_chan_add(card->chan[card->nodes]);

		if (err) {
			del_nodes(card);
			return err;
		}
		card->nodes++;
	}
	return 0;
}

/* Stopping the card, and using it again ----------------------------------- */

/*
 * Stop all of the card except its virtio devices, which their driver must have stopped before.
 * When this function returns, litepcie_enter() fails, no direction runs, no interrupt handler runs,
 * and the card makes no request unless it is lost: the hardware of a lost card is not stopped.  The
 * runs of directions and of the capture end with @error.
 */
static void quiesce(struct litepcie *card, enum litepcie_state state, int error)
{
	struct litepcie_way *way;

	litepcie_set_state(card, state);
	litepcie_bar_zap(card);
	for (unsigned int n = 0; (way = litepcie_nth_way(card, n)); n++)
		litepcie_dma_abort(way, error);
	litepcie_capture_abort(card, error);
	litepcie_irq_silence(card);
	litepcie_user_forget(card);
}

/*
 * After a reset or sleep, check that the card still has the gateware that the probe found, and stop
 * its directions, its capture and its virtio devices.  litepcie_enter() still fails until
 * come_back() or litepcie_error_resume() sets LITEPCIE_LIVE.
 */
static int revive(struct litepcie *card)
{
	struct litepcie_way *way;
	int err = 0;

	if (!litepcie_capability_same(card)) {
		dev_err(&card->pdev->dev, "after the reset the card has other gateware or does not answer: unbind the driver and bind it again\n");
		litepcie_lose(card);
		return -ENODEV;
	}
	WRITE_ONCE(card->lost, false);
	writel(0, card->irq_enable);
	for (unsigned int n = 0; !err && (way = litepcie_nth_way(card, n)); n++)
		err = litepcie_dma_settle(way);
	if (!err)
		err = litepcie_capture_settle(card);
	if (!err)
		err = litepcie_virtio_halt(card);
	if (err) {
		litepcie_lose(card);
		return err;
	}
	pci_set_master(card->pdev);
	return 0;
}

static int come_back(struct litepcie *card)
{
	int err = revive(card);

	if (!err)
		litepcie_set_state(card, LITEPCIE_LIVE);
	return err;
}

/* The stages of a probe, and of a removal --------------------------------- */

static int enable(struct litepcie *card)
{
	return pci_enable_device_mem(card->pdev);
}

static void disable(struct litepcie *card)
{
	pci_disable_device(card->pdev);
}

static int request_regions(struct litepcie *card)
{
	return pci_request_mem_regions(card->pdev, LITEPCIE_NAME);
}

static void release_regions(struct litepcie *card)
{
	pci_release_mem_regions(card->pdev);
}

static int map_bars(struct litepcie *card)
{
	card->bar0_size = pci_resource_len(card->pdev, 0);
	card->bar0 = pci_iomap(card->pdev, 0, 0);
	if (!card->bar0)
		return -ENOMEM;
	litepcie_bar_map_memory(card);
	return 0;
}

static void unmap_bars(struct litepcie *card)
{
	litepcie_bar_unmap_memory(card);
	pci_iounmap(card->pdev, card->bar0);
}

static int find_virtio(struct litepcie *card)
{
	litepcie_virtio_find(card);
	return 0;
}

/* Stop all DMA at the probe: the kernel before a kexec may have started it. */
static int halt_everything(struct litepcie *card)
{
	struct litepcie_way *way;
	int err = 0;

	for (unsigned int n = 0; !err && (way = litepcie_nth_way(card, n)); n++)
		err = litepcie_dma_halt(way);
	if (!err)
		err = litepcie_capture_settle(card);
	return err ? err : litepcie_virtio_halt(card);
}

static int set_dma_mask(struct litepcie *card)
{
	u32 bits = litepcie_parameter(litepcie_block_find(card, LITEPCIE_BLOCK_DMA, 0),
				      LITEPCIE_DMA_ADDRESS_WIDTH);

	return dma_set_mask_and_coherent(&card->pdev->dev, DMA_BIT_MASK(clamp(bits, 32u, 64u)));
}

/*
 * Find the registers of the card's interrupt moderation.  Map the memory of the channels' status
 * lines and records, and the capture's status page, for the card.  The DMA mask must be set before
 * this call.  A channel whose memory cannot be mapped works without status lines and records.  If
 * the capture's status page cannot be mapped, nothing can be captured.
 */
static int map_notices(struct litepcie *card)
{
	for (unsigned int n = 0; n < card->channels; n++) {
		litepcie_moderation_probe(card->chan[n], n);
		litepcie_notices_init(card->chan[n], n);
	}
	litepcie_capture_map(card);
	return 0;
}

/*
 * Remove the DMA mappings of rings, records and status lines, also those of the capture.  The card
 * is stopped.  A program may have opened a node before the probe failed, so there may be rings
 * after a failed probe, too.
 */
static void unmap_all(struct litepcie *card)
{
	struct litepcie_way *way;

	for (unsigned int n = 0; (way = litepcie_nth_way(card, n)); n++)
		litepcie_owner_unmap(way);
	for (unsigned int n = 0; n < card->channels; n++)
		litepcie_notices_unmap(card->chan[n]);
	litepcie_capture_unmap(card);
}

static int go_live(struct litepcie *card)
{
	pci_set_master(card->pdev);
	pci_save_state(card->pdev);
	litepcie_set_state(card, LITEPCIE_LIVE);
	return 0;
}

static void go_away(struct litepcie *card)
{
	quiesce(card, LITEPCIE_GONE, -ENODEV);
	pci_clear_master(card->pdev);
	if (!card->lost)
		pci_wait_for_pending_transaction(card->pdev);
}

static int add_virtio(struct litepcie *card)
{
	litepcie_virtio_add(card);
	return 0;
}

/*
 * A probe calls get() of each stage, from the first stage to the last.  A removal calls put() from
 * the last stage to the first.  If get() of a stage fails, the probe calls put() only of the stages
 * before that stage, the last of them first.  What the failed get() has done is undone by get()
 * itself, by card_release() or by the kernel's devres.
 */
static const struct {
	int	(*get)(struct litepcie *card);
	void	(*put)(struct litepcie *card);
} stages[] = {
	{ enable,			disable },
	{ request_regions,		release_regions },
	{ map_bars,			unmap_bars },
	{ litepcie_capability_read,	NULL },	/* card_release() frees the capability table */
	{ litepcie_p2pmem_add,		NULL },	/* devres withdraws the peer-to-peer memory */
	{ make_channels,		put_channels },
	{ find_virtio,			NULL },
	{ litepcie_capture_probe,	litepcie_capture_put },
	{ litepcie_irq_init,		litepcie_irq_exit },
	{ halt_everything,		NULL },
	{ set_dma_mask,			NULL },
	{ map_notices,			unmap_all },
	{ go_live,			go_away },
	{ add_nodes,			del_nodes },
	{ litepcie_capture_add,		litepcie_capture_del },
	{ add_virtio,			litepcie_virtio_del },
};

/* Call put() of the first @count stages, the last first, and drop the probe's card reference. */
static void take_down(struct litepcie *card, unsigned int count)
{
	while (count--)
		if (stages[count].put)
			stages[count].put(card);
	litepcie_card_put(card);
}

/* Probe, remove and shutdown ---------------------------------------------- */

static int litepcie_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct litepcie *card = litepcie_card_alloc(pdev);

	if (!card)
		return -ENOMEM;
	pci_set_drvdata(pdev, card);
	for (unsigned int n = 0; n < ARRAY_SIZE(stages); n++) {
		int err = stages[n].get(card);

		if (err) {
			take_down(card, n);
			return err;
		}
	}
	dev_info(&pdev->dev, "Version Lanebox %s %.12s, %s: %u DMA channel%s\n", card->target,
		 card->digest, pdev->msix_enabled ? "MSI-X" : "MSI", card->channels,
		 card->channels == 1 ? "" : "s");
	return 0;
}

static void litepcie_remove(struct pci_dev *pdev)
{
	struct litepcie *card = pci_get_drvdata(pdev);

	/*
	 * An unplugged card never answers.  It is marked as lost, so that no function waits for an
	 * answer.
	 */
	if (pci_channel_offline(pdev))
		WRITE_ONCE(card->lost, true);
	take_down(card, ARRAY_SIZE(stages));
}

/*
 * Stop the card before the machine shuts down.  The kernel calls this before a kexec, too: the card
 * must not write to the memory of the next kernel.
 */
static void litepcie_shutdown(struct pci_dev *pdev)
{
	struct litepcie *card = pci_get_drvdata(pdev);

	quiesce(card, LITEPCIE_OFFLINE, -EIO);
	pci_clear_master(pdev);
}

/* Reset, PCIe errors, sleep ----------------------------------------------- */

static void litepcie_reset_prepare(struct pci_dev *pdev)
{
	struct litepcie *card = pci_get_drvdata(pdev);

	litepcie_virtio_del(card);
	quiesce(card, LITEPCIE_OFFLINE, -EIO);
}

static void litepcie_reset_done(struct pci_dev *pdev)
{
	struct litepcie *card = pci_get_drvdata(pdev);

	if (!come_back(card))
		litepcie_virtio_add(card);
}

static pci_ers_result_t litepcie_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct litepcie *card = pci_get_drvdata(pdev);

	dev_warn(&pdev->dev, "PCIe error: DMA is stopped\n");
	if (state != pci_channel_io_normal)
		WRITE_ONCE(card->lost, true);
	litepcie_virtio_del(card);
	quiesce(card, LITEPCIE_OFFLINE, -EIO);
	if (state == pci_channel_io_perm_failure)
		return PCI_ERS_RESULT_DISCONNECT;
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t litepcie_slot_reset(struct pci_dev *pdev)
{
	struct litepcie *card = pci_get_drvdata(pdev);

	pci_restore_state(pdev);
	pci_save_state(pdev);
	return revive(card) ? PCI_ERS_RESULT_DISCONNECT : PCI_ERS_RESULT_RECOVERED;
}

/* Called when all devices that a PCIe error has affected have recovered: DMA may start again. */
static void litepcie_error_resume(struct pci_dev *pdev)
{
	struct litepcie *card = pci_get_drvdata(pdev);

	litepcie_set_state(card, LITEPCIE_LIVE);
	litepcie_virtio_add(card);
}

static const struct pci_error_handlers litepcie_error_handlers = {
	.error_detected	= litepcie_error_detected,
	.slot_reset	= litepcie_slot_reset,
	.resume		= litepcie_error_resume,
	.reset_prepare	= litepcie_reset_prepare,
	.reset_done	= litepcie_reset_done,
};

static int litepcie_suspend(struct device *dev)
{
	quiesce(dev_get_drvdata(dev), LITEPCIE_OFFLINE, -EIO);
	return 0;
}

static int litepcie_resume(struct device *dev)
{
	return come_back(dev_get_drvdata(dev));
}

static DEFINE_SIMPLE_DEV_PM_OPS(litepcie_pm_ops, litepcie_suspend, litepcie_resume);

/*
 * The default IDs of Xilinx's PCIe blocks.  Other gateware uses these IDs, too, so the probe drives
 * a card only if it finds a capability table.
 */
#define LITEPCIE_PCI_DEVICE(id) { PCI_VDEVICE(XILINX, id) }
/* The table ends with an entry of zeros. */
static const struct pci_device_id litepcie_ids[LITEPCIE_PCI_DEVICE_COUNT + 1] =
	LITEPCIE_PCI_DEVICES;
MODULE_DEVICE_TABLE(pci, litepcie_ids);

struct pci_driver litepcie_pci_driver = {
	.name		= LITEPCIE_NAME,
	.id_table	= litepcie_ids,
	.probe		= litepcie_probe,
	.remove		= litepcie_remove,
	.shutdown	= litepcie_shutdown,
	.err_handler	= &litepcie_error_handlers,
	.driver.pm	= pm_sleep_ptr(&litepcie_pm_ops),
};
