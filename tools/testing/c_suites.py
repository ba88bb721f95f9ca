# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Which test holds each C source of software: the table HELD, with the test's file and name.

Most tests of the driver, the library and the tools run a whole program, so a source has no test
file of its own name, as suites.py wants it of Scala, Python and C++. A test in HELD runs the code
of its sources and fails if what they promise is wrong. Several tests may run one source; HELD has
only one of them.

Programs of the folders `test` are not sources. If such a program tests a source, HELD names the
test in Python that starts the program. A program that includes a source of the driver runs it in
seconds, where a guest takes minutes, so HELD must name the test of that program.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

# {file of tests: {test: sources}}. The names of sources begin below software/ and lack their `.c`.
Table = dict[str, dict[str, str]]

SOURCES = re.compile(r"software/(?!.*/test/).*\.c$")

HELD: Table = {
    "sim/test/driver/test_guest_driver_abi.py": {
        "test_structures_have_the_same_size_in_every_program": "kernel/abi",
    },
    "sim/test/driver/test_made_up_cards.py": {
        "test_the_driver_keeps_its_promises_to_a_made_up_card": (
            "kernel/capture/capture kernel/capture/capture_calls kernel/capture/capture_news "
            "kernel/capture/capture_node kernel/capture/capture_owner "
            "kernel/capture/capture_read kernel/capture/capture_registers "
            "kernel/capture/capture_sort kernel/dma/dma kernel/dma/owner kernel/file/packets "
            "kernel/file/rw kernel/file/stream kernel/file/sync kernel/file/transfer "
            "kernel/virtio/virtio kernel/virtio/virtio_device kernel/virtio/virtio_queues"
        ),
    },
    "sim/test/driver/test_guest_driver_rights.py": {
        "test_a_member_of_the_group_keeps_to_what_is_its_own": "kernel/rights kernel/dma/charge",
        "test_no_place_of_an_interrupt_breaks_the_timer": "kernel/dma/timer",
        "test_counts_go_on_behind_their_wrap": (
            "kernel/dma/progress kernel/dma/held kernel/dma/advance"
        ),
        "test_a_channel_has_its_own_blocks": "kernel/capability",
        "test_each_call_reaches_its_function_with_the_card_entered": "kernel/file/ioctl",
    },
    "sim/test/driver/test_guest_driver_short.py": {
        "test_rings_have_the_shape_that_was_asked_for": "kernel/dma/ring kernel/file/setup",
        "test_a_ring_goes_to_a_disk_and_back_without_a_copy": "kernel/file/mmap",
        "test_registers_are_mapped_uncached_and_taken_away": "kernel/bar",
        "test_another_device_reads_the_ring_in_place": "kernel/dma/dmabuf",
        "test_interrupts_of_the_loop_that_come_fast_become_one": "kernel/dma/moderation",
        "test_a_ring_lies_in_memory_of_the_program_s_own": "kernel/dma/memory",
        "test_a_card_may_go_while_it_is_used": "kernel/card kernel/file/chrdev",
        "test_loading_and_binding_under_traffic": "kernel/main",
        "test_a_pcie_error_ends_in_recovery": "kernel/pci",
        "test_what_happens_is_told": "kernel/sysfs kernel/trace",
        "test_each_interrupt_is_taken_once": "kernel/irq kernel/cause",
        "test_counts_in_memory_are_looked_at_whatever_the_causes_are": "kernel/dma/notices",
    },
    "sim/test/driver/test_guest_driver_short_iommu.py": {
        "test_the_user_s_interrupt_is_an_event": "kernel/user",
    },
    "sim/test/driver/test_guest_built.py": {
        "test_a_disk_reads_and_writes_the_card_s_memory": "kernel/p2pmem",
    },
    "software/test/test_software_parts.py": {
        "test_a_capability_table_is_read_as_written_or_refused": "liblitepcie/describe/capability",
        "test_registers_are_known_by_the_blocks_of_a_card": "liblitepcie/describe/names",
        "test_the_registers_that_the_library_uses_are_found": "liblitepcie/describe/map",
        "test_names_of_a_file_are_taken_over_as_a_whole_or_not": "liblitepcie/describe/csr_file",
        "test_structs_of_older_and_newer_programs_are_copied_as_far_as_they_reach": (
            "liblitepcie/sized"
        ),
        "test_the_memory_of_a_ring_lives_until_its_last_user_drops_it": "liblitepcie/dma/memory",
        "test_accesses_to_bars_go_through_their_own_mappings": "liblitepcie/access liblitepcie/bar",
        "test_a_capture_behind_the_driver_gives_its_memory_back_once": (
            "liblitepcie/kernel/capture liblitepcie/kernel/pages"
        ),
        "test_each_error_has_its_meaning_and_its_sentence": "liblitepcie/error",
        "test_the_features_of_a_card_follow_from_its_blocks_and_the_back_end": (
            "liblitepcie/describe/features"
        ),
    },
    "software/test/test_software_library.py": {
        "test_records_are_found_and_broken_ones_noticed": (
            "liblitepcie/capture/capture_records tools/lanebox_capture/check/check "
            "tools/lanebox_capture/check/check_recording "
            "tools/lanebox_capture/check/check_walk"
        ),
        "test_a_capture_survives_any_card": (
            "liblitepcie/capture/capture liblitepcie/capture/capture_access "
            "liblitepcie/capture/capture_registers liblitepcie/capture/capture_ring "
            "liblitepcie/capture/capture_state liblitepcie/capture/capture_wait"
        ),
        "test_a_recording_is_whole_whatever_the_disk_does": (
            "tools/lanebox_capture/disk/output tools/lanebox_capture/record/record "
            "tools/lanebox_capture/record/files"
        ),
        "test_a_ring_has_the_pages_and_the_node_that_are_wanted": (
            "liblitepcie/capture/capture_pages"
        ),
        "test_mbufs_are_dealt_to_folders": "tools/lanebox_capture/record/deal",
        "test_rings_hand_out_only_what_is_theirs": "liblitepcie/dma/dma liblitepcie/dma/open",
        "test_records_and_status_lines_are_believed_as_far_as_they_can_be": (
            "liblitepcie/dma/engine/asks liblitepcie/dma/engine/notices "
            "liblitepcie/dma/engine/engine"
        ),
        "test_a_direction_that_waits_for_a_lost_read_is_waited_for": (
            "liblitepcie/dma/table/table_run"
        ),
        "test_a_wait_for_ever_ends_by_data_a_stop_or_a_signal": (
            "liblitepcie/dma/dma_wait liblitepcie/clock"
        ),
        "test_the_kernel_s_calls_are_made_as_its_drivers_answer_them": (
            "liblitepcie/kernel/backend liblitepcie/kernel/channel liblitepcie/kernel/counts "
            "liblitepcie/kernel/ioctl liblitepcie/kernel/map_bars liblitepcie/kernel/ring "
            "liblitepcie/kernel/sysfs liblitepcie/kernel/wait"
        ),
        "test_rules_become_words_or_a_sentence": "liblitepcie/capture/capture_rule",
        "test_queues_have_registers_of_their_own_and_one_run": "liblitepcie/capture/capture_run",
        "test_what_hangs_is_named": "liblitepcie/describe/slot liblitepcie/dma/dma_drain",
        "test_counts_go_on_behind_their_wrap": "liblitepcie/dma/table/table",
        "test_rings_lie_where_and_news_come_as_a_program_says": (
            "liblitepcie/dma/place liblitepcie/dma/table/table_looks"
        ),
        "test_the_user_s_logic_calls": "liblitepcie/user",
    },
    "software/test/test_software_installed.py": {
        "test_examples_of_the_manual_run": (
            "liblitepcie/man/examples/information liblitepcie/man/examples/interrupts "
            "liblitepcie/man/examples/keep liblitepcie/man/examples/memory "
            "liblitepcie/man/examples/messages liblitepcie/man/examples/place "
            "liblitepcie/man/examples/play liblitepcie/man/examples/registers "
            "liblitepcie/man/examples/sorting liblitepcie/man/examples/share"
        ),
    },
    "software/test/test_litepcie.py": {
        "test_a_device_that_cannot_be_opened_is_one_sentence": (
            "liblitepcie/litepcie liblitepcie/sim/vfio_user_socket"
        ),
    },
    "software/test/test_util_info.py": {
        "test_info_shows_what_was_negotiated": (
            "liblitepcie/describe/card tools/litepcie_util/cmd_info"
        ),
        "test_mps_defaults_to_what_the_card_advertises_and_may_not_exceed_it": (
            "liblitepcie/sim/config"
        ),
    },
    "software/test/test_vfio_user.py": {
        "test_a_board_that_reads_host_memory_by_message_is_served": (
            "liblitepcie/sim/backend liblitepcie/sim/vfio_user"
        ),
        "test_a_peer_that_is_no_card_is_refused_at_open": "liblitepcie/sim/vfio_user_wire",
    },
    "software/test/test_util_main.py": {
        "test_help_names_every_command_and_the_exit_statuses": (
            "tools/litepcie_util/main tools/litepcie_util/program"
        ),
        "test_usage_errors_end_with_2_and_point_to_help": "tools/lanebox_capture/main",
    },
    "software/test/test_util_scratch.py": {
        "test_scratch_test_reports_a_stuck_bit": "tools/litepcie_util/cmd_scratch",
    },
    "sim/test/util/test_capture_record.py": {
        "test_a_recording_has_every_frame_at_its_time": (
            "tools/lanebox_capture/record/cmd_record tools/lanebox_capture/disk/uring"
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
    "sim/test/util/test_capture_queues.py": {
        "test_each_queue_has_a_file_with_its_ports": "tools/lanebox_capture/record/queues",
    },
    "sim/test/util/test_capture_play.py": {
        "test_what_others_made_comes_back": (
            "tools/lanebox_capture/play/cmd_play tools/lanebox_capture/play/play"
        ),
        "test_the_library_s_calls_do_what_they_say": "liblitepcie/capture/player",
        "test_the_manual_s_example_plays": "liblitepcie/man/examples/player",
    },
    "sim/test/util/test_user_board.py": {
        "test_a_stream_is_watched_without_a_register": "liblitepcie/dma/table/table_notices",
    },
    "sim/test/util/test_user_guest.py": {
        "test_every_way_to_a_card_passes_the_same_suite": (
            "liblitepcie/vfio/backend liblitepcie/vfio/type1"
        ),
        "test_rings_through_vfio_lie_in_huge_pages": "liblitepcie/vfio/memory",
        "test_every_cause_has_its_own_message_where_the_card_offers_that": "liblitepcie/vfio/irq",
        "test_a_direction_that_somebody_uses_has_a_sentence": "liblitepcie/kernel/users",
        "test_what_is_in_the_way_of_vfio_has_a_sentence": (
            "liblitepcie/vfio/group liblitepcie/vfio/open"
        ),
    },
    "sim/test/util/test_user_iommufd.py": {
        "test_iommufd_passes_the_same_suite": "liblitepcie/vfio/iommufd",
    },
    "software/test/test_capture_check.py": {
        "test_any_pcapng_is_walked_through": "tools/lanebox_capture/check/cmd_check",
    },
    "software/test/test_capture_disk.py": {
        "test_a_rate_that_the_disk_holds_loses_nothing": "tools/lanebox_capture/disk/cmd_disk",
    },
    "software/test/test_capture_find.py": {
        "test_a_filter_finds_its_packets_and_no_others": (
            "tools/lanebox_capture/find/cmd_find tools/lanebox_capture/find/filter"
        ),
    },
    "software/test/test_capture_source.py": {
        "test_a_file_that_the_card_would_refuse_has_a_sentence": (
            "tools/lanebox_capture/play/source"
        ),
    },
    "sim/test/util/test_capture_extcap.py": {
        "test_the_cards_are_in_the_list_of_interfaces": "tools/lanebox_capture/extcap",
    },
    "sim/test/util/test_capture_live.py": {
        "test_live_tells_the_losses_of_each_port": "tools/lanebox_capture/cmd_live",
    },
    "software/test/test_util_parts.py": {
        "test_random_samples_and_data_are_judged_exactly": (
            "tools/litepcie_util/histogram tools/litepcie_util/dma/dma_data"
        ),
        "test_lines_from_and_to_the_terminal_are_as_the_manual_says": (
            "tools/litepcie_util/help tools/litepcie_util/options "
            "tools/litepcie_util/progress tools/litepcie_util/util"
        ),
        "test_a_run_passes_each_buffer_on_once_and_gives_a_silent_card_up": (
            "tools/litepcie_util/dma/dma_run"
        ),
        "test_the_best_of_a_few_runs_is_the_rate": "tools/litepcie_util/rates",
        "test_each_way_of_access_is_proved_measured_and_undone": (
            "tools/litepcie_util/mmio/mmio_ways"
        ),
        "test_the_counters_are_read_when_window_and_interval_begin_and_end": (
            "tools/litepcie_util/dma/dma_window tools/litepcie_util/dma/dma_watch"
        ),
        "test_a_result_is_printed_as_text_or_as_json": "tools/litepcie_util/emit",
    },
    "software/test/test_util_bitstream.py": {
        "test_a_file_is_judged_alike": "tools/litepcie_util/card/bitstream",
    },
    "software/test/test_util_flash.py": {
        "test_an_image_is_written_and_verified": (
            "tools/litepcie_util/card/cmd_flash tools/litepcie_util/card/flash"
        ),
    },
    "software/test/test_util_dump.py": {
        "test_dump_lists_registers_by_the_beginning_of_their_names": "tools/litepcie_util/cmd_dump",
    },
    "software/test/test_util_peek.py": {
        "test_a_register_has_a_name_and_a_place": "tools/litepcie_util/cmd_peek",
    },
    "software/test/test_util_limits.py": {
        "test_every_limit_is_the_formulas": "tools/litepcie_util/dma/limits",
    },
    "software/test/test_util_dma_test.py": {
        "test_dma_test_compares_every_buffer_it_was_asked_for": (
            "tools/litepcie_util/dma/cmd_dma_test tools/litepcie_util/streams"
        ),
        "test_one_flipped_bit_fails_the_run_and_is_named": "tools/litepcie_util/dma/dma_judge",
    },
    "software/test/test_util_dma_bench.py": {
        "test_dma_bench_tells_how_it_goes_on": (
            "tools/litepcie_util/dma/cmd_dma_bench tools/litepcie_util/dma/dma_bench_interval "
            "tools/litepcie_util/dma/dma_bench_rate"
        ),
        "test_dma_bench_sweeps_over_sizes": "tools/litepcie_util/dma/dma_bench_sweep",
    },
    "software/test/test_util_mmio_bench.py": {
        "test_mmio_bench_measures_every_size_that_is_answered_rightly": (
            "tools/litepcie_util/mmio/cmd_mmio_bench"
        ),
        "test_times_are_in_the_ticks_of_the_card": "tools/litepcie_util/mmio/mmio_measure",
    },
    "sim/test/rows/test_user_rows.py": {
        "test_dma_bench_says_the_same_by_software": "tools/litepcie_util/dma/dma_bench_slot",
    },
    "software/test/test_util_reset.py": {
        "test_reset_goes_through_the_kernel_and_says_when_it_cannot": (
            "tools/litepcie_util/cmd_reset"
        ),
    },
    "software/test/test_util_list.py": {
        "test_list_shows_each_card_with_the_name_to_open_it_by": (
            "tools/litepcie_util/host/cmd_list"
        ),
        "test_list_knows_the_cards_that_the_driver_knows": "tools/litepcie_util/host/pci",
    },
    "software/test/test_util_rescan.py": {
        "test_rescan_removes_the_card_and_looks_again": "tools/litepcie_util/host/cmd_rescan",
    },
    "software/test/test_util_vfio.py": {
        "test_bind_does_what_the_kernel_wants_in_its_order": "tools/litepcie_util/host/cmd_vfio",
        "test_unbind_names_who_has_the_card_and_changes_nothing": "tools/litepcie_util/host/holder",
    },
    "sim/test/util/test_util_doctor.py": {
        "test_what_was_planted_around_the_card_is_named": (
            "tools/litepcie_util/host/cmd_doctor tools/litepcie_util/host/doctor_judge"
        ),
        "test_the_slot_that_narrows_the_link_is_named": "tools/litepcie_util/host/doctor_host",
    },
    "sim/test/util/test_util_latency.py": {
        "test_the_times_are_those_of_the_trace": "tools/litepcie_util/latency/latency_measure",
        "test_the_times_to_the_interrupt_are_those_of_the_trace": (
            "tools/litepcie_util/latency/latency_transfer"
        ),
        "test_percentiles_are_in_order_and_the_histogram_is_whole": (
            "tools/litepcie_util/latency/cmd_latency"
        ),
    },
    "sim/test/util/test_util_guest.py": {
        "test_latency_behind_the_driver_is_that_of_packets": (
            "tools/litepcie_util/latency/latency_packet"
        ),
    },
    "sim/test/services/test_board_firmware.py": {
        "test_the_console_passes_input_and_prints_the_answers": (
            "tools/litepcie_util/card/cmd_console"
        ),
        "test_an_image_is_loaded_by_the_tool": (
            "tools/litepcie_util/card/cmd_firmware tools/litepcie_util/card/management"
        ),
    },
    "sim/test/services/test_board_flash.py": {
        "test_an_update_runs_after_a_reboot": "tools/litepcie_util/card/cmd_reboot",
    },
    "sim/test/services/test_board_modules.py": {
        "test_a_module_says_what_its_memory_holds": (
            "tools/litepcie_util/card/cmd_module tools/litepcie_util/card/module_memory"
        ),
        "test_text_of_a_module_with_a_stretched_clock_and_cmis": (
            "tools/litepcie_util/card/module_decode"
        ),
    },
    "sim/test/services/test_board_sensors.py": {
        "test_the_command_prints_what_the_board_measures": "tools/litepcie_util/card/cmd_sensors",
    },
    "sim/test/util/test_software_examples.py": {
        "test_a_capture_is_what_the_card_sent": "examples/capture",
        "test_every_request_is_answered": "examples/request",
        "test_a_spectrum_has_the_sine_that_went_out": "examples/spectrum",
        "test_registers_are_written_and_read_by_name": "examples/registers",
        "test_each_interrupt_of_the_user_s_logic_ends_one_wait": "examples/interrupt",
    },
}


def sources(listed: Iterable[str]) -> list[str]:
    """Return the C sources of software among the names of files. Tests are no sources."""
    return [name for name in listed if SOURCES.match(name)]


def _named(held: Table) -> Iterator[tuple[str, str, str]]:
    """Yield (source, file of tests, test) for each entry."""
    for file, tests in held.items():
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


def slow(
    programs: dict[str, set[str]], tests: Callable[[str], str | None], held: Table
) -> list[str]:
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


def problems(listed: Iterable[str], tests: Callable[[str], str | None], held: Table) -> list[str]:
    """Return a sentence for each source that no test holds, and for each entry that is not right.

    `tests` returns the text of a file of tests, or None if there is no such file.
    """
    listed, named = list(listed), list(_named(held))
    found = [
        f"{source} is held by no test: write one, or name one that runs it in HELD"
        for source in sorted(set(listed) - {source for source, _, _ in named})
    ]
    for source, times in Counter(source for source, _, _ in named).items():
        if source not in listed:
            found.append(f"{source} has an entry, but there is no such source")
        elif times > 1:
            found.append(f"{source} has {times} entries: leave one")
    for file, tested in held.items():
        text = tests(file)
        if text is None:
            found.append(f"{file} has entries, but there is no such file")
            continue
        for test, names in tested.items():
            if not re.search(rf"^def {test}\(", text, re.MULTILINE):
                found.append(f"{file} has no test {test}, which is to hold {names}")
            elif not names.split():
                found.append(f"{file}: {test} has an entry without a source")
    return found
