# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Finds the line of a mistake in a user's own Python, as FILE:LINE, and proposes the right name if
one is misspelt.

A traceback ends in Migen or LiteX, whose files the user has never opened. The useful line is the
traceback's last one in the user's own folder."""

import builtins
import inspect
import re
import traceback
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from litex.soc.interconnect import stream

from gateware.vocabulary.layouts import stream_layout

ROOT    = Path(__file__).resolve().parents[2]
LANEBOX = (ROOT/"gateware", ROOT/"tools")

def _line(occupant_class, *patterns):
    """Returns FILE:LINE of the first line of the class that matches the first pattern, or else the
    next one. If none matches any, it is the line where the class begins."""
    try:
        file         = inspect.getsourcefile(occupant_class)
        lines, first = inspect.getsourcelines(occupant_class)
    # The class was made at run time by a program, so it has no source file.
    except (OSError, TypeError):
        return occupant_class.__module__
    for pattern in patterns:
        for number, line in enumerate(lines):
            if re.search(pattern, line):
                return f"{file}:{first + number}"
    return f"{file}:{first}"

def place(occupant_class, attribute=None):
    """Returns FILE:LINE where the class sets `self.ATTRIBUTE`, or where the class begins."""
    given = [rf"\bself\.{attribute}\b[^=\n]*=(?!=)"] if attribute else []
    return _line(occupant_class, *given)

def place_of_assignment(occupant_class, target, source):
    """Returns FILE:LINE of `TARGET.eq(SOURCE)` in the class. If no line has that, it is the line of
    another assignment to the target, or else the line where the class begins."""
    target, source = (re.escape(name.removeprefix("self.")) for name in (target, source))
    return _line(occupant_class, rf"\b{target}\.eq\(.*\b{source}\b", rf"\b{target}\.eq\(")

def nearest(name, names):
    """Returns a question that proposes the one of `names` that is nearest to `name`; empty if none
    is near.

    `name` itself is never proposed, since `names` may come from another object that has it."""
    found = get_close_matches(str(name), [each for each in names if each != name], n=1)
    return f" Did you mean `{found[0]}`?" if found else ""

def _stream_of(record, frames):
    """Returns the stream with `record` that is a local variable of a stack frame, or None."""
    values = [value for frame in frames for value in frame.f_locals.values()]
    values = [each for value in values for each in (value if type(value) is tuple else [value])]
    for each in values:
        if isinstance(each, stream.Endpoint) and (each.payload is record or each.param is record):
            return each
    return None

def _stream_fields(name, endpoint):
    """Returns a sentence that proposes a stream's field for the unknown `name`, and lists all."""
    layout = endpoint.description
    fields = ["valid", "ready", "first", "last"]
    fields += [field[0] for field in layout.payload_layout + layout.param_layout]
    whole  = [field[0] for field in stream_layout().payload_layout]
    more   = f"; one of stream_layout() has `{name}`, too" if name in whole else ""
    return (f"{nearest(name, [*fields, *dir(endpoint)])} This stream has the fields "
        f"{', '.join(fields)}{more}.")

def _names_inside(error, frames):
    """Returns names of attributes, and of theirs, of the error's object and each frame's `self`."""
    names, owners = [], [getattr(error, "obj", None)]
    owners += [frame.f_locals["self"] for frame in frames if "self" in frame.f_locals]
    for owner in owners:
        names += dir(owner)
        for value in getattr(owner, "__dict__", {}).values():
            names += getattr(value, "__dict__", {})
    return names

def _question(error, frame, below):
    """Returns a question that proposes a known name for the unknown one in `error`; empty if none
    is near. Errors carry the unknown name only since Python 3.10, so before that it is always
    empty."""
    name = getattr(error, "name", None)
    if name and isinstance(error, NameError):
        return nearest(name, [*frame.f_locals, *frame.f_globals, *dir(builtins)])
    if name and isinstance(error, AttributeError):
        endpoint = _stream_of(error.obj, below)
        if endpoint is not None:
            return _stream_fields(name, endpoint)
        return nearest(name, _names_inside(error, below))
    return ""

@contextmanager
def located(folder):
    """Turns an error in the Python files of `folder` into a ValueError that names file and line.

    An error that Lanebox itself raises already says what is wrong, so it passes unchanged."""
    try:
        yield
    except SyntaxError as error:
        raise ValueError(f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}\n"
            f"    {(error.text or '').strip()}") from error
    except Exception as error:
        frames = list(traceback.walk_tb(error.__traceback__))
        files  = [Path(frame.f_code.co_filename).resolve() for frame, _ in frames]
        mine   = [n for n, file in enumerate(files) if file.parent == Path(folder).resolve()]
        if not mine or any(map(files[-1].is_relative_to, LANEBOX)) and files[-1] != files[mine[-1]]:
            raise
        frame, line = frames[mine[-1]]
        below = [each for each, _ in frames[mine[-1] + 1:]]
        text = Path(files[mine[-1]]).read_text().splitlines()[line - 1].strip()
        raise ValueError(f"{files[mine[-1]]}:{line}: {type(error).__name__}: {error}."
            f"{_question(error, frame, below)}\n    {text}") from error
