/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Read the names of all registers from the csr.json that LiteX writes. The parser knows objects,
 * strings without escapes, numbers and words. LiteX uses no other part of JSON in csr.json. Other
 * text inside the file's outer object is an error, whose sentence gives the place in csr.json.
 * Commas are skipped, and text behind the outer object is not read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "helpers.h"

#define LARGEST_FILE	(4u << 20)
#define DEEPEST		4
/* most bytes of a key or value of csr.json with its terminating zero; LiteX's are shorter */
#define TEXT		96

struct scan {
	struct litepcie	*dev;
	const char	*path;
	const char	*start, *at;
	char		key[DEEPEST][TEXT];
	int		depth;
	/*
	 * @found is the register that the current JSON object describes. @has_place and @has_size
	 * say whether its offset and its number of words have been read.
	 */
	struct litepcie_register found;
	bool		has_place, has_size;
	char		identifier[TEXT];
};

static int complain(struct scan *scan, const char *what)
{
	return litepcie_fail(-EPROTO, "%s, byte %zu: %s: this is not the csr.json of a LiteX build",
			     scan->path, (size_t)(scan->at - scan->start), what);
}

static char next(struct scan *scan)
{
	scan->at += strspn(scan->at, " \t\r\n");
	return *scan->at;
}

/* Take a text in quotes, or a number or word without quotes, from csr.json. */
static int take_text(struct scan *scan, char *text)
{
	size_t length, quoted = next(scan) == '"';

	scan->at += quoted;
	length = strcspn(scan->at, quoted ? "\"\\" : ",}] \t\r\n");
	if (length >= TEXT || (!quoted && !length) || (quoted && scan->at[length] != '"'))
		return complain(scan, "no text that can be read");
	memcpy(text, scan->at, length);
	text[length] = '\0';
	scan->at += length + quoted;
	return 0;
}

static bool inside(const struct scan *scan, const char *section, int depth)
{
	return scan->depth == depth && strcmp(scan->key[0], section) == 0;
}

static void take_value(struct scan *scan, const char *value)
{
	struct litepcie_register *found = &scan->found;
	const char *key = scan->key[scan->depth - 1];

	if (inside(scan, "constants", 2) && strcmp(key, "config_identifier") == 0)
		snprintf(scan->identifier, TEXT, "%s", value);
	if (!inside(scan, "csr_registers", 3))
		return;
	if (strcmp(key, "addr") == 0) {
		found->offset = (uint32_t)strtoul(value, NULL, 0);
		scan->has_place = true;
	} else if (strcmp(key, "size") == 0) {
		found->words = (unsigned int)strtoul(value, NULL, 0);
		scan->has_size = found->words > 0;
	} else if (strcmp(key, "type") == 0) {
		found->writable = strcmp(value, "rw") == 0;
	}
}

/*
 * Called at the end of a JSON object. If the object describes a register, add the register to the
 * handle.
 */
static int take_register(struct scan *scan)
{
	struct litepcie_register *found = &scan->found;
	const char *name = scan->key[1];
	int rc;

	if (!inside(scan, "csr_registers", 2))
		return 0;
	if (!scan->has_place || !scan->has_size || strlen(name) >= sizeof(found->name))
		return complain(scan, "a register without a place or size");
	memcpy(found->name, name, strlen(name) + 1);
	rc = litepcie_register_add(scan->dev, found);
	scan->found = (struct litepcie_register) { 0 };
	scan->has_place = scan->has_size = false;
	if (rc == -EPROTO)
		return litepcie_fail(rc, "%s: %s is elsewhere on this card: the file is of another "
				     "build; the card's identifier is \"%s\"", scan->path, name,
				     scan->dev->card.identifier);
	return rc < 0 ? litepcie_fail_errno(-rc, "%s", scan->path) : 0;
}

static int take_object(struct scan *scan);

/* Read one member of a JSON object: its key, and its value, which may be an object. */
static int take_member(struct scan *scan)
{
	char value[TEXT];
	int rc = take_text(scan, scan->key[scan->depth - 1]);

	if (rc == 0 && next(scan) != ':')
		return complain(scan, "no : behind a key");
	if (rc < 0)
		return rc;
	scan->at++;
	if (next(scan) == '{')
		return take_object(scan);
	rc = take_text(scan, value);
	if (rc == 0)
		take_value(scan, value);
	return rc;
}

/* Read the JSON object whose first character is at scan->at. */
static int take_object(struct scan *scan)
{
	int rc = 0;

	if (scan->depth == DEEPEST)
		return complain(scan, "objects too deep");
	scan->at++;
	scan->depth++;
	while (rc == 0 && next(scan) != '}') {
		if (*scan->at == '"')
			rc = take_member(scan);
		else if (*scan->at == ',')
			scan->at++;
		else
			rc = complain(scan, *scan->at ? "an unexpected character" : "it ends early");
	}
	if (rc < 0)
		return rc;
	scan->at++;
	scan->depth--;
	return take_register(scan);
}

static int check_identifier(struct scan *scan)
{
	const char *own = scan->dev->card.identifier;

	/*
	 * csr.json has the identifier in small letters, so case is ignored. The card's identifier
	 * may have the time of the build behind the text of csr.json, so only its beginning is
	 * compared.
	 */
	if (!*scan->identifier || strncasecmp(own, scan->identifier, strlen(scan->identifier)) == 0)
		return 0;
	return litepcie_fail(-EPROTO, "%s is of the build \"%s\", the card is \"%s\"", scan->path,
			     scan->identifier, own);
}

/*
 * Add all registers of csr.json to the known registers. After an error, as when the file is of
 * another build than the card, none is added, and the known registers are the same as before.
 */
static int take_file(struct litepcie *dev, const char *path, const char *text)
{
	struct scan scan = { .dev = dev, .path = path, .start = text, .at = text };
	unsigned int before = dev->register_count;
	int rc = next(&scan) == '{' ? take_object(&scan) :
				     complain(&scan, "no { at the beginning");

	if (rc == 0 && dev->register_count == before && !*scan.identifier)
		rc = complain(&scan, "it names no register");
	if (rc == 0)
		rc = check_identifier(&scan);
	if (rc < 0)
		dev->register_count = before;
	litepcie_registers_sort(dev);
	return rc;
}

int litepcie_csr_load(struct litepcie *dev, const char *path)
{
	char *text = NULL;
	size_t room = 0;
	ssize_t length;
	struct stat st;
	FILE *file;
	int rc;

	/* stat() comes before fopen(), since fopen() of a FIFO would wait for a writer. */
	if (stat(path, &st) < 0)
		return litepcie_fail_errno(errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return litepcie_fail(-EINVAL, "%s: not a regular file; the build writes csr.json",
				     path);
	if (st.st_size > LARGEST_FILE)
		return litepcie_fail(-EFBIG, "%s: %lld bytes; a csr.json has %u at most", path,
				     (long long)st.st_size, LARGEST_FILE);
	file = fopen(path, "re");
	if (!file)
		return litepcie_fail_errno(errno, "%s", path);
	/* getdelim() reads up to a zero byte: the whole file, since a csr.json has no such byte. */
	length = getdelim(&text, &room, '\0', file);
	if (length < 0 && !feof(file))
		rc = litepcie_fail_errno(errno == ENOMEM ? ENOMEM : EIO, "%s", path);
	else
		rc = take_file(dev, path, length < 0 ? "" : text);
	free(text);
	fclose(file);
	return rc;
}
