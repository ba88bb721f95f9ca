# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of text/words.cpp, which reads the numbers and lines that a user writes for the board."""

import subprocess

import pytest

from sim.board.build import BOARD

PROGRAM = r"""
#include <cstdio>
#include <stdexcept>

#include "text/words.hpp"

using lanebox::each_line;

// words FILE: the lines of the file. Otherwise for each argument: whole number, fraction, parts.
int main(int argc, char **argv) {
    try {
        if (argc == 3 && std::string(argv[1]) == "--lines") {
            each_line(argv[2], "list", [](const std::vector<std::string> &words) {
                if (words[0] == "bad") throw std::invalid_argument("no bad words");
                printf("%zu %s\n", words.size(), words[0].c_str());
            });
            return 0;
        }
        for (int i = 1; i < argc; i++) {
            auto whole = lanebox::number(argv[i]);
            auto fraction = lanebox::fraction(argv[i]);
            printf("%s %s %zu\n", whole ? std::to_string(*whole).c_str() : "-",
                   fraction ? std::to_string(*fraction).c_str() : "-",
                   lanebox::parts_of(argv[i]).size());
        }
    } catch (const std::invalid_argument &error) {
        printf("error: %s\n", error.what());
    }
}
"""


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """Compile the program once. Return a function that runs it and returns its output's lines."""
    folder = tmp_path_factory.mktemp("words")
    (folder / "main.cpp").write_text(PROGRAM)
    sources = [folder / "main.cpp", BOARD / "text" / "words.cpp"]
    command = ["g++", "-std=c++17", f"-I{BOARD}", "-o", folder / "words", *sources]
    subprocess.run(command, check=True)

    def run(*arguments):
        done = subprocess.run([folder / "words", *arguments], capture_output=True, text=True)
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize(
    "text, value",
    [
        ("0", "0"),
        ("010", "10"),
        ("0x1F", "31"),
        ("18446744073709551615", "18446744073709551615"),
        *((bad, "-") for bad in ("", "0x", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1g", "one")),
        ("18446744073709551616", "-"),
    ],
)
def test_a_whole_number_is_digits_alone(words, text, value):
    """A whole number is decimal, or hexadecimal after 0x, and fits into 64 bits. All else is
    refused: signs, spaces, points, and digits of another base.
    """
    assert words(text)[0].split()[0] == value


@pytest.mark.parametrize(
    "text, value",
    [
        ("0", "0.000000"),
        ("2.5", "2.500000"),
        ("1e-3", "0.001000"),
        *((bad, "-") for bad in ("", "-1", "nan", "inf", "1.2.3", "1 ", "1%")),
    ],
)
def test_a_fraction_is_a_finite_number_from_0_on(words, text, value):
    """A fraction is written with digits, a point and an exponent, and is neither negative, infinite
    nor undefined.
    """
    assert words(text)[0].split()[1] == value


@pytest.mark.parametrize("text, parts", [("", 1), ("a", 1), ("a:b", 2), ("a:", 2), (":a:", 3)])
def test_a_colon_ends_a_part(words, text, parts):
    """The board splits a text with n colons into n + 1 parts, of which some may be empty."""
    assert words(text)[0].split()[2] == str(parts)


def test_lines_are_words_without_comments(words, tmp_path):
    """Each line is given as its words, without what follows a #. Lines without a word are left
    out.
    """
    path = tmp_path / "list"
    path.write_text("one two # three\n\n  # nothing\n\tfour\n")
    assert words("--lines", path) == ["2 one", "1 four"]


def test_an_error_names_the_file_and_the_line(words, tmp_path):
    """If a line is refused, the error begins with the file's path and the line's number. Lines that
    are left out count, too.
    """
    path = tmp_path / "list"
    path.write_text("one\n\nbad line\n")
    assert words("--lines", path) == ["1 one", f"error: {path} line 3: no bad words"]


def test_a_file_that_is_not_there_is_named(words, tmp_path):
    """The error names the file that cannot be read, and what it should hold."""
    path = tmp_path / "none"
    assert words("--lines", path) == [f"error: cannot read the list {path}"]
