# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of `lanebox-capture record` into several folders, on the simulated card."""

import json
import signal
import time
from pathlib import Path

import pytest

from gateware.test.capture.test_capture_file import run
from sim.test.card.test_board_capture import Generated
from sim.test.util.capture_tool import PAGE, SECONDS, generate, packets, running_tool


@pytest.fixture
def tool():
    with running_tool() as found:
        yield found


def numbers_of(files, tmp_path):
    """Return for each file of a recording the list of the numbers that its frames have in their
    data. Fail if the numbers of a file do not increase."""
    found = []
    for file in files:
        data = [body for *_, body in packets(Path(file["path"]), tmp_path)]
        found.append([int.from_bytes(body[16:20], "little") for body in data])
        assert found[-1] == sorted(found[-1])
    return found


def test_mbufs_are_dealt_to_folders(tool, tmp_path):
    """`lanebox-capture record` with two folders writes some MBUFs (parts of the ring) to each.
    `lanebox-capture check` finds each file valid by itself, each frame is in one file, and mergecap
    joins the files in the order of time."""
    frames = Generated(500, 3000, count=1500)
    folders = [f"{tmp_path}/{name}/" for name in "ab"]
    small = ["--ring", "1M", "--mbuf", "16K", "--size", "400K"]
    report = tool.record(frames, "--lossless", *small, *folders)
    assert report["packets"] == frames.count
    assert [folder["folder"] for folder in report["folders"]] == folders
    assert all(folder["mbufs"] > 0 and folder["failure"] is None for folder in report["folders"])
    files = report["files"]
    assert sum(file["mbufs"] for file in files) == sum(f["mbufs"] for f in report["folders"])
    checked = tool.check(*(file["path"] for file in files))
    assert sum(file["packets"] for file in checked) == frames.count
    assert sorted(sum(numbers_of(files, tmp_path), [])) == list(range(frames.count))
    for number, folder in enumerate(folders):
        comments = run("capinfos", "-k", next(Path(folder).iterdir())).decode()
        assert f"Lanebox: folder {number + 1} of 2" in comments
    joined = tmp_path / "all.pcapng"
    run("mergecap", "-w", joined, *(file["path"] for file in files))
    assert numbers_of([{"path": joined}], tmp_path) == [list(range(frames.count))]


def test_check_knows_a_file_of_several_folders(tool, tmp_path):
    """`lanebox-capture check` accepts a file in which MBUFs (parts of a recording) are missing only
    if the recording went to several folders. Even then no MBUF may come before an older one."""
    frames = Generated(500, 3000, count=600)
    small = ["--ring", "1M", "--mbuf", "16K"]
    folders = [f"{tmp_path}/{name}/" for name in "ab"]
    (one,) = tool.record(frames, "--lossless", *small, tmp_path / "one")["files"]
    dealt = tool.record(frames, "--lossless", *small, *folders)["files"][0]
    for file, missing_is_right in ((dealt, True), (one, False)):
        data = Path(file["path"]).read_bytes()
        header, *mbufs = [
            data[:PAGE],
            *(data[n : n + 2**14] for n in range(PAGE, len(data), 2**14)),
        ]
        changed = tmp_path / "changed"
        changed.write_bytes(header + mbufs[0] + b"".join(mbufs[2:]))
        found = tool.run("check", changed, status=0 if missing_is_right else 1)["files"][0]
        assert found["rule"] is None or "follows that of" in found["rule"]
        changed.write_bytes(header + mbufs[1] + mbufs[0])
        assert tool.run("check", changed, status=1)["files"][0]["rule"]


def test_a_folder_that_fails_leaves_its_mbufs_to_the_others(tool, tmp_path):
    """A folder in which no further file can be made fails, and the others go on. No frame is
    missing, the report names the folder, and the status is 1."""
    frames = Generated(500, 20000, count=0)
    folders = [f"{tmp_path}/{name}/" for name in "abc"]
    small = ["--ring", "1M", "--mbuf", "16K", "--size", "100K"]
    running = tool.start("record", *generate(frames), "--lossless", *small, *folders)
    gone, first = tmp_path / "b", tmp_path / "a"
    end = time.monotonic() + SECONDS
    while not (gone.exists() and any(gone.iterdir())) and time.monotonic() < end:
        time.sleep(0.01)
    gone.rename(tmp_path / "moved")
    before = len(list(first.iterdir()))
    while len(list(first.iterdir())) < before + 2 and time.monotonic() < end:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=SECONDS)
    assert running.returncode == 1 and "Sanitizer" not in errors, errors
    report = json.loads(out)
    (failure,) = report["failures"]
    assert f"{gone}/" in failure and "No such file or directory" in failure
    assert [bool(folder["failure"]) for folder in report["folders"]] == [False, True, False]
    for file in report["files"]:
        file["path"] = file["path"].replace(f"{gone}/", f"{tmp_path}/moved/")
    checked = tool.check(*(file["path"] for file in report["files"]))
    assert sum(file["packets"] for file in checked) == report["packets"] > 0
    numbers = sorted(sum(numbers_of(report["files"], tmp_path), []))
    assert numbers == list(range(report["packets"]))


@pytest.mark.parametrize(
    "names, sentence",
    [
        (["a/", "b/", "../{0}/a/"], "/a/: the folder is named twice"),
        (["a/", "none/b/"], "none/b/: No such file or directory"),
    ],
)
def test_folders_that_cannot_be_have_a_sentence(tool, tmp_path, names, sentence):
    """`lanebox-capture record` with several targets refuses targets that are no folders, and the
    same folder twice. A recording that was refused leaves no folder and no file."""
    targets = [f"{tmp_path}/{name.format(tmp_path.name)}" for name in names]
    report = tool.run("record", "--packets", 1, *targets, status=1)
    assert sentence in report["failures"][0]
    assert list(tmp_path.iterdir()) == []
