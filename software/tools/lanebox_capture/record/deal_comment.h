/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The comment in the header of a file if the recording is in several folders, such as "Lanebox:
 * folder 1 of 2". Such a file lacks the MBUFs (parts of the ring) that are in other folders.
 */
#ifndef LANEBOX_CAPTURE_DEAL_COMMENT_H
#define LANEBOX_CAPTURE_DEAL_COMMENT_H

#include "litepcie_capture.h"

#define DEAL_COMMENT		"Lanebox: folder "
#define DEAL_COMMENT_CODE	1u	/* code of pcapng's option opt_comment */
#define DEAL_OPTIONS_AT		24u	/* offset of the options in a section header */

#endif /* LANEBOX_CAPTURE_DEAL_COMMENT_H */
