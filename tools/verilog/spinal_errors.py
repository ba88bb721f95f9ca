# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The output of sbt and SpinalHDL when they fail, with places in the files that the user edits.

Scala is compiled in a copy of the project, so places have to be mapped back. SpinalHDL gives a
place as a frame of a stack trace; most of its frames are in SpinalHDL.
"""

import re

LINES_SHOWN = 30 # The last lines, and no more than these.

PLACE = re.compile(r"\s+at .*\((?P<file>\w+\.scala):(?P<line>\d+)\)$")
COPY  = re.compile(r"/\S*?/src/(?:main|test)/scala/(?:\S+/)?(?P<file>\w+\.scala)")

# After an error SpinalHDL elaborates again, to print places. The text behind TRACE is about
# SpinalHDL itself.
AGAIN = "Spinal will restart with scala trace to help you to find the problem."
TRACE = "SpinalHDL compiler exit stack"

NOISE = re.compile(r"""
    (\[error\]\ )?\s+at\  |                    # Frames of a stack trace,
    [\w.$]+\(\w+(\.scala|\.java)(:\d+)?\)$ | # also without `at`.
    \[(info|Progress|Runtime|Done)\] |
    Exception\ in\ thread\ .*SpinalExit | Design's\ errors\ are\ listed\ above |
    \**$""", re.VERBOSE)

# What SpinalHDL says of a mistake: the rule that the line broke, and the next step.
NEXT_STEPS = {
    "NO DRIVER ON": "every output and every signal that is read needs a value: assign one in every "
        "case, or take the signal out",
    "WIDTH MISMATCH": "both sides of `:=` need the same width: write `.resized` behind the right "
        "one to cut or extend it, or declare the left one as wide",
    "LATCH DETECTED": "a signal without a register needs a value in every case: give it a default "
        "before the `when`, or an `otherwise`; what is to keep its value is a Reg",
    "ASSIGNMENT OVERLAP": "a later `:=` outside of a `when` replaces an earlier one wholly: keep "
        "one of them, or put the later one into a `when`",
}

def readable(text, sources):
    """The end of `text`, with places in `sources`; frames in other files are left out.

    A line with the next step follows for each kind of mistake in NEXT_STEPS.
    """
    files = {file.name: file for file in sources}
    lines = []
    for line in text.rpartition(AGAIN)[2].partition(TRACE)[0].splitlines():
        place = PLACE.match(line)
        if place and place["file"] in files:
            here = f"    at {files[place['file']]}:{place['line']}"
            lines += [here] if lines[-1:] != [here] else []
        elif not NOISE.match(line):
            lines.append(COPY.sub(lambda copy: str(files.get(copy["file"], copy[0])), line))
    shown = lines[-LINES_SHOWN:]
    steps = [f"{mistake}: {step}" for mistake, step in NEXT_STEPS.items()
        if any(mistake in line for line in shown)]
    return "\n".join(shown + steps)
