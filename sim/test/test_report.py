# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""build/report.html as a browser shows it: whole, readable, and drawn where the numbers are."""

import re
import shutil

import pytest
from browser import Browser

from sim import artefacts, limits
from sim.measure import Conditions
from sim.report import histograms, page, timeline
from sim.report.record import Recording, record
from sim.results import row
from tools.needs import BROWSERS

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, BROWSERS)), reason="no Chromium, and apt has none here"
)
SIZES = {"screen": (1280, 900), "phone": (390, 800)}
AT = {"mps": 256, "mrrs": 512, "host": "client", "read_latency_ns": 600}
HOSTILE = "<script>document.title='taken'</script>&lt;"
HISTOGRAM = [{"from_ns": 740, "to_ns": 744, "count": 150}, {"from_ns": 744, "to_ns": 760,
             "count": 50}]  # fmt: skip


def rows():
    """Measured, stock, far, without a value, and one with a name that a page must not believe."""
    c2h = [row(f"c2h/mps{n}", 0.99 * limits.c2h(n, n).value, "GB/s", limits.c2h(n, n),
               conditions=AT, violations=0) for n in (128, 256, 512)]  # fmt: skip
    return [
        *c2h,
        row("stock/c2h/mps256", 5.5, "GB/s", limits.c2h(256, 256), conditions=AT),
        row("h2c/cpl256", 7.21, "GB/s", limits.h2c(256, 256, 64, 512, 600, True), conditions=AT),
        row("h2c/cpl256@5us", 3.19, "GB/s", limits.h2c(256, 256, 64, 512, 5000, True),
            conditions=AT),
        row("duplex/mps256", 6.7, "GB/s", limits.duplex(256, 512), conditions=AT),
        row("mmio_read/4", 740, "ns", limits.mmio_read_ns(700, 256, 4), lower_is_better=True,
            p99=752, histogram=HISTOGRAM, conditions=AT),
        row("stock/mmio_read/8", None, "ns", reason="answered wrongly " + HOSTILE),
        row(HOSTILE, 1, "x", conditions={"host": HOSTILE}),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def recording():
    built = artefacts.build("lanebox")
    return record(built.board, artefacts.utility(built.headers), Conditions())


@pytest.fixture(scope="module")
def report(recording, tmp_path_factory):
    """The page of these rows, and of a board that ran."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page.render([vars(entry) for entry in rows()], recording))
    return path


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_page_is_whole_and_asks_nobody(report, browser, tmp_path, size, scheme):
    """One request, its own; every section has something in it; no script ran."""
    browser.open(report, *SIZES[size], scheme)
    browser.picture(tmp_path / f"{size}-{scheme}.png")
    assert browser.requests == [report.resolve().as_uri()]
    assert browser.ask("document.title") == "Lanebox: measured and its limits"
    assert browser.ask("document.querySelectorAll('script').length") == 0
    counts = browser.ask(
        "[...document.querySelectorAll('main > section')].map(s => "
        "s.querySelectorAll('svg[role=img], tbody tr, dd').length)"
    )
    assert len(counts) == 5 and all(counts)


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_cut_off_or_covered(report, browser, size):
    """No sideways scrolling of the page; texts of a plot lie inside it and not on each other."""
    browser.open(report, *SIZES[size])
    assert browser.ask("document.documentElement.scrollWidth") <= SIZES[size][0]
    wrong = browser.ask("""[...document.querySelectorAll('svg[role=img]')].flatMap(svg => {
        const box = svg.getBoundingClientRect();
        const texts = [...svg.querySelectorAll('text')].map(t =>
            ({text: t.textContent, r: t.getBoundingClientRect()}));
        const out = texts.filter(({r}) => r.left < box.left - 1 || r.right > box.right + 1 ||
            r.top < box.top - 1 || r.bottom > box.bottom + 1).map(t => t.text + ' is cut');
        texts.forEach((a, i) => texts.slice(i + 1).forEach(b => {
            if (a.r.left < b.r.right && b.r.left < a.r.right &&
                a.r.top < b.r.bottom && b.r.top < a.r.bottom)
                out.push(a.text + ' meets ' + b.text); }));
        return out; })""")
    assert wrong == []


@pytest.mark.parametrize("size", SIZES)
def test_the_smallest_text_can_be_read(report, browser, size):
    """Letters of a drawing that was scaled down are still 9 px high boxes or more."""
    browser.open(report, *SIZES[size])
    least = browser.ask("""Math.min(...[...document.querySelectorAll('svg[role=img]')].map(svg =>
        12 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width))""")
    assert least >= 8.2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_stands_out(report, browser, scheme):
    """Text has a contrast of 4.5 to its panel, lines and marks of 3 (WCAG 2.1, AA)."""
    browser.open(report, *SIZES["screen"], scheme)
    style = "getComputedStyle(document.documentElement).getPropertyValue"
    colour = {
        name: _luminance(browser.ask(f"{style}('--{name}').trim()"))
        for name in ("panel paper ink quiet ours stock ideal wire interface read write completion "
                     "interrupt tail").split()  # fmt: skip
    }
    for name, light in colour.items():
        for ground in ("panel", "paper"):
            if name not in ("panel", "paper"):
                high, low = max(light, colour[ground]), min(light, colour[ground])
                least = 4.5 if name in ("ink", "quiet", "ours") else 3
                assert (high + 0.05) / (low + 0.05) >= least, (scheme, name, ground)
    ground = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) is (scheme == "dark")


def _luminance(text):
    parts = [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_marks_stand_where_the_numbers_are(report, browser):
    """Read off the screen, between the labels of the axes, every c2h row has its value again."""
    browser.open(report, *SIZES["screen"])
    ticks, marks = browser.ask("""(() => {
        const svg = document.querySelector('#throughput svg[role=img]');
        const middle = e => { const r = e.getBoundingClientRect();
            return [(r.left + r.right) / 2, (r.top + r.bottom) / 2]; };
        return [[...svg.querySelectorAll('.tick')].map(t => [t.textContent, ...middle(t)]),
                [...svg.querySelectorAll('circle.mark')].map(m => [
                    m.querySelector('title').textContent, ...middle(m)])]; })()""")
    across = {text: x for text, x, _ in ticks if text in ("64", "128", "256", "512")}
    up = {text: y for text, _, y in ticks if text in ("0", "8")}
    assert len(marks) == 3
    for title, x, y in marks:
        size, value = re.match(r"c2h/mps(\d+): ([\d.]+) GB/s", title).groups()
        assert x == pytest.approx(across[size], abs=1)
        shown = 8 * (y - up["0"]) / (up["8"] - up["0"])
        assert shown == pytest.approx(float(value), abs=0.06)


def test_an_access_is_drawn_as_the_trace_has_it(recording, report, browser):
    """Request, answer, next request: boxes in that order, the steps add up to the host's loop."""
    story = timeline.access(recording.alone)
    asked, answered, again = (story.tlps[i].ns for i in (0, 1, -1))
    assert [t.interface for t in story.tlps] == ["CQ", "CC", "CQ"]
    assert [last - first for _, first, last in story.steps] == [answered - asked, again - answered]
    assert again - asked == pytest.approx(748, abs=12)  # a register: 8 cycles and the host
    browser.open(report, *SIZES["screen"])
    boxes = browser.ask("""[...document.querySelector('#timeline svg').querySelectorAll('.tlp')]
        .map(b => b.getBoundingClientRect().left)""")
    assert boxes == sorted(boxes) and len(boxes) == 3
    share = (boxes[1] - boxes[0]) / (boxes[2] - boxes[0])
    assert share == pytest.approx((answered - asked) / (again - asked), abs=0.01)


def test_a_transfer_has_all_its_bytes_and_a_box_for_each_tlp(recording, report, browser):
    """8 KiB in, 8 KiB out, doorbell first, interrupt last; the steps are in order."""
    story = timeline.transfer(recording.one)
    assert "8,192 bytes" in story.title
    assert story.tlps[0].interface == "CQ" and story.tlps[-1].interface == "MSI"
    moved = {
        name: sum(len(t.payload) for t in story.tlps if t.interface == name)
        for name in ("RC", "RQ")
    }
    assert moved == {"RC": 8192, "RQ": 8192 + 16 + 2 * 32}  # a record, two status lines
    steps = {name: last - first for name, first, last in story.steps}
    assert steps["doorbell to interrupt"] > 2 * steps["doorbell to first request"] > 0
    assert steps["first request to first data"] == pytest.approx(600, abs=60)  # --read-latency
    browser.open(report, *SIZES["screen"])
    boxes = browser.ask("""[...document.querySelectorAll('#timeline svg[role=img]')]
        .map(s => s.querySelectorAll('.tlp').length)""")
    assert boxes == [3, len(story.tlps)]


def test_a_histogram_has_every_sample(recording, report, browser):
    """The bars' own words add up, and their heights to a hundred percent."""
    browser.open(report, *SIZES["screen"])
    bars = browser.ask("""[...document.querySelectorAll('#latency svg[role=img]')].map(svg =>
        [...svg.querySelectorAll('.bar title')].map(t => t.textContent))""")
    found = [[re.search(r": (\d+) \(([\d.]+) %\)", text).groups() for text in of] for of in bars]
    reads = len(histograms.read_times(recording.many))
    assert reads == 2048
    assert [sum(int(n) for n, _ in of) for of in found] == [200, reads]
    assert all(sum(float(p) for _, p in of) == pytest.approx(100, abs=1) for of in found)


def test_what_rows_say_is_text(report, browser):
    """Nothing in a row becomes a part of the page; a missing value shows its reason."""
    browser.open(report, *SIZES["screen"])
    text = browser.ask("document.body.textContent")
    assert text.count(HOSTILE) >= 3
    assert "answered wrongly" in text


def test_a_page_of_nothing_says_what_to_run(browser, tmp_path):
    """Before the first run every section has a sentence."""
    path = tmp_path / "empty.html"
    path.write_text(page.render([], Recording()))
    browser.open(path, *SIZES["phone"])
    text = browser.ask("document.body.innerText")
    assert text.count("make bench") >= 5 and "Nothing was measured yet" in text
    assert browser.ask("document.documentElement.scrollWidth") <= SIZES["phone"][0]
