# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Load the C library liblitepcie, and open cards by its calls.

_headers.py has the library's constants, structures and calls.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from ctypes import byref, c_void_p
from pathlib import Path
from typing import Any, NoReturn, Protocol, cast

from lanebox_host._headers import (
    BUFFER_COUNT,
    BUFFER_SIZE,
    C2H,
    CALLS,
    H2C,
    WHY_SIZE,
    StreamInfoFields,
    StreamOptionsFields,
)
from lanebox_host.errors import fail

WAYS = {"h2c": H2C, "c2h": C2H}
HANDLE = c_void_p


def load() -> ctypes.CDLL:
    """Load the C library liblitepcie, declare its calls, and return it.

    The environment variable LIBLITEPCIE may name the library's file. Without the variable the file
    liblitepcie.so.2 in this package's folder is loaded, or if there is none the system's. Raises
    ImportError if the library cannot be loaded.
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
    for name, (result, *arguments) in CALLS.items():
        # An older library of the same soname may lack some of these calls.
        function = getattr(library, "litepcie_" + name, None)
        if function is not None:
            function.restype, function.argtypes = result, arguments
    return library


LIBRARY = load()


class Part(Protocol):
    """An object that was opened on a card and is closed with it at the latest: a Capture."""

    def close(self) -> None:
        """Close this object, such as a Capture.

        If NumPy arrays in its memory still exist, the object is not closed yet: a later call of
        close() does that.
        """

    def leave(self) -> list[object]:
        """Give up the part, since the card is being closed.

        Returns the pieces of the part's memory in which NumPy arrays still lie.
        """


class Handle:
    """An open card of the C library: `handle.call("time", ...)` calls litepcie_time(handle, ...).

    A library call that fails in call() raises LaneboxError. A call on a closed card raises
    ValueError, even if another thread closes the card at the same time: each thread registers
    itself before it checks that the card is open, and close() frees the library's handle only when
    no other thread is registered. A signal handler or a finalizer may run in the middle of a call
    of its thread. If it closes the card, that call frees the library's handle at its end.
    """

    def __init__(self, name: str) -> None:
        # Identifier of each thread that may be inside calls of the library -> number of its calls
        # that are nested in each other.
        self._inside: dict[int, int] = {}
        # Identifier of a thread that closed the card in the middle of its own call of the library
        # (by a signal handler or finalizer) -> the library's handle of the card, which is freed at
        # the end of that thread's outermost call.
        self._left: dict[int, c_void_p] = {}
        # DMA direction (H2C or C2H) -> the program's own memory for the ring of that direction.
        # This reference keeps the memory alive.
        self.places: dict[int, Any] = {}
        # The number of bytes of a DMA buffer and the number of buffers of a ring, for streams that
        # are opened later.
        self.shape = (BUFFER_SIZE, BUFFER_COUNT)
        # The library's handles of the open streams.
        self._streams: list[c_void_p] = []
        # The captures that are open on the card. They are closed with the card at the latest.
        self.parts: list[Part] = []
        self._handle = HANDLE()
        # The library's handle of the card until a call of close() takes it from this list. If
        # several threads call close(), only one of them gets the handle.
        self._owned: list[c_void_p] = []
        why = ctypes.create_string_buffer(WHY_SIZE)
        code = LIBRARY.litepcie_open(byref(self._handle), os.fsencode(name), why, WHY_SIZE)
        if code < 0:
            self._handle = HANDLE()
            fail(-code, why.value.decode(errors="replace"))
        self._owned.append(self._handle)

    @property
    def closed(self) -> bool:
        """True if close() was called, also while close() waits for other threads."""
        return not self._handle

    def plain(self, name: str, *arguments: object, of: c_void_p | None = None) -> Any:
        """Call the library's function litepcie_`name`, and return its result unchecked.

        The function's first argument is the card's handle, or `of`, the handle of a stream or a
        capture. Raises ValueError if the card is closed.
        """
        function = getattr(LIBRARY, "litepcie_" + name)
        thread = threading.get_ident()
        outer = self._inside.get(thread, 0)
        try:
            self._inside[thread] = outer + 1
            handle = self._handle
            if not handle:
                raise ValueError("the card is closed")
            return function(handle if of is None else of, *arguments)
        finally:
            self._leave(thread, outer)

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
        """Acquire a DMA buffer of `stream` for each element of `buffers`, a byref(BufferFields)
        that the library fills in.

        The thread registers itself once for all buffers, so each further buffer costs little more
        than the library's call. Stops at the first buffer that is not ready or is refused. Returns
        the number of buffers that were acquired. Raises LaneboxError if the first buffer was
        refused, or ValueError if the card is closed.
        """
        acquire, count, code = LIBRARY.litepcie_stream_acquire, 0, 1
        thread = threading.get_ident()
        outer = self._inside.get(thread, 0)
        try:
            self._inside[thread] = outer + 1
            if not self._handle:
                raise ValueError("the card is closed")
            for buffer in buffers:
                # A signal handler may have closed the card since the last buffer was acquired.
                if not self._handle:
                    raise ValueError("the card is closed")
                code = acquire(stream, buffer, 0)
                if code != 1:
                    break
                count += 1
        finally:
            self._leave(thread, outer)
        if code < 0 and not count:
            self._refused(code)
        return count

    def _leave(self, thread: int, outer: int) -> None:
        """End a call of `thread`, which is nested in `outer` other calls of this thread.

        If `outer` is 0 and the thread has closed the card meanwhile, the library's handle is freed.
        """
        if outer:
            self._inside[thread] = outer
            return
        self._inside.pop(thread, None)
        left = self._left.pop(thread, None)
        if left is not None:
            self._end(left)

    def open_stream(self, way: int, options: StreamOptionsFields) -> c_void_p:
        """Open the stream of direction `way`, H2C or C2H.

        The sizes of its ring are those of `self.shape`. The ring lies in the program's own memory
        if `self.places` has some for this direction. Returns the library's handle of the stream,
        which the caller gives to close_stream(). Raises WayBusy if this Handle has the stream of
        this direction open already.
        """
        stream, place = HANDLE(), self.places.get(way)
        options.buffer_size, options.buffer_count = self.shape
        if place is not None:
            options.memory, options.memory_bytes = place.ctypes.data, place.nbytes
        self.call("stream_open", way, byref(options), byref(stream))
        self._streams.append(stream)
        return stream

    def close_stream(self, stream: c_void_p) -> None:
        """Close a stream that open_stream() has returned.

        If the card was closed before, nothing is done: the close of the card closes its streams.
        """
        self._streams.remove(stream)
        with contextlib.suppress(ValueError):
            self.plain("stream_close", of=stream)

    def try_stream(self, way: int) -> None:
        """Check that the library accepts the ring that open_stream() would use for direction `way`.

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
        closes the card when the last of them is gone. If this thread is inside a call, since a
        signal handler or a finalizer has called close(), the card is closed at the end of that
        call.
        """
        try:
            handle = self._owned.pop()
        except IndexError:
            return
        self._handle = HANDLE()
        thread = threading.get_ident()
        if set(self._inside) - {thread}:
            for stream in list(self._streams):
                LIBRARY.litepcie_stream_stop(stream)
            LIBRARY.litepcie_user_enable(handle, False)
        if thread in self._inside:
            self._left[thread] = handle
        else:
            self._end(handle)

    def _end(self, handle: c_void_p) -> None:
        """Wait until no other thread is inside a call of the library, then free `handle`, the
        library's handle of the card, which closes the card.

        If NumPy arrays in a capture's memory still exist, the card is closed when the last of them
        is gone.
        """
        while set(self._inside) - {threading.get_ident()}:
            time.sleep(0.001)
        used = [memory for part in self.parts for memory in part.leave()]
        self._close_after([weakref.ref(memory) for memory in used], handle)

    def _close_after(self, used: list[weakref.ref[object]], handle: c_void_p) -> None:
        """Close the card, by the library's `handle`, when all objects of `used` are freed.

        These are the pieces of captures' memory in which NumPy arrays still lie. If one of them
        still exists, `weakref.finalize` calls this method again when that one is freed.
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
        """Keep the memory of the ring of `stream`, which has been started.

        `place` is the program's own memory in which the ring lies, or None.
        """
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
