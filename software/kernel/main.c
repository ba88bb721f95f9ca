// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Loads and unloads litepcie, the driver of Lanebox cards.
 */

#include <linux/module.h>

#include "card.h"

/*
 * The driver stores a 64-bit count in the status page by one store, so that a program that loads it
 * by one load never sees half of a new count.  A 32-bit kernel has no such store, so it is refused.
 */
#ifndef CONFIG_64BIT
#error "litepcie needs a 64-bit kernel; 32-bit programs on it are supported"
#endif

static int __init litepcie_init(void)
{
	int err = litepcie_chrdev_init();

	if (err)
		return err;
	err = pci_register_driver(&litepcie_pci_driver);
	if (err)
		litepcie_chrdev_exit();
	return err;
}
module_init(litepcie_init);

static void __exit litepcie_exit_module(void)
{
	pci_unregister_driver(&litepcie_pci_driver);
	litepcie_chrdev_exit();
}
module_exit(litepcie_exit_module);

MODULE_DESCRIPTION("Lanebox PCIe cards, with LitePCIe's ABI");
MODULE_AUTHOR("Lanebox contributors");
MODULE_VERSION(LITEPCIE_RELEASE);
MODULE_LICENSE("Dual BSD/GPL");
