/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The calls that access the BARs, and the register accesses of the library itself.
 *
 * litepcie_bar_read() and litepcie_bar_write() make the access by a load or store of the CPU if the
 * BAR is mapped, and mapped for writing as a whole if the access is a write. Otherwise they call
 * the back end. They take the handle's lock only if the back end is serial (all threads share one
 * connection). litepcie_readl(), litepcie_readq(), litepcie_writel() and litepcie_writeq() always
 * take the lock and call the back end. litepcie_get() and the functions next to it are for callers
 * that hold the lock already.
 */
#include <sys/mman.h>

#include "helpers.h"
#include "litepcie_capability.h"

#define POSTS	64u	/* most writes that post_burst() gives the back end in one call of post() */

static int check_access(struct litepcie *dev, unsigned int bar, uint64_t offset, size_t size,
			size_t reach)
{
	uint64_t end = dev->bar_size[bar];

	if (offset % size || reach % size)
		return litepcie_fail(-EINVAL, "an access of %zu bytes at BAR%u + 0x%llx is not "
				     "aligned", size, bar,
				     (unsigned long long)(offset + reach % size));
	if (reach > end || offset > end - reach)
		return litepcie_fail(-EINVAL, "%zu bytes at BAR%u + 0x%llx lie beyond its end at "
				     "0x%llx", reach, bar, (unsigned long long)offset,
				     (unsigned long long)end);
	return 0;
}

/*
 * Take the handle's lock for one call of a serial back end's functions. With any other back end
 * threads share a mapping or a descriptor of the driver, so they need not wait for each other.
 */
static void begin_access(struct litepcie *dev)
{
	if (dev->backend->serial)
		litepcie_lock(dev);
}

static void end_access(struct litepcie *dev)
{
	if (dev->backend->serial)
		litepcie_unlock(dev);
}

static int check_bar(struct litepcie *dev, unsigned int bar)
{
	if (bar >= LITEPCIE_BARS)
		return litepcie_fail(-EINVAL, "BAR%u: a card has BAR0 to BAR%u", bar,
				     LITEPCIE_BARS - 1);
	if (!dev->bar_size[bar])
		return litepcie_fail(-ENOENT, "BAR%u: the card has none there, or it cannot be "
				     "reached this way", bar);
	return 0;
}

int litepcie_bar_size(struct litepcie *dev, unsigned int bar, uint64_t *size)
{
	int rc = check_bar(dev, bar);

	if (rc == 0)
		*size = dev->bar_size[bar];
	return rc;
}

static int check_window(struct litepcie *dev, unsigned int bar, uint64_t offset, size_t size)
{
	int rc = check_bar(dev, bar);

	if (rc < 0)
		return rc;
	if (!size || size > 64 || size & (size - 1))
		return litepcie_fail(-EINVAL, "an access of %zu bytes: it must be 1, 2, 4, 8, 16, "
				     "32 or 64", size);
	return check_access(dev, bar, offset, size, size);
}

/*
 * Read a mapped BAR. A card that has gone reads as all ones, but a register or memory may have this
 * value, too. So after all ones litepcie_readl() reads a word of the capability table, and returns
 * -ENODEV if the card has gone.
 */
static int load_mapped(struct litepcie *dev, unsigned int bar, uint64_t offset, void *data,
		       size_t size)
{
	const uint8_t *bytes = data;
	int rc = litepcie_load(litepcie_bar_place(dev, bar, offset), data, size);
	uint32_t word;

	for (size_t i = 0; rc == 0 && i < size; i++)
		if (bytes[i] != UINT8_MAX)
			return 0;
	return rc ?: litepcie_readl(dev, LITEPCIE_CAP_OFFSET, &word);
}

int litepcie_bar_read(struct litepcie *dev, unsigned int bar, uint64_t offset, void *data,
		      size_t size)
{
	int rc = check_window(dev, bar, offset, size);

	if (rc < 0)
		return rc;
	if (dev->bar[bar].base)
		return load_mapped(dev, bar, offset, data, size);
	begin_access(dev);
	rc = dev->backend->bar_read(dev, bar, offset, data, size);
	end_access(dev);
	return rc;
}

int litepcie_bar_write(struct litepcie *dev, unsigned int bar, uint64_t offset, const void *data,
		       size_t size)
{
	int rc = check_window(dev, bar, offset, size);

	if (rc < 0)
		return rc;
	if (dev->bar[bar].base && !dev->bar[bar].partial)
		return litepcie_store(litepcie_bar_place(dev, bar, offset), data, size);
	begin_access(dev);
	rc = dev->backend->bar_write(dev, bar, offset, data, size);
	end_access(dev);
	return rc;
}

/*
 * Make @count writes of @size bytes to BAR0, @stride bytes apart. The caller has checked that all
 * of them lie inside BAR0. The back end gets up to POSTS writes in one call, so that it can make
 * them back to back.
 */
static int post_burst(struct litepcie *dev, uint64_t offset, size_t size, size_t stride,
		      const uint64_t *values, size_t count)
{
	struct litepcie_post posts[POSTS];
	int rc = 0;

	while (rc == 0 && count) {
		size_t n = count < POSTS ? count : POSTS;

		for (size_t i = 0; i < n; i++, offset += stride)
			posts[i] = (struct litepcie_post) {
				.offset = (uint32_t)offset, .size = (uint32_t)size,
				.value = *values++,
			};
		begin_access(dev);
		rc = dev->backend->post(dev, posts, n, LITEPCIE_POST_PROGRAM);
		end_access(dev);
		count -= n;
	}
	return rc;
}

int litepcie_bar_write_burst(struct litepcie *dev, unsigned int bar, uint64_t offset, size_t size,
			     size_t stride, const uint64_t *values, size_t count)
{
	int rc = check_bar(dev, bar);
	uint64_t most;

	if (rc < 0 || !count)
		return rc;
	most = dev->bar_size[bar];
	if (count > most || stride > most)
		return litepcie_fail(-EINVAL, "%zu writes 0x%zx bytes apart do not fit into BAR%u, "
				     "which has 0x%llx", count, stride, bar,
				     (unsigned long long)most);
	if (size != 4 && size != 8)
		return litepcie_fail(-EINVAL, "an access of %zu bytes: it must be 4 or 8", size);
	rc = check_access(dev, bar, offset, size, stride * (count - 1) + size);
	if (rc == 0 && bar == 0)
		return post_burst(dev, offset, size, stride, values, count);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = litepcie_bar_write(dev, bar, offset + i * stride, &values[i], size);
	return rc;
}

int litepcie_bar_map(struct litepcie *dev, unsigned int bar, struct litepcie_window *window)
{
	int rc = check_bar(dev, bar);

	if (rc < 0)
		return rc;
	if (!(dev->able & LITEPCIE_HAS_BAR_MAP))
		return litepcie_fail(-EOPNOTSUPP, "a simulated board's BARs cannot be mapped: use "
				     "litepcie_bar_read() and litepcie_bar_write()");
	if (!dev->bar[bar].base)
		return litepcie_fail(-EOPNOTSUPP, "BAR%u: %s", bar, dev->bar_why);
	return litepcie_struct_out(window, &dev->bar[bar], sizeof(*window), "litepcie_window");
}

void litepcie_bars_unmap(struct litepcie *dev)
{
	for (unsigned int n = 0; n < LITEPCIE_BARS; n++)
		if (dev->bar[n].base)
			munmap((void *)dev->bar[n].base, dev->bar[n].size);
}

const char *litepcie_mmio_path(const struct litepcie *dev)
{
	return dev->mmio_path;
}

/* Accesses with the lock held ----------------------------------------------------------------- */

int litepcie_get(struct litepcie *dev, uint32_t offset, uint32_t *value)
{
	return litepcie_get_words(dev, offset, value, 1);
}

int litepcie_get_words(struct litepcie *dev, uint32_t offset, uint32_t *words, size_t count)
{
	int rc = check_access(dev, 0, offset, 4, 4 * count);

	return rc < 0 ? rc : dev->backend->read_words(dev, offset, words, count);
}

int litepcie_put(struct litepcie *dev, uint32_t offset, uint32_t value)
{
	const struct litepcie_post post = { .offset = offset, .size = 4, .value = value };
	int rc = check_access(dev, 0, offset, 4, 4);

	return rc < 0 ? rc : dev->backend->post(dev, &post, 1, LITEPCIE_POST_OWN);
}

int litepcie_get_answer(struct litepcie *dev, uint32_t offset, uint32_t *value)
{
	int rc = 0;

	*value = UINT32_MAX;
	for (unsigned int n = 0; rc == 0 && n < LITEPCIE_READS && *value == UINT32_MAX; n++)
		rc = litepcie_get(dev, offset, value);
	if (rc == 0 && *value == UINT32_MAX)
		return litepcie_fail(-EIO, "%s: the card does not answer: its registers read "
				     "all ones: ask `litepcie_util doctor` about its link, or "
				     "reset it", dev->name);
	return rc;
}

int litepcie_change(struct litepcie *dev, uint32_t offset, uint32_t clear, uint32_t set)
{
	uint32_t value;
	int rc = litepcie_get_answer(dev, offset, &value);

	return rc < 0 ? rc : litepcie_put(dev, offset, (value & ~clear) | set);
}

/*
 * Read a register of two words, such as a 64-bit counter. LiteX has the upper half in the first
 * word. The upper half is read before and after the lower half. If the two values of the upper half
 * differ, the register has changed meanwhile, and both halves are read again.
 */
int litepcie_get64(struct litepcie *dev, uint32_t offset, uint64_t *value)
{
	uint32_t before, high, low;
	int rc = litepcie_get(dev, offset, &high);

	do {
		before = high;
		rc = rc ?: litepcie_get(dev, offset + 4, &low) ?: litepcie_get(dev, offset, &high);
	} while (rc == 0 && high != before);
	if (rc == 0)
		*value = (uint64_t)high << 32 | low;
	return rc;
}

int litepcie_get_copy64(struct litepcie *dev, uint32_t offset, uint64_t *value)
{
	uint32_t words[2];
	int rc = litepcie_get_words(dev, offset, words, 2);

	if (rc == 0)
		*value = (uint64_t)words[0] << 32 | words[1];
	return rc;
}

/* Calls that read and write registers of BAR0 ------------------------------------------------- */

int litepcie_readl(struct litepcie *dev, uint32_t offset, uint32_t *value)
{
	int rc;

	litepcie_lock(dev);
	rc = litepcie_get(dev, offset, value);
	litepcie_unlock(dev);
	return rc;
}

int litepcie_readq(struct litepcie *dev, uint32_t offset, uint64_t *value)
{
	int rc;

	litepcie_lock(dev);
	rc = check_access(dev, 0, offset, 4, 8) ?: litepcie_get64(dev, offset, value);
	litepcie_unlock(dev);
	return rc;
}

int litepcie_writel(struct litepcie *dev, uint32_t offset, uint32_t value)
{
	int rc;

	litepcie_lock(dev);
	rc = litepcie_put(dev, offset, value);
	litepcie_unlock(dev);
	return rc;
}

/*
 * Write a register of two words: the upper half first, since LiteX tells the card's logic of the
 * write only when the lower half is written. The lock is held over both writes, so no
 * litepcie_writeq() of another thread on this handle comes between them.
 */
int litepcie_writeq(struct litepcie *dev, uint32_t offset, uint64_t value)
{
	int rc;

	litepcie_lock(dev);
	rc = check_access(dev, 0, offset, 4, 8) ?:
	     litepcie_put(dev, offset, (uint32_t)(value >> 32)) ?:
	     litepcie_put(dev, offset + 4, (uint32_t)value);
	litepcie_unlock(dev);
	return rc;
}
