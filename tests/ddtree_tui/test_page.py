"""The page of a run, as a browser shows it: from a file, without network, whatever its tokens are."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
import subprocess
from pathlib import Path

import pytest
from make_recording import Recording, conversation

from ddtree_tui.escape import escape
from ddtree_tui.export.page import PER_BLOCK, run_page
from ddtree_tui.export.places import places_of
from ddtree_tui.session import Session
from ddtree_tui.svg_image import CHROMIUM_FLAGS, find_chromium
from engine.events import AnyEvent, Tokens
from engine.settings import DecodeSettings

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e<!--\u0000\x1b[31m]]>&lt;"
PROBE = """
<script>
(async () => {
  const seen = {}, until = async (number) => {
    for (let tries = 0; document.body.dataset.round !== String(number); tries++) {
      if (tries > 400) throw new Error(`not at ${number} but ${document.body.dataset.round}`);
      await new Promise((done) => setTimeout(done, 5));
    }
  };
  const key = (name) => document.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
  const answer = document.createElement("pre");
  answer.id = "probe";
  try {
    while (document.body.dataset.ready !== "yes") await new Promise((done) => setTimeout(done, 5));
    seen.first = document.body.dataset.round;
    const tree = document.getElementById("tree"), fit = document.getElementById("fit");
    const sideways = () => tree.scrollWidth > tree.clientWidth;
    seen.hidden = sideways() || tree.scrollHeight > tree.clientHeight + 1;
    seen.wide = !fit.hidden;
    fit.click(); await new Promise((done) => setTimeout(done, 20)); seen.full = sideways(); fit.click();
    key("Home"); await until(1);
    key("ArrowRight"); await until(2);
    key("PageDown"); await until(12);
    key("ArrowLeft"); await until(11);
    const slider = document.getElementById("slider");
    slider.value = 40; slider.dispatchEvent(new Event("input")); await until(40);
    seen.texts = [...document.querySelectorAll("#tree text")].map((text) => text.textContent);
    seen.overlaps = 0;
    const boxes = [...document.querySelectorAll("#tree text")].map((text) => text.getBoundingClientRect());
    for (let a = 0; a < boxes.length; a++) for (let b = a + 1; b < boxes.length; b++)
      if (Math.abs(boxes[a].y - boxes[b].y) < 4 && boxes[a].left < boxes[b].right - 1
        && boxes[b].left < boxes[a].right - 1) seen.overlaps++;
    seen.heading = document.getElementById("heading").textContent;
    seen.marked = [...document.querySelectorAll("#text span.shown")].map((span) => span.textContent).join("");
    const span = document.querySelector('#text span[data-round="5"]');
    if (span) { span.click(); await until(6); }
    const canvas = document.getElementById("timeline"), box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new MouseEvent("click", { clientX: box.left + 20.5 * canvas.dataset.cell,
      clientY: box.top + 5, bubbles: true }));
    await until(21);
    key("End"); await until(slider.max);
    key("Home"); await until(1); key(" "); await until(4); key(" ");
    seen.prompt = document.querySelector("#text .user").textContent;
    seen.text = document.getElementById("text").textContent;
    seen.numbers = document.getElementById("numbers").textContent;
    seen.images = document.images.length;
    seen.scripts = document.scripts.length;
    seen.requests = performance.getEntriesByType("resource").map((entry) => entry.name);
  } catch (error) {
    seen.error = String(error);
  }
  answer.textContent = JSON.stringify(seen);
  document.body.append(answer);
})();
</script>
"""


def session_of(events: list[AnyEvent]) -> Session:
    session = Session()
    for event in events:
        session.apply(event)
    return session


def hostile_session() -> Session:
    """A run whose prompt, and one of whose common tokens, try to break out of the page."""
    recording = Recording(4, awkward=0.3)
    start = list(recording.start())
    settings = DecodeSettings(thinking=True)
    session = session_of([*start, Tokens(pieces={"20": HOSTILE})])
    for event in recording.answer(HOSTILE, settings=settings, rounds=60):
        session.apply(event)
    return session


def page(session: Session) -> str:
    return "".join(run_page(session.answers[-1]))


def data(text: str, name: str) -> object:
    found = re.search(rf'<script type="application/gzip;base64" id="{name}">([A-Za-z0-9+/=]*)</script>', text)
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def test_the_page_is_one_file_that_asks_for_nothing() -> None:
    text = page(hostile_session())
    assert "/*{" not in text
    assert "<!--{" not in text
    assert HOSTILE not in text
    assert "onerror" not in text
    for outside in ("http://", "https://", "@import", "url(", " src=", "<link"):
        assert outside not in text.replace("http://www.w3.org/2000/svg", "")
    assert "default-src 'none'" in text


def test_every_round_is_in_it() -> None:
    session = hostile_session()
    answer = session.answers[0]
    text = page(session)
    run = data(text, "run")
    assert isinstance(run, dict)
    assert len(run["rounds"]) == 60
    assert run["prompt"] == escape(HOSTILE, keep_newlines=True)
    for number in (0, PER_BLOCK - 1, PER_BLOCK, 59):
        block = data(text, f"rounds-{number // PER_BLOCK}")
        assert isinstance(block, list)
        round_, shown = answer.rounds[number], block[number % PER_BLOCK]
        assert shown["length"] == round_.acceptance_length
        places = places_of(round_, session.labels)
        assert [place["id"] for place in shown["places"]] == [place.token_id for place in places]
        assert [run["labels"][str(place["id"])] for place in shown["places"]] == [p.text for p in places]
    written = {section: "".join(text for _, text in pieces) for section, pieces in run["text"]}
    assert answer.text is not None
    kept = "abcdefghijklmnopqrstuvwxyz "
    for section, own in (("thinking", answer.text.thinking), ("answer", answer.text.answer)):
        own = escape(own, keep_newlines=True)
        assert [c for c in written[section] if c in kept] == [c for c in own if c in kept]


def test_a_run_without_rounds_is_a_page_too() -> None:
    session = session_of(conversation(0, rounds=3)[:6])
    assert data(page(session), "run")["rounds"] == []  # type: ignore[index]


@pytest.mark.skipif(find_chromium() is None, reason="needs a Chromium")
def test_a_browser_shows_it_and_scrubs(tmp_path: Path) -> None:
    session = hostile_session()
    answer = session.answers[0]
    (tmp_path / "run.html").write_text(page(session).replace("</body>", PROBE + "</body>"), encoding="utf-8")
    chromium = find_chromium()
    assert chromium is not None
    done = subprocess.run(
        [
            chromium,
            *CHROMIUM_FLAGS,
            f"--user-data-dir={tmp_path}/profile",
            "--window-size=1300,1000",
            "--virtual-time-budget=20000",
            "--dump-dom",
            (tmp_path / "run.html").as_uri(),
        ],
        capture_output=True,
        timeout=240,
        check=True,
    )
    found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout.decode(), re.DOTALL)
    assert found is not None, done.stderr.decode()[-2000:]
    seen = json.loads(html.unescape(found[1]))
    assert "error" not in seen, seen["error"]
    assert seen["first"] == "1"
    assert not seen["hidden"]
    assert seen["wide"]
    assert seen["full"]
    round_ = answer.rounds[39]
    assert seen["heading"].startswith("round 40 of 60")
    places = places_of(round_, session.labels)
    expected = [word for place in places for word in (place.glyph, place.text, place.p) if word]
    assert seen["texts"] == expected
    assert seen["overlaps"] == 0
    assert answer.text is not None
    assert seen["marked"]
    assert seen["prompt"] == escape(HOSTILE, keep_newlines=True)
    assert seen["images"] == 0
    assert seen["scripts"] == page(session).count("<script") + 1
    assert [name for name in seen["requests"] if not name.startswith("blob:")] == []
    assert f"{answer.statistics.acceptance.mean:.2f}" in seen["numbers"]
