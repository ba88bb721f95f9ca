// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Is the PCI driver: probe, remove, shutdown, reset, error recovery and sleep of a card.
 */

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pm.h>

#include "card.h"

/* Channels ---------------------------------------------------------------- */

static int way_find(struct litepcie *card, struct litepcie_way *way,
		    const struct litepcie_block *block)
{
	bool h2c = way->id == LITEPCIE_H2C;
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
	    way->depth < LITEPCIE_GEOMETRY_DEFAULT.count)
		return -EINVAL;
	card->cause[way->cause] = way;
	/*
	 * The ring held.end has one entry more than the card's table has descriptors: the entry of
	 * the last descriptor that is done.
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

	if (block->bar || block->size < 4 || loopback > block->size - 4)
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

static void del_channels(struct litepcie *card, unsigned int count)
{
	while (count--)
		litepcie_chan_del(card->chan[count]);
}

/* Make the device nodes of all channels and of the capture, or none. */
static int add_nodes(struct litepcie *card)
{
	int err;

	for (unsigned int n = 0; n < card->channels; n++) {
		err = litepcie_chan_add(card->chan[n]);
		if (err) {
			del_channels(card, n);
			return err;
		}
	}
	err = litepcie_capture_add(card);
	if (err)
		del_channels(card, card->channels);
	return err;
}

/* Stopping the card, and using it again ----------------------------------- */

/*
 * Make the card quiet.  When this function returns, litepcie_enter() fails, no direction runs, no
 * interrupt handler runs and the card makes no request.  The owner of a direction that was running
 * gets @error.
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

static int set_dma_mask(struct litepcie *card)
{
	u32 bits = litepcie_parameter(litepcie_block_find(card, LITEPCIE_BLOCK_DMA, 0),
				      LITEPCIE_DMA_ADDRESS_WIDTH);

	return dma_set_mask_and_coherent(&card->pdev->dev, DMA_BIT_MASK(clamp(bits, 32u, 64u)));
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

/*
 * After a reset or sleep, check that the card still has the gateware of the probe, and make it
 * ready.  The caller then sets LITEPCIE_LIVE, so that litepcie_enter() succeeds again.
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

/* Probe and remove -------------------------------------------------------- */

/* Enable the card and map its BARs.  Also after an error the caller calls unmap_bars(). */
static int map_bars(struct litepcie *card)
{
	struct pci_dev *pdev = card->pdev;
	int err;

	err = pci_enable_device_mem(pdev);
	if (err)
		return err;
	card->enabled = true;
	err = pci_request_mem_regions(pdev, LITEPCIE_NAME);
	if (err)
		return err;
	card->requested = true;
	card->bar0_size = pci_resource_len(pdev, 0);
	card->bar0 = pci_iomap(pdev, 0, 0);
	if (!card->bar0)
		return -ENOMEM;
	litepcie_bar_map_memory(card);
	return 0;
}

/* Give back what map_bars() has got. */
static void unmap_bars(struct litepcie *card)
{
	litepcie_bar_unmap_memory(card);
	if (card->bar0)
		pci_iounmap(card->pdev, card->bar0);
	if (card->requested)
		pci_release_mem_regions(card->pdev);
	if (card->enabled)
		pci_disable_device(card->pdev);
}

/* Remove the DMA mappings of rings, records and status lines.  The card is quiet. */
static void unmap_rings(struct litepcie *card)
{
	struct litepcie_way *way;

	for (unsigned int n = 0; (way = litepcie_nth_way(card, n)); n++)
		litepcie_owner_unmap(way);
	for (unsigned int n = 0; n < card->channels; n++)
		litepcie_notices_unmap(card->chan[n]);
	litepcie_capture_unmap(card);
}

/*
 * Set up the card's interrupt moderation, and the memory for its status lines and records.  That
 * memory is mapped for the card, so the DMA mask must be set before this call.
 */
static void init_notices(struct litepcie *card)
{
	for (unsigned int n = 0; n < card->channels; n++) {
		litepcie_moderation_probe(card->chan[n], n);
		litepcie_notices_init(card->chan[n], n);
	}
	litepcie_capture_map(card);
}

static int bring_up(struct litepcie *card)
{
	int err;

	err = litepcie_capability_read(card);
	if (err)
		return err;
	err = litepcie_p2pmem_add(card);
	if (err)
		return err;
	err = make_channels(card);
	if (err)
		return err;
	litepcie_virtio_find(card);
	err = litepcie_capture_probe(card);
	if (!err)
		err = litepcie_irq_init(card);
	if (err)
		goto put;
	err = halt_everything(card);
	if (!err)
		err = set_dma_mask(card);
	if (err)
		goto unmap;
	init_notices(card);
	pci_set_master(card->pdev);
	pci_save_state(card->pdev);
	litepcie_set_state(card, LITEPCIE_LIVE);
	err = add_nodes(card);
	if (err)
		goto quiesce;
	litepcie_virtio_add(card);
	return 0;

quiesce:
	quiesce(card, LITEPCIE_GONE, -ENODEV);
	pci_clear_master(card->pdev);
unmap:
	/* A program may have opened a channel that was added, and have a ring that is mapped. */
	unmap_rings(card);
	litepcie_irq_exit(card);
put:
	litepcie_capture_put(card);
	put_channels(card);
	return err;
}

static int litepcie_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct litepcie *card = litepcie_card_alloc(pdev);
	int err;

	if (!card)
		return -ENOMEM;
	err = map_bars(card);
	if (err)
		goto unmap;
	pci_set_drvdata(pdev, card);
	err = bring_up(card);
	if (err)
		goto unmap;
	dev_info(&pdev->dev, "Version Lanebox %s %.12s, %s: %u DMA channel%s\n", card->target,
		 card->digest, pdev->msix_enabled ? "MSI-X" : "MSI", card->channels,
		 card->channels == 1 ? "" : "s");
	return 0;

unmap:
	unmap_bars(card);
	litepcie_card_put(card);
	return err;
}

static void litepcie_remove(struct pci_dev *pdev)
{
	struct litepcie *card = pci_get_drvdata(pdev);

	/* An unplugged card never answers: no function waits for a card that is lost. */
	if (pci_channel_offline(pdev))
		WRITE_ONCE(card->lost, true);
	litepcie_virtio_del(card);
	quiesce(card, LITEPCIE_GONE, -ENODEV);
	del_channels(card, card->channels);
	litepcie_capture_del(card);
	litepcie_irq_exit(card);
	pci_clear_master(pdev);
	if (!card->lost)
		pci_wait_for_pending_transaction(pdev);
	unmap_rings(card);
	unmap_bars(card);
	litepcie_capture_put(card);
	put_channels(card);
	litepcie_card_put(card);
}

/*
 * Make the card quiet before the machine shuts down.  This also runs before a kexec: the card must
 * not write to the memory of the next kernel.
 */
static void litepcie_shutdown(struct pci_dev *pdev)
{
	struct litepcie *card = pci_get_drvdata(pdev);

	quiesce(card, LITEPCIE_OFFLINE, -EIO);
	pci_clear_master(pdev);
}

/* Reset, errors, sleep ---------------------------------------------------- */

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

/* All devices on the bus have recovered from a PCIe error: DMA may start. */
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
static const struct pci_device_id litepcie_ids[] = {
	/* Xilinx device IDs for PCIe Gen2; last digit: number of lanes, f for 16 */
	{ PCI_VDEVICE(XILINX, 0x9021) },
	{ PCI_VDEVICE(XILINX, 0x9022) },
	{ PCI_VDEVICE(XILINX, 0x9024) },
	{ PCI_VDEVICE(XILINX, 0x9028) },
	{ PCI_VDEVICE(XILINX, 0x902f) },
	/* Xilinx device IDs for PCIe Gen3; last digit: number of lanes, f for 16 */
	{ PCI_VDEVICE(XILINX, 0x9031) },
	{ PCI_VDEVICE(XILINX, 0x9032) },
	{ PCI_VDEVICE(XILINX, 0x9034) },
	{ PCI_VDEVICE(XILINX, 0x9038) },
	{ PCI_VDEVICE(XILINX, 0x903f) },
	/* Xilinx device IDs for PCIe Gen4; last digit: number of lanes */
	{ PCI_VDEVICE(XILINX, 0x9041) },
	{ PCI_VDEVICE(XILINX, 0x9042) },
	{ PCI_VDEVICE(XILINX, 0x9044) },
	{ PCI_VDEVICE(XILINX, 0x9048) },
	{ }
};
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
