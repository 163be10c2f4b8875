"""Which round is shown: the newest, one the user chose, or the next of those that are played."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ddtree_tui.answer import Answer
from ddtree_tui.playback import Playback
from ddtree_tui.round_player import RoundPlayer
from ddtree_tui.session import Session
from ddtree_tui.viewpoint import Viewpoint

UNTIMED_MS = 250.0
"""How long a round is shown while rounds are played, where an import does not say how long it took."""


class Showing(ABC):
    """Where one looks among some rounds.

    Args:
        playback: the recording, where one is shown.

    Attributes:
        player: shows rounds that are there already one after the other.
    """

    def __init__(self, playback: Playback | None) -> None:
        self.viewpoint = Viewpoint()
        self.player = RoundPlayer()
        self._playback = playback

    @property
    @abstractmethod
    def round_count(self) -> int:
        """How many rounds there are so far."""

    @abstractmethod
    def round_ms(self, index: int) -> float:
        """Milliseconds that a round took; 0 if that is unknown."""

    @abstractmethod
    def tick(self, now: float) -> bool:
        """Take in the events that have come; whether anything has changed."""

    @property
    def playback(self) -> Playback | None:
        """The recording, if one is shown."""
        return self._playback

    @property
    def shown(self) -> int | None:
        """The number of the shown round, from 0; None before the first."""
        return self.viewpoint.index(self.round_count)

    def toggle_player(self, now: float) -> None:
        """Play from the shown round to the newest, or from the first where the newest is shown; or stop."""
        count, shown = self.round_count, self.shown
        if self.player.playing or shown is None:
            self.player.stop()
            return
        start = 0 if shown == count - 1 else shown
        self.viewpoint.choose(start, count)
        self.player.start(start, now)

    def change_speed(self, by: int, now: float) -> None:
        """Play slower or faster, a recording too."""
        self.player.change_speed(by, now)
        if self._playback is not None:
            self._playback.set_speed(self.player.speed, now)

    def show(self, index: int, why: str = "") -> None:
        """Show one round and stay on it."""
        self.player.stop()
        self.viewpoint.choose(index, self.round_count, why)

    def show_newest(self) -> None:
        """Show the newest round, and every one that comes."""
        self.player.stop()
        self.viewpoint.follow()

    def move(self, by: int, now: float) -> None:
        """Show another round; past the newest of a paused recording, play one more."""
        self.player.stop()
        at_newest = self.shown in (None, self.round_count - 1)
        if by > 0 and at_newest and self._playback is not None and not self._playback.over:
            self.viewpoint.follow()
            for _ in range(by):
                self._playback.to_next_round()
                self.tick(now)
        else:
            self.viewpoint.move(by, self.round_count)

    def play_all(self, now: float) -> None:
        """Let all of the recording come at once."""
        if self._playback is not None:
            self._playback.finish()
            self.tick(now)

    def play_on(self, now: float) -> bool:
        """Show the round that is next in turn while rounds are played; whether it is another one."""
        count = self.round_count
        index = self.player.due(now, count, lambda number: self.round_ms(number) or UNTIMED_MS)
        if index is None:
            return False
        if self.player.playing:
            self.viewpoint.choose(index, count)
        else:
            self.viewpoint.follow()
        return True


class SessionShowing(Showing):
    """Where one looks in a conversation.

    Attributes:
        session: all answers and their rounds.
    """

    def __init__(self, playback: Playback | None) -> None:
        super().__init__(playback)
        self.session = Session()

    @property
    def round_count(self) -> int:
        return len(self.session.rounds)

    def round_ms(self, index: int) -> float:
        answer, number = self.session.rounds.place(index)
        return answer.rounds.summaries[number].ms

    @property
    def shown_answer(self) -> Answer | None:
        """The answer that the shown round is of; the newest before the first round, and while one follows it
        and it has none yet."""
        index, newest = self.shown, self.session.answer
        if self.viewpoint.following and newest is not None and newest.without_rounds:
            return newest
        return self.session.answer if index is None else self.session.rounds.place(index)[0]
