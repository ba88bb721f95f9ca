/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Receive the interrupt messages of the "vfio" back end. With MSI-X each interrupt cause that the
 * handle uses has a vector and an eventfd. With MSI one vector and one eventfd stand for all
 * causes. The epoll descriptor vfio->events is readable when any message has come, or when the
 * kernel requests the device back.
 */
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "vfio.h"

/*
 * The argument of the ioctl VFIO_DEVICE_SET_IRQS, with the eventfd of each vector from 0 on. An
 * eventfd of -1 means that the vector is not used.
 */
union irq_request {
	struct vfio_irq_set set;
	uint8_t room[sizeof(struct vfio_irq_set) + VFIO_MESSAGES * sizeof(int)];
};

static int set_events(const struct vfio *vfio, unsigned int index, const int *fds,
		      unsigned int count)
{
	union irq_request request = {
		.set = {
			.argsz = (uint32_t)(sizeof(request.set) + count * sizeof(int)),
			.flags = VFIO_IRQ_SET_ACTION_TRIGGER |
				 (count ? VFIO_IRQ_SET_DATA_EVENTFD : VFIO_IRQ_SET_DATA_NONE),
			.index = index,
			.count = count,
		},
	};

	if (count)
		memcpy(request.room + sizeof(request.set), fds, count * sizeof(int));
	return ioctl(vfio->device, VFIO_DEVICE_SET_IRQS, &request.set);
}

static unsigned int offered(const struct vfio *vfio, unsigned int delivery)
{
	struct vfio_irq_info info = { .argsz = sizeof(info), .index = delivery };

	return ioctl(vfio->device, VFIO_DEVICE_GET_IRQ_INFO, &info) < 0 ? 0 : info.count;
}

/*
 * Returns the interrupt causes that this handle uses, as bits: those of h2c, c2h and the user's
 * logic. With MSI-X the number of a cause is that of its vector.
 */
static uint32_t causes(const struct litepcie *dev)
{
	return dev->map.h2c_cause | dev->map.c2h_cause | dev->map.user_cause;
}

/*
 * Choose MSI-X if the kernel offers a vector for each cause that the handle uses, else MSI. Returns
 * the vectors to use, as bits, or 0 if the kernel offers no MSI either.
 */
static uint32_t choose_delivery(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);
	unsigned int vectors = offered(vfio, VFIO_PCI_MSIX_IRQ_INDEX);

	vfio->delivery = VFIO_PCI_MSIX_IRQ_INDEX;
	if (vectors >= VFIO_MESSAGES || causes(dev) < 1u << vectors)
		return causes(dev);
	vfio->delivery = VFIO_PCI_MSI_IRQ_INDEX;
	return offered(vfio, VFIO_PCI_MSI_IRQ_INDEX) ? 1 : 0;
}

static int add_event(struct vfio *vfio, int *fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	*fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return *fd < 0 ? -1 : epoll_ctl(vfio->events, EPOLL_CTL_ADD, *fd, &event);
}

/*
 * Open the eventfd by which the kernel requests the device back, if the kernel offers one. When
 * somebody unbinds or removes the device, the kernel waits until no program has it open.
 */
static int open_request(struct vfio *vfio)
{
	if (!offered(vfio, VFIO_PCI_REQ_IRQ_INDEX))
		return 0;
	if (add_event(vfio, &vfio->request) < 0)
		return -1;
	return set_events(vfio, VFIO_PCI_REQ_IRQ_INDEX, &vfio->request, 1);
}

static int open_messages(struct vfio *vfio, uint32_t vectors)
{
	int rc;

	vfio->events = epoll_create1(EPOLL_CLOEXEC);
	if (vfio->events < 0)
		return -1;
	rc = open_request(vfio);
	for (; rc == 0 && vfio->messages < VFIO_MESSAGES && vectors >> vfio->messages;
	     vfio->messages++) {
		vfio->message[vfio->messages] = -1;
		if (vectors >> vfio->messages & 1)
			rc = add_event(vfio, &vfio->message[vfio->messages]);
	}
	return rc;
}

/*
 * Switch the interrupt messages on. The first call makes the eventfds. A later call, after a reset,
 * uses the same eventfds again, since a program may be waiting on them.
 */
int vfio_irq_enable(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);

	if (vfio->events < 0) {
		uint32_t vectors = choose_delivery(dev);

		if (!vectors)
			return litepcie_fail(-EOPNOTSUPP, "%s has no MSI, or the host keeps it "
					     "from using it (pci=nomsi)", vfio->address);
		if (open_messages(vfio, vectors) < 0)
			return litepcie_fail_errno(errno, "%s: no descriptor for its messages",
						   vfio->address);
	}
	if (set_events(vfio, vfio->delivery, vfio->message, vfio->messages) < 0)
		return litepcie_fail_errno(errno, "%s: its messages cannot be caught",
					   vfio->address);
	return 0;
}

void vfio_irq_disable(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);

	if (vfio->events < 0)
		return;
	set_events(vfio, vfio->delivery, NULL, 0);
	for (; vfio->messages; vfio->messages--)
		if (vfio->message[vfio->messages - 1] >= 0)
			close(vfio->message[vfio->messages - 1]);
	if (vfio->request >= 0) {
		set_events(vfio, VFIO_PCI_REQ_IRQ_INDEX, NULL, 0);
		close(vfio->request);
	}
	close(vfio->events);
	vfio->events = vfio->request = -1;
}

static int64_t take_messages(const struct vfio *vfio)
{
	int64_t taken = 0;

	for (unsigned int n = 0; n < vfio->messages; n++)
		taken += (int64_t)litepcie_take_event(vfio->message[n]);
	return taken;
}

int vfio_sleep(struct litepcie *dev, int timeout_ms)
{
	struct vfio *vfio = vfio_of(dev);
	struct pollfd events[2] = {
		{ .fd = vfio->events, .events = POLLIN },
		{ .fd = litepcie_timer(dev), .events = POLLIN },
	};
	int64_t taken;
	int rc = litepcie_poll(dev, events, 2, timeout_ms);

	if (rc < 0)
		return rc;
	taken = take_messages(vfio);
	dev->stats.interrupts += taken;
	return taken > 0;
}

/*
 * Returns 1 if a register read has found that the card is gone, -ENODEV if the kernel requests the
 * device back, or 0. The eventfd of that request is not read, so every thread and every wait sees
 * the request.
 */
int vfio_state(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);
	struct pollfd request = { .fd = vfio->request, .events = POLLIN };

	if (vfio->gone)
		return 1;
	return vfio->request >= 0 && poll(&request, 1, 0) > 0 ? -ENODEV : 0;
}
