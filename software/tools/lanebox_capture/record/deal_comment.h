/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * If a recording is in several folders, the header of each of its files has this comment, such as
 * "Lanebox: folder 1 of 2". Such a file lacks the MBUFs (parts of the ring) that are in other
 * folders.
 */
#ifndef LANEBOX_CAPTURE_DEAL_COMMENT_H
#define LANEBOX_CAPTURE_DEAL_COMMENT_H

#include "litepcie_capture.h"

#define DEAL_COMMENT		"Lanebox: folder "
#define DEAL_COMMENT_CODE	1u	/* code of pcapng's option opt_comment */
#define DEAL_OPTIONS_AT		24u	/* offset of the options in a section header */

#endif /* LANEBOX_CAPTURE_DEAL_COMMENT_H */
