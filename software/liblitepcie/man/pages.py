# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Make the manual pages of liblitepcie, one for each call, from the comments
of its public headers, which NAMES lists.

A fact is written once: in the headers, which say what a call does, or in
examples/, whose programs are compiled and run by tests. The sentences of a
paragraph from "Returns" on become the section RETURN VALUE. The section ERRORS
has the error numbers that the comment names with their meaning, as in
"-EINVAL: the stream does not run". The errors that many calls may return have
a page of their own, litepcie_errors(3). It is made of a paragraph of the first
comment in liblitepcie.h behind the licence. The words after "Threads:" in a
call's comment choose the text of the section ATTRIBUTES.
    python software/liblitepcie/man/pages.py FOLDER
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = ("liblitepcie.h", "litepcie_stream.h", "litepcie_diagnostics.h", "litepcie_capture.h")
HEADERS = [HERE.parent / name for name in NAMES]
LICENCE = (
    '.\\" This file is part of Lanebox.',
    '.\\" Copyright (c) 2026 Lanebox contributors',
    '.\\" SPDX-License-Identifier: BSD-2-Clause',
)
THREADS = {
    "any": "It may be called at any time, from any number of threads.",
    "per direction": "One thread may be in it for h2c and one for c2h, and these may be two.",
    "alone": "No other call on the same handle may be under way at the same time.",
    "one": "One thread at a time may be in the calls of one capture or one player. Other threads "
    "may be in other calls on the same card.",
}


@dataclass(frozen=True)
class Call:
    """One call of a header: its name, its declaration, and the paragraphs of its comment.

    `header` is the path of the header.
    """

    header: Path
    name: str
    prototype: str
    paragraphs: list

    @property
    def text(self):
        """Return the whole comment of the call as one text, with a line for each paragraph."""
        return "\n".join(self.paragraphs)

    @property
    def threads(self):
        """Return what the comment of the call says after "Threads:", which is a key of THREADS."""
        return re.search(r"Threads: ([a-z ]+)\.", self.text).group(1)

    def split(self):
        """Return the paragraphs of the section DESCRIPTION, and the text of RETURN VALUE."""
        whole = [re.sub(r"\s*Threads: [a-z ]+\.", "", part) for part in self.paragraphs]
        rest, returned = [], ""
        for part in filter(None, whole):
            at = re.search(r"(?:^|(?<=[.;] ))Returns ", part)
            rest += filter(None, [part[: at.start()].strip() if at else part])
            returned += part[at.start() :] if at else ""
        if not returned and not re.match(r"void litepcie_", self.prototype):
            # The comment has no sentence with "Returns", since the call only returns a fact. Its
            # first paragraph describes that fact, so it is the text of RETURN VALUE.
            returned = rest[0]
        return rest, returned


def paragraphs(comment):
    """Return a list of the paragraphs of a C comment, each as one line."""
    lines = [re.sub(r"^\s*\*? ?", "", line) for line in comment.strip().split("\n")]
    return [" ".join(part.split()) for part in "\n".join(lines).strip().split("\n\n")]


def calls(path):
    """Return a `Call` for each call that the header at `path` declares or defines inline.

    A call without a comment right before it raises ValueError. Inline functions whose comment
    begins with "Used by" do not count as calls.
    """
    helper = r"^/\*\n \* Used by (?:(?!\*/).)*?\*/\nstatic .*?^\}\n"
    helper += r"|^/\* Used by [^\n]*\*/\nstatic .*?^\}\n"
    header = re.sub(helper, "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    pattern = (
        r"/\*\n((?: \*[^\n]*\n)+?) \*/\n(?:static inline (?:__attribute__\(\(\w+\)\) )?)?"
        r"((?:const |void |int |bool |size_t |uint64_t |unsigned )[^;{]*?"
        r"\b(litepcie_\w+)\([^;{]*\))(?:;|\n\{)"
    )
    found = [
        Call(path, name, " ".join(prototype.split()) + ";", paragraphs(comment))
        for comment, prototype, name in re.findall(pattern, header)
    ]
    declared = re.findall(r"^\w[\w \*]*\b(litepcie_\w+)\(", header, re.MULTILINE)
    silent = set(declared) - {call.name for call in found}
    if silent:
        raise ValueError(f"{path}: no comment right before {', '.join(sorted(silent))}")
    return found


def structure(header, name):
    """Return the C definition of the struct `name` in the text `header`, or "" if there is none."""
    found = re.search(rf"^struct {name} \{{\n.*?^\}};", header, re.MULTILINE | re.DOTALL)
    return found.group(0) if found else ""


def escape(text):
    """Return `text` for roff, where a hyphen, a backslash and a leading dot are then text."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in ".'" else line for line in text.split("\n"))


def prose(text):
    """Return `text` for roff, with the parameters (@name) in italics and the calls in bold."""
    text = escape(text)
    text = re.sub(r"@(\w+)", r"\\fI\1\\fP", text)
    return re.sub(r"\b(litepcie_\w+)\(\)", r"\\fB\1\\fP(3)", text)


def literal(text):
    """Return the lines of roff that show text as it stands, in a fixed font."""
    return [".EX", *escape(text.expandtabs(8)).split("\n"), ".EE"]


def summary(call):
    """Return the first sentence of the call's comment for the section NAME, up to its first colon
    or semicolon.
    """
    first = re.split(r"[.;:] ", call.split()[0][0] if call.split()[0] else call.split()[1])[0]
    first = re.sub(r"@(\w+)", r"\1", first).rstrip(".")
    return first[0].lower() + first[1:]


def example(call):
    """Return the first program of examples/ that uses `call`, without the licence at its head."""
    for path in sorted((HERE / "examples").glob("*.c")):
        text = path.read_text()
        if re.search(rf"\b{call.name}\(", text):
            return text.split("*/\n\n", 1)[1].rstrip()
    raise ValueError(f"no program in {HERE / 'examples'} uses {call.name}()")


def errors(call):
    """Return {number: meaning} of the errors that the comment of the call names with a meaning."""
    numbers = r"-E[A-Z0-9]+(?: or -E[A-Z0-9]+)*"
    pattern = (
        rf"({numbers})(?::| (?=if |while ))(.*?)(?=[,;] (?:or )?{numbers}(?::| if )|\.(?: |$)|$)"
    )
    found = {}
    for part in call.paragraphs:
        for names, meaning in re.findall(pattern, part):
            for name in re.findall(r"E[A-Z0-9]+", names):
                text = meaning.strip()
                found[name] = f"{found[name]}; {text}" if name in found else text
    return dict(sorted(found.items()))


def section_of_errors(call):
    """Return the lines of the section ERRORS, or an empty list if the comment of the call names no
    error and not -errno.
    """
    named = errors(call)
    lines = []
    for name, meaning in named.items():
        lines += [".TP", f".B \\-{name}", prose(meaning)]
    if "-errno" in call.text:
        more = "Other numbers are explained in" if named else "The numbers are explained in"
        lines += [".PP", f"{more} \\fBlitepcie_errors\\fP(3)."]
    return [".SH ERRORS", *lines] if lines else []


def page_of_errors(header):
    """Return the text of the page litepcie_errors(3).

    It is made of the paragraph about errors in the first comment of `header` behind the licence.
    """
    part = next(
        text for text in header.split("*/\n")[1].split("\n *\n") if "The comment of a call" in text
    )
    lines, entry = [], False
    for line in part.rstrip().split("\n"):
        text = re.sub(r"^ \* ?", "", line)
        name, meaning = re.fullmatch(r"  -(E[A-Z]+) +(.*)|(?: {14,})?(.*)", text).group(1, 2)
        if name:
            lines += [".TP", f".B \\-{name}", prose(meaning)]
        elif entry and not text.startswith(" "):
            lines += [".PP", prose(text)]
        else:
            lines.append(prose(text.strip()))
        entry = bool(name) or text.startswith(" ")
    return "\n".join(
        [
            *LICENCE,
            '.TH litepcie_errors 3 "" "Lanebox" "liblitepcie"',
            ".SH NAME",
            "litepcie_errors \\- error numbers of liblitepcie",
            ".SH DESCRIPTION",
            *(line for line in lines if line),
            ".PP",
            prose(
                "After an error litepcie_why() has a sentence, and litepcie_strerror() the meaning "
                "of the number."
            ),
            ".SH SEE ALSO",
            prose("litepcie_why(), litepcie_strerror()"),
            "",
        ]
    )


def page(header, call, others):
    """Return the text of the manual page of `call`. `others` are the calls for SEE ALSO."""
    description, returned = call.split()
    types = dict.fromkeys(re.findall(r"struct (\w+)", call.prototype))
    lines = [
        *LICENCE,
        f'.TH {call.name} 3 "" "Lanebox" "liblitepcie"',
        ".SH NAME",
        f"{call.name} \\- {escape(summary(call))}",
        ".SH SYNOPSIS",
        ".nf",
        *(f".B #include <{name}>" for name in dict.fromkeys(("liblitepcie.h", call.header.name))),
        ".PP",
        f".B {escape(call.prototype)}",
        ".fi",
        ".PP",
        "Link with \\fI\\-llitepcie\\fP.",
        ".SH DESCRIPTION",
    ]
    for part in description or [returned]:
        lines += [prose(part), ".PP"]
    for definition in filter(None, (structure(header, name) for name in types)):
        lines += literal(definition) + [".PP"]
    lines = lines[:-1] if lines[-1] == ".PP" else lines
    if returned:
        lines += [".SH RETURN VALUE", prose(returned)]
    lines += section_of_errors(call)
    lines += [".SH ATTRIBUTES", THREADS[call.threads], ".SH EXAMPLE", *literal(example(call))]
    near = [f"\\fB{other.name}\\fP(3)" for other in others if other is not call]
    return (
        "\n".join(
            [
                *lines,
                ".SH SEE ALSO",
                ", ".join(near) + "," if near else "",
                "\\fBlitepcie_util\\fP(1)",
            ]
        )
        + "\n"
    )


def neighbours(found, call):
    """Return `call` with up to three calls before it and three behind it in `found`, for SEE ALSO.

    `found` has the calls in the order of the headers. Calls that stand near each other are mostly
    about the same subject.
    """
    at = found.index(call)
    return found[max(0, at - 3) : at + 4]


def write(folder):
    """Write litepcie_errors(3) and the pages of all calls into `folder`, and return the calls."""
    found = [call for path in HEADERS for call in calls(path)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "litepcie_errors.3").write_text(page_of_errors(HEADERS[0].read_text()))
    for call in found:
        text = page(call.header.read_text(), call, neighbours(found, call))
        (folder / f"{call.name}.3").write_text(text)
    return found


if __name__ == "__main__":
    write(Path(sys.argv[1]))
