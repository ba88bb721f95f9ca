// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Offers the card's memory to other devices as PCI peer-to-peer memory, if the module parameter
 * p2pmem is set.  A disk can then read and write the card's memory without a detour through host
 * memory.
 *
 * The kernel's allocator gets the whole BAR of the card's first memory block that is not in BAR0.
 * The driver allocates those pages of the BAR that are not the card's memory and keeps them, so
 * that no other device gets them.
 */

#include <linux/module.h>
#include <linux/pci-p2pdma.h>
#include <linux/slab.h>

#include "card.h"

static bool offer;
module_param_named(p2pmem, offer, bool, 0444);
MODULE_PARM_DESC(p2pmem, "let other devices reach the card's memory (needs PCI_P2PDMA)");

struct reserve {
	struct pci_dev	*pdev;
	unsigned int	pages;
	void		*page[];
};

static const struct litepcie_block *memory_block(struct litepcie *card, unsigned int nth)
{
	const struct litepcie_block *block;

	for (unsigned int n = 0; (block = litepcie_block_find(card, LITEPCIE_BLOCK_MEMORY, n)); n++)
		if (block->bar && !nth--)
			return block;
	return NULL;
}

static bool is_card_memory(struct litepcie *card, unsigned int bar, u64 offset)
{
	const struct litepcie_block *block;

	for (unsigned int n = 0; (block = memory_block(card, n)); n++)
		if (block->bar == bar && offset >= block->offset &&
		    offset + PAGE_SIZE <= (u64)block->offset + block->size)
			return true;
	return false;
}

static void give_back(void *data)
{
	struct reserve *reserve = data;

	while (reserve->pages--)
		pci_free_p2pmem(reserve->pdev, reserve->page[reserve->pages], PAGE_SIZE);
	kvfree(reserve);
}

/*
 * Make sure that other devices get no page of the BAR that is not the card's memory: allocate all
 * pages of the BAR, and free only those that are memory.
 */
static int reserve_rest(struct litepcie *card, unsigned int bar)
{
	size_t pages = pci_resource_len(card->pdev, bar) / PAGE_SIZE, taken = 0;
	pci_bus_addr_t start = pci_bus_address(card->pdev, bar);
	struct reserve *reserve = kvzalloc(struct_size(reserve, page, pages), GFP_KERNEL);

	if (!reserve)
		return -ENOMEM;
	reserve->pdev = card->pdev;
	while (taken < pages && (reserve->page[taken] = pci_alloc_p2pmem(card->pdev, PAGE_SIZE)))
		taken++;
	for (size_t n = 0; n < taken; n++) {
		void *page = reserve->page[n];
		u64 offset = pci_p2pmem_virt_to_bus(card->pdev, page) - start;

		if (is_card_memory(card, bar, offset))
			pci_free_p2pmem(card->pdev, page, PAGE_SIZE);
		else
			reserve->page[reserve->pages++] = page;
	}
	return devm_add_action_or_reset(&card->pdev->dev, give_back, reserve);
}

/*
 * Offer the card's memory to other devices, if the module parameter asks for that.  The kernel's
 * device resource management (devres) withdraws the offer when the driver is unbound.  Returns 0,
 * also if nothing was asked for.  Returns -EOPNOTSUPP if the kernel lacks CONFIG_PCI_P2PDMA,
 * -ENODEV if the card has no memory outside BAR0, -ENOMEM, or an error of the kernel's allocator.
 */
int litepcie_p2pmem_add(struct litepcie *card)
{
	const struct litepcie_block *block = memory_block(card, 0);
	struct device *dev = &card->pdev->dev;
	int err;

	if (!offer)
		return 0;
	if (!IS_ENABLED(CONFIG_PCI_P2PDMA))
		return dev_err_probe(dev, -EOPNOTSUPP,
				     "p2pmem=1 needs a kernel with PCI_P2PDMA, which this one lacks: load the driver without it\n");
	if (!block)
		return dev_err_probe(dev, -ENODEV,
				     "p2pmem=1, but this card has no memory beside its registers: load the driver without it\n");
	err = pci_p2pdma_add_resource(card->pdev, block->bar, 0, 0);
	if (!err)
		err = reserve_rest(card, block->bar);
	if (err)
		return dev_err_probe(dev, err, "BAR%u cannot be offered to other devices\n",
				     block->bar);
	pci_p2pmem_publish(card->pdev, true);
	return 0;
}
