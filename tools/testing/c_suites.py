# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Which test is of each C source of software: the test of the source's own name, or one in HELD.

A source `ring.c` in the folder `dma` has a test of its own name if one of these files is there:

- a C program `ring.c` or `dma_ring.c` among the tests of the same part of software, which a test in
  Python starts;
- tests in Python, in `test_ring.py` of software/test, or in software/test or sim/test with the name
  of the part in front: `test_guest_driver_ring.py`, `test_user_ring.py` for the library,
  `test_util_ring.py` and `test_capture_ring.py` for the tools. A command's source `cmd_list.c` has
  `test_util_list.py`.

HELD has all other sources, each with a test that fails if what the source promises is wrong, and
the reason why that test has another name. If sources of one part have the same name, HELD may
decide for some of them. A program that includes a source of the driver runs it in seconds, where a
guest takes minutes, so HELD must name the test of that program.

`python -m tools.testing.c_suites` prints each source beside its test, and how many lines of tests
there are for each line of source.
"""

from __future__ import annotations

import posixpath
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]

# {file of tests: (why it has another name than its sources, {test: sources})}. The names of sources
# begin below software/ and lack their `.c`.
Table = dict[str, tuple[str, dict[str, str]]]
# Returns the text of a file of tests, or None if there is no such file.
Text = Callable[[str], "str | None"]

SOURCES = re.compile(r"software/(?!.*/test/).*\.c$")
EXAMPLES = re.compile(r"software/(examples|liblitepcie/man)/")
# What stands in front of a source's name in the name of a file of tests in Python
IN_FRONT = {
    "kernel": "guest_driver",
    "liblitepcie": "user",
    "litepcie_util": "util",
    "lanebox_capture": "capture",
}
# Tests of the software, and the fewest lines of them for each line of C and Python of the software
TESTS = re.compile(r"software/(.*/)?test/|sim/test/(driver|util|python)/")
LEAST_TESTS = 0.8

HELD: Table = {
    "sim/test/driver/test_made_up_cards.py": (
        "One program makes up a card for all sources of a device or of a file.",
        {
            "test_the_driver_keeps_its_promises_to_a_made_up_card": (
                "kernel/dma/owner kernel/file/stream kernel/file/transfer"
            ),
        },
    ),
    "sim/test/driver/test_guest_driver_rights.py": (
        "The program `progress` includes all sources that count descriptors.",
        {
            "test_counts_go_on_behind_their_wrap": "kernel/dma/advance",
        },
    ),
    "sim/test/driver/test_guest_driver_short.py": (
        "They need a kernel and a card, and all short tests share one guest.",
        {
            "test_rings_have_the_shape_that_was_asked_for": "kernel/dma/ring kernel/file/setup",
            "test_a_ring_goes_to_a_disk_and_back_without_a_copy": "kernel/file/mmap",
            "test_another_device_reads_the_ring_in_place": "kernel/dma/dmabuf",
            "test_interrupts_of_the_loop_that_come_fast_become_one": "kernel/dma/moderation",
            "test_a_card_may_go_while_it_is_used": "kernel/card kernel/file/chrdev",
            "test_loading_and_binding_under_traffic": "kernel/main",
            "test_a_pcie_error_ends_in_recovery": "kernel/pci",
            "test_what_happens_is_told": "kernel/sysfs kernel/trace",
            "test_each_interrupt_is_taken_once": "kernel/irq kernel/cause",
            "test_counts_in_memory_are_looked_at_whatever_the_causes_are": "kernel/dma/notices",
        },
    ),
    "sim/test/driver/test_guest_driver_short_iommu.py": (
        "It needs a guest with an IOMMU, and all tests of such a guest share one.",
        {
            "test_the_user_s_interrupt_is_an_event": "kernel/user",
        },
    ),
    "sim/test/driver/test_guest_built.py": (
        "It needs a kernel that is built for it.",
        {
            "test_a_disk_reads_and_writes_the_card_s_memory": "kernel/p2pmem",
        },
    ),
    "software/test/library/test_software_library.py": (
        "The program has the name of the source of which they are parts, or tests a whole layer.",
        {
            "test_records_are_found_and_broken_ones_noticed": (
                "liblitepcie/capture/capture_records "
                "tools/lanebox_capture/check/check_recording "
                "tools/lanebox_capture/check/check_walk"
            ),
            "test_a_capture_survives_any_card": (
                "liblitepcie/capture/capture_access liblitepcie/capture/capture_registers "
                "liblitepcie/capture/capture_ring liblitepcie/capture/capture_state "
                "liblitepcie/capture/capture_wait"
            ),
            "test_a_recording_is_whole_whatever_the_disk_does": (
                "tools/lanebox_capture/record/files"
            ),
            "test_queues_have_registers_of_their_own_and_one_run": (
                "liblitepcie/capture/capture_clock"
            ),
            "test_rings_hand_out_only_what_is_theirs": "liblitepcie/dma/open",
            "test_records_and_status_lines_are_believed_as_far_as_they_can_be": (
                "liblitepcie/dma/engine/asks liblitepcie/dma/engine/notices"
            ),
            "test_a_wait_for_ever_ends_by_data_a_stop_or_a_signal": "liblitepcie/clock",
            "test_the_kernel_s_calls_are_made_as_its_drivers_answer_them": (
                "liblitepcie/kernel/backend liblitepcie/kernel/ioctl liblitepcie/kernel/sysfs"
            ),
            "test_what_hangs_is_named": "liblitepcie/dma/dma_drain",
            "test_counts_go_on_behind_their_wrap": "liblitepcie/dma/table/table",
        },
    ),
    "software/test/library/test_software_installed.py": (
        "All examples of the manual are built as a user builds them.",
        {
            "test_examples_of_the_manual_run": (
                "liblitepcie/man/examples/information liblitepcie/man/examples/interrupts "
                "liblitepcie/man/examples/keep liblitepcie/man/examples/memory "
                "liblitepcie/man/examples/messages liblitepcie/man/examples/place "
                "liblitepcie/man/examples/play liblitepcie/man/examples/registers "
                "liblitepcie/man/examples/sorting liblitepcie/man/examples/share"
            ),
        },
    ),
    "software/test/library/test_litepcie.py": (
        "Its failures are those of litepcie.c, which opens the socket by it.",
        {
            "test_a_device_that_cannot_be_opened_is_one_sentence": (
                "liblitepcie/sim/vfio_user_socket"
            ),
        },
    ),
    "software/test/util/test_util_info.py": (
        "`info` prints what these sources have found out.",
        {
            "test_info_shows_what_was_negotiated": "liblitepcie/describe/card",
            "test_mps_defaults_to_what_the_card_advertises_and_may_not_exceed_it": (
                "liblitepcie/sim/config"
            ),
        },
    ),
    "software/test/library/test_vfio_user.py": (
        "They are parts of vfio_user.c, which no caller uses without them.",
        {
            "test_a_board_that_reads_host_memory_by_message_is_served": "liblitepcie/sim/backend",
        },
    ),
    "software/test/util/test_util_main.py": (
        "It is what the main.c of both programs have in common.",
        {
            "test_help_names_every_command_and_the_exit_statuses": "tools/litepcie_util/program",
        },
    ),
    "sim/test/util/test_capture_record.py": (
        "It is used by `record`, or needs frames that a card has recorded.",
        {
            "test_a_recording_has_every_frame_at_its_time": (
                "tools/lanebox_capture/disk/uring tools/lanebox_capture/record/ended"
            ),
            "test_info_has_the_accounts_of_each_port": "tools/lanebox_capture/cmd_info",
            "test_the_recorder_stays_on_its_processor_and_awake": "tools/lanebox_capture/processor",
            "test_the_capture_calls_do_what_they_say": (
                "liblitepcie/capture/capture_counts liblitepcie/capture/capture_file"
            ),
            "test_the_manual_s_examples_record": (
                "liblitepcie/man/examples/capture liblitepcie/man/examples/record "
                "liblitepcie/man/examples/records"
            ),
        },
    ),
    "sim/test/util/test_capture_play.py": (
        "It needs a card that plays.",
        {
            "test_the_manual_s_example_plays": "liblitepcie/man/examples/player",
        },
    ),
    "sim/test/util/test_user_board.py": (
        "It needs the real gateware.",
        {
            "test_a_stream_is_watched_without_a_register": "liblitepcie/dma/table/table_notices",
        },
    ),
    "sim/test/util/test_user_guest.py": (
        "They need a guest, and all tests of the library in a guest share one file.",
        {
            "test_every_way_to_a_card_passes_the_same_suite": (
                "liblitepcie/vfio/backend liblitepcie/vfio/type1"
            ),
            "test_rings_through_vfio_lie_in_huge_pages": "liblitepcie/vfio/memory",
            "test_every_cause_has_its_own_message_where_the_card_offers_that": (
                "liblitepcie/vfio/irq"
            ),
            "test_a_direction_that_somebody_uses_has_a_sentence": "liblitepcie/kernel/users",
            "test_what_is_in_the_way_of_vfio_has_a_sentence": (
                "liblitepcie/vfio/group liblitepcie/vfio/open"
            ),
        },
    ),
    "software/test/capture/test_capture_find.py": (
        "`find` is the only command with filters.",
        {
            "test_a_filter_finds_its_packets_and_no_others": "tools/lanebox_capture/find/filter",
        },
    ),
    "software/test/capture/test_capture_disk.py": (
        "`disk` is the only command that tries a disk.",
        {
            "test_what_is_measured_is_told": "tools/lanebox_capture/disk/trial_print",
        },
    ),
    "software/test/util/test_util_dma_test.py": (
        "`dma_test` runs them, and its output shows what they do.",
        {
            "test_dma_test_compares_every_buffer_it_was_asked_for": "tools/litepcie_util/streams",
            "test_one_flipped_bit_fails_the_run_and_is_named": "tools/litepcie_util/dma/dma_judge",
        },
    ),
    "software/test/util/test_util_dma_bench.py": (
        "They are parts of cmd_dma_bench.c.",
        {
            "test_dma_bench_tells_how_it_goes_on": (
                "tools/litepcie_util/dma/dma_bench_interval tools/litepcie_util/dma/dma_bench_rate"
            ),
            "test_dma_bench_sweeps_over_sizes": "tools/litepcie_util/dma/dma_bench_sweep",
        },
    ),
    "software/test/util/test_util_mmio_bench.py": (
        "It is a part of cmd_mmio_bench.c.",
        {
            "test_times_are_in_the_ticks_of_the_card": "tools/litepcie_util/mmio/mmio_measure",
        },
    ),
    "sim/test/rows/test_user_rows.py": (
        "It needs logic in the user slot, which rows of the table measure, too.",
        {
            "test_dma_bench_says_the_same_by_software": "tools/litepcie_util/dma/dma_bench_slot",
        },
    ),
    "software/test/util/test_util_list.py": (
        "`list` is the command that shows what it finds.",
        {
            "test_list_knows_the_cards_that_the_driver_knows": "tools/litepcie_util/host/pci",
        },
    ),
    "software/test/util/test_util_vfio.py": (
        "`vfio unbind` is its only caller.",
        {
            "test_unbind_names_who_has_the_card_and_changes_nothing": (
                "tools/litepcie_util/host/holder"
            ),
        },
    ),
    "sim/test/util/test_util_doctor.py": (
        "They are parts of cmd_doctor.c.",
        {
            "test_what_was_planted_around_the_card_is_named": (
                "tools/litepcie_util/host/doctor_judge"
            ),
            "test_the_slot_that_narrows_the_link_is_named": "tools/litepcie_util/host/doctor_host",
        },
    ),
    "sim/test/util/test_util_latency.py": (
        "It is a part of cmd_latency.c.",
        {
            "test_the_times_are_those_of_the_trace": "tools/litepcie_util/latency/latency_measure",
        },
    ),
    "sim/test/util/test_util_guest.py": (
        "It needs the driver in a guest.",
        {
            "test_latency_behind_the_driver_is_that_of_packets": (
                "tools/litepcie_util/latency/latency_packet"
            ),
        },
    ),
    "sim/test/services/test_board_firmware.py": (
        "They need a card with services, as the test's firmware has.",
        {
            "test_the_console_passes_input_and_prints_the_answers": (
                "tools/litepcie_util/card/cmd_console"
            ),
            "test_an_image_is_loaded_by_the_tool": (
                "tools/litepcie_util/card/cmd_firmware tools/litepcie_util/card/management"
            ),
        },
    ),
    "sim/test/services/test_board_flash.py": (
        "It needs a card with services, which boots from its flash.",
        {
            "test_an_update_runs_after_a_reboot": "tools/litepcie_util/card/cmd_reboot",
        },
    ),
    "sim/test/services/test_board_modules.py": (
        "They need a card with modules in its cages.",
        {
            "test_a_module_says_what_its_memory_holds": (
                "tools/litepcie_util/card/cmd_module tools/litepcie_util/card/module_memory"
            ),
            "test_text_of_a_module_with_a_stretched_clock_and_cmis": (
                "tools/litepcie_util/card/module_decode"
            ),
        },
    ),
    "sim/test/services/test_board_sensors.py": (
        "It needs a card with sensors.",
        {
            "test_the_command_prints_what_the_board_measures": (
                "tools/litepcie_util/card/cmd_sensors"
            ),
        },
    ),
    "sim/test/util/test_software_examples.py": (
        "Examples have names of their own, which a test must not take.",
        {
            "test_a_capture_is_what_the_card_sent": "examples/capture",
            "test_every_request_is_answered": "examples/request",
            "test_a_spectrum_has_the_sine_that_went_out": "examples/spectrum",
            "test_registers_are_written_and_read_by_name": "examples/registers",
            "test_each_interrupt_of_the_user_s_logic_ends_one_wait": "examples/interrupt",
        },
    ),
}


def sources(listed: Iterable[str]) -> list[str]:
    """Return the C sources of software among the names of files. Tests are no sources."""
    return [name for name in listed if SOURCES.match(name)]


def own_test(source: str, listed: Iterable[str]) -> str | None:
    """Return the test among the names of files that has the source's own name, or None.

    The examples of the manual have names that a source may have, too, so they have no own test.
    """
    if EXAMPLES.match(source):
        return None
    place = PurePosixPath(source)
    part = place.parts[2] if place.parts[1] == "tools" else place.parts[1]
    programs = [f"{place.parent.name}_{place.stem}.c", f"{place.stem}.c"]
    python = f"test_{IN_FRONT[part]}_{place.stem.removeprefix('cmd_')}.py"
    patterns = [f"software/{place.parts[1]}/test/(.*/)?{name}" for name in programs]
    patterns += [
        f"software/test/(?!python/)(.*/)?(test_{place.stem}.py|{python})",
        f"sim/test/(.*/)?{python}",
    ]
    listed = list(listed)
    found = (name for pattern in patterns for name in listed if re.fullmatch(pattern, name))
    return next(found, None)


def _named(held: Table) -> Iterator[tuple[str, str, str]]:
    """Yield (source, file of tests, test) for each entry."""
    for file, (_, tests) in held.items():
        for test, names in tests.items():
            for name in names.split():
                yield f"software/{name}.c", file, test


def driver_programs(tests: dict[str, str]) -> dict[str, set[str]]:
    """Return {source of the driver: the test programs that include it}.

    `tests` has the text of each C file below software/kernel/test, by its name. A program is a file
    there, or a folder of files.
    """
    found: dict[str, set[str]] = {}
    for name, text in tests.items():
        place = PurePosixPath(name)
        program = place.stem if place.parent.name == "test" else place.parent.name
        for included in re.findall(r'^#include "((?:\.\./)+[\w/]+\.c)"', text, re.MULTILINE):
            source = posixpath.normpath(str(place.parent / included))
            found.setdefault(source, set()).add(program)
    return found


def slow(programs: dict[str, set[str]], tests: Text, held: Table) -> list[str]:
    """Return a sentence for each source of the driver whose entry names a file of tests that starts
    none of the `programs` that include it.
    """
    return [
        f"{source} runs in seconds in the program {', '.join(sorted(programs[source]))}: {file} "
        "does not start it, so name the test that does"
        for source, file, _ in _named(held)
        if source in programs
        and not any(f'"{name}"' in (tests(file) or "") for name in programs[source])
    ]


def _untested(files: list[str], tests: Text, held: Table) -> Iterator[str]:
    """Yield a sentence for each source without a test, and for each that has two."""
    listed, named = sources(files), {source for source, _, _ in _named(held)}
    shared = Counter((PurePosixPath(name).parts[1], PurePosixPath(name).stem) for name in listed)
    texts = [tests(name) or "" for name in files if TESTS.match(name) and name.endswith(".py")]
    for source in listed:
        place, own = PurePosixPath(source), own_test(source, files)
        if own and source in named and shared[place.parts[1], place.stem] == 1:
            yield f"{source} has a test of its own name, {own}: remove its entry"
        elif not own and source not in named:
            yield f"{source} is held by no test: write one, or name one that runs it in HELD"
        elif own and own.endswith(".c") and source not in named:
            program = PurePosixPath(own)
            names = rf"{program.stem}|{program.parent.name}"
            if not any(re.search(rf'[" ]({names})[" ]', text) for text in texts):
                yield f"{own} is started by no test"


def problems(listed: Iterable[str], tests: Text, held: Table) -> list[str]:
    """Return a sentence for each source that no test holds, and for each entry that is not right.

    `listed` has the names of all files.
    """
    files, named = list(listed), list(_named(held))
    found = list(_untested(files, tests, held))
    for source, times in Counter(source for source, _, _ in named).items():
        if source not in files:
            found.append(f"{source} has an entry, but there is no such source")
        elif times > 1:
            found.append(f"{source} has {times} entries: leave one")
    for file, (reason, tested) in held.items():
        text = tests(file)
        if text is None:
            found.append(f"{file} has entries, but there is no such file")
            continue
        if not reason:
            found.append(f"{file} has entries without a reason")
        for test, names in tested.items():
            if not re.search(rf"^def {test}\(", text, re.MULTILINE):
                found.append(f"{file} has no test {test}, which is to hold {names}")
            elif not names.split():
                found.append(f"{file}: {test} has an entry without a source")
    return found


# The list -----------------------------------------------------------------------------------------


def files() -> list[str]:
    """Return the names of all files of the repository that git tracks or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in names.splitlines() if (ROOT / name).is_file()]


def text(name: str) -> str | None:
    """Return the text of a file of the repository, or None if there is none of this name."""
    return (ROOT / name).read_text() if (ROOT / name).is_file() else None


def lines(listed: Iterable[str]) -> tuple[int, int]:
    """Return the lines of the software's tests and those of its sources, in C and Python."""
    tests = sources = 0
    for name in listed:
        if name.endswith((".c", ".h", ".py")) and (TESTS.match(name) or name[:9] == "software/"):
            count = len((text(name) or "").splitlines())
            tests += count if TESTS.match(name) else 0
            sources += 0 if TESTS.match(name) else count
    return tests, sources


def main() -> int:
    """Print each source beside its test, and the lines of both. Return 1 if something is wrong."""
    listed = files()
    held = {source: (file, test) for source, file, test in _named(HELD)}
    own = 0
    for source in sources(listed):
        if source in held:
            file, test = held[source]
            print(f"{source}: {file}::{test}. {HELD[file][0]}")
        else:
            own += 1
            print(f"{source}: {own_test(source, listed)}")
    tests, lines_of_sources = lines(listed)
    found = problems(listed, text, HELD)
    print(f"{own} sources have a test of their own name, {len(held)} another test")
    print(
        f"{tests} lines of tests for {lines_of_sources} lines of sources: "
        f"{tests / lines_of_sources:.2f} for each, {LEAST_TESTS} at least"
    )
    print("".join(f"{sentence}\n" for sentence in found), end="")
    return int(bool(found) or tests < LEAST_TESTS * lines_of_sources)


if __name__ == "__main__":
    sys.exit(main())
