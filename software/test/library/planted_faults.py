# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Mistakes in the driver, the library and the tools that their tests must find: the table FAULTS.

A fault replaces a piece of one source's text by another text, and names a C program that must then
fail. test_planted_faults.py plants each fault in a copy of software/. It also fails if a source
does not have a fault's old text exactly once. The fault must then be written anew.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A mistake: what it does, its source below software/, the text that it replaces and the new
    text, and the program that must fail.

    A source of the driver is tested by a program of software/kernel/test, and any other source by a
    C program that software/Makefile builds.
    """

    name: str
    source: str
    old: str
    new: str
    program: str

    @property
    def is_of_the_driver(self) -> bool:
        return self.source.startswith("kernel/")


def _faults(source: str, program: str, *rows: tuple[str, str, str]) -> list[Fault]:
    """Return the faults of one source. A row has the name, the old text and the new text."""
    return [Fault(name, source, old, new, program) for name, old, new in rows]


# Arguments of those programs that get any. "{tmp}" stands for an empty folder. Programs that test
# the driver get no arguments, also if they have the name of a program in this dict.
ARGUMENTS = {
    "check": ["1"],
    "csr_file": ["{tmp}", "1"],
    "deal": ["{tmp}"],
    "dma_data": ["1"],
    "histogram": ["1"],
    "output": ["{tmp}"],
}

FAULTS = [
    # faults of the kernel driver
    *_faults(
        "kernel/dma/dma.c",
        "dma",
        (
            "a read that was given up counts as idle",
            "litepcie_check_lost(litepcie_of(way)) :\n\t\t\t      value & LITEPCIE_DMA_ENABLE_IDLE",
            "way->regs != NULL :\n\t\t\t      value & LITEPCIE_DMA_ENABLE_IDLE",
        ),
        (
            "a stop leaves the card's table full",
            "way_write(way, LITEPCIE_DMA_GROUP_TABLE_RESET, 1);",
            "",
        ),
        (
            "reads in flight are not awaited",
            "if (way->in_flight)\n\t\tlet_reads_settle(way);",
            "if (!way->in_flight)\n\t\tlet_reads_settle(way);",
        ),
        (
            "bus mastering comes back while another part runs",
            "if (!card->unquiet)\n\t\t\tpci_set_master(card->pdev);",
            "pci_set_master(card->pdev);",
        ),
    ),
    *_faults(
        "kernel/dma/progress.c",
        "progress",
        (
            "the loop's count ends at its wrap",
            "+ (position < before ? count * ROUNDS : 0)",
            "",
        ),
    ),
    *_faults(
        "kernel/dma/held.c",
        "progress",
        (
            "c2h data is announced before it has arrived",
            "if (news && way->id == LITEPCIE_WAY_C2H)\n\t\treadl(status);",
            "",
        ),
        (
            "a count of more than was handed over is believed",
            "if (unlikely(news > held->advanced - held->done))",
            "if (unlikely(news > held->advanced))",
        ),
    ),
    *_faults(
        "kernel/dma/advance.c",
        "progress",
        (
            "the last of a batch that is to notify asks for no interrupt",
            "notify && i + 1 == advance->count",
            "notify && i == advance->count",
        ),
    ),
    *_faults(
        "kernel/dma/timer.c",
        "timer",
        (
            "an interrupt that comes before its cause is enabled is lost",
            "news = litepcie_dma_progress(way);\n\t\tif (!news && !behind)",
            "if (!news && !behind)",
        ),
        (
            "the timer ends while the card's status line is behind",
            "if (!news && !behind)",
            "if (!news && behind)",
        ),
    ),
    *_faults(
        "kernel/capability.c",
        "capability",
        (
            "the second channel gets the blocks of the first",
            "card->blocks[i].type == type && card->blocks[i].index == index",
            "card->blocks[i].type == type && index < 2",
        ),
    ),
    *_faults(
        "kernel/file/rw.c",
        "rw",
        (
            "read() returns a buffer that the card has begun to overwrite",
            "way->hw_count - way->sw_count + 1 < run->ring->geometry.count",
            "way->hw_count - way->sw_count < run->ring->geometry.count",
        ),
    ),
    *_faults(
        "kernel/file/sync.c",
        "sync",
        (
            "close() does not wait for the user's logic",
            "(!closing || is_taken(way))",
            "(closing || is_taken(way))",
        ),
        (
            "fsync() does not say that reads have failed",
            "if (!err && has_failed(&run))\n\t\t\terr = -EIO;",
            "has_failed(&run);",
        ),
    ),
    *_faults(
        "kernel/capture/capture_owner.c",
        "node",
        (
            "MBUFs of two sizes are taken",
            "if (queue != file->queue && queue->ring && capture->mbuf_bytes != mbuf_bytes)",
            "if (queue != file->queue && !queue->ring && capture->mbuf_bytes != mbuf_bytes)",
        ),
        (
            "a file changes its queue while it has one",
            "if (file->queue->owner == file)\n\t\terr = -EBUSY;",
            "if (file->queue->owner && file->queue->owner != file)\n\t\terr = -EBUSY;",
        ),
    ),
    *_faults(
        "kernel/capture/capture_sort.c",
        "node",
        (
            "the spread goes to the next queue",
            "u32 queue = sort->spread[n];",
            "u32 queue = sort->spread[n] + 1;",
        ),
    ),
    *_faults(
        "kernel/virtio/virtio_queues.c",
        "transport",
        (
            "a queue is deleted before the card has let go of it",
            "writel(0, page + VIRTIO_MMIO_QUEUE_READY);\n\treadl(page + VIRTIO_MMIO_QUEUE_READY);",
            "writel(0, page + VIRTIO_MMIO_QUEUE_READY);",
        ),
        (
            "a queue whose interrupt was refused is not given back",
            "vring_del_virtqueue(vq);\n\t\treturn err;",
            "return err;",
        ),
        (
            "a queue is taken for reset before its reset has ended",
            "reset, !reset, RESET_POLL_US",
            "reset, reset, RESET_POLL_US",
        ),
        (
            "a queue that does not end its reset may go on with DMA",
            "litepcie_virtio_quiet(d->virtio, false);\n\t\tset_reset",
            "set_reset",
        ),
        (
            "buffers of a queue that is reset are given back",
            "!d->vq[n] || d->vq[n]->reset || !is_waited_for",
            "!d->vq[n] || !is_waited_for",
        ),
        (
            "a handler of a queue that is reset may run on",
            "return -EIO;\n\t}\n\tlitepcie_virtio_mute(d->virtio, vq->index, true);",
            "return -EIO;\n\t}",
        ),
        (
            "the interrupt of a queue stays off after the queue's reset",
            "litepcie_virtio_mute(d->virtio, vq->index, false);",
            "(void)d;",
        ),
    ),
    *_faults(
        "kernel/virtio/virtio.c",
        "transport",
        (
            "a late message looks at a queue that is reset",
            "disable_irq(pci_irq_vector(card->pdev, cause));",
            "synchronize_irq(pci_irq_vector(card->pdev, cause));",
        ),
        (
            "an interrupt that often has no news is switched off",
            "irq_set_status_flags(irq, IRQ_IS_POLLED);",
            "",
        ),
        (
            "the handler of a queue that is reset may run on with MSI",
            "litepcie_cause_enable(card, cause, !mute);",
            "litepcie_cause_enable(card, cause, true);",
        ),
    ),
    *_faults(
        "kernel/virtio/virtio_device.c",
        "transport",
        (
            "RING_RESET is not taken",
            "__virtio_set_bit(vdev, VIRTIO_F_RING_RESET);",
            "__virtio_clear_bit(vdev, VIRTIO_F_RING_RESET);",
        ),
    ),
    # faults of liblitepcie
    *_faults(
        "liblitepcie/sim/vfio_user_wire.c",
        "vfio_user_wire",
        (
            "a request that comes together with another is left",
            "return serve_one(vu) ?: serve_rest(vu);",
            "return serve_one(vu);",
        ),
        (
            "a second reply to a read counts as a reply to another",
            "number >= VFIO_USER_READS || !(*missing >> number & 1)",
            "number >= VFIO_USER_READS",
        ),
    ),
    *_faults(
        "liblitepcie/bar.c",
        "access",
        (
            "an access reaches BAR0 instead of its own BAR",
            "rc = litepcie_load(litepcie_bar_place(dev, bar, offset), data, size);",
            "rc = litepcie_load(litepcie_bar_place(dev, bar & 0, offset), data, size);",
        ),
        (
            "BAR0 stays mapped",
            "for (unsigned int n = 0; n < LITEPCIE_BARS; n++)\n\t\tif (dev->bar[n].base)",
            "for (unsigned int n = 1; n < LITEPCIE_BARS; n++)\n\t\tif (dev->bar[n].base)",
        ),
    ),
    *_faults(
        "liblitepcie/bar.c",
        "bar",
        (
            "all ones of a card that has gone count as data",
            "return rc ?: litepcie_readl(dev, LITEPCIE_CAP_OFFSET, &word);",
            "(void)word;\n\treturn rc;",
        ),
        (
            "half of a register of two words is written behind the end of BAR0",
            "rc = check_access(dev, 0, offset, 4, 8) ?:\n\t     litepcie_put(",
            "rc = litepcie_put(",
        ),
    ),
    *_faults(
        "liblitepcie/access.c",
        "access",
        (
            "a load of 16 bytes fills 8 of them",
            "movdqu %%xmm0, (%1)",
            "movlps %%xmm0, (%1)",
        ),
    ),
    *_faults(
        "liblitepcie/sized.c",
        "sized",
        (
            "a setting that is too new is ignored",
            "for (size_t i = size; i < has; i++)",
            "for (size_t i = has; i < has; i++)",
        ),
        (
            "the largest struct is refused",
            "*size <= LARGEST",
            "*size < LARGEST",
        ),
    ),
    *_faults(
        "liblitepcie/describe/features.c",
        "features",
        (
            "a card without streams has the user's interrupt",
            "dev->map.user_cause && found & LITEPCIE_HAS_STREAMS",
            "dev->map.user_cause",
        ),
    ),
    *_faults(
        "liblitepcie/describe/map.c",
        "map",
        (
            "a missing register is forgotten when the next one is found",
            "for (size_t i = 0; rc == 0 && i < sizeof(wanted)",
            "for (size_t i = 0; i < sizeof(wanted)",
        ),
        (
            "the registers of the other channel are used",
            "litepcie_register_name(name, sizeof(name), wanted[i].name, dev->channel);",
            "litepcie_register_name(name, sizeof(name), wanted[i].name, 0);",
        ),
    ),
    *_faults(
        "liblitepcie/describe/csr_file.c",
        "csr_file",
        (
            "a file may be nested one level too deep",
            "if (scan->depth == DEEPEST)",
            "if (scan->depth > DEEPEST)",
        ),
    ),
    *_faults(
        "liblitepcie/describe/slot.c",
        "slot_text",
        (
            "a text without room is written behind its end",
            "\ttext->room -= used;\n",
            "",
        ),
    ),
    *_faults(
        "liblitepcie/dma/memory.c",
        "memory",
        (
            "the program's own memory is unmapped",
            "if (!memory->placed)\n\t\tmunmap(memory->base, memory->size);",
            "munmap(memory->base, memory->size);",
        ),
    ),
    *_faults(
        "liblitepcie/dma/engine/asks.c",
        "dma",
        (
            "the buffer behind the one that is due asks for an interrupt",
            "next = first + every - 1 - first % every;",
            "next = first + every - first % every;",
        ),
    ),
    *_faults(
        "liblitepcie/capture/capture_rule.c",
        "capture_rule",
        (
            "a number may be one larger than its field",
            "return found <= most && (!*rest || *rest == end);",
            "return found <= most + 1 && (!*rest || *rest == end);",
        ),
    ),
    *_faults(
        "liblitepcie/capture/capture_registers.c",
        "capture_run",
        (
            "the halves of a position are of two moments",
            "rc = litepcie_get64(dev, offset, value);",
            "rc = litepcie_get_copy64(dev, offset, value);",
        ),
    ),
    *_faults(
        "liblitepcie/capture/capture_run.c",
        "capture_run",
        (
            "the data of a queue ends at 0 if its position cannot be read",
            "capture->end = capture->seen.position;",
            "capture->end = 0;",
        ),
        (
            "a queue that is stopped before the run begins gets data",
            "else if (litepcie_run_is_ahead(capture))",
            "else if (!litepcie_run_is_ahead(capture))",
        ),
    ),
    *_faults(
        "liblitepcie/kernel/capture.c",
        "kernel_pages",
        (
            "the ring's memory is not given back",
            "\tlitepcie_memory_drop(port->ring);\n\tfree(port);",
            "\tfree(port);",
        ),
    ),
    *_faults(
        "liblitepcie/kernel/counts.c",
        "kernel_counts",
        (
            "a card that makes progress counts as silent",
            "stream->dev->silent_ms = 0;",
            "stream->dev->silent_ms++;",
        ),
    ),
    *_faults(
        "liblitepcie/dma/open.c",
        "engine",
        (
            "information about a ring is read without the lock",
            "litepcie_lock(stream->dev);\n\tfound =",
            "(void)pthread_mutex_trylock(&stream->dev->lock);\n\tfound =",
        ),
    ),
    *_faults(
        "liblitepcie/capture/player.c",
        "player",
        (
            "the status of the player is read without a pause",
            "\t\tlitepcie_capture_nap(&nap_us);\n",
            "\t\t(void)nap_us;\n",
        ),
    ),
    *_faults(
        "liblitepcie/kernel/capture.c",
        "kernel_capture",
        (
            "a card that does not rest at the start is an error of another number",
            'rc = litepcie_fail(-ETIMEDOUT, "%s: the capture does not come to rest or does not "',
            'rc = litepcie_fail(-EIO, "%s: the capture does not come to rest or does not "',
        ),
        (
            "a driver that says no flags is asked for all of them",
            "info.start_flags ? info.start_flags : EARLY_FLAGS",
            "info.start_flags ? info.start_flags : UINT32_MAX",
        ),
    ),
    # faults of the tools litepcie_util and lanebox-capture
    *_faults(
        "tools/litepcie_util/dma/dma_data.c",
        "dma_data",
        (
            "the upper word of a difference has the lower one's place",
            "compare(expected >> 32, got[i] >> 32, 8 * i + 4, difference);",
            "compare(expected >> 32, got[i] >> 32, 8 * i, difference);",
        ),
    ),
    *_faults(
        "tools/litepcie_util/dma/dma_run.c",
        "dma_run",
        (
            "a silent card is given twice the time",
            "util_now() - *idle_since > run->timeout_s",
            "util_now() - *idle_since > 2 * run->timeout_s",
        ),
    ),
    *_faults(
        "tools/litepcie_util/dma/dma_window.c",
        "dma_window",
        (
            "the window opens with the counters of the run's beginning",
            "\twindow->open = true;\n\treturn litepcie_counters(run->util->dev, &window->from);",
            "\twindow->open = true;\n\treturn 0;",
        ),
        (
            "the window follows the faster direction",
            "return h2c < c2h ? h2c : c2h;",
            "return h2c > c2h ? h2c : c2h;",
        ),
    ),
    *_faults(
        "tools/litepcie_util/rates.c",
        "rates",
        (
            "the worst of a few runs counts",
            "tried.gb_per_s > rate->gb_per_s",
            "tried.gb_per_s < rate->gb_per_s",
        ),
    ),
    *_faults(
        "tools/litepcie_util/mmio/mmio_ways.c",
        "mmio_ways",
        (
            "a thread is left behind",
            "\t\tif (i)\n\t\t\tpthread_join(thread[i], NULL);",
            "\t\tif (i > 1)\n\t\t\tpthread_join(thread[i], NULL);",
        ),
    ),
    *_faults(
        "tools/litepcie_util/options.c",
        "options",
        (
            "a choice may be the beginning of a word",
            "if (strlen(text) == length && memcmp(word, text, length) == 0) {",
            "if (strlen(text) <= length && memcmp(word, text, strlen(text)) == 0) {",
        ),
    ),
    *_faults(
        "tools/litepcie_util/histogram.c",
        "histogram",
        (
            "the median of an even number of samples is the lower one",
            "(samples[(count - 1) / 2] + samples[count / 2]) / 2",
            "samples[(count - 1) / 2]",
        ),
    ),
    *_faults(
        "tools/litepcie_util/progress.c",
        "progress",
        (
            "time that is over is shown as negative",
            "return fmax(left, 0);",
            "return left;",
        ),
    ),
    *_faults(
        "tools/lanebox_capture/record/deal.c",
        "deal",
        (
            "the folder that had the last MBUF has the next turn, too",
            "deal->turn = ((unsigned int)(folder - deal->folders) + 1) % deal->count;",
            "deal->turn = (unsigned int)(folder - deal->folders) % deal->count;",
        ),
    ),
    *_faults(
        "tools/lanebox_capture/disk/output.c",
        "output",
        (
            "a write that a signal interrupts ends the file",
            "if (written < 0 && errno == EINTR)\n\t\t\tcontinue;\n",
            "",
        ),
        (
            "a short write by io_uring counts as whole",
            "if (!write->ended || write->result != (ssize_t)write->bytes)",
            "if (!write->ended)",
        ),
    ),
    *_faults(
        "tools/lanebox_capture/check/check.c",
        "check",
        (
            "a packet may be longer than its block",
            "room = block->length - LITEPCIE_PCAPNG_RECORD_LEAST;",
            "room = block->length;",
        ),
        (
            "the length at a block's end is not compared",
            "if (again != block->length)",
            "if (again != block->length && !walk->size)",
        ),
    ),
]
