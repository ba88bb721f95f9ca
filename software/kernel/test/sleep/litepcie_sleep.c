// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * A test's kernel module that lets one card sleep and wake up when the module is loaded. The module
 * calls the drivers' handlers in the order of the kernel. For the sleep it calls the handlers of
 * the card's virtio devices first and the handler of the card last. For the waking it calls the
 * handler of the card first. Another test lets a whole machine sleep.
 *
 * The card keeps its power, and programs are not frozen.
 */

#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm.h>

static int call(struct device *dev, bool wake)
{
	const struct dev_pm_ops *pm;
	int err = -ENODEV;

	device_lock(dev);
	pm = dev->driver ? dev->driver->pm : NULL;
	if (pm)
		err = wake ? pm->resume(dev) : pm->suspend(dev);
	device_unlock(dev);
	return err;
}

static int call_child(struct device *dev, void *wake)
{
	return strncmp(dev_name(dev), "litepcie.", 9) || !dev->driver ? 0 : call(dev, wake);
}

static int __init sleep_init(void)
{
	struct pci_dev *pdev = pci_get_device(PCI_VENDOR_ID_XILINX, 0x9038, NULL);
	int err = -ENODEV;

	if (!pdev)
		return err;
	err = device_for_each_child(&pdev->dev, NULL, call_child);
	if (!err)
		err = call(&pdev->dev, false);
	if (!err)
		err = call(&pdev->dev, true);
	if (!err)
		err = device_for_each_child(&pdev->dev, pdev, call_child);
	dev_info(&pdev->dev, "slept: %d\n", err);
	pci_dev_put(pdev);
	return err;
}
module_init(sleep_init);

static void __exit sleep_exit(void)
{
}
module_exit(sleep_exit);

MODULE_DESCRIPTION("Test of the sleep of a card");
MODULE_LICENSE("Dual BSD/GPL");
