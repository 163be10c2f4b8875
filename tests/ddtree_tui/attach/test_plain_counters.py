"""What servers count, and the difference that an answer makes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddtree_tui.attach.plain_counters import Counters, caught_up, meanwhile, read_counters

VLLM = """\
# HELP vllm:generation_tokens_total Number of generation tokens processed.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="a/b"} 40.0
vllm:generation_tokens_total{engine="1",model_name="a/b"} 2.0
vllm:generation_tokens_created{engine="0",model_name="a/b"} 1.7e+09
vllm:spec_decode_num_drafts_total{engine="0",model_name="a/b"} 10.0
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="a/b"} 30.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="a/b"} 12.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="a/b",position="0"} 7.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="a/b",position="1"} 4.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="a/b",position="2"} 1.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="a/b"} 1.0
"""


def test_of_vllm():
    found = read_counters(VLLM)
    assert found == Counters(42.0, None, 10.0, 30.0, 12.0, {0: 7.0, 1: 4.0, 2: 1.0}, None)


def test_of_sglang_with_and_without_its_newer_counter():
    old = 'sglang:generation_tokens_total{model_name="m"} 5\nsglang:spec_accept_length{tp_rank="0"} 2.5\n'
    assert read_counters(old) == Counters(generated=5.0, accept_length=2.5)
    new = 'sglang:spec_verify_calls_total{model_name="m"} 3\nsglang:num_requests_total{model_name="m"} 1\n'
    found = read_counters(old + new)
    assert found == Counters(generated=5.0, requests=1.0, drafts=3.0, accept_length=2.5)


@pytest.mark.parametrize(
    "text", ["", "<html>Not found</html>", "vllm:generation_tokens_total{broken", "up 1\n"]
)
def test_no_counters(text):
    assert read_counters(text) is None


def vllm(generated=0, drafts=0, drafted=0, accepted=0, at=()):
    return Counters(
        float(generated),
        None,
        float(drafts),
        float(drafted),
        float(accepted),
        dict(enumerate(map(float, at))),
    )


ACCEPTED = st.lists(st.integers(0, 5), min_size=1, max_size=30)


@settings(max_examples=40)
@given(ACCEPTED, ACCEPTED)
def test_an_answer_alone_has_its_own_numbers(before, accepted):
    """Whatever was counted before. Rounds that accept n tokens give n + 1; the prefill gives one more."""

    def counted(rounds):
        tokens = sum(n + 1 for n in rounds)
        at = [sum(n > position for n in rounds) for position in range(5)]
        return vllm(tokens, len(rounds), 5 * len(rounds), sum(rounds), at)

    tokens = 1 + sum(accepted) + len(accepted)
    first = counted(before)
    last = counted([*before, *accepted])
    after = Counters(
        first.generated + tokens, None, last.drafts, last.drafted, last.accepted, last.accepted_at, None
    )
    found = meanwhile(first, after, tokens)
    assert found is not None
    assert found.counted == "server"
    totals = found.totals
    assert (totals.rounds, totals.drafted, totals.accepted) == (
        len(accepted),
        5 * len(accepted),
        sum(accepted),
    )
    assert totals.mean == pytest.approx((tokens - 1) / len(accepted))
    assert list(totals.histogram) == [0, *(accepted.count(n) for n in range(6))]


def test_with_other_answers_it_is_their_mean():
    before, after = vllm(), vllm(100, 20, 60, 40, (20, 12, 8))
    found = meanwhile(before, after, 31)
    assert found is not None
    assert found.counted == "shared"
    assert found.totals.mean == pytest.approx(3.0)
    assert found.totals.rounds == 10
    assert found.totals.drafted is None
    assert not found.totals.histogram


def test_counters_that_cannot_be_of_the_answer_say_nothing():
    assert meanwhile(vllm(10, 5, 5, 5), vllm(20, 9, 9, 9), 31) is None, "another server has written it"
    assert meanwhile(vllm(100, 50, 50, 50), vllm(31, 10, 10, 10), 31) is None, "it was started anew"
    assert meanwhile(vllm(), vllm(31), 31) is None, "nothing was drafted"
    assert meanwhile(Counters(generated=0.0), Counters(generated=31.0), 31) is None, "it does not draft"


def test_sglang_counts_when_requests_end():
    def sglang(generated, requests, verified, length=0.0):
        return Counters(generated, requests, verified, accept_length=length)

    alone = meanwhile(sglang(5.0, 1.0, 2.0), sglang(36.0, 2.0, 12.0, 9.0), 31)
    assert alone is not None
    assert (alone.counted, alone.totals.rounds, alone.totals.mean) == ("server", 10, 3.0)
    shared = meanwhile(sglang(0.0, 0.0, 0.0), sglang(82.0, 2.0, 20.0), 31)
    assert shared is not None
    assert (shared.counted, shared.totals.mean, shared.totals.rounds) == ("shared", 4.0, 8)
    gauge = meanwhile(Counters(generated=0.0), Counters(generated=31.0, accept_length=2.5), 31)
    assert gauge is not None
    assert (gauge.counted, gauge.totals.mean, gauge.totals.rounds) == ("shared", 2.5, 12)


def test_waits_until_the_answer_is_counted():
    assert not caught_up(vllm(5), vllm(20), 31)
    assert caught_up(vllm(5), vllm(36), 31)
    assert caught_up(Counters(), Counters(), 31), "what is not counted is not waited for"
