// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * A driver that a test loads in place of litepcie.ko.  This driver hands one register page of the
 * card to the kernel's own virtio_mmio.ko.  If a virtio driver then works, the page conforms to
 * the VirtIO standard, as far as virtio_mmio.ko and this virtio driver use it.
 *
 * virtio_mmio.ko maps DMA for the platform device, so the test works only without an IOMMU.
 */

#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/platform_device.h>

static ulong page, causes, enable;
module_param(page, ulong, 0444);
MODULE_PARM_DESC(page, "offset of the virtio device's register page in BAR0");
module_param(causes, ulong, 0444);
MODULE_PARM_DESC(causes, "mask of the device's interrupt causes");
module_param(enable, ulong, 0444);
MODULE_PARM_DESC(enable, "offset of the register in BAR0 that enables causes");

static int mmio_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	resource_size_t bar = pci_resource_start(pdev, 0);
	struct platform_device *made;
	void __iomem *registers;
	int err = pcim_enable_device(pdev);

	if (!err)
		err = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI);
	if (err < 0)
		return err;
	pci_set_master(pdev);
	registers = pcim_iomap(pdev, 0, 0);
	if (!registers)
		return -ENOMEM;
	writel(causes, registers + enable);
	made = platform_device_register_resndata(&pdev->dev, "virtio-mmio", PLATFORM_DEVID_AUTO,
		(struct resource[]){
			DEFINE_RES_MEM(bar + page, 4096),
			DEFINE_RES_IRQ(pci_irq_vector(pdev, 0)),
		}, 2, NULL, 0);
	pci_set_drvdata(pdev, made);
	return PTR_ERR_OR_ZERO(made);
}

static void mmio_remove(struct pci_dev *pdev)
{
	platform_device_unregister(pci_get_drvdata(pdev));
	pci_free_irq_vectors(pdev);
}

static const struct pci_device_id mmio_ids[] = { { PCI_VDEVICE(XILINX, 0x9038) }, { } };

static struct pci_driver mmio_driver = {
	.name		= "litepcie_mmio",
	.id_table	= mmio_ids,
	.probe		= mmio_probe,
	.remove		= mmio_remove,
};
module_pci_driver(mmio_driver);

MODULE_DESCRIPTION("Test of the virtio register page with virtio_mmio");
MODULE_LICENSE("Dual BSD/GPL");
