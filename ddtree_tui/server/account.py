"""What an answer cost: usage as OpenAI has it, the rounds as this engine and as vLLM tell them."""

from __future__ import annotations

from typing import Any

import msgspec

from ddtree_tui.server.responses import (
    CompletionDetails,
    DDTreeBlock,
    PromptDetails,
    RequestMetrics,
    SpeculativeDecoding,
    StageMilliseconds,
    Usage,
)
from engine.events import AnyEvent, Finished, Loaded, Prefilled, Round


class Account:
    """Kept up with every event of one answer.

    Args:
        trace: whether to keep all events for the client.
    """

    def __init__(self, loaded: Loaded, *, trace: bool) -> None:
        self._loaded = loaded
        self.trace: list[dict[str, Any]] | None = [] if trace else None
        self._prefilled: Prefilled | None = None
        self._accepted: list[int] = []
        self._drafted: list[int] = []

    def add(self, event: AnyEvent) -> None:
        """Take in one event."""
        if self.trace is not None:
            self.trace.append(msgspec.to_builtins(event))
        match event:
            case Prefilled():
                self._prefilled = event
            case Round() if event.mode != "ar":
                self._accepted.append(len(event.accepted))
                self._drafted.append(len(event.nodes.ids))

    def closing(
        self, finished: Finished, *, thinking_tokens: int, waited: float, warnings: list[str]
    ) -> dict[str, Any]:
        """The fields of ``Closing``. ``waited``: seconds in the queue."""
        assert self._prefilled is not None
        return {
            "usage": self.usage(finished, thinking_tokens),
            "ddtree": self._block(finished, self._prefilled, waited),
            "metrics": RequestMetrics(speculative_decoding=self._speculative()),
            "warnings": warnings,
        }

    def usage(self, finished: Finished, thinking_tokens: int) -> Usage:
        """Tokens."""
        assert self._prefilled is not None
        prompt = len(self._prefilled.prompt_ids)
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=finished.tokens,
            total_tokens=prompt + finished.tokens,
            prompt_tokens_details=PromptDetails(cached_tokens=self._prefilled.cached),
            completion_tokens_details=CompletionDetails(reasoning_tokens=thinking_tokens),
        )

    def _block(self, finished: Finished, prefilled: Prefilled, waited: float) -> DDTreeBlock:
        settings = prefilled.settings
        return DDTreeBlock(
            mode=settings.mode,
            block_size=settings.block_size or self._loaded.block_size,
            tree_budget=settings.budget if settings.mode == "tree" else None,
            auto_budget=settings.auto_budget and settings.mode == "tree",
            decode_rounds=finished.rounds,
            mean_acceptance_length=finished.mean_acceptance_length,
            acceptance_histogram=finished.acceptance_histogram,
            output_tokens=finished.tokens,
            tokens_per_second=finished.tokens_per_second,
            time_to_first_token_ms=1000 * finished.ttft_s,
            queue_ms=1000 * waited,
            ms=StageMilliseconds(**msgspec.to_builtins(finished.ms)),
            drafted=finished.drafted,
            accepted=finished.accepted,
            seed=settings.seed,
            trace=self.trace,
        )

    def _speculative(self) -> SpeculativeDecoding | None:
        steps = len(self._accepted)
        if not steps or not self._loaded.block_size or self._prefilled is None:
            return None
        longest = (self._prefilled.settings.block_size or self._loaded.block_size) - 1
        accepted, drafted = sum(self._accepted), sum(self._drafted)
        return SpeculativeDecoding(
            mean_acceptance_length=(accepted + steps) / steps,
            draft_acceptance_rate=accepted / drafted if drafted else 0.0,
            acceptance_histogram=[self._accepted.count(length) for length in range(longest + 1)],
            num_spec_steps=steps,
            num_accepted_draft_tokens=accepted,
            num_draft_tokens=drafted,
            num_spec_tokens=longest,
            per_step_accepted=self._accepted,
            per_step_drafted=self._drafted,
        )
