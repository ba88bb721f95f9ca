# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test the files that `make install` installs: headers, the shared and the static library, flags
for compilers, and manual pages.
"""

import importlib.util
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from software.test.library import error_graph
from software.test.software_build import TIMEOUT, build_software, run_program
from software.test.standin.vfio_user_standin import Standin
from tools.testing.repository import ROOT

LIBRARY = ROOT / "software" / "liblitepcie"
TOOLS = ROOT / "software" / "tools"
PROGRAMS = ("litepcie_util", "lanebox-capture")


@pytest.fixture(scope="session")
def built():
    return build_software()


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Run `make install` with a new folder as DESTDIR. Return the folder of the prefix (PREFIX) in
    it. No gateware is needed. Small files stand for programs that were built before."""
    root = tmp_path_factory.mktemp("installed")
    (root / "out").mkdir()
    for name in PROGRAMS:
        (root / "out" / name).write_text(f"stands for {name}")
    command = [
        "make",
        "-s",
        "-C",
        LIBRARY.parent,
        f"OUT={root / 'out'}",
        f"DESTDIR={root}",
        "PREFIX=/opt/lanebox",
        "install",
    ]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return root / "opt" / "lanebox"


HEADERS = (
    "liblitepcie.h",
    "litepcie_stream.h",
    "litepcie_diagnostics.h",
    "litepcie_capture.h",
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_were_built_are_installed(installed, name):
    """`make install` installs each program that was built before, and its manual page."""
    program = installed / "bin" / name
    assert program.read_text() == f"stands for {name}" and program.stat().st_mode & 0o111
    page = f"{name}.1"
    assert (installed / "share/man/man1" / page).read_text() == (TOOLS / page).read_text()


def headers():
    """Return the text of the public headers, without their comments."""
    text = "".join((LIBRARY / name).read_text() for name in HEADERS)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def declared():
    """Return the names of all functions that the public headers declare, as a set, without the
    functions that are defined inline.
    """
    text = re.sub(r"^static .*?^\}$", "", headers(), flags=re.DOTALL | re.MULTILINE)
    return set(re.findall(r"\b(litepcie_[a-z0-9_]+)\(", text))


@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize("name", HEADERS)
def test_a_header_compiles_alone(name, language):
    """A program in C or C++ may include any public header without the others."""
    command = ["gcc", "-x", language, "-fsyntax-only", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    command += [f"-I{LIBRARY}", f"-I{LIBRARY.parent / 'uapi'}", "-"]
    done = subprocess.run(command, input=f'#include "{name}"\n', capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_shared_library_has_the_headers_calls_and_no_others(installed):
    """The shared library exports exactly those functions of the public headers that are not inline,
    each with the version LITEPCIE_2.0. Its soname is liblitepcie.so.2.
    """
    library = installed / "lib" / "liblitepcie.so"
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    names = re.findall(r" T (\w+)@@LITEPCIE_2\.0$", symbols, re.MULTILINE)
    assert set(names) == declared() and len(names) == symbols.count(" T ") > 40
    dynamic = subprocess.run(
        ["readelf", "-d", library], capture_output=True, text=True, check=True
    ).stdout
    assert "soname: [liblitepcie.so.2]" in dynamic
    assert (installed / "lib" / "liblitepcie.so.2").resolve().name == "liblitepcie.so.2.0.0"


def test_the_static_library_exports_only_names_with_its_prefix(installed):
    """Every symbol that a program can link against in the static library begins with `litepcie_`,
    and all functions of the public headers that are not inline are among them.
    """
    symbols = subprocess.run(
        ["nm", "-g", "--defined-only", "--format=posix", installed / "lib" / "liblitepcie.a"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = set(re.findall(r"^(\w+) [A-Z] ", symbols, re.MULTILINE))
    assert declared() <= names
    assert [name for name in names if not name.startswith("litepcie_")] == []


def words_of_pkg_config(installed):
    """Return the compiler's and linker's flags in the installed pkg-config file, as a list."""
    pc = (installed / "lib" / "pkgconfig" / "liblitepcie.pc").read_text()
    values = dict(re.findall(r"^(\w+)=(.*)$", pc, re.MULTILINE), prefix=str(installed))
    flags = " ".join(re.findall(r"^(?:Cflags|Libs|Libs.private): (.*)$", pc, re.MULTILINE))
    flags = re.sub(r"\$\{(\w+)\}", lambda m: values[m.group(1)], flags)
    return flags.replace("${prefix}", str(installed)).split()


def test_the_installed_library_has_the_version_of_the_release(installed):
    """The pkg-config file states the version of Lanebox, which driver and Python package have."""
    pc = (installed / "lib" / "pkgconfig" / "liblitepcie.pc").read_text()
    assert re.findall(r"^Version: (.*)$", pc, re.MULTILINE) == [version("lanebox")]


@pytest.mark.parametrize("link", ["shared", "static"])
def test_a_program_builds_against_what_is_installed(built, installed, tmp_path, link):
    """A program in strict C11 compiles with the flags of the installed pkg-config file, and runs on
    a stand-in for a card.
    """
    source = LIBRARY / "test" / "csr.c"
    program = tmp_path / "program"
    more = ["-static"] if link == "static" else [f"-Wl,-rpath,{installed / 'lib'}"]
    command = ["gcc", "-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", source, "-o", program]
    subprocess.run([*command, *words_of_pkg_config(installed), *more], check=True)
    with Standin(tmp_path / "s", built.csr_json):
        run_program(program, f"sim:{tmp_path / 's'}", built.csr_json)


@pytest.mark.parametrize(
    "options",
    [["-std=c++11", "-pedantic", "-Wextra"], ["-std=gnu++17", "-DSTOCK"]],
    ids=["own", "stock"],
)
@pytest.mark.parametrize("link", ["shared", "static"])
def test_a_cplusplus_program_links_and_runs(built, installed, tmp_path, link, options):
    """A C++ program links with the shared and with the static library, and runs on a stand-in for a
    card. It uses the library's own headers, or those in litepcie-stock for programs of LitePCIe.
    """
    program = tmp_path / "program"
    more = ["-static"] if link == "static" else [f"-Wl,-rpath,{installed / 'lib'}"]
    command = [
        "g++",
        *options,
        "-Wall",
        "-Werror",
        LIBRARY / "test" / "cplusplus.cpp",
        "-o",
        program,
    ]
    subprocess.run([*command, *words_of_pkg_config(installed), *more], check=True)
    with Standin(tmp_path / "s", built.csr_json):
        run_program(program, f"sim:{tmp_path / 's'}")


def test_every_installed_header_that_declares_calls_is_for_cplusplus_too(installed):
    """Each installed header that declares functions has `extern "C"`, without which C++ programs
    would not link.
    """
    for header in (installed / "include").rglob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
        declares = re.search(r"^\w[\w \*]*\b\w+\([^;{]*\)\s*[;{]", text, re.MULTILINE)
        assert not declares or 'extern "C" {' in text, header.name


@pytest.mark.parametrize("name", ["litepcie_test", "litepcie_util"])
def test_litepcies_own_programs_recompile(built, installed, tmp_path, name):
    """LitePCIe's own programs compile unchanged against the installed headers in litepcie-stock,
    and print their usage."""
    package = Path(importlib.util.find_spec("litepcie").submodule_search_locations[0])
    source = package / "software" / "user" / f"{name}.c"
    includes = [f"-I{installed / 'include' / 'litepcie-stock'}"]
    includes += [f"-I{built.csr_json.parent / 'include'}"]
    program = tmp_path / name
    subprocess.run(
        [
            "gcc",
            "-w",
            *includes,
            source,
            "-o",
            program,
            f"-L{installed / 'lib'}",
            "-llitepcie",
            "-lm",
            f"-Wl,-rpath,{installed / 'lib'}",
        ],
        check=True,
    )
    result = subprocess.run([program], capture_output=True, text=True, timeout=TIMEOUT)
    assert "usage: " + name in result.stdout + result.stderr


# Tests of the manual pages ------------------------------------------------------------------------

# examples of the manual that need a capture block, which the stand-in for a card does not have
OF_CAPTURE = {"record", "records", "player", "sorting"}
EXAMPLES = sorted((LIBRARY / "man" / "examples").glob("*.c"))


def test_every_call_has_a_page_without_a_fault(installed):
    """Each function of the library has a manual page with all its sections, and groff reports no
    warning.
    """
    folder = installed / "share" / "man" / "man3"
    inline = {"litepcie_record_next"}
    assert {page.stem for page in folder.iterdir()} == declared() | inline | {"litepcie_errors"}
    assert all(f"{name}(" in headers() for name in inline)
    pages = sorted(folder.iterdir())
    result = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", *pages], capture_output=True, text=True, check=True
    )
    assert result.stderr == ""
    for page in pages:
        if page.stem == "litepcie_errors":
            continue
        text = page.read_text()
        wanted = ["NAME", "SYNOPSIS", "DESCRIPTION", "ATTRIBUTES", "EXAMPLE", "SEE ALSO"]
        if f"void {page.stem}(" not in text:
            wanted.append("RETURN VALUE")
        returned = text.partition(".SH RETURN VALUE")[2].split(".SH")[0]
        if re.search(r"\\-(errno|E[A-Z])", returned):
            wanted.append("ERRORS")
        missing = [name for name in wanted if f".SH {name}" not in text]
        described = text.split(".SH DESCRIPTION")[1].split(".SH")[0].strip()
        assert not missing and described, (page.name, missing)


# call of the library -> the error numbers that the section ERRORS of the call's manual page must
# have, no more and no fewer
ERRORS = {
    "litepcie_csr_load": "EFBIG EINVAL ENOENT EPROTO",
    "litepcie_bar_map": "EINVAL ENOENT EOPNOTSUPP",
    "litepcie_bar_read": "EINVAL ENOENT EOPNOTSUPP",
    "litepcie_capture_header": "EINVAL",
    "litepcie_capture_sort": "EBUSY EINVAL EMSGSIZE ENOMEM EOPNOTSUPP",
    "litepcie_register_write": "EACCES ENOENT EOPNOTSUPP ERANGE",
    "litepcie_dma_fd": "EINVAL",
    "litepcie_record_next": "EBADMSG",
    "litepcie_slot": "EAGAIN ENOENT",
    "litepcie_stream_drain": "ECANCELED EINVAL ETIMEDOUT",
    "litepcie_stream_stop": "ETIMEDOUT",
    "litepcie_time": "",
}
# numbers of errors that come from the path to the card (driver, link, memory); litepcie_errors(3)
# explains them once for all calls that may return -errno
OF_THE_WAY = {"ENODEV", "EIO", "ETIMEDOUT", "EPROTO", "ENOMEM"}


def section_of(page, name):
    """Return the text of the section `name` of a manual page, or "" if the page has none."""
    found = re.search(rf"^\.SH {name}\n(.*?)(?=^\.SH |\Z)", page.read_text(), re.M | re.S)
    return found.group(1) if found else ""


def errors_of(text):
    """Return the set of the error numbers that a section of a manual page explains."""
    return {name for name, _ in re.findall(r"^\.B \\-(E[A-Z]+)\n(\S.+)", text, re.M)}


def test_a_page_names_the_errors_of_its_call(installed):
    """The section ERRORS of a manual page explains each error number that the section RETURN VALUE
    names. It points to litepcie_errors(3) exactly if RETURN VALUE says -errno. For each call in the
    dict ERRORS, the section has exactly the numbers of the dict.
    """
    pages = {path.stem: path for path in (installed / "share" / "man" / "man3").iterdir()}
    of_the_way = section_of(pages.pop("litepcie_errors"), "DESCRIPTION").split("Behind a driver")[0]
    assert errors_of(of_the_way) == OF_THE_WAY
    for name, page in pages.items():
        errors, returned = section_of(page, "ERRORS"), section_of(page, "RETURN VALUE")
        assert set(re.findall(r"\\-(E[A-Z]+)", returned)) <= errors_of(errors), name
        assert ("\\-errno" in returned) == ("litepcie_errors" in errors), name
    for call, names in ERRORS.items():
        assert errors_of(section_of(pages[call], "ERRORS")) == set(names.split()), call


def test_the_headers_name_each_error_that_a_call_returns(installed):
    """Each error number that error_graph.py finds for a call is in the section ERRORS of the call's
    manual page. The numbers in OF_THE_WAY need not be there if RETURN VALUE says -errno.
    """
    checked = 0
    for page in (installed / "share" / "man" / "man3").iterdir():
        returned = section_of(page, "RETURN VALUE")
        if page.stem not in declared() or not returned:
            continue
        known = errors_of(section_of(page, "ERRORS"))
        known |= OF_THE_WAY if "\\-errno" in returned else set()
        found = error_graph.errors(page.stem)
        assert set(found) <= known, (page.stem, found)
        checked += len(found)
    assert checked > 200


@pytest.mark.parametrize("source", EXAMPLES, ids=lambda path: path.stem)
def test_examples_of_the_manual_run(built, installed, tmp_path, source):
    """The C examples of the manual compile without a warning, and run on a stand-in for a card.

    The examples in OF_CAPTURE only compile in this test. Of these all but `sorting` run in
    test_capture_record.py and test_capture_play.py of sim/test/util.
    """
    program = tmp_path / "example"
    subprocess.run(
        [
            "gcc",
            "-std=c11",
            "-pedantic",
            "-Wall",
            "-Wextra",
            "-Werror",
            f"-I{installed / 'include'}",
            source,
            "-o",
            program,
            f"-L{installed / 'lib'}",
            "-llitepcie",
            f"-Wl,-rpath,{installed / 'lib'}",
        ],
        check=True,
    )
    if source.stem in OF_CAPTURE:
        return
    with Standin(tmp_path / "s", built.csr_json, records=True):
        run_program(program, f"sim:{tmp_path / 's'}", built.csr_json)
