/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Find registers by name. layout.h has the registers of most types of blocks, in version 1 of the
 * block. The library knows the names of other registers, and of those of a block of another
 * version, only from the csr.json of the build (csr_file.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"
#include "layout.h"
#include "litepcie_capability.h"

struct row {
	uint16_t	type;
	uint16_t	place;
	uint16_t	words;
	bool		writable;
	/* name of a register; # stands for the number of its block among the blocks of the type */
	const char	*name;
};

#define ROW(t, p, w, r, n)	{ .type = t, .place = p, .words = w, .writable = r, .name = n },

static const struct row rows[] = { LITEPCIE_LAYOUT(ROW) };

/* The list of registers ----------------------------------------------------------------------- */

static const struct litepcie_register *find(const struct litepcie *dev, const char *name)
{
	for (unsigned int i = 0; i < dev->register_count; i++)
		if (strcmp(dev->registers[i].name, name) == 0)
			return &dev->registers[i];
	return NULL;
}

int litepcie_register_add(struct litepcie *dev, const struct litepcie_register *entry)
{
	const struct litepcie_register *known = find(dev, entry->name);
	struct litepcie_register *grown;

	if (known)
		return known->offset == entry->offset && known->words == entry->words ? 0 : -EPROTO;
	grown = realloc(dev->registers, (dev->register_count + 1) * sizeof(*grown));
	if (!grown)
		return litepcie_fail_memory("the list of registers",
					    (dev->register_count + 1) * sizeof(*grown));
	dev->registers = grown;
	dev->registers[dev->register_count++] = *entry;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct litepcie_register *first = a, *second = b;

	return first->offset < second->offset ? -1 : first->offset > second->offset;
}

void litepcie_registers_sort(struct litepcie *dev)
{
	if (dev->register_count)
		qsort(dev->registers, dev->register_count, sizeof(*dev->registers), by_place);
}

void litepcie_register_name(char *name, size_t size, const char *pattern, unsigned int number)
{
	const char *mark = strchr(pattern, '#');

	if (mark)
		snprintf(name, size, "%.*s%u%s", (int)(mark - pattern), pattern, number, mark + 1);
	else
		snprintf(name, size, "%s", pattern);
}

static int add_row(struct litepcie *dev, const struct litepcie_block *block, const struct row *row)
{
	struct litepcie_register entry = {
		.offset = block->offset + row->place,
		.words = row->words,
		.writable = row->writable,
	};

	litepcie_register_name(entry.name, sizeof(entry.name), row->name, block->index);
	return litepcie_register_add(dev, &entry);
}

int litepcie_registers_build(struct litepcie *dev)
{
	int rc = 0;

	for (unsigned int i = 0; i < dev->block_count; i++) {
		const struct litepcie_block *block = &dev->blocks[i];

		if (block->version != LITEPCIE_CAP_BLOCK_VERSION || block->bar)
			continue;
		for (size_t n = 0; n < sizeof(rows) / sizeof(rows[0]) && rc == 0; n++)
			if (rows[n].type == block->type)
				rc = add_row(dev, block, &rows[n]);
	}
	if (rc < 0)
		return litepcie_fail(rc, "%s: the capability table names a block twice, or memory "
				     "is short", dev->name);
	litepcie_registers_sort(dev);
	return 0;
}

/* The library's calls about names ------------------------------------------------------------- */

/*
 * Returns the known register name that has the longest beginning in common with @name, for the
 * sentence of an error. If none has, the name is "ctrl_scratch".
 */
static const char *nearest(const struct litepcie *dev, const char *name)
{
	const char *best = "ctrl_scratch";
	size_t longest = 0;

	for (unsigned int i = 0; i < dev->register_count; i++) {
		const char *other = dev->registers[i].name;
		size_t same = 0;

		while (name[same] && name[same] == other[same])
			same++;
		if (same > longest) {
			longest = same;
			best = other;
		}
	}
	return best;
}

int litepcie_register(struct litepcie *dev, unsigned int number, struct litepcie_register *found)
{
	if (number >= dev->register_count)
		return litepcie_fail(-ENOENT, "register %u: %u are known", number,
				     dev->register_count);
	return litepcie_struct_out(found, &dev->registers[number], sizeof(*found),
				   "litepcie_register");
}

int litepcie_register_find(struct litepcie *dev, const char *name,
			   struct litepcie_register *found)
{
	const struct litepcie_register *entry = find(dev, name);

	if (!entry)
		return litepcie_fail(-ENOENT, "no register is called %.64s; the nearest is %s. The "
				     "csr.json of the build has the names of all", name,
				     nearest(dev, name));
	return litepcie_struct_out(found, entry, sizeof(*entry), "litepcie_register");
}

static int find_value(struct litepcie *dev, const char *name, struct litepcie_register *found)
{
	int rc = litepcie_register_find(dev, name, found);

	if (rc == 0 && found->words > 2)
		return litepcie_fail(-EOPNOTSUPP, "%s has %u words; it can only be read word by "
				     "word, from BAR0 + 0x%x", name, found->words, found->offset);
	return rc;
}

int litepcie_register_read(struct litepcie *dev, const char *name, uint64_t *value)
{
	struct litepcie_register found = { .struct_size = sizeof(found) };
	uint32_t word = 0;
	int rc = find_value(dev, name, &found);

	if (rc == 0 && found.words == 2)
		return litepcie_readq(dev, found.offset, value);
	if (rc == 0)
		rc = litepcie_readl(dev, found.offset, &word);
	if (rc == 0)
		*value = word;
	return rc;
}

int litepcie_register_write(struct litepcie *dev, const char *name, uint64_t value)
{
	struct litepcie_register found = { .struct_size = sizeof(found) };
	int rc = find_value(dev, name, &found);

	if (rc == 0 && !found.writable)
		return litepcie_fail(-EACCES, "%s can only be read", name);
	if (rc == 0 && found.words == 1 && value > UINT32_MAX)
		return litepcie_fail(-ERANGE, "0x%llx for %s: it has 32 bits",
				     (unsigned long long)value, name);
	if (rc == 0 && found.words == 2)
		return litepcie_writeq(dev, found.offset, value);
	return rc < 0 ? rc : litepcie_writel(dev, found.offset, (uint32_t)value);
}

/* Functions about names for the rest of the library ------------------------------------------- */

int litepcie_need(struct litepcie *dev, const char *name, uint32_t *offset)
{
	const struct litepcie_register *entry = find(dev, name);

	if (!entry)
		return litepcie_fail(-EPROTO, "%s: the card has no register %s: its gateware has "
				     "another version than this library understands", dev->name,
				     name);
	*offset = entry->offset;
	return 0;
}
