# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reads words of the form `name=value`, as command lines and boards' tables have them."""

from __future__ import annotations


def pair(word: str) -> tuple[str, str]:
    """Return the name and the value of the word `name=value`. The value may have further `=`.

    Raises ValueError if the word has no `=` or no name.
    """
    name, equals, value = word.partition("=")
    if not equals or not name:
        raise ValueError(f"{word} is not name=value")
    return name, value
