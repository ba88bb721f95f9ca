# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util flash with a stand-in for a card's flash engine, which can refuse commands."""

from dataclasses import replace

import pytest

from bringup.test.bitstream_samples import image
from gateware import numbers
from gateware.card.commands import ERASE_SECTOR, PROGRAM, READ_PAIRS, Refusal
from software.test.standin.flash_standin import PAGE, SECTOR, FlashStandin

APPLICATION = numbers.FLASH_LAYOUT["application"]
ROOM, SPARE = numbers.FLASH_LAYOUT["room"], numbers.FLASH_LAYOUT["spare"]
IMAGE = image(1, payload=range(300))
# the synchronisation word, at which the FPGA begins to read an image
SYNC = numbers.BITSTREAM_SYNC.to_bytes(4, "big")
# reason for which the flash engine refuses a command -> a part of the error message
RULES = {
    Refusal.UNKNOWN: "not in the engine's list",
    Refusal.OUTSIDE: "0x01000000 to 0x01ffffff",
    Refusal.SHORT: "an address of four bytes",
    Refusal.ALL: "the golden image is below 0x01000000",
    Refusal.SIZE: "its identification 0x20bb19 does not say so",
    Refusal.LENGTH: "a page has 1 to 256 bytes",
    Refusal.BUSY: "another program uses the flash",
}


@pytest.fixture
def flash(card, util, device, tmp_path):
    """Return a function that runs `litepcie_util flash VERB image.bin` for each of the given verbs
    on a stand-in for the flash engine. The function returns the last run's exit status and error
    messages. The file image.bin has the bytes IMAGE, if the test does not write others to it.
    """
    (tmp_path / "image.bin").write_bytes(IMAGE)

    def flash(engine, *verbs):
        with card(flash=engine):
            for verb in verbs:
                done = util.run("-d", device, "flash", verb, tmp_path / "image.bin")
        return done.returncode, done.stderr

    return flash


def has_image(engine):
    """Return whether the application's first page in the flash has a synchronisation word."""
    return SYNC in engine.contents.get(APPLICATION, b"")


def test_an_image_is_written_and_verified(flash):
    """`flash write` writes an image to the application's address and changes no page below it.
    `flash verify` then accepts the image."""
    engine = FlashStandin()
    assert flash(engine, "write", "verify") == (0, "")
    written = b"".join(engine.contents[at] for at in sorted(engine.contents))
    assert written.rstrip(b"\xff") == IMAGE.rstrip(b"\xff")
    assert min(engine.contents) == APPLICATION


def test_every_sector_of_an_image_is_erased_and_no_other(flash, tmp_path):
    """Before an image is written, each sector of 64 KiB that the image needs is erased. The sector
    behind the image stays as it is.
    """
    engine = FlashStandin()
    whole = IMAGE + b"\xff" * (2 * SECTOR) + IMAGE
    (tmp_path / "image.bin").write_bytes(whole)
    pages = range(APPLICATION, APPLICATION + 4 * SECTOR, PAGE)
    engine.contents = dict.fromkeys(pages, bytes(PAGE))
    assert flash(engine, "write") == (0, "")
    found = b"".join(engine.contents.get(at, b"\xff" * PAGE) for at in pages)
    assert found[: len(whole)] == whole
    assert found[3 * SECTOR :] == bytes(SECTOR)
    assert found[len(whole) + PAGE : 3 * SECTOR].strip(b"\xff") == b""


def test_the_flash_has_a_whole_image_or_none_at_every_step(flash):
    """`flash write` destroys the synchronisation word of the old image before it erases, and writes
    the word of the new image last.

    After each command to the flash, the flash has the whole old image, the whole new image, or no
    synchronisation word.
    """
    old = image(2, payload=range(7, 500))
    engine, seen = FlashStandin(), []
    for at in range(0, len(old), PAGE):
        engine.contents[APPLICATION + at] = old[at : at + PAGE].ljust(PAGE, b"\xff")
    command = engine.command

    def watched(*arguments):
        command(*arguments)
        pages = range(APPLICATION, APPLICATION + len(old) + PAGE, PAGE)
        found = b"".join(engine.contents.get(at, b"\xff" * PAGE) for at in pages)
        whole = [name for name, data in (("old", old), ("new", IMAGE)) if found.startswith(data)]
        seen.extend(whole or ["broken" if SYNC in found else "none"])

    engine.command = watched
    assert flash(engine, "write") == (0, "")
    order = [name for n, name in enumerate(seen) if n == 0 or seen[n - 1] != name]
    assert order == ["old", "none", "new"]


@pytest.mark.parametrize("before", range(1, len(SYNC)))
def test_a_synchronisation_word_across_two_pages_is_destroyed_first(flash, before):
    """The synchronisation word of the old image may begin in the first page and end in the second.
    `flash write` destroys such a word, too, before it erases the first sector."""
    engine, words = FlashStandin(), []
    old = (b"\xff" * (PAGE - before) + SYNC).ljust(2 * PAGE, b"\0")
    for at in (0, PAGE):
        engine.contents[APPLICATION + at] = old[at : at + PAGE]
    command = engine.command

    def watched(opcode, *arguments):
        if opcode == ERASE_SECTOR:
            found = [engine.contents.get(APPLICATION + at, b"") for at in (0, PAGE)]
            words.append(SYNC in b"".join(found))
        command(opcode, *arguments)

    engine.command = watched
    assert flash(engine, "write") == (0, "")
    assert words and not any(words)


def test_an_engine_of_another_version_is_left_alone(flash):
    """If the flash engine has a version that `flash` does not know, `flash` writes no register of
    it: a register may have another meaning or place."""
    engine = FlashStandin()
    known = engine.block()
    engine.block = lambda: replace(known, version=2)
    engine.write = None
    status, said = flash(engine, "write")
    assert status == 1 and "the card's flash engine has version 2" in said, said


def test_a_flash_with_one_line_is_written(flash):
    """If reads on two data lines give wrong data, `flash write` compares the written data by reads
    on one line, and succeeds."""
    assert flash(FlashStandin(one_line=True), "write") == (0, "")


@pytest.mark.parametrize("reason", RULES, ids=lambda reason: reason.name)
@pytest.mark.parametrize("opcode", [ERASE_SECTOR, PROGRAM, READ_PAIRS], ids=hex)
def test_a_refusal_is_a_failure_with_command_address_and_rule(flash, opcode, reason):
    """If the engine refuses a command, for any reason, `flash write` fails with one sentence that
    has the command, its address and the broken rule. The first page of the application in the flash
    then has no synchronisation word.
    """
    engine = FlashStandin({opcode: reason})
    status, said = flash(engine, "write")
    assert status == 1 and said.count("\n") == 1
    assert f"refused command {opcode:#04x} at {APPLICATION:#010x}: " in said
    assert RULES[reason] in said
    assert not has_image(engine)


def test_every_reason_of_the_engine_has_a_rule():
    """RULES names each reason for which the engine refuses a command."""
    assert RULES.keys() == set(Refusal) - {Refusal.NONE}


@pytest.mark.parametrize("opcode", [ERASE_SECTOR, PROGRAM, READ_PAIRS], ids=hex)
def test_a_refusal_that_only_the_count_shows_is_a_failure(flash, opcode):
    """Another program's command may overwrite the refusal in the status register. `flash write`
    then fails by the engine's count of refusals, and says that another program uses the flash.
    """
    engine = FlashStandin({opcode: Refusal.BUSY}, hidden=(opcode,))
    status, said = flash(engine, "write")
    assert status == 1 and "another program uses the flash" in said, said
    assert not has_image(engine)


@pytest.mark.parametrize("more, taken", [(0, True), (1, False)], ids=["longest", "too long"])
def test_the_last_bytes_of_the_room_stay_erased(flash, tmp_path, more, taken):
    """An image may fill the room that the flash has for the application, except the last SPARE
    bytes of the room. An image that is a word longer is refused.
    """
    engine = FlashStandin()
    pads = ROOM - SPARE - len(IMAGE) + 4 * more
    (tmp_path / "image.bin").write_bytes(IMAGE + b"\xff" * pads)
    status, said = flash(engine, "verify")
    assert status == 1 and ("has room for" in said) != taken, said
    assert ("does not hold" in said) == taken


@pytest.mark.parametrize("more, taken", [(0, True), (1, False)], ids=["last", "behind"])
def test_the_synchronisation_word_is_in_the_first_page(flash, tmp_path, more, taken):
    """An image whose synchronisation word does not lie whole in the first page is refused before
    anything is erased.
    """
    engine = FlashStandin()
    place = PAGE - len(SYNC) + more
    raw = IMAGE[IMAGE.index(SYNC) :].rjust(len(IMAGE) - IMAGE.index(SYNC) + place, b"\xff")
    (tmp_path / "image.bin").write_bytes(raw)
    status, said = flash(engine, "write")
    assert has_image(engine) == taken == (status == 0), said
    if not taken:
        assert f"at byte {place} of the configuration" in said and "the first 256" in said
        assert not engine.contents
