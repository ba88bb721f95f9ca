/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Translate the text of a capture rule into the 32-bit words that the card gets. The comment of
 * litepcie_capture_rule() in litepcie_capture.h describes the text, and
 * gateware/capture/queues/Rule.scala the words.
 */
#include "capture.h"

#include <arpa/inet.h>
#include <stdlib.h>

#define RULE_TEXT	256u
/*
 * Indices of the 32-bit words of a rule. The word FACTS and the word KINDS are each followed by a
 * word with their mask. The word of a range has the least value of the range in its lower half, and
 * the largest in its upper half.
 */
#define FACTS		LITEPCIE_CAPTURE_RULE_FACTS
#define KINDS		LITEPCIE_CAPTURE_RULE_KINDS
#define SOURCE		LITEPCIE_CAPTURE_RULE_SOURCE
#define DESTINATION	LITEPCIE_CAPTURE_RULE_DESTINATION
#define SOURCE_PORTS	LITEPCIE_CAPTURE_RULE_SOURCE_PORTS
#define DESTINATION_PORTS LITEPCIE_CAPTURE_RULE_DESTINATION_PORTS
#define LENGTHS		LITEPCIE_CAPTURE_RULE_LENGTHS
#define ACTION		LITEPCIE_CAPTURE_RULE_ACTION
#define ANY		(0xffffu << LITEPCIE_CAPTURE_RULE_RANGE_MOST)
/* bits of the rule's word ACTION: the rule names a queue, discards frames, is in use */
#define HAS_QUEUE	(1u << LITEPCIE_CAPTURE_RULE_ACTION_HAS_QUEUE)
#define DISCARDS	(1u << LITEPCIE_CAPTURE_RULE_ACTION_DISCARD)
#define IS_ON		(1u << LITEPCIE_CAPTURE_RULE_ACTION_ON)

/*
 * A field of a rule. @word is the index of its word in the rule, @place the number of its lowest
 * bit in that word, and @most its largest value.
 */
struct field {
	const char *name;
	uint32_t word, place, most;
};

static const struct field fields[] = {
	{ "port", FACTS, LITEPCIE_CAPTURE_RULE_FACT_PORT, 15 },
	{ "proto", FACTS, LITEPCIE_CAPTURE_RULE_FACT_PROTOCOL, 255 },
	{ "vlan", FACTS, LITEPCIE_CAPTURE_RULE_FACT_VLAN, 4095 },
	{ "ethertype", KINDS, LITEPCIE_CAPTURE_RULE_KIND_ETHERTYPE, 65535 },
	{ "flags", KINDS, LITEPCIE_CAPTURE_RULE_KIND_TCP_FLAGS, 255 },
};

static const struct field marks[] = {
	{ "ipv4", FACTS, LITEPCIE_CAPTURE_RULE_FACT_IPV4, 1 },
	{ "ipv6", FACTS, LITEPCIE_CAPTURE_RULE_FACT_IPV6, 1 },
	{ "fragment", FACTS, LITEPCIE_CAPTURE_RULE_FACT_FRAGMENT, 1 },
	{ "ports", FACTS, LITEPCIE_CAPTURE_RULE_FACT_HAS_PORTS, 1 },
	{ "tagged", FACTS, LITEPCIE_CAPTURE_RULE_FACT_TAGGED, 1 },
};

/* The rule's ranges, each in a word of its own: source port, destination port, frame length. */
static const struct field ranges[] = {
	{ "sport", SOURCE_PORTS, 0, 65535 },
	{ "dport", DESTINATION_PORTS, 0, 65535 },
	{ "length", LENGTHS, 0, LITEPCIE_CAPTURE_FRAME_MOST },
};

#define COUNT(_array) (sizeof(_array) / sizeof((_array)[0]))

/* Returns the field with the name @name, or NULL if there is none. */
static const struct field *find(const struct field *from, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(from[i].name, name) == 0)
			return &from[i];
	return NULL;
}

static void set(uint32_t *rule, const struct field *field, uint32_t value, uint32_t mask)
{
	rule[field->word] |= (value & mask) << field->place;
	rule[field->word + 1] |= mask << field->place;
}

/*
 * Parse a number up to @most that ends at @end or at the end of the text. It is decimal, or
 * hexadecimal with 0x. A leading 0 does not make it octal.
 */
static bool number(const char **text, char end, uint32_t most, uint32_t *value)
{
	char *rest;
	unsigned long found;

	if (**text < '0' || **text > '9')
		return false;
	found = strtoul(*text, &rest, strncmp(*text, "0x", 2) ? 10 : 16);
	*text = *rest && *rest == end ? rest + 1 : rest;
	*value = (uint32_t)found;
	return found <= most && (!*rest || *rest == end);
}

static int bad(const char *name, const char *value, uint32_t most)
{
	return litepcie_fail(-EINVAL, "%s=%s: it must be a number from 0 to %u", name, value, most);
}

/* The words of a rule's text ------------------------------------------------------------------- */

static int set_field(uint32_t *rule, const struct field *field, const char *value)
{
	static const struct { const char *name; uint32_t number; } names[] = {
		{ "icmp", 1 }, { "tcp", 6 }, { "udp", 17 }, { "sctp", 132 },
	};
	/*
	 * TCP flags are compared where their bits in the mask are set. If the text has no mask, the
	 * flags that are set in the value are compared.
	 */
	bool masked = field->word == KINDS && field->place;
	uint32_t found = 0, mask = field->most;
	const char *text = value;

	for (size_t i = 0; i < COUNT(names) && !strcmp(field->name, "proto"); i++) {
		if (strcmp(value, names[i].name) == 0) {
			set(rule, field, names[i].number, mask);
			return 0;
		}
	}
	if (!number(&text, masked ? '/' : 0, field->most, &found))
		return bad(field->name, value, field->most);
	if (masked && !*text)
		mask = found;
	if (*text && !number(&text, 0, field->most, &mask))
		return bad(field->name, value, field->most);
	set(rule, field, found, mask);
	return 0;
}

static int set_range(uint32_t *rule, const struct field *field, const char *value)
{
	uint32_t least = 0, most = 0;
	const char *text = value;

	if (!number(&text, '-', field->most, &least))
		return bad(field->name, value, field->most);
	most = least;
	if (*text && !number(&text, 0, field->most, &most))
		return bad(field->name, value, field->most);
	if (most < least)
		return litepcie_fail(-EINVAL, "%s=%s: the second number must not be below the "
				     "first", field->name, value);
	rule[field->word] = least << LITEPCIE_CAPTURE_RULE_RANGE_LEAST |
			    most << LITEPCIE_CAPTURE_RULE_RANGE_MOST;
	return 0;
}

/*
 * Set an IP address and its mask, in the four words of the rule from @word on. The rule then also
 * asks for the address's version of IP.
 */
static int set_address(uint32_t *rule, uint32_t word, const char *name, const char *value)
{
	bool six = strchr(value, ':');
	uint32_t address[4] = { 0 }, bits, most = six ? 64 : 32;
	char text[RULE_TEXT];
	char *slash;

	strcpy(text, value);
	slash = strchr(text, '/');
	if (slash)
		*slash++ = '\0';
	bits = most;
	if (inet_pton(six ? AF_INET6 : AF_INET, text, address) != 1)
		return litepcie_fail(-EINVAL, "%s=%s: it must be an address of IPv4 or IPv6, and "
				     "may have /BITS behind it", name, value);
	if (slash) {
		const char *digits = slash;

		if (!number(&digits, 0, most, &bits))
			return litepcie_fail(-EINVAL, "%s=%s: the card compares from 0 to %u bits "
					     "of it", name, value, most);
	}
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t of = bits < 32 * i ? 0 : bits - 32 * i;
		uint32_t mask = of >= 32 ? UINT32_MAX : of ? ~(UINT32_MAX >> of) : 0;

		rule[word + i] = ntohl(address[i]) & mask;
		rule[word + 2 + i] = mask;
	}
	set(rule, &marks[six], 1, 1);
	return 0;
}

static int set_action(uint32_t *rule, const char *name, const char *value)
{
	bool queue = strcmp(name, "queue") == 0;
	uint32_t most = queue ? LITEPCIE_CAPTURE_QUEUES - 1 : LITEPCIE_CAPTURE_FRAME_MOST;
	uint32_t found = 0;
	const char *text = value;

	if (!number(&text, 0, most, &found))
		return bad(name, value, most);
	if (!queue && !found)
		return litepcie_fail(-EINVAL, "snap=0: it must be 1 or more; a rule without snap "
				     "keeps what the others keep");
	rule[ACTION] |= queue ? HAS_QUEUE | found << LITEPCIE_CAPTURE_RULE_ACTION_QUEUE :
				found << LITEPCIE_CAPTURE_RULE_ACTION_SNAP;
	return 0;
}

static int set_mark(uint32_t *rule, const char *word)
{
	const struct field *mark = find(marks, COUNT(marks), word + (*word == '!'));

	if (strcmp(word, "discard") == 0)
		rule[ACTION] |= DISCARDS;
	else if (mark)
		set(rule, mark, *word != '!', 1);
	else
		return litepcie_fail(-EINVAL, "%s: there is no such word of a rule: see "
				     "litepcie_capture_rule(3)", word);
	return 0;
}

static int set_word(uint32_t *rule, char *word)
{
	char *value = strchr(word, '=');
	const struct field *field;

	if (!value)
		return set_mark(rule, word);
	*value++ = '\0';
	field = find(fields, COUNT(fields), word);
	if (field)
		return set_field(rule, field, value);
	field = find(ranges, COUNT(ranges), word);
	if (field)
		return set_range(rule, field, value);
	if (strcmp(word, "src") == 0)
		return set_address(rule, SOURCE, word, value);
	if (strcmp(word, "dst") == 0)
		return set_address(rule, DESTINATION, word, value);
	if (strcmp(word, "queue") == 0 || strcmp(word, "snap") == 0)
		return set_action(rule, word, value);
	return litepcie_fail(-EINVAL, "%s: there is no such word of a rule: see "
			     "litepcie_capture_rule(3)", word);
}

int litepcie_capture_rule(struct litepcie *dev, const char *text,
			  uint32_t words[LITEPCIE_RULE_WORDS])
{
	uint32_t rule[LITEPCIE_RULE_WORDS] = {
		[SOURCE_PORTS] = ANY, [DESTINATION_PORTS] = ANY, [LENGTHS] = ANY,
	};
	uint32_t *action = &rule[ACTION];
	char copy[RULE_TEXT], *word, *rest = NULL;
	int rc = 0;

	(void)dev;
	if (strlen(text) >= sizeof(copy))
		return litepcie_fail(-EINVAL, "a rule of %zu characters: it must have at most %u",
				     strlen(text), RULE_TEXT - 1);
	strcpy(copy, text);
	for (word = strtok_r(copy, " ,", &rest); word && rc == 0; word = strtok_r(NULL, " ,", &rest))
		rc = set_word(rule, word);
	if (rc == 0 && !*action)
		rc = litepcie_fail(-EINVAL, "the rule \"%s\" does nothing: it must have queue=, "
				   "snap= or discard", text);
	if (rc == 0 && *action & DISCARDS && *action != DISCARDS)
		rc = litepcie_fail(-EINVAL, "the rule \"%s\" discards frames, so it can have "
				   "neither queue= nor snap=", text);
	*action |= IS_ON;
	if (rc == 0)
		memcpy(words, rule, sizeof(rule));
	return rc;
}
