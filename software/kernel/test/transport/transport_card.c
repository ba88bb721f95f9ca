// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * The made-up card of the test program transport: two pages of virtio-mmio registers, as the VirtIO
 * standard defines them, and stand-ins for the kernel's interrupts. As in gateware/virtio, a write
 * of 0 to the status starts a reset, even if the status was 0 already. The card of gateware/virtio
 * ignores all writes until the reset ends. So meanwhile every write fails the test here, except
 * another 0 to the status, unless the reset never ends.
 */
#include "transport_card.h"

#include <linux/virtio_mmio.h>

#define QUEUE_RESET	0x0c0	/* offset of the register QueueReset */

static u8 bar0[OFFSET + DEVICES * LITEPCIE_VIRTIO_PAGE];

struct made_device made[DEVICES];
struct pci_dev pdev;
struct litepcie card;
bool gone, master_off;
struct made_irq irqs[LITEPCIE_CAUSES_MAX];
unsigned int synchronized, refused_irq, allocated;
char said[256];
const char *part;
struct litepcie_block blocks[DEVICES];
u32 parameters[DEVICES][3];
struct virtio_device *vdev, *leaving;
struct virtqueue *queues[QUEUES];
unsigned int live_queues, wanted;
const char *names[QUEUES];
vq_callback_t *callbacks[QUEUES];
void (*on_leave)(void);

void need(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "transport: %s: %s\n", part, what);
	exit(1);
}

void power_on(void)
{
	static const struct made_device fresh = {
		.magic = LITEPCIE_VIRTIO_MAGIC, .version = 2, .most = SIZE,
		.offered = BIT_ULL(VIRTIO_F_VERSION_1) | BIT_ULL(VIRTIO_F_ACCESS_PLATFORM) |
			   BIT_ULL(38) | BIT_ULL(40) | BIT_ULL(5),
	};

	for (u32 n = 0; n < DEVICES; n++) {
		made[n] = fresh;
		made[n].id = n ? VIRTIO_ID_CONSOLE : VIRTIO_ID_NET;
		for (u8 i = 0; i < CONFIG_BYTES; i++)
			made[n].config[i] = i + 1;
		parameters[n][LITEPCIE_VIRTIO_DEVICE] = made[n].id;
		parameters[n][LITEPCIE_VIRTIO_QUEUES] = QUEUES;
		parameters[n][LITEPCIE_VIRTIO_CAUSE] = 8 + n * 8;
		blocks[n] = (struct litepcie_block) {
			LITEPCIE_BLOCK_VIRTIO, 1, (u8)n, 0, OFFSET + n * LITEPCIE_VIRTIO_PAGE,
			LITEPCIE_VIRTIO_PAGE, 3, parameters[n],
		};
	}
	memset(irqs, 0, sizeof(irqs));
	pdev = (struct pci_dev){ 0 };
	card = (struct litepcie){ .pdev = &pdev, .bar0 = bar0 };
	gone = master_off = false;
	vdev = NULL;
	on_leave = NULL;
	live_queues = synchronized = refused_irq = 0;
	said[0] = 0;
}

/* Registers of the made-up card --------------------------------------------------------------- */

static struct made_device *device_of(const u8 *address, u32 *at)
{
	size_t offset = (size_t)(address - bar0) - OFFSET;

	need(offset < DEVICES * LITEPCIE_VIRTIO_PAGE,
	     "a register outside the devices' pages is used");
	*at = offset % LITEPCIE_VIRTIO_PAGE;
	need(!(*at % 4), "a register is not used as a dword");
	return &made[offset / LITEPCIE_VIRTIO_PAGE];
}

static struct made_queue *selected(struct made_device *device)
{
	need(device->queue_sel < QUEUES, "a queue is used that the device does not have");
	return &device->queue[device->queue_sel];
}

static void end_reset(struct made_device *device)
{
	const struct vring_used *used = (void *)(uintptr_t)device->queue[1].address[2];

	device->used = used ? used->idx : 0;
	device->status = 0;
	device->accepted = 0;
	memset(device->queue, 0, sizeof(device->queue));
}

static u32 read_status(struct made_device *device)
{
	u32 status = device->status;

	device->status_reads++;
	if (device->resetting && device->reset_takes != ~0u && !--device->resetting)
		end_reset(device);
	return status;
}

static u32 read_queue_reset(struct made_device *device)
{
	struct made_queue *queue = selected(device);
	u32 resetting = queue->resetting;

	if (resetting && device->queue_reset_takes != ~0u && !--queue->resetting)
		memset(queue, 0, sizeof(*queue));
	return resetting != 0;
}

static void reset_queue(struct made_device *device, u32 value)
{
	struct made_queue *queue = selected(device);

	need(value == 1 && device->accepted & BIT_ULL(40),
	     "a queue is reset though this was not agreed on");
	queue->ready = 0;
	queue->resetting = device->queue_reset_takes == ~0u ? 1 : device->queue_reset_takes + 4;
}

u32 readl(const u8 *address)
{
	u32 at, word;
	struct made_device *device = device_of(address, &at);

	if (gone)
		return ~0u;
	/* on PCIe the card answers a read after it has got all earlier writes */
	device->posted = false;
	switch (at) {
	case VIRTIO_MMIO_MAGIC_VALUE: return device->magic;
	case VIRTIO_MMIO_VERSION: return device->version;
	case VIRTIO_MMIO_DEVICE_ID: return device->id;
	case VIRTIO_MMIO_VENDOR_ID: return 0x1234;
	case VIRTIO_MMIO_DEVICE_FEATURES:
		return device->device_sel > 1 ? 0 :
		       (u32)(device->offered >> 32 * device->device_sel);
	case VIRTIO_MMIO_QUEUE_NUM_MAX: return device->queue_sel < QUEUES ? device->most : 0;
	case VIRTIO_MMIO_QUEUE_READY: return selected(device)->ready;
	case QUEUE_RESET: return read_queue_reset(device);
	case VIRTIO_MMIO_STATUS: return read_status(device);
	case VIRTIO_MMIO_CONFIG_GENERATION: return device->generation;
	}
	need(at >= VIRTIO_MMIO_CONFIG && at < VIRTIO_MMIO_CONFIG + CONFIG_BYTES,
	     "a register is read that the driver has no use for");
	memcpy(&word, device->config + at - VIRTIO_MMIO_CONFIG, sizeof(word));
	return word;
}

static void write_status(struct made_device *device, u32 value)
{
	if (!value) {
		device->resetting = device->reset_takes + (device->status ? 4 : 40);
		return;
	}
	need(!(device->status & ~value & ~VIRTIO_CONFIG_S_NEEDS_RESET),
	     "a bit of the status is lost");
	device->status = value;
}

static void make_ready(struct made_device *device, u32 value)
{
	struct made_queue *queue = selected(device);
	unsigned int n = (unsigned int)(device - made);

	if (value) {
		need(queue->num && queue->num <= device->most, "a queue is ready without a size");
		need(queue->address[0] && queue->address[1] && queue->address[2],
		     "a queue is ready without its addresses");
		need(card.enabled & BIT(parameters[n][2] + device->queue_sel),
		     "a queue is ready before its interrupt is");
	}
	queue->ready = value;
	device->posted = !value;
}

static void half(u64 *value, u32 upper, u32 word)
{
	*value = upper ? (u64)word << 32 | (u32)*value : (*value & ~0xffffffffull) | word;
}

static void write_queue(struct made_device *device, u32 at, u32 value)
{
	struct made_queue *queue = selected(device);

	need(!queue->ready && !queue->resetting,
	     "the place of a queue changes while the card uses it");
	if (at == VIRTIO_MMIO_QUEUE_NUM)
		queue->num = value;
	else
		half(&queue->address[(at - VIRTIO_MMIO_QUEUE_DESC_LOW) / 16], at % 16, value);
}

void writel(u32 value, u8 *address)
{
	u32 at;
	struct made_device *device = device_of(address, &at);

	if (gone)
		return;
	need(!device->resetting || (at == VIRTIO_MMIO_STATUS && !value) ||
	     device->reset_takes == ~0u, "a write is lost, as a reset has not ended");
	switch (at) {
	case VIRTIO_MMIO_DEVICE_FEATURES_SEL: device->device_sel = value; break;
	case VIRTIO_MMIO_DRIVER_FEATURES_SEL: device->driver_sel = value; break;
	case VIRTIO_MMIO_DRIVER_FEATURES:
		half(&device->accepted, device->driver_sel, value);
		break;
	case VIRTIO_MMIO_QUEUE_SEL: device->queue_sel = value; break;
	case VIRTIO_MMIO_QUEUE_READY: make_ready(device, value); break;
	case QUEUE_RESET: reset_queue(device, value); break;
	case VIRTIO_MMIO_QUEUE_NOTIFY:
		device->doorbell = value;
		device->doorbells++;
		break;
	case VIRTIO_MMIO_STATUS: write_status(device, value); break;
	case VIRTIO_MMIO_QUEUE_NUM:
	case VIRTIO_MMIO_QUEUE_DESC_LOW: case VIRTIO_MMIO_QUEUE_DESC_HIGH:
	case VIRTIO_MMIO_QUEUE_AVAIL_LOW: case VIRTIO_MMIO_QUEUE_AVAIL_HIGH:
	case VIRTIO_MMIO_QUEUE_USED_LOW: case VIRTIO_MMIO_QUEUE_USED_HIGH:
		write_queue(device, at, value);
		break;
	default:
		need(at >= VIRTIO_MMIO_CONFIG && at < VIRTIO_MMIO_CONFIG + CONFIG_BYTES,
		     "a register is written that is none");
		memcpy(device->config + at - VIRTIO_MMIO_CONFIG, &value, sizeof(value));
	}
}

/* Interrupts of the made-up card -------------------------------------------------------------- */

int request_irq(int irq, irq_handler_t handler, unsigned long flags, const char *name, void *data)
{
	struct made_irq *made_irq = &irqs[irq - 100];

	(void)flags;
	need(name[0], "an interrupt has no name");
	if (irq - 100 == (int)refused_irq && refused_irq)
		return -ENOSPC;
	need(!made_irq->handler, "an interrupt is requested twice");
	made_irq->handler = handler;
	made_irq->data = data;
	made_irq->processors = NULL;
	return 0;
}

void free_irq(int irq, void *data)
{
	struct made_irq *made_irq = &irqs[irq - 100];

	need(made_irq->handler && made_irq->data == data,
	     "an interrupt is freed that was not requested");
	need(!made_irq->processors, "an interrupt is freed that keeps a pointer to processors");
	*made_irq = (struct made_irq){ 0 };
}

void synchronize_irq(int irq)
{
	need(irq >= 100, "no interrupt is waited for");
	synchronized++;
}

int irq_set_affinity_and_hint(int irq, const struct cpumask *processors)
{
	need(irq >= 100 && irqs[irq - 100].handler, "an interrupt that nobody has is steered");
	irqs[irq - 100].processors = processors;
	return 0;
}

void irq_set_status_flags(int irq, unsigned long flags)
{
	irqs[irq - 100].polled = flags == IRQ_IS_POLLED;
}

void disable_irq(int irq)
{
	struct made_irq *made_irq = &irqs[irq - 100];

	need(made_irq->handler && !made_irq->disabled, "an interrupt is disabled twice");
	made_irq->disabled = true;
	synchronized++;
}

void enable_irq(int irq)
{
	struct made_irq *made_irq = &irqs[irq - 100];

	need(made_irq->handler && made_irq->disabled, "an interrupt is enabled twice");
	made_irq->disabled = false;
}

unsigned int requested(void)
{
	unsigned int count = 0;

	for (unsigned int n = 0; n < LITEPCIE_CAUSES_MAX; n++)
		count += irqs[n].handler != NULL;
	return count;
}

/*
 * Raise an interrupt cause: with MSI-X by the cause's own message, else by the one MSI message. The
 * handler of MSI looks only at enabled causes. A message of MSI-X may come after its cause was
 * disabled.
 */
void raise(unsigned int cause)
{
	const struct made_irq *irq = &irqs[cause];

	if (!pdev.msix_enabled)
		litepcie_virtio_interrupt(&card, 100, card.enabled & BIT(cause));
	else if (irq->handler && !irq->disabled)
		need(irq->handler(100 + (int)cause, irq->data) == IRQ_HANDLED || irq->polled,
		     "the kernel would switch off an interrupt without news");
}

/* Stand-ins for the driver's other files ------------------------------------------------------ */

bool litepcie_block_is_known(const struct litepcie_block *block, unsigned int last)
{
	return !block->bar && block->version == LITEPCIE_CAP_BLOCK_VERSION &&
	       block->parameters > last;
}

u32 litepcie_parameter(const struct litepcie_block *block, unsigned int n)
{
	return n < block->parameters ? block->parameter[n] : 0;
}

const struct litepcie_block *litepcie_block_find(struct litepcie *ours, u16 type,
						 unsigned int index)
{
	(void)ours;
	return type == LITEPCIE_BLOCK_VIRTIO && index < DEVICES ? &blocks[index] : NULL;
}

struct litepcie_way *litepcie_nth_way(struct litepcie *ours, unsigned int n)
{
	static struct litepcie_way ways[2] = { { 0 }, { 1 } };

	(void)ours;
	return n < 2 ? &ways[n] : NULL;
}

bool litepcie_check_lost(struct litepcie *ours)
{
	ours->lost = ours->lost || gone;
	return ours->lost;
}

void litepcie_master_on(struct litepcie *ours, u32 cause)
{
	ours->unquiet &= ~BIT(cause);
	master_off = ours->unquiet;
}

void litepcie_master_off(struct litepcie *ours, u32 cause)
{
	ours->unquiet |= BIT(cause);
	master_off = true;
}

void litepcie_cause_enable(struct litepcie *ours, u32 cause, bool enable)
{
	ours->enabled = enable ? ours->enabled | BIT(cause) : ours->enabled & ~BIT(cause);
}

void litepcie_card_get(struct litepcie *ours) { ours->references++; }
void litepcie_card_put(struct litepcie *ours) { ours->references--; }
