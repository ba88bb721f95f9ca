# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test liblitepcie and parts of lanebox-capture and litepcie_util by C test programs, and check
rules of the library's sources.

The C test programs are built from software/liblitepcie/test and software/tools/test.
"""

import importlib.util
import json
import re
import subprocess

import pytest

from sim.test.board.board_builds import build_gateware
from software.test.software_build import TIMEOUT, build_software, build_unchecked, run_program
from software.test.standin.card_standin import BAR0, BAR0_SIZE, FAULTS, CardStandin, Registers
from software.test.standin.vfio_user_standin import Standin
from tools.testing.repository import ROOT
from tools.testing.seeds import SHIFT

LIBRARY = ROOT / "software" / "liblitepcie"
RECORDS = [pytest.param(False, id="whole"), pytest.param(True, id="records")]


@pytest.fixture(scope="session")
def built():
    return build_software()


def test_records_are_found_and_broken_ones_noticed(built):
    """The C test check.c passes.

    The library and the code of `lanebox-capture check` find each record of a random recording. If
    the test breaks a rule of the recording, `check` reports the rule with its offset. If the test
    changes bytes at random, no byte beyond the recording is read.
    """
    print(run_program(built.out / "test" / "check", str(SHIFT + 1)))


def test_a_capture_survives_any_card(built):
    """The C test capture.c passes: a wait for captured data returns an error if the card's
    status line cannot be true, or if the card dies, is reset or is wanted back by the kernel. If a
    stop does not see that the card is idle, the memory of the ring is kept, since the card may
    still write to it.

    The C test imitates the card, so no card is needed.
    """
    run_program(built.out / "test" / "capture")


@pytest.mark.parametrize("checks", ["built", "raced"])
def test_queues_have_registers_of_their_own_and_one_run(request, checks):
    """The C test capture_run.c passes: each capture queue gets its own ring, limit and counts
    of frames. The start of queue 0 begins the run of all queues, and its stop ends the run, also if
    another thread stops another queue at the same time. Two threads may read counts of frames at
    the same time.

    The C test imitates the card, so no card is needed.
    """
    found = request.getfixturevalue(checks)
    run_program((found.out / "test" if checks == "built" else found) / "capture_run")


def test_rules_become_words_or_a_sentence(built):
    """The C test capture_rule.c passes: the text of a capture's rule becomes the words that
    the gateware's Rule.scala defines, and a wrong text has an error message.
    """
    run_program(built.out / "test" / "capture_rule")


def test_a_recording_is_whole_whatever_the_disk_does(built, tmp_path):
    """The C test output.c passes: a write that is interrupted, short, or refused because of
    O_DIRECT is made again. If the disk is full, a file ends before the first MBUF (part of the
    ring) that cannot be written. An MBUF is given back to the card only after it is written.

    The C test has stand-ins for the disk and for the library, so no card is needed.
    """
    run_program(built.out / "test" / "output", tmp_path)


def test_each_queue_is_recorded_by_its_thread(built, tmp_path):
    """The C test record.c passes: each capture queue's file has all MBUFs (parts of the ring) of
    the queue. If the disk of one queue fails, a message names the queue, and the files of the other
    queues are whole. If the disk of a queue is slow, the recorder waits until the last frame of the
    card's generator has room in that queue's ring. A thread that is pinned to a processor pins no
    other, and what is in a file is not counted as dropped.

    The C test has stand-ins for the library's functions, so no card is needed.
    """
    run_program(built.out / "test" / "record", tmp_path)


def test_the_times_of_writes_have_right_percentiles(built):
    """The C test times.c passes: the percentiles of the histogram of lanebox-capture disk are those
    of the sorted times, or up to 1/64 above."""
    run_program(built.out / "test" / "times", str(1 + SHIFT))


def test_a_ring_has_the_pages_and_the_node_that_are_wanted(built, tmp_path):
    """The C test capture_pages.c passes: memory is made to prefer a NUMA node, whose number
    is found in a folder that stands for a device's folder in sysfs. A program may ask for huge
    pages of 2 MiB or 1 GiB for a ring. The error message for missing pages says how to reserve
    them. The test allocates no huge page.
    """
    run_program(built.out / "test" / "capture_pages", tmp_path)


@pytest.mark.parametrize("checks", ["built", "raced"])
def test_mbufs_are_dealt_to_folders(request, checks, tmp_path):
    """The C test deal.c passes, built with the address sanitizer and with the thread sanitizer: a
    recording's folders get its MBUFs (parts of the ring) round robin, and a slow folder gets fewer.
    If one folder is full, the others write the MBUFs that the full folder has not written. Each
    file has only whole MBUFs.
    """
    found = request.getfixturevalue(checks)
    folder = found.out / "test" if checks == "built" else found
    run_program(folder / "deal", tmp_path)


def load_layout():
    """Return the module describe/layout.py of the library. It is in no Python package, so it is
    imported by its path.
    """
    spec = importlib.util.spec_from_file_location("layout", LIBRARY / "describe/layout.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def raced():
    """Build the C test programs with the thread sanitizer. Return the programs' folder."""
    return build_unchecked("SANITIZE=thread") / "test"


def test_rings_hand_out_only_what_is_theirs(built):
    """The C test parts/dma.c passes: the rings of h2c and c2h hand out a buffer to the program only
    while the card does not use it.

    The C test has a back end of its own for the library, so no card is needed.
    """
    run_program(built.out / "test" / "dma")


def test_the_rings_counts_are_free_of_races(raced):
    """The C test parts/dma.c passes when it is built with the thread sanitizer, which reports data
    races.
    """
    run_program(raced / "dma")


@pytest.mark.parametrize("name", ["engine", "engine_lengths"])
@pytest.mark.parametrize("checks", ["built", "raced"])
def test_records_and_status_lines_are_believed_as_far_as_they_can_be(request, checks, name):
    """The C tests parts/engine.c and parts/engine_lengths.c pass.

    On a card with records the library finds counts, lengths and errors in host memory, and refuses
    a count or length that cannot be true. If the card writes nothing for a while, the library also
    reads the card's registers. On a card without records it reads the counts in registers. The
    tests imitate the card, so no card is needed.
    """
    found = request.getfixturevalue(checks)
    run_program((found.out / "test" if checks == "built" else found) / name)


@pytest.mark.parametrize("checks", ["built", "raced"])
def test_random_calls_return_what_a_model_says(request, checks):
    """The C test stream_random.c passes with 40 sequences of 1,000 random steps each: calls
    of both streams, on a card that makes random progress and mistakes, return what a model says,
    and the card gets as many descriptors as the model. In about half of the runs the counts begin
    just below 2^32.

    The C test imitates the card, so no card is needed.
    """
    found = request.getfixturevalue(checks)
    folder = found.out / "test" if checks == "built" else found
    run_program(folder / "stream_random", str(SHIFT + 1))


@pytest.mark.soak
def test_two_million_random_calls_return_what_a_model_says(built):
    """The C test stream_random.c passes with 2,000 sequences of 1,000 random steps each."""
    count = 100
    for seed in range(SHIFT + 1, SHIFT + 2001, count):
        run_program(built.out / "test" / "stream_random", str(seed), str(count), "1000")


def test_a_direction_that_waits_for_a_lost_read_is_waited_for(built):
    """The C test parts/table_run.c passes: litepcie_table_quiesce(), which stops h2c and c2h, waits
    for a read of h2c whose completion was lost, for as long as the card's longest read can last. If
    h2c never comes to rest, the function returns -ETIMEDOUT.
    """
    run_program(built.out / "test" / "table_run")


@pytest.mark.parametrize("records", RECORDS)
@pytest.mark.parametrize("checks", ["built", "raced"])
def test_a_wait_for_ever_ends_by_data_a_stop_or_a_signal(request, built, tmp_path, checks, records):
    """The C test dma_wait.c passes.

    A wait for DMA with a negative timeout sleeps until data comes, until another thread stops the
    DMA, or until a signal comes. The result of the call says which of these has ended the wait.
    """
    found = request.getfixturevalue(checks)
    program = (found.out / "test" if checks == "built" else found) / "dma_wait"
    with Standin(tmp_path / "s", built.csr_json, records=records) as standin:
        text = run_program(program, f"sim:{tmp_path / 's'}", hex(standin.registers.bell))
        assert standin.quiet()
    assert text.count("dma_wait: ") == 8


@pytest.fixture(scope="module", params=RECORDS)
def bar0(request, built, tmp_path_factory):
    """Return the path of a file with the contents of BAR0 of a CardStandin, and the offset of the
    card's memory memory0 in BAR0.

    The fixture has two forms: a card with the block `records` and a card without.
    """
    registers = Registers(built.csr_json)
    card = CardStandin(registers, FAULTS | {"records": request.param})
    path = tmp_path_factory.mktemp("bar0") / "image"
    path.write_bytes(b"".join(card.read(at, BAR0, 4) for at in range(0, BAR0_SIZE, 4)))
    return path, registers.memory0


@pytest.mark.parametrize("checks", ["built", "raced"])
def test_the_kernel_s_calls_are_made_as_its_drivers_answer_them(request, bar0, checks):
    """The C test calls/calls.c passes, built with the address sanitizer and with the thread
    sanitizer: the library makes the right system calls to a stand-in for the kernel driver, for a
    user with CAP_SYS_RAWIO, which root has, and for a user without.
    """
    found = request.getfixturevalue(checks)
    path, memory = bar0
    run_program((found.out / "test" if checks == "built" else found) / "calls", path, hex(memory))


def test_the_errors_with_a_meaning_are_those_of_the_header():
    """litepcie_strerror() has the library's own text for each error number that liblitepcie.h
    explains, and for no other. Each error number with an exception class of its own in Python is
    explained in liblitepcie.h, or is EBADMSG (a bad packet) or EOVERFLOW (data that a capture has
    overwritten)."""
    header = (LIBRARY / "liblitepcie.h").read_text()
    explained = re.findall(r"^ \*   -(E[A-Z]+) +\S", header, re.MULTILINE)
    spoken = re.findall(r"^\t\[(E[A-Z]+)\] = ", (LIBRARY / "error.c").read_text(), re.MULTILINE)
    python = (ROOT / "software/python/lanebox_host/errors.py").read_text()
    raised = re.findall(r'^    """(E[A-Z]+): ', python, re.MULTILINE)
    assert len(explained) > 8 and sorted(explained) == sorted(spoken)
    assert set(raised) <= {*explained, "EBADMSG", "EOVERFLOW"}


def test_a_card_without_stamps_is_seen_as_one(built, tmp_path):
    """The C test stamps.c passes: the sources of the command `latency` of litepcie_util notice a
    card without registers for the time stamps of doorbell and interrupt.
    """
    with Standin(tmp_path / "s", built.csr_json):
        run_program(built.out / "test" / "stamps", f"sim:{tmp_path / 's'}")


SLOT = {
    "slot_state": 0b0001,
    "slot_time": 5000,
    "slot_h2c_since": (5000 - 1025) % (1 << 48),
    "slot_h2c_beats": 1 << 40,
    "slot_h2c_packets": 7,
    "slot_h2c_stalls": 1026,
    "slot_c2h_since": (5000 - 10**6) % (1 << 48),
    "slot_c2h_beats": 12,
    "slot_c2h_packets": 0,
    "slot_c2h_stalls": 3,
}


def said(built, tmp_path, **faults):
    """Run software/liblitepcie/test/slot.c on a stand-in for the card.

    Return a dict of its output (the text before the first colon of a line -> the text behind it),
    and the stand-in for the card.
    """
    with Standin(tmp_path / "s", built.csr_json, **faults) as standin:
        text = run_program(built.out / "test" / "slot", f"sim:{tmp_path / 's'}")
    return dict(line.split(": ", 1) for line in text.splitlines()), standin.card


def test_a_card_without_a_monitor_says_what_is_known(built, tmp_path):
    """On a card without a monitor of the user slot litepcie_slot() fails. If DMA runs,
    litepcie_diagnose() has the number of buffers that wait, and says that the card does not tell
    what its user slot does.
    """
    lines, _ = said(built, tmp_path)
    assert lines["slot"].startswith("-2 the card does not tell what passes its user slot")
    unknown = ". The card does not tell what its user slot does"
    assert lines["idle"] == "no direction runs"
    assert lines["nothing"] == "h2c: nothing was sent. c2h: 16 buffers wait" + unknown
    assert lines["h2c"] == "h2c: 16 buffers wait" + unknown
    assert lines["drain"] == (
        "the card received 0 of 65536 bytes within 20 ms. h2c: 16 buffers wait" + unknown
    )


def test_what_hangs_is_named(built, tmp_path):
    """On a card with a monitor of the user slot, litepcie_diagnose() says which signal of the user
    slot holds each running direction up and for how long, and how many buffers wait.
    """
    lines, _ = said(built, tmp_path, slot=SLOT)
    assert lines["slot"] == (
        f"5000 h2c 1 0 3975 {1 << 40} 7 1026 c2h 0 0 {(5000 - 10**6) % (1 << 64)} 12 0 3"
    )
    h2c = f"h2c: the user slot has held sink.ready low for 4.1 us ({1 << 40} beats so far); "
    c2h = "c2h: the user slot has held source.valid low for 4.0 ms (12 beats so far); "
    assert lines["nothing"] == h2c + "nothing was sent. " + c2h + "16 buffers wait"
    assert lines["hung"] == h2c + "16 buffers wait. " + c2h + "16 buffers wait"
    assert lines["drain"].endswith("within 20 ms. " + h2c + "16 buffers wait")


@pytest.mark.parametrize(
    "state, h2c, c2h",
    [
        (0b1011, "takes data", "has held source.valid low for 4.0 ms"),
        (
            0b0110,
            "has taken all that came",
            "offers data, and source.ready has been low for 4.0 ms",
        ),
        (0b1100, "has taken all that came", "sends data"),
    ],
)
def test_each_state_of_the_slot_has_its_words(built, tmp_path, state, h2c, c2h):
    """litepcie_diagnose() says for each direction what the signals valid and ready of the user slot
    mean.

    The text has a duration if the slot does not take h2c data that has come, or if no c2h data
    moves.
    """
    lines, _ = said(built, tmp_path, slot={**SLOT, "slot_state": state})
    assert f"h2c: the user slot {h2c} (" in lines["hung"]
    assert f"c2h: the user slot {c2h} (" in lines["hung"]


def test_a_copy_of_the_slot_that_another_program_spoils_is_taken_again(built, tmp_path):
    """If another program lets the slot monitor copy its counters while the library reads a copy,
    the library reads again.
    """
    lines, card = said(built, tmp_path, slot=SLOT, copies=3)
    assert lines["slot"].startswith("5000 h2c 1 0 3975 ") and card.copies > 3


def test_a_monitor_that_never_stands_still_is_an_error(built, tmp_path):
    """If other programs disturb each reading of the slot monitor, litepcie_slot() returns -EAGAIN.

    litepcie_diagnose() then leaves out the user slot.
    """
    lines, _ = said(built, tmp_path, slot=SLOT, copies=1000)
    assert lines["slot"].startswith("-11 other programs read the monitor")
    assert lines["hung"] == "h2c: 16 buffers wait. c2h: 16 buffers wait"


@pytest.mark.parametrize(
    "ahead",
    [(1 << 16) - 32, (1 << 31) - 48, (1 << 32) - 48, (1 << 32) - 16, (7 << 32) - 32, 1 << 40],
    ids=hex,
)
@pytest.mark.parametrize("records", RECORDS)
def test_counts_go_on_behind_their_wrap(built, tmp_path, ahead, records):
    """The C test wraps.c passes: the library's counts stay right if the card's count of descriptors
    passes 2^16, 2^31, 2^32 or 7 * 2^32, or if that count begins at 2^40.
    """
    with Standin(tmp_path / "s", built.csr_json, done_before=ahead, records=records):
        text = run_program(built.out / "test" / "wraps", f"sim:{tmp_path / 's'}", hex(ahead))
    assert text.count("wraps: ") == 3


@pytest.mark.parametrize("records", RECORDS)
@pytest.mark.parametrize("checks", ["built", "raced"])
def test_two_threads_move_buffers(request, built, tmp_path, checks, records):
    """The C test streams.c passes: two threads move data through the card's loopback without an
    error, with rings and batches of several sizes, and the card works after a reset.
    """
    found = request.getfixturevalue(checks)
    program = (found.out / "test" if checks == "built" else found) / "streams"
    with Standin(tmp_path / "s", built.csr_json, records=records) as standin:
        run_program(program, f"sim:{tmp_path / 's'}", "48")
        assert standin.quiet()


@pytest.mark.parametrize("records", RECORDS)
@pytest.mark.parametrize("checks", ["built", "raced"])
def test_each_direction_is_a_stream_of_its_own(request, built, tmp_path, checks, records):
    """The C test apart.c passes: each of the streams h2c and c2h starts and stops while the other
    runs."""
    found = request.getfixturevalue(checks)
    program = (found.out / "test" if checks == "built" else found) / "apart"
    with Standin(tmp_path / "s", built.csr_json, records=records) as standin:
        run_program(program, f"sim:{tmp_path / 's'}")
        assert standin.quiet()


@pytest.mark.parametrize("records", RECORDS)
@pytest.mark.parametrize("checks", ["built", "raced"])
@pytest.mark.parametrize("name", ["place", "table_poll"])
def test_rings_lie_where_and_news_come_as_a_program_says(
    request, built, tmp_path, name, checks, records
):
    """The C tests place.c and table_poll.c pass.

    Rings work in the program's own memory (place.c). The library learns of finished buffers by
    interrupts, by polling, and by polling that begins after an interrupt (table_poll.c).
    """
    found = request.getfixturevalue(checks)
    program = (found.out / "test" if checks == "built" else found) / name
    with Standin(tmp_path / "s", built.csr_json, records=records) as standin:
        text = run_program(program, f"sim:{tmp_path / 's'}")
        assert standin.quiet()
    assert text.count(f"{name}: ") == {"place": 2, "table_poll": 4}[name]


def test_the_user_s_logic_calls(built, tmp_path):
    """The C test user.c passes: an interrupt of the logic in the user slot ends one call of
    litepcie_user_wait(), also while DMA runs. After a reset of the card the interrupt works when it
    is enabled again.
    """
    with Standin(tmp_path / "s", built.csr_json) as standin:
        run_program(
            built.out / "test" / "user",
            f"sim:{tmp_path / 's'}",
            "0",
            hex(standin.registers.bell),
        )


@pytest.mark.parametrize("records", RECORDS)
def test_a_program_moves_buffers_without_copies(built, tmp_path, records):
    """The C test library.c passes: calls of the library work on a stand-in for a card. After
    litepcie_close() DMA, interrupts and bus mastering of the card are off.
    """
    with Standin(tmp_path / "s", built.csr_json, records=records) as standin:
        run_program(built.out / "test" / "library", f"sim:{tmp_path / 's'}", built.csr_json)
        assert standin.quiet()


def test_the_layout_of_blocks_is_the_builds(built):
    """Each register and field in layout.h, which gives registers their names and offsets, is in at
    least one of three gateware builds: the default build, a build with the capture block, and a
    build with the card services.

    A build may have more registers than layout.h. A register that moves inside a block needs a new
    version of the block's type.
    """
    layout = load_layout()
    now = set()
    more = (build_gateware(capture=True), build_gateware(card=True))
    for build in (built.csr_json.parent, *more):
        now |= set(layout.rows(json.loads((build / "csr.json").read_text())))
        now |= set(layout.fields((build / "include" / "csr.h").read_text()))
    kept = (LIBRARY / "describe/layout.h").read_text()
    written = re.findall(r"^(\tR\(.*\))|^(#define LITEPCIE_\w+ +\d+)$", kept, re.MULTILINE)
    rows = {row or field for row, field in written}
    assert len(rows) > 80
    assert rows - now == set()


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("", "no { at the beginning"),
        ("[]", "no { at the beginning"),
        ('{"csr_registers": {"a": {"addr": 1', "it ends early"),
        ('{"csr_registers": {"a": {"addr": 4}}}', "a register without a place or size"),
        ('{"a": {"b": {"c": {"d": {"e": {}}}}}}', "objects too deep"),
        ('{"a": "' + "x" * 200 + '"}', "no text that can be read"),
        ('{"a" 1}', "no : behind a key"),
        ("{}}", "it names no register"),
        (
            '{"constants": {"config_identifier": "another"}}',
            'is of the build "another", the card is',
        ),
        (
            '{"csr_registers": {"ctrl_scratch": {"addr": 64, "size": 1, "type": "rw"}}}',
            "ctrl_scratch is elsewhere on this card",
        ),
    ],
    ids=range(10),
)
def test_a_wrong_csr_file_is_refused_with_a_sentence(built, tmp_path, text, sentence):
    """litepcie_csr_load() refuses a csr.json that is cut, malformed or of another build. The
    library then knows as many registers as before.
    """
    path = tmp_path / "csr.json"
    path.write_text(text)
    with Standin(tmp_path / "s", built.csr_json):
        result = subprocess.run(
            [built.out / "test" / "csr", f"sim:{tmp_path / 's'}", path],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
    assert result.returncode == 1 and sentence in result.stdout, result.stdout + result.stderr


def test_the_library_never_prints_or_exits():
    """The library's C sources contain no call of printf(), fprintf(), puts(), perror(), exit(),
    abort() or assert().
    """
    calls = re.compile(r"\b(printf|fprintf|puts|perror|exit|abort|assert)\s*\(")
    folders = ("", "dma", "dma/engine", "dma/table", "describe", "capture", "kernel", "vfio", "sim")
    sources = [path for folder in folders for path in (LIBRARY / folder).glob("*.c")]
    assert len(sources) > 40
    for source in sources:
        assert not calls.search(source.read_text()), source.name


def test_the_library_exports_only_its_own_names(built):
    """The names of all global functions and variables that the static library liblitepcie.a defines
    begin with litepcie_.
    """
    symbols = subprocess.run(
        ["nm", "-g", "--defined-only", built.out / "liblitepcie.a"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = re.findall(r"^[0-9a-f]+ [TDBR] (\w+)$", symbols, re.MULTILINE)
    assert "litepcie_open" in names
    assert [name for name in names if not name.startswith("litepcie_")] == []


def test_register_numbers_stand_in_the_generated_headers_only(built):
    """No C source or header in software/ has an `#if` or `#ifdef` with a CSR_ macro: software must
    read from the card which registers the card has.
    """
    for source in (ROOT / "software").rglob("*.[ch]"):
        text = source.read_text()
        assert not re.search(r"^\s*#\s*if.*\bCSR_", text, re.MULTILINE), source.name
