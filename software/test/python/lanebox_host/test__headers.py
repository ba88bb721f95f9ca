# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of lanebox_host/_headers.py, which declares to Python what the library's C headers declare
to C.
"""

import ctypes
import importlib.util
import re
import subprocess

import pytest

from tools.testing.repository import ROOT

SOFTWARE = ROOT / "software"
HEADERS = [
    SOFTWARE / "uapi" / "litepcie_limits.h",
    *sorted((SOFTWARE / "liblitepcie").glob("*litepcie*.h")),
]


@pytest.fixture(scope="module")
def declare():
    """Return the module software/python/declare.py, which is in no Python package."""
    spec = importlib.util.spec_from_file_location("declare", SOFTWARE / "python" / "declare.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(folder, lines):
    """Return the words that a C program prints which includes the headers and runs `lines`.

    The result is a list with the words of each line.
    """
    source = folder / "program.c"
    includes = "".join(f'#include "{header.name}"\n' for header in HEADERS)
    source.write_text(
        f"#include <stdio.h>\n{includes}int main(void)\n{{\n" + "\n".join(lines) + "\n}\n"
    )
    folders = [f"-I{SOFTWARE / name}" for name in ("liblitepcie", "uapi")]
    subprocess.run(["gcc", *folders, "-o", folder / "program", source], check=True)
    done = subprocess.run([folder / "program"], capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def structures(module):
    """Return the ctypes structures of the generated module by the names of C: {name: class}."""
    found = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, ctypes.Structure)
        and value.__module__ == module.__name__
    }
    return {
        re.sub(r"(?<!^)(?=[A-Z])", "_", name.removesuffix("Fields")).lower(): value
        for name, value in found.items()
    }


def test_the_module_is_of_the_headers_as_they_are(declare):
    """_headers.py is what declare.py makes from the headers now: run declare.py after a change."""
    module = SOFTWARE / "python" / "lanebox_host" / "_headers.py"
    assert module.read_text() == declare.module()


def test_every_structure_is_the_compilers(host, tmp_path):
    """The package has each structure of the headers, and each field has the offset and size that a
    C program computes."""
    from lanebox_host import _headers

    text = "".join(header.read_text() for header in HEADERS)
    found = structures(_headers)
    assert set(found) == set(re.findall(r"^struct litepcie_(\w+) \{", text, re.MULTILINE))
    wanted, lines = [], []
    for name, structure in found.items():
        for field, *_ in structure._fields_:
            place = getattr(structure, field)
            wanted.append([name, field, str(place.offset), str(place.size)])
            lines.append(
                f'printf("{name} {field} %zu %zu\\n", offsetof(struct litepcie_{name}, {field}), '
                f"sizeof(((struct litepcie_{name} *)0)->{field}));"
            )
        wanted.append([name, str(ctypes.sizeof(structure))])
        lines.append(f'printf("{name} %zu\\n", sizeof(struct litepcie_{name}));')
    assert compiled(tmp_path, lines) == wanted


def test_every_constant_is_the_compilers(host, declare, tmp_path):
    """The package has each constant of the headers, and those that it takes from the header of the
    capability table. They have the values that the C compiler gives them."""
    from lanebox_host import _headers

    text = "".join(header.read_text() for header in HEADERS)
    found = {n: v for n, v in vars(_headers).items() if n.isupper() and isinstance(v, int)}
    named = set(re.findall(r"^#define LITEPCIE_(\w+)[ \t]+\S", text, re.MULTILINE))
    assert set(found) == named | set(declare.SHARED)
    lines = [f'printf("{name} %llu\\n", (unsigned long long)LITEPCIE_{name});' for name in found]
    assert compiled(tmp_path, lines) == [[name, str(value)] for name, value in found.items()]


def test_every_call_of_the_library_is_declared(host):
    """The package declares exactly the calls in liblitepcie.map, against which programs may link,
    and each loaded function has the declared types."""
    from lanebox_host import _headers, _library

    linked = re.findall(
        r"^\t\tlitepcie_(\w+);",
        (SOFTWARE / "liblitepcie/liblitepcie.map").read_text(),
        re.MULTILINE,
    )
    assert sorted(_headers.CALLS) == sorted(linked)
    for name, (result, *arguments) in _headers.CALLS.items():
        function = getattr(_library.LIBRARY, f"litepcie_{name}")
        assert (function.restype, function.argtypes) == (result, arguments)


def test_arguments_have_the_types_of_their_declaration(declare):
    """declare.calls() gives the arguments of a C declaration their types of ctypes: handles, known
    structures, texts, memory and numbers."""
    text = """
int litepcie_one(struct litepcie **dev, const char *name, char *why, size_t why_size);
const char *litepcie_two(const struct litepcie *dev, uint32_t
                         words[LITEPCIE_WORDS], const uint64_t *values);
void litepcie_three(struct litepcie_known *known, const void *data, struct litepcie_hidden *it,
                    unsigned int count, bool on);
"""
    assert dict(declare.calls(text, ["known"])) == {
        "one": ["c_int", "POINTER(c_void_p)", "c_char_p", "c_char_p", "c_size_t"],
        "two": ["c_char_p", "c_void_p", "POINTER(c_uint32)", "POINTER(c_uint64)"],
        "three": ["None", "POINTER(KnownFields)", "c_void_p", "c_void_p", "c_uint", "c_bool"],
    }


def test_what_cannot_be_declared_is_refused(declare):
    """The parser of the library's C headers refuses a field, an argument's type or a constant that
    it does not know. The exception has the text of what was refused."""
    with pytest.raises(ValueError, match=r"struct litepcie_a: `int \(\*done\)\(void\)` is no"):
        list(declare.fields("a", "int (*done)(void);"))
    with pytest.raises(KeyError, match="long"):
        list(declare.calls("int litepcie_a(long value);", []))
    with pytest.raises(ValueError, match="LITEPCIE_A: sizeof x is no number"):
        list(declare.constants("#define LITEPCIE_A\tsizeof x\n"))
