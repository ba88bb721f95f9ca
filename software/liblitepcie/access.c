/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Functions that make one load or store of the CPU at a mapped BAR. Each access becomes one TLP,
 * unless something between CPU and card splits the access, or merges stores to a BAR that is mapped
 * write-combining. On x86-64 an access of more than 8 bytes uses vector instructions, written in
 * assembly, since a compiler may split a copy in C. On any other CPU such an access is refused.
 */
#include <string.h>

#include "helpers.h"

#ifdef __x86_64__

/*
 * The vector registers whose upper parts the instruction vzeroupper clears. The two assembly
 * statements with vzeroupper name them as changed, since a compiler that uses AVX may have values
 * in all of them.
 */
#define UPPER_HALVES \
	"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
	"xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

static bool has_vectors(size_t size)
{
	return size == 16 || (size == 32 && __builtin_cpu_supports("avx")) ||
	       (size == 64 && __builtin_cpu_supports("avx512f"));
}

/*
 * Copy 16, 32 or 64 bytes by one load and one store. One of the two addresses lies in the BAR and
 * is aligned to @size. The other is that of the program's data, which need not be aligned. So the
 * instructions are those for unaligned data. At the aligned address they still make one access.
 */
static void copy_vector(void *to, const void *from, size_t size)
{
	if (size == 16)
		__asm__ volatile ("movdqu (%0), %%xmm0\n\tmovdqu %%xmm0, (%1)"
				  : : "r" (from), "r" (to) : "memory", "xmm0");
	else if (size == 32)
		__asm__ volatile ("vmovdqu (%0), %%ymm0\n\tvmovdqu %%ymm0, (%1)\n\tvzeroupper"
				  : : "r" (from), "r" (to) : "memory", UPPER_HALVES);
	else
		__asm__ volatile ("vmovdqu64 (%0), %%zmm0\n\tvmovdqu64 %%zmm0, (%1)\n\tvzeroupper"
				  : : "r" (from), "r" (to) : "memory", UPPER_HALVES);
}

#else

static bool has_vectors(size_t size)
{
	(void)size;
	return false;
}

/*
 * copy_vector() on a CPU other than x86-64, which has none of the instructions above. It is never
 * called: check_width() refuses accesses of more than 8 bytes there.
 */
#define copy_vector(to, from, size)	((void)0)

#endif

static int check_width(size_t size)
{
	if (size <= 8 || has_vectors(size))
		return 0;
	return litepcie_fail(-EOPNOTSUPP, "this CPU has no load or store of %zu bytes", size);
}

/*
 * For up to 8 bytes, litepcie_load() and litepcie_store() make a volatile access of the exact
 * width. A compiler for a 64-bit CPU neither splits such an access nor joins it with another one.
 */
int litepcie_load(const uint8_t *from, void *data, size_t size)
{
	int rc = check_width(size);

	if (rc < 0)
		return rc;
	if (size == 1)
		*(uint8_t *)data = *(const volatile uint8_t *)from;
	else if (size == 2)
		memcpy(data, &(uint16_t) { *(const volatile uint16_t *)from }, 2);
	else if (size == 4)
		memcpy(data, &(uint32_t) { *(const volatile uint32_t *)from }, 4);
	else if (size == 8)
		memcpy(data, &(uint64_t) { *(const volatile uint64_t *)from }, 8);
	else
		copy_vector(data, from, size);
	return 0;
}

int litepcie_store(uint8_t *to, const void *data, size_t size)
{
	uint64_t value = 0;
	int rc = check_width(size);

	if (rc < 0)
		return rc;
	if (size <= 8)
		/* the host is little-endian: @data becomes the lowest bytes of @value */
		memcpy(&value, data, size);
	if (size == 1)
		*(volatile uint8_t *)to = (uint8_t)value;
	else if (size == 2)
		*(volatile uint16_t *)to = (uint16_t)value;
	else if (size == 4)
		*(volatile uint32_t *)to = (uint32_t)value;
	else if (size == 8)
		*(volatile uint64_t *)to = value;
	else
		copy_vector(to, data, size);
	return 0;
}
