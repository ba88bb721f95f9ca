/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Ask whether the source of a recording's frames has ended.
 */
#include "ended.h"

bool record_has_ended(struct util *util, struct recording *recording)
{
	int rc;

	if (recording->play)
		return recording->play->ended;
	if (!recording->generates || !recording->generator.count)
		return false;
	rc = litepcie_capture_generated(recording->capture, &recording->made);
	util_check(util, rc, "asking the generator");
	recording->made_known = rc == 1 && recording->made >= recording->generator.count;
	return rc < 0 || recording->made_known;
}
