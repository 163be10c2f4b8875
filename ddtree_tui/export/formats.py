"""What a run or a round can be exported as: one list for the app's dialog and the command line.

Imports nothing heavy before something is exported.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.errors import EngineError

if TYPE_CHECKING:
    from ddtree_tui.answer import Answer
    from ddtree_tui.vocabulary import SeenVocabulary
    from engine.events import Round

Name = Literal["html", "jsonl", "svg", "graphml", "json"]


@dataclass(frozen=True)
class Format:
    """``key``: the letter that picks it. ``of_round``: it shows one round; else the whole run."""

    name: Name
    key: str
    of_round: bool
    help: str


FORMATS = (
    Format("html", "h", False, "the run as a page: tree, text, numbers; works offline"),
    Format("jsonl", "j", False, "the run as a trace: JSON lines, to replay or to read"),
    Format("svg", "s", True, "the round's draft tree as a drawing"),
    Format("graphml", "g", True, "the round's draft tree as GraphML"),
    Format("json", "n", True, "the round's draft tree as node-link JSON"),
)


def exported_run(name: Name, answer: Answer) -> Iterable[bytes]:
    """A whole run in a format, in pieces."""
    if name == "html":
        from ddtree_tui.export.page import run_page

        return (piece.encode() for piece in run_page(answer))
    from ddtree_tui.export.run_events import jsonl, run_events

    return jsonl(run_events(answer))


def exported_round(name: Name, vocabulary: SeenVocabulary, round_: Round) -> Iterable[bytes]:
    """A round in a format; ``vocabulary``: of the target that it is of."""
    if name == "svg":
        from ddtree_tui.export.tree_svg import tree_svg
        from ddtree_tui.labels import Labels

        return [tree_svg(round_, Labels(vocabulary)).encode()]
    from ddtree_tui.export.graph import graphml, node_link, tree_graph

    graph = tree_graph(round_, vocabulary)
    return [(graphml if name == "graphml" else node_link)(graph).encode()]


def new_file(typed: str) -> Path:
    """The path of a file that is to be made, as somebody typed it.

    Raises:
        EngineError: ``export`` for one that cannot be.
    """
    name = typed.strip()
    try:
        if "\0" in name:  # which newer Pythons say of no file that is there, and all of one to be opened
            raise ValueError("it has a null character")
        path = Path(name).expanduser()
        there, folder = path.exists(), path.parent.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise EngineError(
            "export", f"{name[:200]} cannot be used: {reason}.", "Choose another name."
        ) from error
    if not name or there or not folder:
        why = "exists already" if there else "is in no folder that there is"
        raise EngineError("export", f"{path} {why}.", "Choose another name.")
    return path


def write_new(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file that does not exist yet; one that cannot be finished is removed.

    Raises:
        EngineError: ``export`` if there is one, or it cannot be written.
    """
    try:
        file = path.open("xb")
    except FileExistsError as error:
        raise EngineError("export", f"{path} exists already.", "Choose another name.") from error
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with file:
            for piece in pieces:
                file.write(piece)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _unwritable(path, error) from error
        raise


def _unwritable(path: Path, error: OSError) -> EngineError:
    return EngineError(
        "export",
        f"{path} cannot be written: {error.strerror or error}.",
        "Choose a file in a folder that exists and can be written.",
        str(error),
    )
