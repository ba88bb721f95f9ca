# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of tools/fresh_root.py: the settings of a fresh Debian root, and that no trace stays.

.ci/run tests whole roots: it runs every test in one. In this module a root is a folder with this
machine's /usr in it.
"""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sim.guest import SetupError
from tools import fresh_root
from tools.prepare import PrepareError
from tools.progress import StepError

ROOT = Path(__file__).resolve().parents[2]
FRONT = ROOT / "tools" / "fresh_root.sh"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture
def machine(monkeypatch):
    """Pretend that this machine is a Debian 12. Return the mirrors that its apt's settings name."""
    monkeypatch.delenv("DEBIAN_MIRROR", raising=False)
    monkeypatch.delenv("DEBIAN_SUITE", raising=False)
    pairs = [
        ("http://m.example/debian", "bookworm"),
        ("http://m.example/debian", "bookworm-updates"),
        ("http://m.example/debian-security", "bookworm-security"),
    ]
    monkeypatch.setattr(fresh_root.mirror, "configured", lambda: pairs)
    release = {"ID": "debian", "VERSION_CODENAME": "bookworm"}
    monkeypatch.setattr(fresh_root.mirror, "os_release", lambda: release)
    return pairs


def test_the_archive_is_the_machines_own(machine):
    """The root uses this machine's mirrors, also for updates and security, with the suites of its
    own release.
    """
    assert fresh_root.archive("12") == machine
    assert fresh_root.archive("13") == [
        (url, name.replace("bookworm", "trixie")) for url, name in machine
    ]


def test_a_named_mirror_overrides(machine, monkeypatch):
    """With DEBIAN_MIRROR the root uses only that mirror, also on a machine that is not Debian."""
    monkeypatch.setenv("DEBIAN_MIRROR", "http://near.example/debian/")
    assert fresh_root.archive("13") == [("http://near.example/debian", "trixie")]


def test_apt_learns_how_the_archive_is_reached_and_no_more():
    """apt in the root gets this machine's date checks and proxies, and those of the environment."""
    dump = 'Acquire::Check-Date "false";\nAPT::Sandbox "x";\nAcquire::https::Proxy "http://p:1";\n'
    environment = {"http_proxy": "http://q:2", "https_proxy": "http://q:2"}
    assert fresh_root.apt_settings(dump, environment).splitlines() == [
        'Acquire::Check-Date "false";',
        'Acquire::https::Proxy "http://p:1";',
        'Acquire::http::Proxy "http://q:2";',
    ]


def test_of_the_environment_only_package_clients_settings_are_kept(tmp_path):
    """Of the caller's environment the root gets the settings of package clients only, without those
    that name a file that the root lacks.
    """
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "ca.crt").touch()
    given = {
        "https_proxy": "http://p:1",
        "NO_PROXY": "localhost",
        "PIP_INDEX_URL": "http://i/simple",
        "PIP_CERT": "/etc/ca.crt",
        "SSL_CERT_FILE": "/opt/own.crt",
        "PIP_FIND_LINKS": "/opt/wheels",
        "HOME": "/root",
        "LANEBOX_SEED": "1",
        "PYTHONPATH": "/x",
        "MAKEFLAGS": "-j",
    }
    kept = fresh_root.client_environment(given, tmp_path)
    assert kept.keys() == {"https_proxy", "NO_PROXY", "PIP_INDEX_URL", "PIP_CERT"}


def test_a_folder_of_somebody_elses_is_left_alone(tmp_path):
    """A folder that fresh_root.py has not made is not removed, and not used as a root."""
    (tmp_path / "thesis.tex").touch()
    fresh_root.remove(tmp_path)
    with pytest.raises(fresh_root.RootError, match="not empty"):
        fresh_root.make_folder(tmp_path)
    assert (tmp_path / "thesis.tex").exists()


@pytest.fixture(autouse=True)
def signals():
    """Restore signal handlers after a test: the tested program changes those of pytest."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("run", StepError("debootstrap: Debian 12: exit status 1")),
        ("archive", SetupError("apt on this machine has no mirror of Debian's bookworm")),
        ("meet", PrepareError("this machine's apt has no package for: debootstrap")),
    ],
)
def test_where_no_root_can_be_made_the_reason_is_said(
    machine, monkeypatch, tmp_path, capsys, step, problem
):
    """If fresh_root.py cannot make the root, its status is 1, it prints the reason, and no folder
    stays.
    """

    def fail(*arguments, **options):
        raise problem

    monkeypatch.setattr(fresh_root.os, "geteuid", lambda: 0)
    monkeypatch.setattr(fresh_root, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(fresh_root.prepare, "meet", lambda groups: None)
    monkeypatch.setattr(fresh_root.prepare if step == "meet" else fresh_root, step, fail)
    assert fresh_root.main(["--in", str(tmp_path / "root"), "12", "true"]) == 1
    assert f"error: no fresh root: {problem}" in capsys.readouterr().err
    assert not (tmp_path / "root").exists()


def test_the_folder_for_roots_is_the_callers(monkeypatch, tmp_path):
    """The caller makes the folder before sudo runs, so that build/ is not owned by root."""
    monkeypatch.setattr(fresh_root.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(fresh_root, "KEPT", tmp_path / "build" / "fresh")
    monkeypatch.setattr(fresh_root, "as_root", lambda argv: 0 if fresh_root.KEPT.is_dir() else 1)
    assert fresh_root.main(["13", "true"]) == 0


def test_without_root_or_sudo_the_reason_is_said(monkeypatch, capsys):
    """Without root's rights and without sudo fresh_root.py ends with status 1, and stderr has the
    reason.

    No traceback is printed.
    """
    monkeypatch.setattr(fresh_root.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(fresh_root.prepare, "privilege", lambda: None)
    assert fresh_root.main(["13", "true"]) == 1
    assert "root's rights" in capsys.readouterr().err


def test_under_sudo_it_has_its_settings_and_hears_ctrl_c(monkeypatch, tmp_path, capfd):
    """Under sudo fresh_root.py has the caller's home and client settings, and Ctrl-C ends it."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, sys\n"
        "heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        "print(heard, os.environ.get('PIP_CERT'), os.environ.get('TOKEN'), sys.argv[1:])\n"
        "sys.exit(9)\n"
    )
    monkeypatch.setattr(fresh_root, "__file__", str(script))
    monkeypatch.setattr(fresh_root.prepare, "privilege", lambda: ["env", "-i"])
    monkeypatch.setenv("PIP_CERT", "/etc/ca.crt")
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.setenv("HOME", "/home/me")
    assert fresh_root.as_root(["13", "true"]) == 9
    expected = "True /etc/ca.crt None ['--home=/home/me', '13', 'true']\n"
    assert capfd.readouterr().out == expected


@pytest.mark.parametrize(("commits", "release"), [(1, "13"), (2, "12"), (3, "13")])
def test_ci_takes_either_release_by_the_number_of_commits(tmp_path, commits, release):
    """With an odd number of commits CI tests Debian 13, with an even number Debian 12.

    The status of .ci/run is that of the tests.
    """
    for folder, name in ((".ci", "run"), ("tools", "fresh_root.sh")):
        (tmp_path / folder).mkdir()
        shutil.copy(ROOT / folder / name, tmp_path / folder)
    (tmp_path / "tools" / "fresh_root.sh").write_text('#!/bin/sh\necho "$@"\nexit 3\n')
    git = ["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b.example"]
    subprocess.run([*git, "init", "-q"], check=True)
    for _ in range(commits):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    done = subprocess.run([tmp_path / ".ci" / "run"], capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stdout.split()[0] == release and ".ci/as_a_reader" in done.stdout


@pytest.mark.parametrize("line", [["11", "true"], ["13"], []])
def test_a_wrong_command_line_is_a_usage_error(line):
    """A wrong command line of fresh_root.py ends with status 2 and a usage.

    The text of --help has examples and --keep.
    """
    done = subprocess.run([FRONT, *line], capture_output=True, text=True)
    assert done.returncode == 2 and "usage: tools/fresh_root.sh" in done.stderr
    text = subprocess.run([FRONT, "--help"], capture_output=True, text=True, check=True).stdout
    assert "tools/fresh_root.sh 13 make test" in text and "--keep" in text


# In namespaces ------------------------------------------------------------------------------------

CODE = """
import os, signal, sys
sys.path.insert(0, {repository!r})
from tools import fresh_root
open({pid!r}, "w").write(str(os.getpid()))
signal.signal(signal.SIGTERM, fresh_root.interrupt)
mounted = "mount --bind /usr {root}/usr; exec {enter} {root} bash -c \\"$1\\""
sys.exit(fresh_root.call([*fresh_root.NAMESPACES, "bash", "-ec", mounted, "test", {command!r}]))
"""


class Root:
    """A root folder that has only this machine's programs. Entering it needs root's rights."""

    def __init__(self, folder):
        self.folder, self.pid = folder / "root", folder / "pid"
        for name in ("proc", "sys", "dev", "run", "mnt", "tmp", "usr"):
            (self.folder / name).mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (self.folder / name).symlink_to(f"usr/{name}")
        self.prefix = fresh_root.prepare.privilege()
        if self.prefix is None:
            pytest.skip("needs root's rights")

    def start(self, command):
        code = CODE.format(
            repository=str(ROOT),
            pid=str(self.pid),
            enter=fresh_root.ENTER,
            root=self.folder,
            command=command,
        )
        line = [*self.prefix, sys.executable, "-c", code]
        return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, command):
        process = self.start(command)
        output, errors = process.communicate(timeout=30)
        return process.returncode, output, errors

    def kill(self, number):
        # A small Debian has `kill` only as a builtin of the shell.
        line = f"kill -{number} {self.pid.read_text()}"
        subprocess.run([*self.prefix, "sh", "-c", line], check=True)


@pytest.fixture
def root(tmp_path):
    return Root(tmp_path)


def running(word):
    """Return whether a process has this word in its command line."""
    lines = Path("/proc").glob("[0-9]*/cmdline")
    for line in lines:
        try:
            if word.encode() in line.read_bytes().split(b"\0"):
                return True
        except OSError:  # The process has ended since its folder in /proc was listed.
            continue
    return False


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(("command", "status"), [("exit 7", 7), ("true", 0), ("kill -9 $$", 137)])
def test_the_status_is_the_commands(root, command, status):
    """The exit status of fresh_root.py is that of the command in the root.

    It is 128 plus the number of the signal if the command was killed, as in a shell.
    """
    assert root.run(command)[0] == status


def test_the_machine_is_not_seen(root):
    """In the root no file, mount or process of the machine can be seen.

    It has devices and terminals.
    """
    status, output, errors = root.run(
        "ls / | xargs; ls /proc | grep -c ^[0-9]; mount | grep -c /mnt;"
        "echo lost >/dev/null; head -c 1 /dev/urandom | wc -c; script -qc 'echo pty' /dev/null"
    )
    names, processes, machine, one, pty = output.split("\n")[:5]
    assert names == "bin dev lib lib64 mnt proc run sbin sys tmp usr", errors
    assert int(processes) < 10 and (machine, one, pty.strip()) == ("0", "1", "pty")


def test_mounts_and_processes_end_with_the_command(root):
    """When the command in the root ends, a daemon that it has left ends, too, and all mounts go."""
    before = Path("/proc/mounts").read_text()
    seconds = f"4{time.time_ns() % 10**9}"
    status, _, _ = root.run(f"setsid sleep {seconds} >/dev/null 2>&1 & ")
    assert status == 0 and not running(seconds)
    assert Path("/proc/mounts").read_text() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_command_leaves_nothing(root, number):
    """After SIGINT, SIGTERM or SIGKILL to fresh_root.py, no process and no mount of the root is
    left.
    """
    before = Path("/proc/mounts").read_text()
    seconds = f"4{time.time_ns() % 10**9}"
    process = root.start(f"trap '' INT TERM; setsid sleep {seconds} & sleep {seconds}")
    wait_for(lambda: running(seconds))
    root.kill(int(number))
    process.communicate(timeout=20)
    assert process.returncode != 0
    wait_for(lambda: not running(seconds))
    assert Path("/proc/mounts").read_text() == before
