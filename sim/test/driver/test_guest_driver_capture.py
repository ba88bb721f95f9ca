# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The driver's node of the capture block, and lanebox-capture behind it.

The tests run in one guest that stays up. It has an IOMMU, so the board counts each access of the
card to memory that the driver has taken from it.
"""

import json
import re
from collections import defaultdict

import pytest
import test_guest_driver_unwind as unwind

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.guest import kernel as guest_kernel
from sim.guest import run
from sim.pcap import first_difference
from sim.test.board.board_builds import register_map
from sim.test.card.test_board_capture import PORT_MASK, Generated
from sim.test.driver.driver_guest import (
    CARD,
    FAULTY,
    PINNED,
    WITH_FAULTS,
    WITHOUT,
    faulty_guest,
)
from sim.test.driver.live_guest import LiveGuest
from sim.test.driver.test_guest_driver_power import removal
from sim.test.util.capture_tool import compare, packets
from sim.test.util.test_capture_live import objects
from sim.test.util.test_capture_play import frames as packets_of
from sim.test.util.test_capture_play import made
from sim.test.virtio.virtio_guest import helper
from tools.testing.seeds import SHIFT

pytestmark = pytest.mark.guest

NODE = "/dev/litepcie0-capture"
PLAYED = "/played.pcapng"  # the file in the guest that `lanebox-capture play` sends to the card
IOMMU = ("-device", "intel-iommu,intremap=on,caching-mode=on")
RESCAN = "echo 1 >/sys/bus/pci/rescan"
# The kernel folds its counts of pinned pages of each processor once a second, or when it is asked.
FOLD = "echo 1 >/proc/sys/vm/stat_refresh"
# When a program with io_uring has ended, a work queue of the kernel gives back the buffers that the
# program had registered. So the count may become 0 some moments later.
NONE_PINNED = (
    f"for n in $(seq 100); do {FOLD}; [ $(pinned) -ne 0 ] || break; sleep 0.1; done; "
    "[ $(pinned) -eq 0 ]"
)
# The shell function `flows A` runs the part A of the program `capture`, and waits until frames
# come.
FLOWS = (
    f"flows() {{ rm -f /tmp/flows; capture $1 {NODE} /tmp/flows & user=$!; "
    f"while [ ! -e /tmp/flows ]; do kill -0 $user; sleep 0.02; done; {FOLD}; "
    "[ $(pinned) -gt 0 ]; }"
)
# The shell function `recorded A` begins a recording into a ring of 16 MiB, or of the size in $ring.
# It runs the shell text A once the ring is there, with the program's number in $user, and ends the
# recording.
RECORDED = f"""
recorded() {{
	rm -f /tmp/a.pcapng
	lanebox-capture record -d /dev/litepcie0 --ring ${{ring:-16M}} --generate 64,16777215 \\
		/tmp/a.pcapng >/tmp/record & user=$!
	while [ ! -s /tmp/a.pcapng ]; do kill -0 $user; sleep 0.05; done
	until {FOLD}; [ $(pinned) -gt 0 ]; do kill -0 $user; sleep 0.05; done
	eval "$1"
	kill $user; wait $user
	lanebox-capture check /tmp/a.pcapng >/dev/null; {NONE_PINNED}
}}
"""
# Guest commands that begin a second recording, which the driver refuses.
SECOND = (
    "! lanebox-capture record -d /dev/litepcie0 --ring 1M --seconds 1 /tmp/b.pcapng 2>/out/taken"
)
HUGE = "/sys/kernel/mm/hugepages/hugepages-{}kB/free_hugepages"
# {call: all results with which a random call of the node may end}
STORM = {
    "ring": {"ok", "EFAULT", "EINVAL", "EBUSY", "EMSGSIZE", "ENOMEM"},
    "start": {"ok", "EFAULT", "EINVAL", "EBUSY"},
    "stop": {"ok", "EFAULT", "EINVAL", "EBUSY"},
    "limit": {"ok", "EFAULT", "EINVAL", "EBUSY"},
    "wake": {"ok", "EFAULT", "EINVAL", "EBUSY", "EBADF"},
    "generate": {"ok", "EFAULT", "EINVAL", "EBUSY"},
    "info": {"ok", "EFAULT", "EINVAL"},
    "unknown": {"ENOTTY"},
    "read": {"ok", "EFAULT", "EINVAL", "EBUSY", "EAGAIN"},
    "mmap": {"ok", "EINVAL", "EPERM"},
    "mprotect": {"EACCES"},
    "poll": {"ok"},
    "open": {"ok"},
}
STORM_CALLS = 2000
GENERATOR = ("size", "period", "count", "seed", "port_mask", "control")


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Make a file of random packets of four ports. Returns its path on the host."""
    return made(tmp_path_factory.mktemp("played") / "a.pcapng", count=400)


@pytest.fixture(scope="module")
def guest(tmp_path_factory, played):
    headers = artefacts.build(DEFAULT, capture=True).headers
    files = [
        (artefacts.capture_tool(headers, static=True), "bin/lanebox-capture"),
        (faulty_guest().module, FAULTY[1:]),
        (played, PLAYED[1:]),
        (helper(guest_kernel.ensure(), "sleep"), "litepcie_sleep.ko"),
    ]
    programs = ("capture", "member", "stress", "unwind")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "PLACE", tmp_path_factory.mktemp("guest"))
        append = ("intel_iommu=on", "log_buf_len=4M")
        with LiveGuest(
            ("--bar2", "67108864"), programs, files, capture=True, devices=IOMMU, append=append
        ) as live:
            yield live


def parts(*names):
    """Return commands that run parts of the program `capture`. Each must leave no page pinned."""
    commands = [PINNED, NONE_PINNED]
    for name in names:
        commands += [f"capture {name} {NODE} >>/out/capture", NONE_PINNED]
    return commands


# Calls of the capture's node ----------------------------------------------------------------------


def test_frames_come_into_the_program_s_own_memory(guest):
    """A ring in huge pages, and one in small pages, gets each frame once and in order. poll() and
    an eventfd wake exactly once for each WAKE. The accounts are those of the frames."""
    text = guest.run(parts("own", "small"))["capture"].decode()
    assert re.fullmatch(r"own: ok, segments of 262144\nsmall: ok\n", text)


def test_what_is_no_capture_is_refused(guest):
    """Each bad argument, each call that is not allowed at its moment, and each call on an open file
    that does not own the capture fails with its own errno. INFO works on every open file."""
    assert guest.run(parts("refuse"))["capture"] == b"refuse: ok\n"


def test_read_gives_header_and_blocks(guest):
    """read() without a ring gives the header of a file and then each block, with pieces of any
    length. It fails with EAGAIN if there is nothing, and ends after STOP."""
    assert b"reading: ok" in guest.run(parts("reading"))["capture"]


def test_a_process_that_forks_or_is_killed_does_no_harm(guest):
    """After fork() the ring still belongs to the parent. If the owner is killed, the card stops
    writing, no page stays pinned, and the next program can capture."""
    assert guest.run(parts("forked", "killed"))["capture"] == b"forked: ok\nkilled: ok\n"


def test_random_calls_end_as_they_must(guest):
    """Random calls of an ordinary user, on several open files of the node, end with no other
    results than those in STORM. With the first seed each of these results occurs. Afterwards no
    page is pinned, and another program can capture."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    found = guest.run(
        [
            PINNED,
            f"chmod 666 {NODE}; capture storm {NODE} {STORM_CALLS} {seed} >/out/storm",
            f"{NONE_PINNED}; capture small {NODE}",
        ]
    )["storm"].decode()
    print(found)
    ends = defaultdict(set)
    for call, result in re.findall(r"^storm (\w+) (\w+) \d+$", found, re.MULTILINE):
        ends[call].add(result)
    assert ends.keys() == STORM.keys()
    wrong = {call: results - STORM[call] for call, results in ends.items()}
    assert not any(wrong.values()), wrong
    if SHIFT == 0:
        assert ends == STORM


@pytest.mark.soak  # binds the card some 100 times, for a minute
def test_what_is_refused_leaves_nothing_behind(guest):
    """If the kernel refuses a request of the driver, also in a call of the capture's node, the
    driver gives back everything that it has got before. Each request is refused in turn."""
    sweep = unwind.refusals("sweep 1", FAULTY)
    unwind.check_refusals(guest.run([WITH_FAULTS, *sweep, WITHOUT]))


# Memory of a recording ----------------------------------------------------------------------------


def test_a_ring_lies_in_huge_pages(guest):
    """A ring takes the kernel's pages of 2 MiB if there are enough, and gives them back. A second
    recorder is refused meanwhile. Without such pages the kernel makes the ring's pages huge."""
    free = HUGE.format(2048)
    files = guest.run(
        [
            PINNED + RECORDED,
            f"echo 8 >/proc/sys/vm/nr_hugepages; recorded 'cat {free} >/out/free; {SECOND}'",
            f"cat {free} >>/out/free; echo 0 >/proc/sys/vm/nr_hugepages",
            "recorded 'cat /proc/$user/smaps >/out/smaps'",
            f"[ ! -e /tmp/b.pcapng ]; {NONE_PINNED}",
        ]
    )
    assert files["free"].split() == [b"0", b"8"]
    assert b"another program has the capture: let it finish first" in files["taken"]
    huge = re.findall(r"^AnonHugePages: +(\d+) kB", files["smaps"].decode(), re.MULTILINE)
    assert sum(map(int, huge)) >= 16 << 10


# Recordings in the guest --------------------------------------------------------------------------


@pytest.mark.parametrize("size, count", [(64, 3000), (1518, 400)])
def test_a_recording_through_the_driver_has_every_frame(guest, tmp_path, size, count):
    """lanebox-capture records the generator's frames through the driver. Wireshark's programs read
    each of them with its bytes."""
    frames = Generated(size, 0, count)
    what = f"--generate {size},0,{count} --seed {frames.seed} --port-mask {PORT_MASK}"
    sizes = "--ring 256K --mbuf 16K --lossless"
    files = guest.run(
        [
            PINNED,
            f"lanebox-capture record -d /dev/litepcie0 --json {what} {sizes} /out/a.pcapng >/out/j",
            f"lanebox-capture check /out/a.pcapng; {NONE_PINNED}",
            "lanebox-capture info -d /dev/litepcie0 --json >/out/info",
        ]
    )
    recording = tmp_path / "a.pcapng"
    recording.write_bytes(files["a.pcapng"])
    found = packets(recording, tmp_path)
    assert compare(json.loads(files["j"]), frames, found) == list(range(count))
    ports = json.loads(files["info"])["ports"]
    assert sum(port["delivered"]["frames"] for port in ports) == count


def test_a_recording_through_the_driver_goes_into_a_pipe(guest, tmp_path):
    """lanebox-capture writes what it records through the driver into a pipe. The program at the
    pipe's other end gets a whole recording."""
    frames = Generated(200, 4000, count=500)
    what = f"--generate {frames.size},{frames.period},{frames.count} --seed {frames.seed}"
    files = guest.run(
        [
            PINNED,
            "mkfifo /tmp/pipe; cat /tmp/pipe >/out/a.pcapng & reader=$!",
            f"lanebox-capture record -d /dev/litepcie0 --json {what} --port-mask {PORT_MASK} "
            "--ring 1M /tmp/pipe >/out/j",
            f"wait $reader; {NONE_PINNED}",
        ]
    )
    recording = tmp_path / "a.pcapng"
    recording.write_bytes(files["a.pcapng"])
    found = packets(recording, tmp_path)
    assert compare(json.loads(files["j"]), frames, found) == list(range(frames.count))


def test_a_file_played_through_the_driver_comes_back(guest, played, tmp_path):
    """lanebox-capture sends a file through the driver's h2c to the card's player, and records what
    the card plays. Every packet comes back with its bytes, its port and its time. Without --record
    the frames are dropped, and the next play sends all of them again."""
    play = "lanebox-capture play -d /dev/litepcie0 --json"
    files = guest.run(
        [
            PINNED,
            f"{play} {PLAYED} >/out/dropped",
            f"{play} --keep-time --record /out/back.pcapng {PLAYED} >/out/back",
            f"lanebox-capture check /out/back.pcapng; {NONE_PINNED}",
        ]
    )
    back = tmp_path / "back.pcapng"
    back.write_bytes(files["back.pcapng"])
    sent = packets_of(played)
    assert len({packet.port for packet in sent}) == 4
    assert first_difference(sent, packets_of(back)) is None
    dropped, report = (json.loads(files[name]) for name in ("dropped", "back"))
    assert dropped["packets"] == report["packets"] == report["recorded"] == len(sent) == 400
    assert report["lost"] == 0


def test_live_shows_the_recording_of_another_program(guest):
    """While one program records through the driver, `lanebox-capture live` prints the rates of that
    recording's ports, and takes nothing from it."""
    record = f"--generate 64,60000 --port-mask {PORT_MASK} --ring 1M /tmp/a.pcapng"
    files = guest.run(
        [
            PINNED,
            f"lanebox-capture record -d /dev/litepcie0 --json {record} >/out/record & user=$!",
            "while [ ! -s /tmp/a.pcapng ]; do kill -0 $user; sleep 0.05; done",
            "lanebox-capture live -d /dev/litepcie0 --json --interval 1 --count 2 >/out/live",
            f"kill $user; wait $user; lanebox-capture check /tmp/a.pcapng; {NONE_PINNED}",
        ]
    )
    record = json.loads(files["record"])
    *_, last = objects(files["live"].decode())
    assert [port["port"] for port in last["ports"]] == list(range(PORT_MASK + 1))
    assert last["packets_per_s"] > 0 and last["lost"] == record["lost_ring"] == 0
    assert all(port["packets_per_s"] > 0 for port in last["ports"])
    assert last["packets_per_s"] * last["seconds"] < record["packets"]
    (file,) = record["files"]
    assert 0 < last["position"] < file["bytes"] and last["released"] <= last["position"]


def poke(register, value):
    """Return a command with which root writes a register of the capture block."""
    place = register_map(capture=True)["csr_registers"][f"capture_{register}"]["addr"]
    octal = "".join(rf"\0{byte:03o}" for byte in value.to_bytes(4, "little"))
    return f"printf '%b' '{octal}' >/tmp/word; stress poke {CARD}/resource0 {place:#x} /tmp/word"


def test_cat_of_the_node_is_a_recording(guest, tmp_path):
    """cat of the node into a file gives a recording of all frames, which Wireshark's programs read.
    After cat has been killed the node is free again."""
    frames = Generated(256, 40 << 8, count=1500)
    values = (frames.size, frames.period, frames.count, frames.seed, PORT_MASK, 1)
    # Each MBUF of 64 KiB has 227 records of 288 bytes, and the last one the rest of them.
    size = 4096 + frames.count // 227 * 65536 + frames.count % 227 * 288
    files = guest.run(
        [
            PINNED,
            f"cat {NODE} >/out/cat.pcapng & reader=$!",
            "while [ ! -s /out/cat.pcapng ]; do sleep 0.05; done",
            *(poke(f"generator_{name}", value) for name, value in zip(GENERATOR, values)),
            f"until [ $(stat -c %s /out/cat.pcapng) -ge {size} ]; do kill -0 $reader; "
            "sleep 0.1; done",
            f"! cat {NODE} >/dev/null; kill $reader; wait $reader || true; {NONE_PINNED}",
            f"capture small {NODE}",
        ]
    )
    recording = tmp_path / "cat.pcapng"
    recording.write_bytes(files["cat.pcapng"])
    found = packets(recording, tmp_path)
    assert [data for *_, data in found] == [frames.data(n) for n in range(frames.count)]


# The card leaves during a recording ---------------------------------------------------------------


def test_a_card_that_goes_while_it_captures_leaves_nothing_behind(guest):
    """If the card is unbound, removed or taken out of its slot during a capture, the program's
    calls fail, and no page stays pinned. Then the module can be reloaded and captures again."""
    driver = "/sys/bus/pci/drivers/litepcie"
    guest.run(
        [
            PINNED,
            FLOWS,
            f"flows hold; echo 0000:01:00.0 >{driver}/unbind; wait $user; {NONE_PINNED}",
            f"[ ! -e {NODE} ]; echo 0000:01:00.0 >{driver}/bind",
            f"flows hold; echo 1 >{CARD}/remove; wait $user; {NONE_PINNED}; {RESCAN}",
            f"flows hold; ask remove; wait $user; echo 1 >{CARD}/remove; {NONE_PINNED}",
            f"rmmod litepcie; ask insert; insmod /lib/modules/litepcie.ko; {RESCAN}",
            f"capture small {NODE}; {NONE_PINNED}",
        ],
        removal,
    )


def test_a_reset_ends_a_capture_with_an_error(guest):
    """After a reset of the card, calls of a capture fail with EIO until STOP. Then the same file
    captures again."""
    files = guest.run(
        [PINNED, FLOWS, f"flows reset >/out/capture; echo 1 >{CARD}/reset; wait $user", NONE_PINNED]
    )
    assert files["capture"] == b"reset: ok\n"


def test_a_sleep_ends_a_capture_with_an_error(guest):
    """When the card has slept and woken up, calls of a capture fail with EIO until STOP. Then the
    same file captures again. No page stays pinned."""
    files = guest.run(
        [
            PINNED,
            FLOWS,
            "flows reset >/out/capture; insmod /litepcie_sleep.ko; rmmod litepcie_sleep",
            f"wait $user; {NONE_PINNED}",
        ]
    )
    assert files["capture"] == b"reset: ok\n"


# Rights on the capture's node ---------------------------------------------------------------------


def test_no_register_of_the_capture_is_a_member_s(guest):
    """A member of the card's group can write to no register of the capture block, neither by ioctl
    nor in a mapping, since some of them are addresses of host memory."""
    csr = register_map(capture=True)
    start = csr["csr_bases"]["capture"]
    commands = ["chown 0:1000 /dev/litepcie0; chmod 660 /dev/litepcie0"]
    commands += ["member registers /dev/litepcie0 >/out/found"]
    text = guest.run(commands)["found"].decode()
    places = [line.split()[1:] for line in text.splitlines() if line.startswith("ioctl")]
    spans = [(int(a, 16), int(b, 16)) for a, b in places]
    print(f"seed {SHIFT}", spans)
    assert spans and all(end <= start or begin >= start + 4096 for begin, end in spans)
