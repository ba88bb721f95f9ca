# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of tools/words.py, which reads words of the form name=value."""

import pytest

from tools.words import pair


@pytest.mark.parametrize(
    "word, read", [("a=b", ("a", "b")), ("a=b=c", ("a", "b=c")), ("a=", ("a", ""))]
)
def test_a_word_ends_its_name_at_the_first_equals_sign(word, read):
    """In a word name=value the name ends at the first `=`. The value is the whole rest, and may be
    empty.
    """
    assert pair(word) == read


@pytest.mark.parametrize("word", ["name", "=value", ""])
def test_another_word_is_refused_by_name(word):
    """A word without `=`, or without a name before it, is refused. The message has the word."""
    with pytest.raises(ValueError, match=f"^{word} is not name=value$"):
        pair(word)
