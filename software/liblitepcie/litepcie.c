/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Open and close a card, and make and free its handle. bar.c accesses registers and memory, the
 * folder describe reads the card's description, and the folder dma has the streams.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helpers.h"
#include "litepcie_capture.h"

#define SIM_PREFIX	"sim:"
#define VFIO_PREFIX	"vfio:"

static int open_backend(struct litepcie *dev)
{
	int rc;

	if (!*dev->name || strcmp(dev->name, SIM_PREFIX) == 0 ||
	    strcmp(dev->name, VFIO_PREFIX) == 0)
		return litepcie_fail(-EINVAL, "the device \"%s\" has no name: it must be like "
				     "/dev/litepcie0, vfio:0000:22:00.0 or sim:SOCKET", dev->name);
	if (strncmp(dev->name, SIM_PREFIX, strlen(SIM_PREFIX)) == 0)
		dev->backend = &litepcie_sim_backend;
	else if (strncmp(dev->name, VFIO_PREFIX, strlen(VFIO_PREFIX)) == 0)
		dev->backend = &litepcie_vfio_backend;
	else
		dev->backend = &litepcie_kernel_backend;

	rc = dev->backend->open(dev);
	if (rc < 0)
		return rc;
	/* No register of BAR0 is written before the capability table shows a card of Lanebox. */
	rc = litepcie_capability_read(dev) ?: litepcie_registers_build(dev) ?:
	     litepcie_map_build(dev) ?: litepcie_identifier_read(dev) ?: litepcie_attach(dev);
	if (rc < 0)
		dev->backend->close(dev);
	return rc;
}

static void free_handle(struct litepcie *dev)
{
	if (dev->timer >= 0)
		close(dev->timer);
	if (dev->news >= 0)
		close(dev->news);
	pthread_cond_destroy(&dev->woken);
	pthread_mutex_destroy(&dev->lock);
	pthread_mutex_destroy(&dev->counting);
	free(dev->blocks);
	free(dev->registers);
	free(dev->name);
	free(dev);
}

/* Make a handle. Timed waits on its condition variable use the monotonic clock. */
static struct litepcie *new_handle(const char *name)
{
	struct litepcie *dev = calloc(1, sizeof(*dev));
	pthread_condattr_t monotonic;

	if (!dev)
		return NULL;
	dev->name = strdup(name);
	if (!dev->name) {
		free(dev);
		return NULL;
	}
	dev->timer = dev->news = dev->interrupt = -1;
	dev->able = LITEPCIE_HAS_STREAMS | LITEPCIE_HAS_PACKETS;
	litepcie_streams_init(dev);
	pthread_mutex_init(&dev->lock, NULL);
	pthread_mutex_init(&dev->counting, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&dev->woken, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return dev;
}

int litepcie_open(struct litepcie **result, const char *name, char *why, size_t why_size)
{
	struct litepcie *dev;
	char *sentence = litepcie_sentence();
	int rc = -ENOMEM;

	*result = NULL;
	*sentence = '\0';
	dev = new_handle(name);
	if (dev) {
		litepcie_lock(dev);
		rc = open_backend(dev);
		litepcie_unlock(dev);
	}
	if (rc == 0) {
		*result = dev;
		return 0;
	}

	if (!*sentence)
		snprintf(sentence, LITEPCIE_WHY_SIZE, "%s", litepcie_strerror(rc));
	if (why)
		snprintf(why, why_size, "%s", sentence);
	if (dev)
		free_handle(dev);
	return rc;
}

void litepcie_close(struct litepcie *dev)
{
	if (!dev)
		return;
	/* Queue 0 is closed first, since its stop ends the run of all capture queues. */
	for (unsigned int queue = 0; queue < LITEPCIE_QUEUES_MOST; queue++)
		litepcie_capture_close(dev->captures[queue]);
	litepcie_stream_close(&dev->h2c);
	litepcie_stream_close(&dev->c2h);
	if (dev->user_enabled)
		litepcie_user_enable(dev, false);
	litepcie_lock(dev);
	dev->backend->close(dev);
	litepcie_unlock(dev);
	free_handle(dev);
}

const char *litepcie_name(const struct litepcie *dev)
{
	return dev->name;
}

const char *litepcie_backend(const struct litepcie *dev)
{
	return dev->backend->name;
}
