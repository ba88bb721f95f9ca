// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * The module litepcie_virtio.ko: a virtio transport between the register page of a card's virtio
 * device and the kernel's virtio drivers, such as virtio_net and virtio_console.
 *
 * The registers are those of virtio-mmio version 2 (VirtIO 1.2, 4.2.2).  The kernel's own
 * virtio_mmio.ko cannot drive them behind an IOMMU: it maps DMA for a platform device, which
 * belongs to no IOMMU domain.  In this module the parent of the virtio device is the PCI function,
 * so the kernel maps DMA for the PCI function.
 */

#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <uapi/linux/virtio_ids.h>

#include "uapi/litepcie_capability.h"
#include "virtio_device.h"

#define VERSION	2	/* of virtio-mmio, in the register of VIRTIO_MMIO_VERSION */

static void __iomem *page_of(struct virtio_device *vdev)
{
	return litepcie_vdev_of(vdev)->virtio->page;
}

/* Status of the virtio device --------------------------------------------- */

/* Returns the virtio device's status, or 0, as after a reset, if the card is lost. */
static u8 read_status(struct virtio_device *vdev)
{
	u32 status = readl(page_of(vdev) + VIRTIO_MMIO_STATUS);

	if (status == ~0u && litepcie_virtio_check_lost(litepcie_vdev_of(vdev)->virtio))
		return 0;
	return status;
}

/*
 * Returns the virtio device's status, or 0 if the device did not end its last reset or the card is
 * lost.  With status 0 the kernel takes the device for one that has been reset.  That is right for
 * its queues, which the card cannot use while bus mastering is off or the card is lost.  The probe
 * of a virtio driver then fails, since FEATURES_OK does not read back as set.
 */
static u8 get_status(struct virtio_device *vdev)
{
	return litepcie_vdev_of(vdev)->stuck ? 0 : read_status(vdev);
}

static void set_status(struct virtio_device *vdev, u8 status)
{
	writel(status, page_of(vdev) + VIRTIO_MMIO_STATUS);
}

/*
 * Reset the device.  The reset ends when the device's reads of host memory have ended.  If it does
 * not end, bus mastering is switched off for the whole card, since the kernel is about to free the
 * queues' memory.
 *
 * A device whose status is 0 is reset already.  A write of 0 would begin another reset.  The status
 * would not show the end of that reset, and until then the device would ignore writes.
 */
static void reset_and_wait(struct virtio_device *vdev)
{
	struct litepcie_vdev *d = litepcie_vdev_of(vdev);
	u8 status;

	if (read_status(vdev))
		set_status(vdev, 0);
	d->stuck = readx_poll_timeout(read_status, vdev, status, !status,
				      RESET_POLL_US, RESET_TIMEOUT_US);
	litepcie_virtio_quiet(d->virtio, !d->stuck);
	if (d->stuck)
		dev_err(&vdev->dev, "the device does not end its reset (status %#x): bus mastering is off until the card is reset\n",
			status);
	litepcie_virtio_synchronize(d->virtio);
}

/* Features of the virtio device ------------------------------------------- */

static u64 get_features(struct virtio_device *vdev)
{
	void __iomem *page = page_of(vdev);
	u64 features;

	writel(1, page + VIRTIO_MMIO_DEVICE_FEATURES_SEL);
	features = (u64)readl(page + VIRTIO_MMIO_DEVICE_FEATURES) << 32;
	writel(0, page + VIRTIO_MMIO_DEVICE_FEATURES_SEL);
	return features | readl(page + VIRTIO_MMIO_DEVICE_FEATURES);
}

/*
 * Choose the features of the virtio device.  vring_transport_features() clears RING_RESET, and
 * before Linux 6.4 also NOTIFICATION_DATA, so these bits are set after that call.
 */
static int finalize_features(struct virtio_device *vdev)
{
	struct litepcie_vdev *d = litepcie_vdev_of(vdev);
	u64 offered = get_features(vdev) &
		      (BIT_ULL(VIRTIO_F_NOTIFICATION_DATA) | BIT_ULL(VIRTIO_F_RING_RESET));
	void __iomem *page = d->virtio->page;

	vring_transport_features(vdev);
	/*
	 * A console never gets packed queues: on a lost card give_back() can end a wait of
	 * virtio_console in a split queue only.
	 */
	if (vdev->id.device == VIRTIO_ID_CONSOLE)
		__virtio_clear_bit(vdev, VIRTIO_F_RING_PACKED);
	d->notifies_data = litepcie_keeps_data(vdev->features | offered);
	d->packed = __virtio_test_bit(vdev, VIRTIO_F_RING_PACKED);
	if (d->notifies_data)
		__virtio_set_bit(vdev, VIRTIO_F_NOTIFICATION_DATA);
	else
		__virtio_clear_bit(vdev, VIRTIO_F_NOTIFICATION_DATA);
	if (offered & BIT_ULL(VIRTIO_F_RING_RESET))
		__virtio_set_bit(vdev, VIRTIO_F_RING_RESET);
	if (!__virtio_test_bit(vdev, VIRTIO_F_VERSION_1) ||
	    !__virtio_test_bit(vdev, VIRTIO_F_ACCESS_PLATFORM)) {
		dev_err(&vdev->dev, "features %#llx: the device must offer VERSION_1 and ACCESS_PLATFORM\n",
			vdev->features);
		return -EINVAL;
	}
	writel(1, page + VIRTIO_MMIO_DRIVER_FEATURES_SEL);
	writel(upper_32_bits(vdev->features), page + VIRTIO_MMIO_DRIVER_FEATURES);
	writel(0, page + VIRTIO_MMIO_DRIVER_FEATURES_SEL);
	writel(lower_32_bits(vdev->features), page + VIRTIO_MMIO_DRIVER_FEATURES);
	return 0;
}

/* Configuration space of the virtio device -------------------------------- */

/*
 * Read a part of the device's configuration.  The register page can only be read and written in
 * aligned dwords.  This function reads one dword and copies those of its bytes that lie in the @len
 * bytes at @offset of the configuration.  Returns the number of these bytes.
 */
static unsigned int get_part(void __iomem *config, unsigned int offset, void *buf,
			     unsigned int len)
{
	unsigned int skip = offset % sizeof(u32);
	unsigned int bytes = min_t(unsigned int, len, sizeof(u32) - skip);
	__le32 word = cpu_to_le32(readl(config + offset - skip));

	memcpy(buf, (u8 *)&word + skip, bytes);
	return bytes;
}

/*
 * Write the bytes of one dword that lie in the @len bytes at @offset of the configuration.  The
 * dword's other bytes keep their values.  Returns the number of bytes written.
 */
static unsigned int set_part(void __iomem *config, unsigned int offset, const void *buf,
			     unsigned int len)
{
	unsigned int skip = offset % sizeof(u32);
	unsigned int bytes = min_t(unsigned int, len, sizeof(u32) - skip);
	__le32 word = cpu_to_le32(readl(config + offset - skip));

	memcpy((u8 *)&word + skip, buf, bytes);
	writel(le32_to_cpu(word), config + offset - skip);
	return bytes;
}

static void get_config(struct virtio_device *vdev, unsigned int offset, void *buf,
		       unsigned int len)
{
	void __iomem *config = page_of(vdev) + VIRTIO_MMIO_CONFIG;

	for (unsigned int done = 0; done < len;)
		done += get_part(config, offset + done, buf + done, len - done);
}

static void set_config(struct virtio_device *vdev, unsigned int offset, const void *buf,
		       unsigned int len)
{
	void __iomem *config = page_of(vdev) + VIRTIO_MMIO_CONFIG;

	for (unsigned int done = 0; done < len;)
		done += set_part(config, offset + done, buf + done, len - done);
}

static u32 generation(struct virtio_device *vdev)
{
	return readl(page_of(vdev) + VIRTIO_MMIO_CONFIG_GENERATION);
}

/* The device's operations for virtio drivers ------------------------------ */

static void synchronize_cbs(struct virtio_device *vdev)
{
	litepcie_virtio_synchronize(litepcie_vdev_of(vdev)->virtio);
}

static const char *bus_name(struct virtio_device *vdev)
{
	return pci_name(to_pci_dev(vdev->dev.parent));
}

static const struct virtio_config_ops config_ops = {
	.get			= get_config,
	.set			= set_config,
	.generation		= generation,
	.get_status		= get_status,
	.set_status		= set_status,
	.reset			= reset_and_wait,
	.find_vqs		= litepcie_find_vqs,
	.del_vqs		= litepcie_queues_delete,
	.synchronize_cbs	= synchronize_cbs,
	.get_features		= get_features,
	.finalize_features	= finalize_features,
	.bus_name		= bus_name,
	.set_vq_affinity	= litepcie_queue_steer,
	.disable_vq_and_reset	= litepcie_queue_reset,
	.enable_vq_after_reset	= litepcie_queue_restart,
};

/* Probe, removal, sleep and shutdown -------------------------------------- */

static void litepcie_vdev_release(struct device *dev)
{
	kfree(litepcie_vdev_of(dev_to_virtio(dev)));
}

/* Check that the page is that of a virtio device.  Returns the device's type, or an error. */
static int check_page(struct device *dev, void __iomem *page)
{
	u32 magic = readl(page + VIRTIO_MMIO_MAGIC_VALUE);
	u32 version = readl(page + VIRTIO_MMIO_VERSION);
	u32 type = readl(page + VIRTIO_MMIO_DEVICE_ID);

	if (magic != LITEPCIE_VIRTIO_MAGIC || version != VERSION || type - 1 > INT_MAX - 1) {
		dev_err(dev, "magic value %#010x, version %u, device %u: no virtio device of version %u\n",
			magic, version, type, VERSION);
		return -ENODEV;
	}
	return type;
}

static int litepcie_vdev_probe(struct auxiliary_device *adev, const struct auxiliary_device_id *id)
{
	struct litepcie_virtio *virtio = litepcie_virtio_of(adev);
	int err, type = check_page(&adev->dev, virtio->page);
	struct litepcie_vdev *d;

	if (type < 0)
		return type;
	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return -ENOMEM;
	d->virtio = virtio;
	d->doorbell = virtio->page + VIRTIO_MMIO_QUEUE_NOTIFY;
	spin_lock_init(&d->lock);
	d->vdev.id.device = type;
	d->vdev.id.vendor = readl(virtio->page + VIRTIO_MMIO_VENDOR_ID);
	d->vdev.config = &config_ops;
	d->vdev.dev.parent = adev->dev.parent;
	d->vdev.dev.release = litepcie_vdev_release;
	auxiliary_set_drvdata(adev, d);
	err = register_virtio_device(&d->vdev);
	if (err)
		put_device(&d->vdev.dev);
	return err;
}

/*
 * If the card is lost, end the waits of virtio drivers for buffers: a lost card uses no buffer any
 * more, so these drivers would wait for ever.
 */
static void end_waits_if_lost(struct litepcie_vdev *d)
{
	if (litepcie_virtio_check_lost(d->virtio))
		litepcie_queues_end_waits(d);
}

static void litepcie_vdev_remove(struct auxiliary_device *adev)
{
	struct litepcie_vdev *d = auxiliary_get_drvdata(adev);

	end_waits_if_lost(d);
	unregister_virtio_device(&d->vdev);
}

/*
 * Reset the virtio device before the machine shuts down, so that the card uses no queue: the next
 * kernel may own the memory.
 */
static void shutdown(struct auxiliary_device *adev)
{
	struct litepcie_vdev *d = auxiliary_get_drvdata(adev);

	reset_and_wait(&d->vdev);
	litepcie_queues_end_waits(d);
}

static int suspend(struct device *dev)
{
	struct litepcie_vdev *d = dev_get_drvdata(dev);

	end_waits_if_lost(d);
	return virtio_device_freeze(&d->vdev);
}

static int resume(struct device *dev)
{
	struct litepcie_vdev *d = dev_get_drvdata(dev);

	return virtio_device_restore(&d->vdev);
}

static DEFINE_SIMPLE_DEV_PM_OPS(pm_ops, suspend, resume);

static const struct auxiliary_device_id ids[] = {
	{ .name = "litepcie." LITEPCIE_VIRTIO_NAME },
	{ }
};
MODULE_DEVICE_TABLE(auxiliary, ids);

static struct auxiliary_driver litepcie_virtio_driver = {
	.name		= "virtio",
	.probe		= litepcie_vdev_probe,
	.remove		= litepcie_vdev_remove,
	.shutdown	= shutdown,
	.id_table	= ids,
	.driver.pm	= pm_sleep_ptr(&pm_ops),
};
module_auxiliary_driver(litepcie_virtio_driver);

MODULE_DESCRIPTION("VirtIO devices of Lanebox PCIe cards");
MODULE_AUTHOR("Lanebox contributors");
MODULE_VERSION(LITEPCIE_RELEASE);
MODULE_LICENSE("Dual BSD/GPL");
