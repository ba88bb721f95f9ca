/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The image's header, and the code that runs before main(): it sets the stack, copies data, and
 * clears the variables that C expects to be 0.
 */
#include "card_numbers.h"

	.section .header, "ax"
	.globl	_start
_start:
	j	begin
	.word	IMAGE_MAGIC
	.word	0		/* bytes of the image, filled in by gateware/card/cpu/image.py */

	.text
begin:
	la	sp, stack_top
	la	t0, data_start
	la	t1, data_end
	la	t2, data_image
1:	bgeu	t0, t1, 2f
	lw	t3, 0(t2)
	sw	t3, 0(t0)
	addi	t0, t0, 4
	addi	t2, t2, 4
	j	1b
2:	la	t1, bss_end
3:	bgeu	t0, t1, 4f
	sw	zero, 0(t0)
	addi	t0, t0, 4
	j	3b
4:	call	main
5:	j	5b
