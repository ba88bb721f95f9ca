/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test litepcie_capture_rule(): the words that it makes of the text of a rule for sorting frames,
 * and its sentences on wrong texts.
 */
#include <errno.h>
#include <string.h>

#include "capture/capture.h"
#include "check.h"

static struct litepcie dev = { .name = (char *)"fake" };

static void rules_have_their_words(void)
{
	static const struct {
		const char *text;
		struct { unsigned int at; uint32_t value; } words[6];
	} rules[] = {
		{ "port=3 queue=2", { { 0, 3 }, { 1, 0xf }, { 15, 0x80120000 } } },
		{ "vlan=5 tagged discard", { { 0, 0x10050000 }, { 1, 0x1fff0000 },
					     { 15, 0x80200000 } } },
		{ "!ipv4, ipv6 snap=96", { { 0, 0x20 }, { 1, 0x30 }, { 15, 0x80000060 } } },
		{ "proto=udp dport=53 sport=1024-65535 discard",
		  { { 0, 0x1100 }, { 1, 0xff00 }, { 12, 0xffff0400 }, { 13, 0x350035 },
		    { 15, 0x80200000 } } },
		{ "ethertype=0x88b5 queue=1", { { 2, 0x88b5 }, { 3, 0xffff }, { 15, 0x80110000 } } },
		{ "flags=2 queue=1", { { 2, 0x20000 }, { 3, 0x20000 }, { 15, 0x80110000 } } },
		{ "flags=0x10/0x12 queue=1", { { 2, 0x100000 }, { 3, 0x120000 },
					       { 15, 0x80110000 } } },
		{ "src=10.1.2.3/8 queue=1", { { 0, 0x10 }, { 1, 0x10 }, { 4, 0x0a000000 },
					      { 6, 0xff000000 }, { 15, 0x80110000 } } },
		{ "dst=192.168.1.2 queue=1", { { 0, 0x10 }, { 1, 0x10 }, { 8, 0xc0a80102 },
					       { 10, 0xffffffff }, { 15, 0x80110000 } } },
		{ "dst=2001:db8:1::/48 queue=1", { { 0, 0x20 }, { 1, 0x20 }, { 8, 0x20010db8 },
						   { 9, 0x00010000 }, { 10, 0xffffffff },
						   { 11, 0xffff0000 } } },
		{ "flags=010/0022 queue=1", { { 2, 0x20000 }, { 3, 0x160000 }, { 15, 0x80110000 } } },
		{ "length=60-1514 snap=64 queue=0", { { 14, 0x05ea003c }, { 15, 0x80100040 } } },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		uint32_t words[LITEPCIE_RULE_WORDS];

		CHECK_EQUAL(litepcie_capture_rule(&dev, rules[i].text, words), 0);
		for (size_t n = 0; n < 6 && (!n || rules[i].words[n].at); n++) {
			CHECK_EQUAL(words[rules[i].words[n].at], rules[i].words[n].value);
			words[rules[i].words[n].at] = 0;
		}
	}
}

static void wrong_rules_have_a_sentence(void)
{
	static const char *const wrong[][2] = {
		{ "port=16 discard", "port=16: it must be a number from 0 to 15" },
		{ "vlan=x discard", "vlan=x: it must be a number from 0 to 4095" },
		{ "vlan= discard", "vlan=: it must be a number" },
		{ "port=3", "does nothing: it must have queue=, snap= or discard" },
		{ "", "does nothing" },
		{ "queue=1 discard", "discards frames, so it can have neither" },
		{ "queue=16", "queue=16: it must be a number from 0 to 15" },
		{ "snap=0", "snap=0: it must be 1 or more" },
		{ "sport=5-4 discard", "sport=5-4: the second number must not be below the first" },
		{ "src=10.1 discard", "src=10.1: it must be an address" },
		{ "src=10.0.0.0/33 discard", "src=10.0.0.0/33: the card compares from 0 to 32 bits" },
		{ "dst=::1/65 discard", "the card compares from 0 to 64 bits" },
		{ "colour=red discard", "colour: there is no such word of a rule" },
		{ "blue discard", "blue: there is no such word of a rule" },
		{ "proto=ospf discard", "proto=ospf: it must be a number from 0 to 255" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint32_t words[LITEPCIE_RULE_WORDS];

		CHECK_EQUAL(litepcie_capture_rule(&dev, wrong[i][0], words), -EINVAL);
		CHECK(strstr(litepcie_why(&dev), wrong[i][1]) != NULL);
		if (!strstr(litepcie_why(&dev), wrong[i][1]))
			fprintf(stderr, "not \"%s\" but \"%s\"\n", wrong[i][1],
				litepcie_why(&dev));
	}
}

int main(void)
{
	rules_have_their_words();
	wrong_rules_have_a_sentence();
	return failed_checks != 0;
}
