# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of build/report.html in a browser: it is complete and readable, and its marks are where the
numbers are."""

import re
import shutil

import pytest

from sim import artefacts
from sim.report import histograms, page, timeline
from sim.report.record import Recording, record
from sim.rows import limits
from sim.rows.measure import Conditions
from sim.rows.results import row
from sim.test.rows.browser import Browser
from tools.needs import BROWSERS

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, BROWSERS)), reason="no Chromium, and apt has none here"
)
SIZES = {"screen": (1280, 900), "phone": (390, 800)}
AT = {"mps": 256, "mrrs": 512, "host": "client", "read_latency_ns": 600}
HOSTILE = "<script>document.title='taken'</script>&lt;"
HISTOGRAM = [
    {"from_ns": 740, "to_ns": 744, "count": 150},
    {"from_ns": 744, "to_ns": 760, "count": 50},
]


def rows():
    """Return rows of all kinds: measured, of stock LitePCIe, over long latencies, without a value,
    with HTML in their names."""
    c2h = [
        row(
            f"c2h/mps{n}",
            0.99 * limits.c2h(n, n).value,
            "GB/s",
            limits.c2h(n, n),
            conditions=AT,
            violations=0,
        )
        for n in (128, 256, 512)
    ]
    return [
        *c2h,
        row("stock/c2h/mps256", 5.5, "GB/s", limits.c2h(256, 256), conditions=AT),
        row("h2c/cpl256", 7.21, "GB/s", limits.h2c(256, 256, 64, 512, 600, True), conditions=AT),
        row(
            "h2c/cpl256@5us", 3.19, "GB/s", limits.h2c(256, 256, 64, 512, 5000, True), conditions=AT
        ),
        row("duplex/mps256", 6.7, "GB/s", limits.duplex(256, 512), conditions=AT),
        row(
            "mmio_read/4",
            740,
            "ns",
            limits.mmio_read_ns(700, 256, 4),
            lower_is_better=True,
            p99=752,
            histogram=HISTOGRAM,
            conditions=AT,
        ),
        row("stock/mmio_read/8", None, "ns", reason="answered wrongly " + HOSTILE),
        row(HOSTILE, 1, "x", conditions={"host": HOSTILE}),
        *(
            row(
                f"latency/{end}/{size}",
                900 + size / 8,
                "ns",
                limits.transfer_ns(600, 256, size),
                lower_is_better=True,
                p99=940 + size / 8,
                conditions=AT,
                histogram=[
                    {"from_ns": 890 + size / 8, "to_ns": 910 + size / 8, "count": 99},
                    {"from_ns": 910 + size / 8, "to_ns": 950 + size / 8, "count": 1},
                ],
            )
            for end in ("interrupt", "dma")
            for size in (64, 512, 4096)
        ),
        row("small/c2h/64", 3.5, "GB/s", limits.small_c2h(64, 256), conditions=AT),
        row("small/c2h/256", 6.5, "GB/s", limits.small_c2h(256, 256), conditions=AT),
        row(
            "user/h2c",
            5.04,
            "GB/s",
            limits.h2c(256, 256, 64, 512, 600, True),
            cycles=10_000,
            reason="sink.ready low 37% of the time",
            conditions={
                **AT,
                "user": "crc",
                "slot": {"sink": {"beats": 6300, "stalls": 3700}, "source": {}},
            },
        ),
        *others(),
    ]


def others():
    """Return rows of another commit and of another user slot. No chart of this build may show
    them."""
    old = row("h2c/cpl128", 6.66, "GB/s", limits.h2c(128, 256, 64, 512, 600, True), conditions=AT)
    old.commit = "0123456789ab"
    return [
        old,
        row("c2h/mps64", 5.55, "GB/s", limits.c2h(64, 256), conditions={**AT, "user": "crc"}),
    ]


@pytest.fixture(scope="module")
def recording():
    built = artefacts.build("lanebox")
    return record(built.board, artefacts.utility(built.headers), Conditions())


@pytest.fixture(scope="module")
def report(recording, tmp_path_factory):
    """Write the report page for rows(), with the recording of a real run of the board; returns its
    path."""
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
    """The report makes one request, which is for the report itself. Every section has content, and
    no script runs."""
    browser.open(report, *SIZES[size], scheme)
    browser.picture(tmp_path / f"{size}-{scheme}.png")
    assert browser.requests == [report.resolve().as_uri()]
    assert browser.ask("document.title") == "Lanebox: measured and its limits"
    assert browser.ask("document.querySelectorAll('script').length") == 0
    counts = browser.ask(
        "[...document.querySelectorAll('main > section')].map(s => "
        "s.querySelectorAll('svg[role=img], tbody tr, dd').length)"
    )
    assert len(counts) == 7 and all(counts)


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_cut_off_or_covered(report, browser, size):
    """The report needs no sideways scrolling. All text of a plot lies inside the plot and does not
    overlap."""
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
    """Text in a drawing of the report is at least 8.2 px high, even when the drawing is scaled
    down."""
    browser.open(report, *SIZES[size])
    least = browser.ask("""Math.min(...[...document.querySelectorAll('svg[role=img]')]
        .filter(svg => svg.getBoundingClientRect().width).map(svg =>
        12 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width))""")
    assert least >= 8.2


@pytest.mark.parametrize("size", SIZES)
def test_a_timeline_is_seen_whole(report, browser, size):
    """Each timeline is visible once and as a whole: the narrow drawing on a phone, the broad one on
    a screen."""
    browser.open(report, *SIZES[size])
    shown = browser.ask("""[...document.querySelectorAll('#timeline svg[role=img]')].map(svg =>
        [svg.classList[0], svg.getBoundingClientRect()]).filter(([, r]) => r.width)
        .map(([name, r]) => [name, r.left >= 0 && r.right <= innerWidth])""")
    assert shown == [["narrow" if size == "phone" else "broad", True]] * 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_stands_out(report, browser, scheme):
    """Text has a contrast of at least 4.5 to the background, lines and marks of at least 3 (WCAG
    2.1, AA)."""
    browser.open(report, *SIZES["screen"], scheme)
    style = "getComputedStyle(document.documentElement).getPropertyValue"
    colour = {
        name: _luminance(browser.ask(f"{style}('--{name}').trim()"))
        for name in (
            "panel paper ink quiet ours stock ideal wire interface read write completion "
            "interrupt tail"
        ).split()
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
    """Each mark of a chart is at its value. The test computes the value back from the positions of
    the axis labels, and finds that of the mark's c2h row."""
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
    """The drawing of an MMIO access has request, completion and next request at the trace's times.
    The steps between them add up to the host's loop."""
    story = timeline.access(recording.alone)
    asked, answered, again = (story.tlps[i].ns for i in (0, 1, -1))
    assert [t.interface for t in story.tlps] == ["CQ", "CC", "CQ"]
    assert [last - first for _, first, last in story.steps] == [answered - asked, again - answered]
    # A register read by the host takes 8 cycles in the card, and the remaining time in the host.
    assert again - asked == pytest.approx(748, abs=12)
    browser.open(report, *SIZES["screen"])
    boxes = browser.ask("""[...document.querySelector('#timeline svg').querySelectorAll('.tlp')]
        .map(b => b.getBoundingClientRect().left)""")
    assert boxes == sorted(boxes) and len(boxes) == 3
    share = (boxes[1] - boxes[0]) / (boxes[2] - boxes[0])
    assert share == pytest.approx((answered - asked) / (again - asked), abs=0.01)


def test_a_transfer_has_all_its_bytes_and_a_box_for_each_tlp(recording, report, browser):
    """The drawing of an 8 KiB transfer each way has a box for each TLP. The first is the doorbell,
    the last the interrupt."""
    story = timeline.transfer(recording.one)
    assert "8,192 bytes" in story.title
    assert story.tlps[0].interface == "CQ" and story.tlps[-1].interface == "MSI"
    moved = {
        name: sum(len(t.payload) for t in story.tlps if t.interface == name)
        for name in ("RC", "RQ")
    }
    # On RQ the card also writes one record (16 bytes, its report of a finished buffer) and two
    # status lines of 32 bytes.
    assert moved == {"RC": 8192, "RQ": 8192 + 16 + 2 * 32}
    steps = {name: last - first for name, first, last in story.steps}
    assert steps["doorbell to interrupt"] > 2 * steps["doorbell to first request"] > 0
    # 600 ns is the default of --read-latency.
    assert steps["first request to first data"] == pytest.approx(600, abs=60)
    browser.open(report, *SIZES["screen"])
    boxes = browser.ask("""[...document.querySelectorAll('#timeline svg.broad')]
        .map(s => s.querySelectorAll('.tlp').length)""")
    assert boxes == [3, len(story.tlps)]


def test_a_curve_has_every_sample(recording, report, browser):
    """In the report, the counts of a latency curve's points add up to all samples, and the curve
    ends at 100 %."""
    browser.open(report, *SIZES["screen"])
    points = browser.ask("""[...document.querySelectorAll('#latency svg[role=img]')].map(svg =>
        [...svg.querySelectorAll('.mark title')].map(t => t.textContent))""")
    found = [[re.search(r": (\d+) \(([\d.]+) %\)", text) for text in of] for of in points]
    found = [[match.groups() for match in of] for of in found if all(of) and of]
    reads = len(histograms.read_times(recording.many))
    assert reads == 2048
    assert sorted(sum(int(n) for n, _ in of) for of in found) == [100, 100, 200, reads]
    assert all(sum(float(p) for _, p in of) == pytest.approx(100, abs=1) for of in found)
    ends = histograms.curve([(740, 744, 150), (744, 760, 50)])
    assert ends == [(740, 0), (740, 0), (744, 75), (744, 75), (760, 100)]


def test_latency_is_drawn_by_size(report, browser):
    """Interrupt and DMA latency each have a figure of median, 99 % and limit over size, and a
    figure with a curve for each size."""
    browser.open(report, *SIZES["screen"])
    figures = browser.ask("""[...document.querySelectorAll('#latency figure')].map(f =>
        [f.querySelector('figcaption').textContent, f.querySelectorAll('polyline').length])""")
    for end in histograms.ENDS.values():
        lines = {text.partition(end)[2]: n for text, n in figures if text.startswith(end + " ")}
        assert lines[" median and 99 % over the size of the transfer."] == 3
        assert lines[" by size of the transfer, one at a time."] == 3


def test_other_builds_stand_apart(report, browser):
    """Rows of other builds are in tables of their own. No chart shows such a row, nor does the
    table of this build."""
    browser.open(report, *SIZES["screen"])
    inside = "document.querySelector('#{}').textContent.includes('{}')"
    for name in ("h2c/cpl128", "c2h/mps64"):
        assert browser.ask(inside.format("others", name))
        assert not browser.ask(inside.format("rows", name))
        assert not browser.ask(inside.format("throughput", name + ":"))
    heads = browser.ask("[...document.querySelectorAll('#others summary')].map(s => s.textContent)")
    assert len(heads) == 2 and heads[0].startswith("0123456789ab, loopback") and "crc" in heads[1]


def test_the_slot_s_cycles_are_drawn(report, browser):
    """The report draws beats, stalls and idle cycles of the user slot with widths by their
    share."""
    browser.open(report, *SIZES["screen"])
    bars = browser.ask("""[...document.querySelectorAll('#user .stack')].map(bar =>
        [...bar.querySelectorAll('i')].map(i => i.getBoundingClientRect().width /
            bar.getBoundingClientRect().width))""")
    assert bars == [pytest.approx([0.63, 0.37, 0], abs=0.01)]
    assert "sink.ready low 37% of the time" in browser.ask(
        "document.querySelector('#user').textContent"
    )


def test_no_chart_is_empty(report, browser):
    """Each throughput chart of the report has at least one point. A chart without a point is not
    drawn, and a sentence gives its title.
    """
    browser.open(report, *SIZES["screen"])
    assert browser.ask("""[...document.querySelectorAll('#throughput figure')].every(f =>
        f.querySelector('.mark'))""")
    text = browser.ask("document.querySelector('#throughput').innerText")
    assert "Not measured with this build: A peer reads the card" in text


def test_what_rows_say_is_text(report, browser):
    """Text from a result row cannot become part of the report's HTML. A missing value shows its
    reason."""
    browser.open(report, *SIZES["screen"])
    text = browser.ask("document.body.textContent")
    assert text.count(HOSTILE) >= 3
    assert "answered wrongly" in text


def test_a_page_of_nothing_says_what_to_run(browser, tmp_path):
    """A report page without results has a sentence in each section that says which command to
    run."""
    path = tmp_path / "empty.html"
    path.write_text(page.render([], Recording()))
    browser.open(path, *SIZES["phone"])
    text = browser.ask("document.body.innerText")
    assert "make bench" in text and "Nothing was measured yet" in text
    assert browser.ask("document.documentElement.scrollWidth") <= SIZES["phone"][0]
