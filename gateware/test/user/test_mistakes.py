# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A beginner's mistakes in the files of `make new` are reported with file, line and next step.

Mistakes in SpinalHDL are in test_spinal_errors.py, those in an Instance's ports in test_pins.py.
"""

import re

import pytest

from sim import examples
from sim.block import verilog
from tools import new

# Mistakes in user logic, as name -> (right text, wrong text, pattern of the expected error
# message).
MISTAKES = {
    "a stream of half the width": (
        "source = stream.Endpoint(stream_layout())",
        'source = stream.Endpoint([("data", 128), ("bytes", 6), ("error", 1)])',
        r"`source` \(c2h\) has the layout .*128.*it must be .*stream_layout\(\)",
    ),
    "a sink that nothing takes from": (
        '            sink.connect(held.sink, omit={"data"}),\n',
        "",
        r"nothing drives `sink.ready`.*self.comb \+= self.sink.ready.eq\(1\)",
    ),
    "two registers of one name": (
        "self.packets = CSRStatus(32,",
        'self.packets = CSRStatus(32, name="key",',
        r"two of its registers are called `key`.*Give each an attribute or a name= of its own",
    ),
    "an interrupt of two bits": (
        "self.irq     = Signal() ",
        "self.irq     = Signal(2)",
        r"`irq` .* it must be Signal\(\) of one bit",
    ),
    "a counter wider than its register": (
        "self.irq.eq(leaves),",
        "self.irq.eq(self.packets.status),",
        r"`self.packets.status` has 32 bits and `self.irq`, .* has 1: the upper bits would be "
        r"lost.*write self.packets.status\[:1\]$",
    ),
    "no LiteXModule": (
        "class Crc(LiteXModule)",
        "class Crc(Module)",
        r"Crc is not a LiteXModule; derive it from LiteXModule",
    ),
    "an attribute that is not there": (
        "self.key.storage",
        "self.key.storege",
        r"AttributeError: .*'storege'. Did you mean `storage`\?\n    held.sink.data",
    ),
    "a name that is not there": (
        "leaves = Signal()",
        "leaves = Signla()",
        r"NameError: name 'Signla' is not defined. Did you mean `Signal`\?\n    leaves = Signla",
    ),
    "a field that no beat has": (
        "sink.data ^",
        "sink.date ^",
        r"AttributeError.*Did you mean `data`\? This stream has the fields valid, .*, error\.\n",
    ),
    "a stream inside without a field of the slot's": (
        "held = stream.Buffer(stream_layout())",
        "held = stream.Buffer([('data', DATA_WIDTH)])",
        r"'bytes'\. This stream has the fields valid, ready, first, last, data; one of "
        r"stream_layout\(\) has `bytes`, too\.\n    sink.connect\(held.sink",
    ),
    "a bracket too few": (
        "leaves = Signal()",
        "leaves = Signal(",
        r"SyntaxError: .*\n    leaves = Signal\(",
    ),
    "a class of another name": (
        "class Crc(",
        "class Crcc(",
        r"has no class 'Crc'. Did you mean `Crcc`\? The class is named after its folder",
    ),
    "an argument too many": (
        "CSRStorage(WORD,",
        "CSRStorage(WORD, bits=3,",
        r"TypeError: .*unexpected keyword argument 'bits'",
    ),
}
NO_LINE = {"a class of another name"}


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the user logic that `make new NAME=crc` writes."""
    assert new.main(["--name", str(tmp_path / "crc")]) == 0
    return tmp_path / "crc"


def said(folder):
    """Return the message of the error with which the build refuses the user logic in `folder`."""
    with pytest.raises(ValueError) as caught:
        verilog.write(examples.find(str(folder)).user, folder / "out")
    return str(caught.value)


def line_of(mistake, text):
    """Return the number of the line that the error message must name.

    That is the changed line, or another line that the change makes wrong.
    """
    _, after, _ = MISTAKES[mistake]
    left_wrong = {
        "a sink that nothing takes from": "self.sink ",
        "two registers of one name": "self.key ",
        "a stream inside without a field of the slot's": "sink.connect(",
    }
    wanted = left_wrong.get(mistake, after)
    return text[: text.index(wanted)].count("\n") + 1


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_has_its_place_and_a_next_step(folder, mistake):
    """The error message for a mistake begins with FILE:LINE, and says what is wrong and
    what to do.
    """
    before, after, sentence = MISTAKES[mistake]
    file = folder / "crc.py"
    text = file.read_text()
    assert text.count(before) == 1
    file.write_text(text.replace(before, after))
    heard = said(folder)
    assert re.search(sentence, heard), heard
    if mistake not in NO_LINE:
        assert heard.startswith(f"{file}:{line_of(mistake, file.read_text())}: "), heard
    assert str(file) in heard and "Traceback" not in heard


def test_what_is_right_is_built(folder):
    """The folder that `make new` writes builds without a change, so each test's mistake is the only
    one in it.
    """
    verilog.write(examples.find(str(folder)).user, folder / "out")
    assert (folder / "out" / "block.v").exists()


def test_lanebox_s_own_sentence_passes(folder):
    """If code of Lanebox raises ValueError in user logic, its message is shown unchanged, without a
    line.
    """
    file = folder / "crc.py"
    file.write_text(
        file.read_text()
        .replace("# # #", "raise_it()\n", 1)
        .replace(
            "WORD = 32",
            "WORD = 32\nfrom tools.verilog.spinal_build import _arguments\n"
            "def raise_it():\n    _arguments('width', 1.5)",
        )
    )
    assert said(folder).startswith("parameter width is 1.5: a generator takes whole numbers")
