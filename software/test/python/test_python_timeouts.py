# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the rule for timeouts that all calls of the Python package share. The board is a
stand-in whose user logic has an interrupt.
"""

import errno
import inspect

import pytest

from software.test.standin.vfio_user_standin import Standin
from tools.testing.repository import ROOT, run_sim_target


@pytest.fixture(scope="module")
def csr_json():
    result = run_sim_target("--build")
    assert result.returncode == 0, result.stderr
    return ROOT / "build" / "sim" / "csr.json"


@pytest.fixture
def standin(csr_json, tmp_path):
    with Standin(tmp_path / "s", csr_json, records=True) as standin:
        yield standin


@pytest.fixture
def card(host, standin, tmp_path):
    with host.Card(f"sim:{tmp_path / 's'}") as card:
        yield card


def test_each_wait_that_takes_too_long_raises_the_same(host, card):
    """wait_user(), take() and receive_packet() raise WaitTimeout when their timeout is over, with
    the errno ETIMEDOUT and a sentence."""
    card.enable_user()
    with card.loopback(packets=True) as stream:
        waits = {
            "no interrupt within 0.01 s": lambda: card.wait_user(0.01),
            "no interrupt within 0 s": lambda: card.wait_user(0),
            "the card filled no buffer in time": lambda: stream.take(0.01),
            "no packet came to its end in time": lambda: stream.receive_packet(0),
        }
        for sentence, wait in waits.items():
            with pytest.raises(host.WaitTimeout, match=sentence) as caught:
                wait()
            assert caught.value.errno == errno.ETIMEDOUT
            assert isinstance(caught.value, TimeoutError)


def test_an_interrupt_of_the_user_ends_a_wait(host, card, standin):
    """wait_user() returns True for an interrupt of the user's logic, and an interrupt ends one wait
    only. Without enable_user() before, wait_user() raises LaneboxError with a sentence that says
    what to do."""
    with pytest.raises(host.LaneboxError, match="is off: switch it on before a wait"):
        card.wait_user(0)
    card.enable_user()
    card.write(standin.registers.bell, bytes([1, 0, 0, 0]))
    assert card.wait_user() is True
    with pytest.raises(host.WaitTimeout):
        card.wait_user(0.01)


@pytest.mark.parametrize(
    "options, wanted", [({}, 0), ({"rest": 0.25}, 250), ({"rest": 1e-9}, 1), ({"rest": -1}, -1)]
)
def test_a_capture_has_its_own_limit_for_a_card_that_does_not_rest(host, options, wanted):
    """The option `rest` of a capture limits how long calls wait until the card has come to rest. It
    becomes the library's rest_ms, in which 0 is the library's own limit and -1 no limit.
    """
    assert host.Capture(None, **options)._config.rest_ms == wanted


def test_the_defaults_are_those_of_the_rule(host):
    """The default timeout of a DMA run is 10 s. By default a capture waits for ever, since frames
    may come at any time. The default timeout of a call is None, which stands for the timeout of its
    run or its capture, or for 10 s if the call belongs to neither."""
    from lanebox_host import _seconds, dma

    def default(call):
        return inspect.signature(call).parameters["timeout"].default

    assert (_seconds.TIMEOUT, _seconds.FOR_EVER) == (10.0, -1.0)
    assert default(dma.Run) == _seconds.TIMEOUT
    assert default(host.Capture) == _seconds.FOR_EVER
    receive, send = host.Receive, host.Send
    calls = [host.Card.wait_user, host.Capture.take, receive.take, receive.receive_packet]
    calls += [send.free, send.drain, host.Loopback.ask]
    assert [default(call) for call in calls] == [None] * len(calls)
