# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Makes the output of a failed sbt or SpinalHDL readable: it shows places in the user's files.

Scala is compiled in a copy of the project, so paths in the output must be mapped back. SpinalHDL
gives a place as a frame of a stack trace, and most frames are in SpinalHDL itself.
"""

import re

# An error message shows at most this many lines from the end of the compiler's output.
LINES_SHOWN = 30

PLACE = re.compile(r"\s+at .*\((?P<file>\w+\.scala):(?P<line>\d+)\)$")
COPY = re.compile(r"/\S*/build/spinal/\S*?(?P<file>\w+\.scala)")

# After an error SpinalHDL prints AGAIN and elaborates once more, to print places. The text after
# TRACE is about SpinalHDL itself.
AGAIN = "Spinal will restart with scala trace to help you to find the problem."
TRACE = "SpinalHDL compiler exit stack"

NOISE = re.compile(
    r"""
    (\[error\]\ )?\s+at\  |                    # A frame of a stack trace.
    [\w.$]+\(\w+(\.scala|\.java)(:\d+)?\)$ | # A frame of a stack trace, without `at`.
    \[(info|Progress|Runtime|Done)\] |
    Exception\ in\ thread\ .*SpinalExit | Design's\ errors\ are\ listed\ above |
    \**$""",
    re.VERBOSE,
)

# What to do about each of SpinalHDL's error messages: the rule that the user's line broke, and the
# next step.
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
    """Return the end of the output `text`, with places in the files `sources`.

    Stack frames in other files are left out. For each kind of mistake in NEXT_STEPS that occurs, a
    line follows that says what to do.
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
    steps = [
        f"{mistake}: {step}"
        for mistake, step in NEXT_STEPS.items()
        if any(mistake in line for line in shown)
    ]
    return "\n".join(shown + steps)
