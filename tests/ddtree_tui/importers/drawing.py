"""Draws all that is drawn of a session: whatever a trace holds, nothing of it may fail."""

from __future__ import annotations

from collections.abc import Iterator

from ddtree_tui.answer import Answer
from ddtree_tui.doctor.of_run import report_of, rows_of
from ddtree_tui.draft_shape import ROOT, DraftShape
from ddtree_tui.export.graph import graphml, tree_graph
from ddtree_tui.export.page import run_page
from ddtree_tui.export.places import outcome, places_of
from ddtree_tui.export.tree_svg import tree_svg
from ddtree_tui.graphics import Graphics
from ddtree_tui.minimap import minimap
from ddtree_tui.node_facts import facts_of
from ddtree_tui.panels.arrangement import arrange
from ddtree_tui.session import Session
from ddtree_tui.statistics.scope import Scope
from ddtree_tui.statistics.tables import tables_text
from ddtree_tui.transcript_lines import TranscriptLines
from ddtree_tui.tree_layout import ARRANGEMENTS, lay_out
from ddtree_tui.widgets.node_detail import detail_lines
from ddtree_tui.widgets.round_heading import told as heading
from ddtree_tui.widgets.stats import Numbers, Stats
from ddtree_tui.written_text import VIEWS, Writing


def drawn(session: Session) -> Iterator[str]:
    """Every text that the screens and exports have of it."""
    for view in VIEWS:
        lines = TranscriptLines(Writing(view, signs=True), 60)
        lines.update(session)
        yield from (lines.line(number).text for number in range(len(lines)))
    report = session.statistics.report(Scope.ALL, None)
    yield tables_text(session.loaded, Scope.ALL, report, plain=True)
    for line in arrange(report, Graphics(), 120):
        yield from (text for text, _ in line)
    for answer in session.answers:
        yield from rounds_drawn(answer)
        yield from (row.text for row in rows_of(report_of(answer), 80))
        for _ in run_page(answer):
            pass


def rounds_drawn(answer: Answer) -> Iterator[str]:
    """Every text of its rounds."""
    for index, round_ in enumerate(answer.rounds):
        shape = DraftShape.of(round_)
        for arrangement in ARRANGEMENTS:
            for height in (2, 40):
                layout = lay_out(shape, answer.labels, 80, height, arrangement=arrangement)
                yield from (part.text for line in layout.lines for part in line)
                minimap(layout, shape, height, cursor=None, found=())
        yield " ".join(text for text, _ in heading(round_, [], 200)[0])
        yield outcome(round_)
        for place in (ROOT, *range(len(round_.nodes.ids)), *shape.extras(shape.end)):
            facts = facts_of(shape, place, answer.vocabulary, answer.labels, finished=answer.finished)
            yield " ".join(text for line in detail_lines(facts, 50, 20, "") for text, _ in line)
        yield from (place.tip for place in places_of(round_, answer.labels))
        tree_svg(round_, answer.labels)
        graphml(tree_graph(round_, answer.vocabulary))
        stats = Stats()
        stats._numbers = Numbers(answer, index, 8)
        for height in (1, 20):
            yield " ".join(text for line in stats.draw(80, height) for text, _ in line)
