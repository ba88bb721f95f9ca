# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of lanebox_host/_library.py: how the C library is loaded, and how a card's handle opens and
closes streams, on a stand-in for the board.
"""

import ctypes
import errno
import subprocess
import threading
from ctypes import byref
from types import SimpleNamespace

import pytest

from software.test.standin.vfio_user_standin import Standin
from tools.testing.repository import ROOT, run_sim_target


@pytest.fixture(scope="module")
def csr_json():
    result = run_sim_target("--build")
    assert result.returncode == 0, result.stderr
    return ROOT / "build" / "sim" / "csr.json"


@pytest.fixture
def library(host):
    from lanebox_host import _library

    return _library


@pytest.fixture
def handle(library, csr_json, tmp_path):
    with Standin(tmp_path / "s", csr_json, records=True):
        handle = library.Handle(f"sim:{tmp_path / 's'}")
        yield handle
        handle.close()


# The library --------------------------------------------------------------------------------------


def test_a_library_that_is_not_there_is_an_import_error(library, monkeypatch, tmp_path):
    """If the library that the variable LIBLITEPCIE names cannot be loaded, load() raises
    ImportError, which says how to get one."""
    monkeypatch.setenv("LIBLITEPCIE", str(tmp_path / "none.so"))
    with pytest.raises(ImportError, match="none.so.*install this package with pip"):
        library.load()


def test_an_older_library_may_lack_calls(library, monkeypatch, tmp_path):
    """A library that lacks some of the calls is loaded nevertheless. The calls that it has get
    their argument types."""
    source = tmp_path / "old.c"
    source.write_text("int litepcie_user_wait(void *dev, int ms) { return dev ? ms : -22; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "old.so", source], check=True)
    monkeypatch.setenv("LIBLITEPCIE", str(tmp_path / "old.so"))
    old = library.load()
    assert old.litepcie_user_wait(None, 5) == -22 and len(old.litepcie_user_wait.argtypes) == 2
    assert not hasattr(old, "litepcie_play")


# A card's handle ----------------------------------------------------------------------------------


def test_a_name_that_cannot_be_opened_is_an_error_with_a_sentence(library, host, tmp_path):
    """If litepcie_open() fails, Handle raises a LaneboxError with the errno and the library's
    sentence."""
    with pytest.raises(host.LaneboxError, match="start the board with --socket") as caught:
        library.Handle(f"sim:{tmp_path / 'none'}")
    assert caught.value.errno


def test_a_direction_is_opened_once(library, handle, host):
    """A second open of a direction is refused and leaves the first as it is. Each stream is closed
    by its own handle, and then its direction can be opened again."""
    options = library.StreamOptionsFields
    c2h = handle.open_stream(library.C2H, options())
    h2c = handle.open_stream(library.H2C, options())
    with pytest.raises(host.WayBusy, match="has c2h open already"):
        handle.open_stream(library.C2H, options())
    handle.call("stream_start", of=c2h)
    handle.close_stream(h2c)
    handle.call("stream_stop", of=c2h)
    handle.close_stream(handle.open_stream(library.H2C, options()))
    handle.close_stream(c2h)
    handle.close_stream(handle.open_stream(library.C2H, options()))


def test_a_ring_is_tried_without_a_trace(library, handle, host):
    """try_stream(), which checks whether a ring of a given shape is possible, leaves no stream
    open, whether the ring is possible or not."""
    handle.try_stream(library.C2H)
    handle.shape = (4096, 17)
    with pytest.raises(host.LaneboxError, match="17 buffers: it must be a power of two"):
        handle.try_stream(library.C2H)
    handle.shape = (4096, 16)
    handle.close_stream(handle.open_stream(library.C2H, library.StreamOptionsFields()))


def test_a_closed_handle_calls_the_library_no_more(library, handle):
    """After close() of a card's handle call(), plain(), acquire() and try_stream() raise
    ValueError. close_stream() of a stream of the handle raises nothing, and close() may be called
    again.
    """
    stream = handle.open_stream(library.C2H, library.StreamOptionsFields())
    assert not handle.closed
    handle.close()
    handle.close()
    assert handle.closed
    for use in (
        lambda: handle.call("reset"),
        lambda: handle.plain("features"),
        lambda: handle.acquire(stream, []),
        lambda: handle.try_stream(library.C2H),
    ):
        with pytest.raises(ValueError, match="the card is closed"):
            use()
    handle.close_stream(stream)


@pytest.fixture
def made_up(library, monkeypatch):
    """Return an object that stands for the library, and a handle that it has opened.

    The object has the calls that the tests need. Its list `closes` has an entry for each call of
    litepcie_close().
    """
    calls = SimpleNamespace(
        closes=[],
        litepcie_open=lambda handle, *_: setattr(handle._obj, "value", 1) or 0,
        litepcie_close=lambda handle: calls.closes.append(handle),
        litepcie_user_enable=lambda *_: 0,
        litepcie_features=lambda _: 0,
    )
    monkeypatch.setattr(library, "LIBRARY", calls)
    return calls, library.Handle("sim:made-up")


def test_a_close_in_the_middle_of_a_call_waits_for_its_end(made_up):
    """A signal handler that closes the card inside two nested calls of its thread leaves the
    library's handle in place until the outer call ends. Then the handle is freed once."""
    calls, handle = made_up

    def outer(card):
        assert handle.plain("inner") == 5 and not calls.closes
        return 7

    def inner(card):
        handle.close()
        handle.close()
        with pytest.raises(ValueError, match="the card is closed"):
            handle.plain("features")
        assert handle.closed and not calls.closes
        return 5

    calls.litepcie_outer, calls.litepcie_inner = outer, inner
    assert handle.plain("outer") == 7 and len(calls.closes) == 1
    handle.close()
    assert len(calls.closes) == 1


def test_a_call_inside_a_call_does_not_let_others_free_the_handle(made_up):
    """While a thread is inside a call, a nested call of the thread begins and ends. Another
    thread's close() still waits for the end of the outer call."""
    calls, handle = made_up
    other = threading.Thread(target=handle.close)

    def outer(card):
        handle.plain("features")
        other.start()
        other.join(0.1)
        assert handle.closed and not calls.closes
        return 7

    calls.litepcie_outer = outer
    assert handle.plain("outer") == 7
    other.join(20)
    assert len(calls.closes) == 1


def test_a_close_between_two_buffers_ends_their_acquisition(made_up):
    """If the card is closed after acquire() has acquired a buffer, acquire() does not ask the
    library for the next one, but raises ValueError."""
    calls, handle = made_up
    asked = []

    def acquire(stream, buffer, timeout):
        asked.append(buffer)
        handle.close()
        assert not calls.closes
        return 1

    calls.litepcie_stream_acquire = acquire
    with pytest.raises(ValueError, match="the card is closed"):
        handle.acquire(None, [1, 2])
    assert asked == [1] and len(calls.closes) == 1


def test_an_error_of_a_call_has_the_library_s_sentence(handle, host):
    """call() of a handle raises the exception that belongs to the errno, with the library's
    sentence. free(), which makes a call without a card, raises an exception with the errno and its
    general text."""
    from lanebox_host import _headers

    with pytest.raises(host.NotOnCard, match="no_such_register"):
        handle.call("register_find", b"no_such_register", None)
    memory, at, packet = (ctypes.c_uint8 * 64)(), ctypes.c_size_t(), _headers.PacketFields()
    span = _headers.SpanFields(data=ctypes.addressof(memory), bytes=64)
    with pytest.raises(host.LaneboxError) as caught:
        handle.free("records", byref(span), byref(at), byref(packet), 1, ctypes.sizeof(packet))
    assert caught.value.errno == errno.EBADMSG and str(caught.value)
