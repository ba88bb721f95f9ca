/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test emit.c: print a result that has each kind of value, as text, or as JSON with the argument
 * "json". software/test/util/test_util_parts.py parses the JSON and compares the text.
 */
#include <string.h>

#include "../litepcie_util/emit.c"

static void print(const struct emit *out)
{
	emit_object(out, NULL);
	emit_string(out, "plain", "plain %s\n", "words");
	emit_string(out, "escaped", NULL, "\"quoted\" \\ \t\x01\x7f \xc3\xa4");
	emit_string(out, "absent", "absent %s\n", emit_filled(""));
	emit_string(out, NULL, "text alone: %s\n", "words");
	emit_unsigned(out, "largest", "%llu\n", UINT64_MAX);
	emit_unsigned(out, NULL, "%llu of text alone\n", 2);
	emit_number(out, "third", "%.3f\n", 1.0 / 3);
	emit_number(out, "not_finite", "not finite %.3f\n", INFINITY);
	emit_number(out, "not_a_number", NULL, NAN);
	emit_bool(out, "yes", true);
	emit_bool(out, "no", false);
	emit_known(out, "known", 0);
	emit_known(out, "unknown", -1);
	emit_null(out, "null");
	if (emit_object_if(out, "object", true)) {
		emit_unsigned(out, "inner", "inner %llu\n", 1);
		emit_object_end(out);
	}
	if (emit_object_if(out, "no_object", false))
		emit_text(out, "an object that is not known\n");
	emit_array(out, "empty");
	emit_array_end(out);
	emit_array(out, "list");
	emit_string(out, EMIT_ELEMENT, NULL, "one");
	emit_unsigned(out, EMIT_ELEMENT, NULL, 2);
	emit_number(out, EMIT_ELEMENT, NULL, 0.5);
	emit_object(out, NULL);
	emit_unsigned(out, "inner", "inner %llu\n", 3);
	emit_object_end(out);
	emit_array_end(out);
	emit_text(out, "the %s\n", "end");
	emit_object_end(out);
}

int main(int argc, char **argv)
{
	struct json json = { .file = stdout };
	const struct emit out = {
		.json = argc > 1 && strcmp(argv[1], "json") == 0 ? &json : NULL,
	};

	print(&out);
	return 0;
}
