# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Declare the structures and calls of liblitepcie's headers for ctypes, and open cards by them.

A test compares the offset of every structure's field with that of the C compiler.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_bool,
    c_char,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path
from typing import Any, NoReturn, Protocol, cast

from lanebox_host.errors import fail

WHY_SIZE = 320
H2C, C2H = 1, 2
WAYS = {"h2c": H2C, "c2h": C2H}
FEATURES = ("streams", "packets", "user_interrupt", "slot_monitor", "bar_map")
RECORD_LAST, RECORD_FLUSHED, RECORD_ERROR = 1, 2, 4
BUFFER_SIZE, BUFFER_COUNT = 8192, 256
PORTS = 16  # ports of a card that a captured frame may come from
# Limits of a capture's sorting: number of rules, 32-bit words of a rule, entries of the table that
# spreads frames over the queues.
RULES, RULE_WORDS, SPREAD = 16, 16, 128
LONGEST = (1 << 31) - 1  # longest timeout of a library call in milliseconds: the largest int of C


class Sized(Structure):
    """A structure of the library whose first field, `struct_size`, is its own size."""

    def __init__(self, **fields: object) -> None:
        super().__init__(ctypes.sizeof(self), **fields)


class CardFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("target", c_char * 32),
        ("digest", c_char * 65),
        ("identifier", c_char * 128),
        ("endpoint", c_char * 16),
        ("blocks", c_uint),
        ("channels", c_uint),
        ("data_width", c_uint),
        ("address_width", c_uint),
        ("table_depth", c_uint),
        ("read_tags", c_uint),
        ("clock_hz", c_uint32),
        ("tick_ps", c_uint32),
    ]


class RegisterFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char * 64),
        ("offset", c_uint32),
        ("words", c_uint),
        ("writable", c_bool),
    ]


class ConditionsFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("mps", c_uint),
        ("mrrs", c_uint),
        ("link_up", c_bool),
        ("link_gen", c_uint),
        ("link_lanes", c_uint),
        ("msi", c_bool),
    ]


class StreamFields(Structure):
    _fields_ = [
        *((name, c_uint64) for name in ("beats", "stalls", "tlps", "payload_bytes")),
        *((name, c_uint64) for name in ("first", "last")),
        ("reserved", c_uint64 * 2),
    ]


class CountersFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("time", c_uint64),
        *((name, StreamFields) for name in ("cq", "cc", "rq", "rc")),
    ]


class SlotSideFields(Structure):
    _fields_ = [
        ("valid", c_bool),
        ("ready", c_bool),
        *((name, c_uint64) for name in ("since", "beats", "packets", "stalls")),
        ("reserved", c_uint64 * 2),
    ]


class SlotFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("time", c_uint64),
        ("h2c", SlotSideFields),
        ("c2h", SlotSideFields),
    ]


class PatternFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("beats", c_uint64),
        ("errors", c_uint32),
        ("first_error", c_uint64),
    ]


class StreamOptionsFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("buffer_size", c_size_t),
        ("buffer_count", c_uint),
        ("memory", c_void_p),
        ("memory_bytes", c_size_t),
        ("loopback", c_bool),
        ("pattern", c_bool),
        ("packets", c_bool),
        ("adaptive", c_bool),
        ("limit", c_uint64),
        ("interrupt_every", c_uint),
        ("batch", c_uint),
        ("flush_us", c_uint),
        ("poll_us", c_uint),
    ]


class BufferFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("data", c_void_p),
        ("bytes", c_size_t),
        ("sequence", c_uint64),
        ("flags", c_uint32),
    ]


class StreamInfoFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("base", c_void_p),
        ("buffer_size", c_size_t),
        ("buffer_count", c_uint),
        ("address", c_uint64),
    ]


class StatsFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        *((name, c_uint64) for name in ("h2c_submitted", "h2c_done", "c2h_done", "c2h_released")),
        ("interrupts", c_int64),
        ("interrupts_expected", c_int64),
        ("interrupts_missed", c_uint64),
        ("woken_by_timeout", c_uint64),
        ("batches", c_uint64),
        ("c2h_errors", c_uint64),
        ("h2c_errors", c_uint64),
    ]


class CaptureConfigFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("ring_bytes", c_uint64),
        *((name, c_uint32) for name in ("mbuf_bytes", "snap", "wait_ns")),
        *((name, c_bool) for name in ("keep_bad", "lossless", "newest")),
        ("link_type", c_uint32),
        ("queue", c_uint32),
        ("page_bytes", c_uint64),
        ("rest_ms", c_int32),
    ]


class SortingFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("rules", c_uint32),
        ("by_port", c_bool),
        ("rule", c_uint32 * RULE_WORDS * RULES),
        ("spread", c_uint8 * SPREAD),
    ]


class SpanFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("data", c_size_t),  # a pointer in C, declared as an integer for arithmetic
        ("bytes", c_size_t),
        ("position", c_uint64),
        ("mbuf", c_uint64),
        ("sealed", c_bool),
        *((name, c_uint64) for name in ("records", "lost", "time_ns")),
    ]


class PacketFields(Structure):
    _fields_ = [
        ("data", c_size_t),  # a pointer in C, declared as an integer for arithmetic
        ("time_ns", c_uint64),
        *((name, c_uint32) for name in ("port", "kept", "length", "flags")),
        ("dropped", c_uint64),
    ]


class AccountFields(Structure):
    _fields_ = [("frames", c_uint64), ("bytes", c_uint64)]


class AccountsFields(Structure):
    _fields_ = [
        *((name, AccountFields) for name in ("delivered", "bad", "lost_ring", "lost_staging")),
        ("reserved", AccountFields * 2),
    ]


class CaptureStatsFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        *((name, c_uint64) for name in ("position", "records", "lost", "time_ns")),
        *((name, c_uint64) for name in ("released", "overwritten", "limits")),
        ("port", AccountsFields * PORTS),
    ]


class DiscardsFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("rule", AccountFields * RULES),
        ("port", AccountFields * PORTS),
    ]


class GeneratorFields(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        *((name, c_uint32) for name in ("size", "period", "count", "seed", "port_mask")),
    ]


HANDLE, BYTES, WORD32, WORD64 = c_void_p, c_void_p, POINTER(c_uint32), POINTER(c_uint64)
# Those library calls used here that return 0, a count, or a negative errno: name -> types of the
# arguments.
STATUS = {
    "open": (POINTER(HANDLE), c_char_p, c_char_p, c_size_t),
    "reset": (HANDLE,),
    "card": (HANDLE, POINTER(CardFields)),
    "time": (HANDLE, WORD64),
    "conditions": (HANDLE, POINTER(ConditionsFields)),
    "counters": (HANDLE, POINTER(CountersFields)),
    "counters_clear": (HANDLE,),
    "slot": (HANDLE, POINTER(SlotFields)),
    "pattern": (HANDLE, POINTER(PatternFields)),
    "csr_load": (HANDLE, c_char_p),
    "register": (HANDLE, c_uint, POINTER(RegisterFields)),
    "register_find": (HANDLE, c_char_p, POINTER(RegisterFields)),
    "register_read": (HANDLE, c_char_p, WORD64),
    "register_write": (HANDLE, c_char_p, c_uint64),
    "bar_size": (HANDLE, c_uint, POINTER(c_uint64)),
    "bar_read": (HANDLE, c_uint, c_uint64, BYTES, c_size_t),
    "bar_write": (HANDLE, c_uint, c_uint64, BYTES, c_size_t),
    "user_enable": (HANDLE, c_bool),
    "user_wait": (HANDLE, c_int),
    "dma_wait": (HANDLE, c_uint, c_int),
    "stream_open": (HANDLE, c_uint, POINTER(StreamOptionsFields), POINTER(HANDLE)),
    "stream_start": (HANDLE,),
    "stream_stop": (HANDLE,),
    "stream_info": (HANDLE, POINTER(StreamInfoFields)),
    "stream_ready": (HANDLE, c_int),
    "stream_acquire": (HANDLE, POINTER(BufferFields), c_int),
    "stream_release": (HANDLE, c_uint),
    "stream_send": (HANDLE, c_size_t),
    "stream_flush": (HANDLE,),
    "stream_drain": (HANDLE, c_int),
    "stream_export": (HANDLE, POINTER(c_int)),
    "stream_keep": (HANDLE, POINTER(HANDLE)),
    "stats": (HANDLE, POINTER(StatsFields)),
    "capture_open": (HANDLE, POINTER(CaptureConfigFields), POINTER(HANDLE)),
    "capture_start": (HANDLE,),
    "capture_next": (HANDLE, POINTER(SpanFields), c_int),
    "capture_release": (HANDLE, c_size_t),
    "capture_stop": (HANDLE,),
    "capture_stats": (HANDLE, POINTER(CaptureStatsFields)),
    "capture_header": (HANDLE, BYTES, c_size_t),
    "capture_generate": (HANDLE, POINTER(GeneratorFields)),
    "capture_queues": (HANDLE,),
    "capture_sort": (HANDLE, POINTER(SortingFields)),
    "capture_rule": (HANDLE, c_char_p, WORD32),
    "capture_discards": (HANDLE, POINTER(DiscardsFields)),
    "records": (POINTER(SpanFields), POINTER(c_size_t), BYTES, c_uint, c_size_t),
}
# Those library calls used here with another result: name -> type of the result, then types of the
# arguments.
PLAIN = {
    "close": (None, HANDLE),
    "stream_close": (None, HANDLE),
    "capture_close": (None, HANDLE),
    "memory_drop": (None, HANDLE),
    "backend": (c_char_p, HANDLE),
    "why": (c_char_p, HANDLE),
    "strerror": (c_char_p, c_int),
    "features": (c_uint64, HANDLE),
    "diagnose": (None, HANDLE, c_uint, c_char_p, c_size_t),
}


def load() -> ctypes.CDLL:
    """Load the C library liblitepcie, declare its calls, and return it.

    The environment variable LIBLITEPCIE may name the library's file. Without the variable the
    library in this package's folder is loaded, or else the system's. Raises ImportError if no
    library can be loaded.
    """
    beside = Path(__file__).with_name("liblitepcie.so.2")
    path = os.environ.get("LIBLITEPCIE") or (str(beside) if beside.exists() else beside.name)
    try:
        library = ctypes.CDLL(path, use_errno=False)
    except OSError as error:
        raise ImportError(
            f"liblitepcie cannot be loaded ({error}): install this package with pip, which "
            "builds it, or name the library in LIBLITEPCIE"
        ) from None
    for name, arguments in STATUS.items():
        _declare(library, name, c_int, arguments)
    for name, (result, *rest) in PLAIN.items():
        _declare(library, name, result, rest)
    return library


def _declare(library: ctypes.CDLL, name: str, result: Any, arguments: Iterable[Any]) -> None:
    function = getattr(library, "litepcie_" + name)
    function.restype, function.argtypes = result, list(arguments)


def field_names(structure: Structure | type[Structure]) -> list[str]:
    """Return the names of a ctypes structure's fields, in the order of its declaration.

    The fields `struct_size` and `reserved`, which say nothing about a card, are left out.
    """
    return [field[0] for field in structure._fields_ if field[0] not in ("struct_size", "reserved")]


LIBRARY = load()


class Part(Protocol):
    """An object that was opened on a card, like a Capture. It is closed with the card."""

    def close(self) -> None:
        """Close the part, unless NumPy arrays in its memory still exist."""

    def leave(self) -> list[object]:
        """Give up the part, since the card is being closed.

        Returns the pieces of its memory in which NumPy arrays still lie.
        """


def milliseconds(seconds: float) -> int:
    """Convert a timeout in seconds to the milliseconds that calls of the library take.

    The result is rounded up, and at most LONGEST. A negative timeout or infinity becomes -1, with
    which the library waits for ever.
    """
    if seconds < 0 or math.isinf(seconds):
        return -1
    return min(math.ceil(seconds * 1000), LONGEST)


class Handle:
    """An open card of the C library: `handle.call("time", ...)` calls litepcie_time(handle, ...).

    A library call that fails in call() raises LaneboxError. A call on a closed card raises
    ValueError, even if another thread closes the card at the same time: each thread registers
    itself before it checks that the card is open, and close() frees the library's handle only when
    no thread is registered.
    """

    def __init__(self, name: str) -> None:
        # Identifiers of the program's threads that may be inside a call of the library.
        self._inside: set[int] = set()
        # DMA direction (H2C or C2H) -> the program's own memory in which that ring lies. This
        # reference keeps the memory alive.
        self.places: dict[int, Any] = {}
        # Bytes of a buffer and number of buffers of a ring, for streams that are opened later.
        self.shape = (BUFFER_SIZE, BUFFER_COUNT)
        # The library's handles of the open streams.
        self._streams: list[c_void_p] = []
        # The captures that are open on the card. They are closed with the card at the latest.
        self.parts: list[Part] = []
        self._handle = HANDLE()
        why = ctypes.create_string_buffer(WHY_SIZE)
        code = LIBRARY.litepcie_open(byref(self._handle), os.fsencode(name), why, WHY_SIZE)
        if code < 0:
            self._handle = HANDLE()
            fail(-code, why.value.decode(errors="replace"))

    @property
    def closed(self) -> bool:
        """True if the card was closed, also while close() waits for other threads."""
        return not self._handle

    def plain(self, name: str, *arguments: object, of: c_void_p | None = None) -> Any:
        """Call the library's function litepcie_`name`, and return its result unchecked.

        The function's first argument is the card's handle, or the handle `of` a stream, a capture
        or a ring's memory. Raises ValueError if the card is closed.
        """
        function = getattr(LIBRARY, "litepcie_" + name)
        thread = threading.get_ident()
        try:
            self._inside.add(thread)
            handle = self._handle
            if not handle:
                raise ValueError("the card is closed")
            return function(handle if of is None else of, *arguments)
        finally:
            self._inside.discard(thread)

    def call(self, name: str, *arguments: object, of: c_void_p | None = None) -> int:
        """Call the library's function litepcie_`name`, which returns 0, a count or -errno.

        Returns the function's result if that is not negative. Otherwise raises LaneboxError. Raises
        ValueError if the card is closed. The arguments are those of plain().
        """
        code = cast(int, self.plain(name, *arguments, of=of))
        if code < 0:
            self._refused(code)
        return code

    @staticmethod
    def _refused(code: int) -> NoReturn:
        why = LIBRARY.litepcie_why(None) or LIBRARY.litepcie_strerror(code)
        fail(-code, why.decode(errors="replace"))

    def acquire(self, stream: c_void_p, buffers: Iterable[Any]) -> int:
        """Acquire a DMA buffer of `stream` for each of `buffers`, which are byref(BufferFields).

        The thread registers itself once for all buffers, so each further buffer costs little more
        than the library's call. Stops at the first buffer that is not ready or is refused. Returns
        the number of buffers that were acquired. Raises LaneboxError if the first buffer was
        refused, or ValueError if the card is closed.
        """
        acquire, count, code = LIBRARY.litepcie_stream_acquire, 0, 1
        thread = threading.get_ident()
        try:
            self._inside.add(thread)
            if not self._handle:
                raise ValueError("the card is closed")
            for buffer in buffers:
                code = acquire(stream, buffer, 0)
                if code != 1:
                    break
                count += 1
        finally:
            self._inside.discard(thread)
        if code < 0 and not count:
            self._refused(code)
        return count

    def open_stream(self, way: int, options: StreamOptionsFields) -> c_void_p:
        """Open the stream of direction `way`, H2C or C2H, with `self.shape` and `self.places`.

        Returns the library's handle of the stream, which the caller gives to close_stream(). Raises
        WayBusy if the stream of this direction is open already.
        """
        stream, place = HANDLE(), self.places.get(way)
        options.buffer_size, options.buffer_count = self.shape
        if place is not None:
            options.memory, options.memory_bytes = place.ctypes.data, place.nbytes
        self.call("stream_open", way, byref(options), byref(stream))
        self._streams.append(stream)
        return stream

    def close_stream(self, stream: c_void_p) -> None:
        """Close a stream that open_stream() has returned. A closed card has closed it already."""
        self._streams.remove(stream)
        with contextlib.suppress(ValueError):
            self.plain("stream_close", of=stream)

    def try_stream(self, way: int) -> None:
        """Check that a ring of `self.shape` and `self.places` is possible for direction `way`.

        The direction's stream is opened and closed again, so it must not be open before. Raises
        LaneboxError if the library refuses the ring.
        """
        self.close_stream(self.open_stream(way, StreamOptionsFields()))

    @staticmethod
    def free(name: str, *arguments: object) -> int:
        """Call the library's function litepcie_`name`, which takes no handle of a card.

        Returns the function's result if that is not negative. Otherwise raises LaneboxError.
        """
        code = cast(int, getattr(LIBRARY, "litepcie_" + name)(*arguments))
        if code < 0:
            fail(-code, LIBRARY.litepcie_strerror(code).decode(errors="replace"))
        return code

    def close(self) -> None:
        """End the waits of other threads for DMA buffers and interrupts, then close the card.

        A second call does nothing. If NumPy arrays in a capture's memory still exist, the library
        closes the card when the last of them is gone.
        """
        handle, self._handle = self._handle, HANDLE()
        if not handle:
            return
        own = {threading.get_ident()}
        if self._inside - own:
            for stream in list(self._streams):
                LIBRARY.litepcie_stream_stop(stream)
            LIBRARY.litepcie_user_enable(handle, False)
        while self._inside - own:
            time.sleep(0.001)
        self._end(handle)

    def _end(self, handle: c_void_p) -> None:
        """Close the library's card now, or later when the last array of a capture is gone."""
        used = [memory for part in self.parts for memory in part.leave()]
        self._close_after([weakref.ref(memory) for memory in used], handle)

    def _close_after(self, used: list[weakref.ref[object]], handle: c_void_p) -> None:
        """Close the library's card when the last of the blocks' memories `used` is gone.

        `weakref.finalize` calls this method again when one of them is freed.
        """
        alive = next((memory for ref in used if (memory := ref()) is not None), None)
        if alive is None:
            LIBRARY.litepcie_close(handle)
            return
        end = weakref.finalize(alive, self._close_after, used, handle)
        # typeshed gives `finalize` an empty `__slots__`, so mypy refuses to set `atexit`.
        end.atexit = False  # type: ignore[misc]


class Ring:
    """The memory of one stream's ring, which NumPy can use by its array interface.

    NumPy arrays made from a Ring keep the Ring alive. The Ring keeps the library's mapping alive,
    or the program's own memory in which the ring lies. So the memory stays valid as long as one
    array exists, even after the stream and the card are closed.
    """

    def __init__(self, handle: Handle, stream: c_void_p, place: Any) -> None:
        """Keep the memory of `stream`. `place` is the program's own memory for it, or None."""
        info = StreamInfoFields()
        self._memory, self._place = HANDLE(), place
        handle.call("stream_keep", byref(self._memory), of=stream)
        handle.call("stream_info", byref(info), of=stream)
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (info.buffer_count, info.buffer_size),
            "data": (info.base, False),
        }

    # The default argument keeps the function litepcie_memory_drop alive when the interpreter ends
    # and clears this module.
    def __del__(self, drop: Callable[[c_void_p], None] = LIBRARY.litepcie_memory_drop) -> None:
        drop(self._memory)
