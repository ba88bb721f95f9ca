# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/guest/folder.py: changes in the guest's copy of a folder come back to the host, and
nothing else on the host changes."""

import io
import os
import tarfile

import pytest

from sim.guest import SetupError, folder, run
from sim.guest.folder import Folder
from sim.guest.initramfs import Initramfs
from sim.test.guest.fake_guest import fake_guest


@pytest.fixture
def own(tmp_path):
    """Make a user's folder on the host. It has two files (one of them a program), a subfolder, a
    link, and the folders that folder.LEFT_OUT names."""
    path = tmp_path / "crc"
    (path / "data").mkdir(parents=True)
    (path / "client.py").write_text("print(1)\n")
    (path / "run.sh").write_text("#!/bin/sh\n")
    (path / "run.sh").chmod(0o755)
    (path / "data" / "table").write_bytes(bytes(range(256)))
    (path / "latest").symlink_to("data/table")
    for left_out in folder.LEFT_OUT:
        (path / left_out).mkdir()
        (path / left_out / "x").touch()
    return path


@pytest.fixture
def inside(own):
    """Put the user's folder into a guest's initramfs; returns the Folder."""
    found = Folder(own)
    found.put(Initramfs())
    return found


def member(name, kind=tarfile.REGTYPE, target="", mode=0o644):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, target, mode
    return info


def everything(path):
    """Return {path below the folder `path`: content of a file, or target of a link}."""
    return {
        str(each.relative_to(path)): os.readlink(each) if each.is_symlink() else each.read_bytes()
        for each in sorted(path.rglob("*"))
        if each.is_symlink() or each.is_file()
    }


def back(inside, tmp_path, *more, without=(), whole=True):
    """Do as if the guest handed its folder over, and copy what changed to the user's folder.

    The guest's archive has the members that went into the guest, without those named in `without`,
    and also the members `more`. Returns the messages for the user.
    """
    archive = tmp_path / "archive.tar"
    with tarfile.open(archive, "w") as tar:
        for name, (kind, *rest) in inside.before.items():
            if name in without:
                continue
            path = inside.path / name
            if kind == "file":
                info, data = member(f"./{name}", mode=rest[0]), path.read_bytes()
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
            elif kind == "link":
                tar.addfile(member(f"./{name}", tarfile.SYMTYPE, rest[0]))
            else:
                tar.addfile(member(f"./{name}", tarfile.DIRTYPE, mode=0o755))
        for info, data in more:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return inside.take_back(archive, whole, tmp_path / "kept.tar")


def test_all_of_it_goes_in_but_for_what_belongs_to_the_host(own):
    """The whole folder goes into the guest, with permissions and links, except the folders of git
    and Python that LEFT_OUT names."""
    root = Initramfs()
    Folder(own).put(root)
    entries = {name: entry for name, entry in root.entries.items() if name.startswith("root/crc/")}
    assert set(entries) == {
        f"root/crc/{name}" for name in ("client.py", "run.sh", "data", "data/table", "latest")
    }
    assert entries["root/crc/run.sh"][0] & 0o777 == 0o755
    assert entries["root/crc/latest"][1] == b"data/table"
    assert root.entries[folder.MARK][1] == b"/root/crc\n"


def test_what_did_not_change_is_not_touched(inside, own, tmp_path):
    """A file that did not change in the guest is not touched on the host, even if it was changed on
    the host in the meantime. The user gets no message."""
    (own / "run.sh").write_text("#!/bin/sh\necho changed here\n")
    before = everything(own)
    unchanged = member("./run.sh", mode=0o755), b"#!/bin/sh\n"
    assert back(inside, tmp_path, unchanged, without=("run.sh",)) == []
    assert everything(own) == before


def test_what_changed_in_the_guest_comes_back(inside, own, tmp_path):
    """Changed and new files and folders, permissions and links of the user's folder come back from
    the guest."""
    said = back(
        inside,
        tmp_path,
        (member("./client.py", mode=0o755), b"print(2)\n"),
        (member("./new", tarfile.DIRTYPE), b""),
        (member("./new/result"), b"42\n"),
        (member("./latest"), b"a file now\n"),
        (member("./short", tarfile.SYMTYPE, "new/result"), b""),
        without=("client.py", "latest"),
    )
    assert said == ["came back changed: client.py, latest, new, new/result, short"]
    assert (own / "client.py").read_text() == "print(2)\n"
    assert (own / "client.py").stat().st_mode & 0o777 == 0o755
    assert (own / "short").read_bytes() == b"42\n"
    assert not (own / "latest").is_symlink()
    assert (own / "data" / "table").read_bytes() == bytes(range(256))


def test_what_changed_on_both_sides_is_kept_twice(inside, own, tmp_path):
    """A file that was changed both in the guest and on the host stays as it is on the host. The
    guest's file is put beside it, under a free name."""
    (own / "client.py").write_text("print('mine')\n")
    (own / "client.py.guest").write_text("of an earlier time\n")
    said = back(inside, tmp_path, (member("./client.py"), b"print(2)\n"), without=("client.py",))
    assert (own / "client.py").read_text() == "print('mine')\n"
    assert (own / "client.py.guest").read_text() == "of an earlier time\n"
    assert (own / "client.py.guest2").read_text() == "print(2)\n"
    (sentence,) = said
    assert "in the guest and here" in sentence and sentence.endswith(": client.py.guest2")


def test_a_file_that_both_sides_made_is_kept_twice(inside, own, tmp_path):
    """A file that was made both in the guest and on the host is kept twice: the guest's file gets a
    name of its own."""
    (own / "result").write_text("mine\n")
    back(inside, tmp_path, (member("./result"), b"the guest's\n"))
    assert (own / "result").read_text() == "mine\n"
    assert (own / "result.guest").read_text() == "the guest's\n"


def test_the_same_change_on_both_sides_is_none(inside, own, tmp_path):
    """If the guest and the host made the same change, the user gets no second file and no
    message."""
    (own / "client.py").write_text("print(2)\n")
    assert (
        back(inside, tmp_path, (member("./client.py"), b"print(2)\n"), without=("client.py",)) == []
    )
    assert not (own / "client.py.guest").exists()


def test_what_was_deleted_in_the_guest_stays_and_is_named(inside, own, tmp_path):
    """A file that was deleted in the guest is kept on the host, and its name is printed. So a slip
    in a guest costs the user no file."""
    said = back(inside, tmp_path, without=("data/table", "client.py"))
    assert said == ["deleted in the guest, kept here: client.py, data/table"]
    assert (own / "client.py").exists()


ESCAPES = {
    "dots": [(member("./../outside"), b"x")],
    "absolute": [(member("{outside}"), b"x")],
    "link up": [(member("./up", tarfile.SYMTYPE, "../outside"), b"")],
    "absolute link": [(member("./up", tarfile.SYMTYPE, "{outside}"), b"")],
    "two links": [
        (member("./far", tarfile.SYMTYPE, "near/../outside"), b""),
        (member("./near", tarfile.SYMTYPE, "."), b""),
    ],
    "through a link": [
        (member("./door", tarfile.SYMTYPE, "data"), b""),
        (member("./door/../../outside"), b"x"),
    ],
    "device": [(member("./null", tarfile.CHRTYPE), b"")],
    "hard link": [(member("./hard", tarfile.LNKTYPE, "../outside"), b"")],
}


@pytest.mark.parametrize("way", ESCAPES)
def test_nothing_leads_out_of_the_folder(inside, own, tmp_path, way):
    """No archive from the guest can write outside the folder. Members that would do so are refused
    by name, and the other members are taken."""
    outside = tmp_path / "outside"
    outside.write_text("the host's\n")
    for info, _ in ESCAPES[way]:
        info.name = info.name.replace("{outside}", str(outside))
        info.linkname = info.linkname.replace("{outside}", str(outside))
    said = back(inside, tmp_path, *ESCAPES[way])
    assert any(sentence.startswith("not taken: ") for sentence in said), said
    assert outside.read_text() == "the host's\n"
    for path in own.rglob("*"):
        assert path.resolve().is_relative_to(own), path
        assert path.is_symlink() or path.is_file() or path.is_dir()


def test_a_link_of_the_user_s_own_is_no_way_out(own, tmp_path):
    """If the guest replaces a link of the user by a folder, the files in that folder are refused.
    They would be written where the user's link leads."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (own / "far").symlink_to(elsewhere)
    inside = Folder(own)
    inside.put(Initramfs())
    said = back(inside, tmp_path, (member("./far/file"), b"x"))
    assert "not taken: far/file lies behind the symbolic link far" in said
    assert not list(elsewhere.iterdir())


def test_a_link_that_is_replaced_is_not_followed(own, tmp_path):
    """A file that replaces a link in the guest replaces the link on the host, and does not
    overwrite the link's target."""
    target = tmp_path / "target"
    target.write_text("the host's\n")
    (own / "far").symlink_to(target)
    inside = Folder(own)
    inside.put(Initramfs())
    back(inside, tmp_path, (member("./far"), b"the guest's\n"), without=("far",))
    assert target.read_text() == "the host's\n"
    assert (own / "far").read_text() == "the guest's\n"


def test_a_guest_that_was_cut_off_changes_nothing(inside, own, tmp_path):
    """If the guest was cut off (Ctrl-A X, a full disk), its half archive changes nothing on the
    host."""
    before = everything(own)
    said = back(inside, tmp_path, (member("./client.py"), b"half"), whole=False)
    assert len(said) == 1 and "nothing came back" in said[0]
    assert everything(own) == before


def test_who_leaves_at_once_hears_that_nothing_came_back(own, tmp_path, monkeypatch):
    """After Ctrl-A X in `make shell`, QEMU ends with status 0, and the user is told that nothing
    came back."""
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")
    before = everything(own)
    result = run.run_guest(
        None, guest=fake_guest(tmp_path, "exit 0"), folder=Folder(own), interactive=True
    )
    assert result.rc == 0
    (sentence,) = result.folder
    assert "nothing came back" in sentence
    assert everything(own) == before


def test_what_cannot_be_written_is_kept_elsewhere(inside, own, tmp_path, monkeypatch):
    """If the host's disk is full, the user is told which file was not written, and where the whole
    archive is kept."""

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder.tempfile, "TemporaryDirectory", full)
    said = back(inside, tmp_path, (member("./client.py"), b"print(2)\n"), without=("client.py",))
    assert any("client.py could not be written here: No space left" in each for each in said)
    assert any(str(tmp_path / "kept.tar") in each for each in said)
    with tarfile.open(tmp_path / "kept.tar") as tar:
        assert tar.extractfile("./client.py").read() == b"print(2)\n"


def test_what_cannot_go_in_is_refused(own, tmp_path, monkeypatch):
    """A user's folder that does not exist, or that is larger than a guest can hold, is refused."""
    with pytest.raises(SetupError, match="no such folder"):
        Folder(tmp_path / "nowhere")
    monkeypatch.setattr(folder, "MOST", 0)
    with pytest.raises(SetupError, match="more than 0 MiB.*another folder"):
        Folder(own).put(Initramfs())
