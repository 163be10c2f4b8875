"""Which round is shown: the newest, one the user chose, or the next of those that are played."""

from __future__ import annotations

from ddtree_tui.playback import Playback
from ddtree_tui.round_player import RoundPlayer
from ddtree_tui.run import Answer, Session, Viewpoint

UNTIMED_MS = 250.0
"""How long a round is shown while rounds are played, where an import does not say how long it took."""


class Showing:
    """What there is to show, and where one looks.

    Args:
        playback: the recording, where one is shown.

    Attributes:
        session: all answers and their rounds.
        player: shows rounds that are there already one after the other.
    """

    def __init__(self, playback: Playback | None) -> None:
        self.session = Session()
        self.viewpoint = Viewpoint()
        self.player = RoundPlayer()
        self._playback = playback

    def tick(self, now: float) -> bool:
        """Take in the events that have come; whether anything has changed."""
        raise NotImplementedError

    @property
    def playback(self) -> Playback | None:
        """The recording, if one is shown."""
        return self._playback

    @property
    def shown(self) -> int | None:
        """The shown round's number in ``session.rounds``; None before the first."""
        return self.viewpoint.index(len(self.session.rounds))

    @property
    def shown_answer(self) -> Answer | None:
        """The answer that the shown round is of; before the first round the newest."""
        index = self.shown
        return self.session.answer if index is None else self.session.rounds.place(index)[0]

    def toggle_player(self, now: float) -> None:
        """Play from the shown round to the newest, or from the first where the newest is shown; or stop."""
        count, shown = len(self.session.rounds), self.shown
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
        self.viewpoint.choose(index, len(self.session.rounds), why)

    def show_newest(self) -> None:
        """Show the newest round, and every one that comes."""
        self.player.stop()
        self.viewpoint.follow()

    def move(self, by: int, now: float) -> None:
        """Show another round; past the newest of a paused recording, play one more."""
        self.player.stop()
        count = len(self.session.rounds)
        at_newest = self.shown in (None, count - 1)
        if by > 0 and at_newest and self._playback is not None and not self._playback.over:
            self.viewpoint.follow()
            for _ in range(by):
                self._playback.to_next_round()
                self.tick(now)
        else:
            self.viewpoint.move(by, count)

    def play_all(self, now: float) -> None:
        """Let all of the recording come at once."""
        if self._playback is not None:
            self._playback.finish()
            self.tick(now)

    def play_on(self, now: float) -> bool:
        """Show the round that is next in turn while rounds are played; whether it is another one."""
        rounds = self.session.rounds

        def ms_of(index: int) -> float:
            answer, number = rounds.place(index)
            return answer.rounds.summaries[number].ms or UNTIMED_MS

        index = self.player.due(now, len(rounds), ms_of)
        if index is None:
            return False
        if self.player.playing:
            self.viewpoint.choose(index, len(rounds))
        else:
            self.viewpoint.follow()
        return True
