# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The board as a process: its options and their errors, its sockets, the signals that end it, its
exit status, and its control socket."""

import json
import signal
import socket
import stat
import time

import pytest

from sim.board.process import BoardFailed
from sim.test.board.board_process import run_board

OK, FAILED, USAGE = 0, 1, 2
# seconds after which the board disconnects a control client that takes no answers
CUT_OFF_SECONDS = 5


@pytest.fixture
def path(tmp_path_factory):
    """Return a path for the board's socket that is short enough for the kernel, however long the
    test's name is."""
    directory = tmp_path_factory.mktemp("s")
    return directory / "b.sock"


# The board's options ---------------------------------------------------------------------------


def test_help_lists_every_option(executable):
    """With --help the board ends with status 0 and lists its options on stdout."""
    status, out, err = run_board(executable, "--help")
    assert (status, err) == (OK, "")
    for option in (
        "socket",
        "control",
        "mps",
        "read-latency",
        "mmio-rtt",
        "rules",
        "fault",
        "once",
    ):
        assert f"--{option} " in out


@pytest.mark.parametrize(
    "options,value,rule",
    [
        (["--mps", "64"], "--mps 64", "128, 256, 512"),
        (["--mps", "1024"], "--mps 1024", "128, 256, 512"),
        (["--mps", "256x"], "--mps 256x", "128, 256, 512"),
        (["--mrrs", "0"], "--mrrs 0", "128, 256, 512, 1024, 2048, 4096"),
        (["--rcb", "32"], "--rcb 32", "64, 128"),
        (["--completion-size", "32"], "--completion-size 32", "0, 64, 128, 256, 512"),
        (["--read-latency", "-1"], "--read-latency -1", "from 0 to 1000000000"),
        (["--read-latency", "1e3"], "--read-latency 1e3", "must be a number"),
        (["--mmio-rtt", "99999999999"], "--mmio-rtt 99999999999", "from 0 to 1000000000"),
        (["--np-credits", "0"], "--np-credits 0", "from 1 to 32"),
        (["--np-credits", "33"], "--np-credits 33", "from 1 to 32"),
        (["--seed", ""], "--seed ", "must be a number"),
        (["--seed", "99999999999999999999"], "--seed 99999999999999999999", "must be a number"),
        (["--stall", "100"], "--stall 100", "from 0 to 99"),
        (["--rules", "strict"], "--rules strict", "fatal, warn, off"),
        (["--fault", "rust"], "'rust'", "there are flip-c2h"),
        (["--fault", "ur:0"], "'ur:0'", "1 or more"),
        (["--bogus"], "--bogus", "no such option"),
        (["-x"], "-x", "no such option"),
        (["--mps"], "--mps", "its value is missing"),
        (["stray"], "stray", "unexpected argument"),
    ],
)
def test_a_bad_option_is_named_with_its_rule(executable, path, options, value, rule):
    """A bad option ends the board with status 2. Its error is one line that has the option, its
    value and the rule that it broke. No socket file is left."""
    status, out, err = run_board(executable, "--socket", path, *options)
    assert (status, out) == (USAGE, "")
    assert value in err and rule in err and len(err.splitlines()) == 1, err
    assert not path.exists()


def test_the_socket_is_required(executable):
    """Without --socket the board ends with status 2, and its error names the option."""
    status, _, err = run_board(executable)
    assert status == USAGE and "--socket PATH is required" in err


@pytest.mark.parametrize("option", ["--waves", "--tlp-log"])
def test_a_file_that_cannot_be_written(executable, path, option):
    """If the TLP log or the wave file cannot be created, the board ends with status 1 and an error
    that has the path."""
    status, _, err = run_board(executable, "--socket", path, option, "/nonexistent/file")
    assert status == FAILED and not path.exists()
    assert "/nonexistent/file" in err or "built without waves" in err


def test_statistics_that_cannot_be_written(executable, path):
    """If the file of --stats cannot be created, the board ends at its start, and not only after the
    run."""
    status, _, err = run_board(executable, "--socket", path, "--stats", "/nonexistent/file")
    assert status == FAILED and "/nonexistent/file" in err


# The board's sockets ---------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--socket", "--control"])
def test_a_socket_path_that_is_too_long(executable, path, option):
    """A socket path of more than 107 characters, the kernel's limit, is refused. The error has the
    limit and the path's length."""
    long = "/tmp/" + "x" * 103
    others = [] if option == "--socket" else ["--socket", path]
    status, _, err = run_board(executable, option, long, *others)
    assert status == FAILED and "has 108 characters" in err and "at most 107" in err
    assert not path.exists()


def test_a_path_of_107_characters_works(executable, tmp_path_factory):
    """The board accepts a socket path of 107 characters, the longest that the kernel takes."""
    directory = tmp_path_factory.mktemp("s")
    path = directory / ("x" * (107 - len(str(directory)) - 1))
    status, _, err = run_board(executable, "--socket", path, "--waves", "/nonexistent/file")
    assert status == FAILED and "characters" not in err


def test_sockets_are_the_users_own(start_board):
    """The board's vfio-user and control sockets have mode 0600, so that only their user can
    connect. The board removes them when it ends."""
    with start_board() as board:
        for path in (board.socket, board.control):
            status = path.stat()
            assert stat.S_ISSOCK(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o600
        paths = board.socket, board.control
    assert not any(path.exists() for path in paths)


@pytest.mark.parametrize("options", [[], ["--once"]])
def test_a_path_in_use_by_a_live_board(start_board, executable, options):
    """A second board with the socket path of a running board is refused, and the running board is
    not disturbed."""
    with start_board(*options) as board:
        status, _, err = run_board(executable, "--socket", board.socket)
        assert status == FAILED and f"another board already listens on {board.socket}" in err
        assert board.card().read("ctrl_scratch") == 0x12345678
        status, _, err = run_board(executable, "--socket", board.socket)
        assert status == FAILED


def test_a_socket_that_was_left_behind_is_replaced(executable, path):
    """If a killed board has left its socket file behind, a new board replaces the file."""
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    assert path.exists()
    status, _, err = run_board(executable, "--socket", path, "--control", "/tmp/" + "x" * 200)
    assert "205 characters" in err, "the first socket must work, so that the second one fails"
    assert not path.exists()


def test_a_file_in_the_way_is_not_removed(executable, path):
    """If a regular file has the socket's path, the board ends with an error and leaves the file as
    it is."""
    path.write_text("precious")
    status, _, err = run_board(executable, "--socket", path)
    assert status == FAILED and f"{path} exists and is no socket" in err
    assert path.read_text() == "precious"


def test_a_directory_that_does_not_exist(executable):
    """A socket path in a directory that does not exist is an error with the path and the kernel's
    reason."""
    status, _, err = run_board(executable, "--socket", "/nonexistent/b.sock")
    assert status == FAILED and "/nonexistent/b.sock: No such file or directory" in err


# The end of the board's process ----------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_ends_the_board(start_board, number, busy, tmp_path):
    """SIGINT, SIGTERM and SIGHUP end the board with status 0, whether it is idle or in DMA. The
    board writes its statistics and removes its sockets."""
    stats = tmp_path / "stats.json"
    with start_board("--stats", stats) as board:
        card = board.card()
        card.memory(1 << 32, 1 << 20)
        if busy:
            card.write("pattern_control", 1)
            card.program("c2h", [(1 << 32, 1 << 20)] * 256)
            card.start("c2h")
            card.read("ctrl_scratch")
        board.process.send_signal(number)
        assert board.wait() == OK
        assert not board.socket.exists() and not board.control.exists()
    assert json.loads(stats.read_text())["mps"] == 256


def test_quit_ends_the_board(start_board):
    """The control command `quit` ends the board with status 0, as a signal does."""
    with start_board() as board:
        board.command("quit")
        assert board.wait() == OK


def test_once_ends_with_its_client(start_board):
    """With --once the board ends when its first client disconnects."""
    with start_board("--once") as board:
        card = board.card()
        assert card.read("ctrl_scratch") == 0x12345678
        card.close()
        board._clients.remove(card)
        assert board.wait() == OK


# The board's control socket --------------------------------------------------------------------


def test_statistics_have_every_count(start_board):
    """The control command `stats` returns all counts from which the rows of results are
    computed."""
    with start_board("--seed", 9) as board:
        board.card().read("ctrl_scratch")
        stats = board.stats()
        assert stats["seed"] == 9 and stats["mmio_reads"] == 1 and stats["violations"] == {}
        assert stats["cycles"] > 0 and stats["cpu_seconds"] > 0
        for stream in ("cq", "cc", "rq", "rc"):
            assert set(stats[stream]) == {"tlps", "beats", "payload_bytes", "stalls"}
        for count in (
            "msi",
            "msi_lost",
            "mmio_errors",
            "completion_timeouts",
            "unmapped",
            "faults",
        ):
            assert stats[count] == 0


@pytest.mark.parametrize(
    "line,words",
    [
        ("nonsense", "command 'nonsense': there are stats, clear, set, fault, quit, peer, write"),
        ("", "command ''"),
        ("set", "there are completion-size, read-latency, mmio-rtt, stall, pace"),
        ("set mps 128", "there are completion-size"),
        ("set stall", "must be a number"),
        ("set stall 100", "from 0 to 99"),
        ("set stall many", "must be a number"),
        ("set completion-size 3", "must be one of 0, 64, 128, 256, 512"),
        ("set read-latency -5", "must be a number"),
        ("set mmio-rtt 1e9", "must be a number"),
        ('se"t\\', "there are stats"),
        ("at", "must be at CYCLE write|mark|peer|pause"),
        ("at soon mark", "must be at CYCLE write|mark|peer|pause"),
        ("at 100000000 quit", "must be at CYCLE write|mark|peer|pause"),
        ("pause", "must be pause NS, a number from 1 to 1000000"),
        ("pause 1000001", "must be pause NS, a number from 1 to 1000000"),
        ("step", "must be step CYCLES, a number up to 100000"),
        ("step 100001", "must be step CYCLES, a number up to 100000"),
        ("at 0 mark", "cycle 0 is not ahead"),
        ("write", "must be write OFFSET VALUE"),
        ("write 0x20000 0", "a dword of BAR0"),
        ("write 2 0", "a dword of BAR0"),
        ("write 0 0x100000000", "a dword of BAR0"),
    ],
)
def test_a_bad_command_is_answered_with_its_rule(start_board, line, words):
    """The board answers a bad control command by JSON with an error that says what is allowed. The
    card works as before."""
    with start_board() as board:
        with pytest.raises(BoardFailed) as refusal:
            board.command(line)
        assert words in str(refusal.value)
        assert board.card().read("ctrl_scratch") == 0x12345678


def test_commands_may_come_in_pieces_and_in_packs(start_board):
    """Commands on the control socket are separated by newlines only. They may arrive in pieces or
    several at once."""
    with start_board() as board:
        for piece in ("sta", "ts\nsta", "ts\nstats\n"):
            board._channel.sendall(piece.encode())
        for _ in range(3):
            assert "cycles" in json.loads(board._lines.readline())


def hang_up(board):
    board._channel.close()
    board._lines.close()


def connect(board):
    """Connect a new client to the board's control socket, in place of the one that BoardProcess has
    connected."""
    board._channel = socket.socket(socket.AF_UNIX)
    board._channel.settimeout(5)
    board._channel.connect(str(board.control))
    board._lines = board._channel.makefile("rw")


def test_the_next_control_client_is_served(start_board):
    """After a client of the control socket has disconnected, the board serves the next one."""
    with start_board() as board:
        board.command("set stall 5")
        hang_up(board)
        connect(board)
        assert "cycles" in board.stats()


def test_a_control_client_that_takes_no_answers(start_board):
    """The board disconnects a control client that does not read its answers for a few seconds. The
    card's client is served on."""
    with start_board() as board:
        card = board.card()
        board._channel.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                board._channel.send(b"stats\n" * 600)
        card.client.socket.settimeout(2 * CUT_OFF_SECONDS)
        assert card.read("ctrl_scratch") == 0x12345678
        hang_up(board)
        connect(board)


def test_a_control_line_without_end(start_board):
    """The board disconnects a control client that sends more than 64 KiB without a newline, and
    serves the next one."""
    with start_board() as board, socket.socket(socket.AF_UNIX) as client:
        hang_up(board)
        client.settimeout(5)
        client.connect(str(board.control))
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            for _ in range(100):
                client.sendall(b"x" * 4096)
        connect(board)
        assert "cycles" in board.stats()


def test_control_answers_while_dma_runs(start_board):
    """The board answers the control commands `stats` and `set` while DMA runs."""
    with start_board() as board:
        card = board.card()
        card.memory(1 << 32, 1 << 20)
        card.write("pattern_control", 1)
        card.program("c2h", [(1 << 32, 1 << 20)] * 100)
        card.start("c2h")
        card.read("ctrl_scratch")
        seen = [board.set("stall", percent)["rq"]["tlps"] for percent in (10, 50, 0)]
        assert seen == sorted(set(seen)), "DMA must go on between the commands"
        card.stop()


@pytest.mark.parametrize("pace", [100_000, 1_000_000])
def test_pace_holds_the_board_back(start_board, pace):
    """With --pace the board simulates at most that many cycles of device time in a second of wall
    time. DMA still makes progress."""
    with start_board("--pace", pace) as board:
        card = board.card()
        card.memory(1 << 32, 1 << 20)
        card.write("pattern_control", 1)
        card.program("c2h", [(1 << 32, 1 << 20)] * 100)
        card.start("c2h")
        card.read("ctrl_scratch")
        start, first = time.monotonic(), board.stats()["cycles"]
        time.sleep(0.3)
        cycles = board.stats()["cycles"] - first
        assert 0 < cycles < pace * 4 / 3 * (time.monotonic() - start)


def test_the_executable_runs_from_any_directory(start_board, tmp_path, monkeypatch):
    """The board's program finds its memory images from any working directory. Relative paths in its
    options are relative to the working directory."""
    monkeypatch.chdir(tmp_path)
    with start_board("--stats", "here.json") as board:
        assert board.card().read("ctrl_scratch") == 0x12345678
    assert json.loads((tmp_path / "here.json").read_text())["mmio_reads"] == 1
