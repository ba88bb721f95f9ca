// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements a device that imports dma-bufs, to test the driver's dma-bufs. A program writes the
 * file descriptor of a dma-buf to /dev/litepcie_importer. Each read() from offset 0 then returns
 * the sum of the dma-buf's 32-bit words at that time, computed in two ways, as two numbers in a
 * line of text. The device keeps a dma-buf until the next write(), or until the module is unloaded.
 */

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/iosys-map.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/uaccess.h>

#include "compat.h"

LITEPCIE_IMPORT_DMA_BUF;

static struct platform_device *device;
/* lock: protects @dmabuf, its @attachment and its @table of addresses */
static DEFINE_MUTEX(lock);
static struct dma_buf *dmabuf;
static struct dma_buf_attachment *attachment;
static struct sg_table *table;

static void let_go(void)
{
	if (!dmabuf)
		return;
	dma_buf_unmap_attachment_unlocked(attachment, table, DMA_BIDIRECTIONAL);
	dma_buf_detach(dmabuf, attachment);
	dma_buf_put(dmabuf);
	dmabuf = NULL;
}

static int import(int fd)
{
	int err;

	dmabuf = dma_buf_get(fd);
	if (IS_ERR(dmabuf)) {
		err = PTR_ERR(dmabuf);
		goto none;
	}
	attachment = dma_buf_attach(dmabuf, &device->dev);
	if (IS_ERR(attachment)) {
		err = PTR_ERR(attachment);
		goto put;
	}
	table = dma_buf_map_attachment_unlocked(attachment, DMA_BIDIRECTIONAL);
	if (!IS_ERR(table))
		return 0;
	err = PTR_ERR(table);
	dma_buf_detach(dmabuf, attachment);
put:
	dma_buf_put(dmabuf);
none:
	dmabuf = NULL;
	return err;
}

static ssize_t importer_write(struct file *file, const char __user *user, size_t size, loff_t *at)
{
	int fd, err = kstrtoint_from_user(user, size, 10, &fd);

	if (err)
		return err;
	mutex_lock(&lock);
	let_go();
	err = import(fd);
	mutex_unlock(&lock);
	return err ? err : size;
}

/*
 * Sum the dma-buf's words twice: *@mapped through the kernel's mapping, and *@scattered through the
 * pages that a device would use.
 */
static int sums(u32 *mapped, u32 *scattered)
{
	struct iosys_map map;
	struct sg_mapping_iter iter;
	int err = dma_buf_vmap_unlocked(dmabuf, &map);

	if (err)
		return err;
	*mapped = 0;
	*scattered = 0;
	for (size_t i = 0; i < dmabuf->size / 4; i++)
		*mapped += ((u32 *)map.vaddr)[i];
	dma_buf_vunmap_unlocked(dmabuf, &map);
	sg_miter_start(&iter, table->sgl, table->orig_nents, SG_MITER_FROM_SG);
	while (sg_miter_next(&iter))
		for (size_t i = 0; i < iter.length / 4; i++)
			*scattered += ((u32 *)iter.addr)[i];
	sg_miter_stop(&iter);
	return 0;
}

static ssize_t importer_read(struct file *file, char __user *user, size_t size, loff_t *at)
{
	u32 mapped, scattered;
	char text[40];
	int err;

	mutex_lock(&lock);
	err = dmabuf ? sums(&mapped, &scattered) : -ENODEV;
	mutex_unlock(&lock);
	if (err)
		return err;
	snprintf(text, sizeof(text), "%u %u\n", mapped, scattered);
	return simple_read_from_buffer(user, size, at, text, strlen(text));
}

static const struct file_operations importer_fops = {
	.owner	= THIS_MODULE,
	.read	= importer_read,
	.write	= importer_write,
};

static struct miscdevice importer = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "litepcie_importer",
	.fops	= &importer_fops,
};

static int __init importer_init(void)
{
	int err;

	device = platform_device_register_simple("litepcie_importer", -1, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	err = dma_coerce_mask_and_coherent(&device->dev, DMA_BIT_MASK(64));
	if (!err)
		err = misc_register(&importer);
	if (err)
		platform_device_unregister(device);
	return err;
}
module_init(importer_init);

static void __exit importer_exit(void)
{
	misc_deregister(&importer);
	let_go();
	platform_device_unregister(device);
}
module_exit(importer_exit);

MODULE_DESCRIPTION("Imports litepcie's dma-bufs, for tests");
MODULE_LICENSE("Dual BSD/GPL");
