/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A C++ program that is built against the installed headers. It must link, and reach the card that
 * its argument names. With -DSTOCK it uses the headers in litepcie-stock, which declare the calls
 * of LitePCIe's library.
 */
#include <cstdio>
#include <cstring>

#ifdef STOCK
#include "litepcie-stock/liblitepcie.h"

static bool works(const char *device) {
    struct litepcie_dma_ctrl dma = {};
    bool found;

    dma.use_reader = dma.use_writer = dma.loopback = 1;
    if (litepcie_dma_init(&dma, device, 1) < 0) return false;
    found = dma.buf_rd && dma.buf_wr;
    litepcie_dma_cleanup(&dma);
    return found && get_time_ms() > 0;
}
#else
#include <liblitepcie.h>
#include <litepcie_capability.h>
#include <litepcie_capture.h>
#include <litepcie_diagnostics.h>

static bool works(const char *device) {
    struct litepcie_block memory = {};
    char why[LITEPCIE_WHY_SIZE];
    struct litepcie *dev;
    uint64_t value = 0;

    if (litepcie_open(&dev, device, why, sizeof(why)) < 0) {
        std::fprintf(stderr, "%s\n", why);
        return false;
    }
    memory.struct_size = sizeof(memory);
    litepcie_register_write(dev, "ctrl_scratch", 0x600dcafe);
    litepcie_register_read(dev, "ctrl_scratch", &value);
    if (litepcie_block_find(dev, LITEPCIE_BLOCK_MEMORY, 0, &memory) < 0) value = 0;
    struct litepcie_counters counters = {};
    counters.struct_size = sizeof(counters);
    if (litepcie_counters(dev, &counters) < 0) value = 0;
    if (!(litepcie_features(dev) & LITEPCIE_HAS_STREAMS)) value = 0;
    litepcie_capture *capture;
    litepcie_span span = {};
    litepcie_packet packet;
    size_t at = 0;
    if (litepcie_capture_open(dev, nullptr, &capture) != -ENODEV) value = 0;
    if (litepcie_record_next(&span, &at, &packet) != 0) value = 0;
    litepcie_stream *stream;
    litepcie_stream_options options = {};
    options.struct_size = sizeof(options);
    if (litepcie_stream_open(dev, LITEPCIE_C2H, &options, &stream) < 0) value = 0;
    litepcie_stream_close(stream);
    litepcie_close(dev);
    return value == 0x600dcafe && std::strlen(litepcie_strerror(-5)) > 0;
}
#endif

int main(int argc, char **argv) {
    return argc == 2 && works(argv[1]) ? 0 : 1;
}
