"""What the server tells of itself, on the demo pair."""

from __future__ import annotations

import json
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families
from served import serving


def test_health(server):
    found = server.health()
    assert found.pop("uptime_seconds") > 0
    assert found == {
        "status": "ok",
        "reason": None,
        "block_size": 16,
        "max_draft_len": 15,
        "model": "demo",
        "drafter": "demo drafter",
        "device": "cpu",
        "engine_restarts": 0,
    }
    checked = next(line for line in server.lines() if line["event"] == "checked")
    assert checked["oracle"] == "identical"
    assert checked["tokens"] > 16


@pytest.mark.slow
def test_a_planted_fault_is_named_and_nothing_is_served(tmp_path):
    with serving(tmp_path / "log", "--inject", "mask-id") as served:
        assert served.health()["status"] == "starting"
        assert served.chat("hello")[0] == 503
        assert "mask-id" in served.wait_for("failed")["reason"]
        assert served.chat("hello")[0] == 503


def metrics(server):
    status, text = server.get("/metrics")
    assert status == 200
    families = text_string_to_metric_families(text.decode())
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def test_metrics(server):
    before = metrics(server)
    _, answer = server.chat("Tell me a story.", max_tokens=20)
    after = metrics(server)

    def grew(name, **labels):
        key = (name, *sorted(labels.items()))
        return after[key] - before.get(key, 0)

    # At least: tests in another process may use the server too.
    block, drafted = answer["ddtree"], answer["metrics"]["speculative_decoding"]
    rounds = block["decode_rounds"]
    assert grew("ddtree_rounds_total", mode="tree") >= rounds
    assert grew("ddtree_acceptance_length_count", mode="tree") >= rounds
    assert grew("ddtree_output_tokens_total") >= 20
    assert grew("ddtree_prompt_tokens_total") >= answer["usage"]["prompt_tokens"]
    assert grew("ddtree_stage_seconds_total", stage="verify") >= 0.99 * block["ms"]["verify"] / 1000
    route = {"route": "/v1/chat/completions", "status": "200", "outcome": "length"}
    assert grew("ddtree_requests_total", **route) >= 1
    assert grew("ddtree_request_seconds_count", route="/v1/chat/completions") >= 1
    assert grew("vllm:spec_decode_num_drafts_total") >= rounds
    assert grew("vllm:spec_decode_num_draft_tokens_total") >= drafted["num_draft_tokens"]
    assert grew("vllm:spec_decode_num_accepted_tokens_total") >= drafted["num_accepted_draft_tokens"]
    at_first = grew("vllm:spec_decode_num_accepted_tokens_per_pos_total", position="0")
    assert at_first >= sum(accepted > 0 for accepted in drafted["per_step_accepted"])
    assert after[("ddtree_status", ("status", "ok"))] == 1
    assert after[("ddtree_engine_memory_bytes", ("of", "process"))] > 10**8
    assert ("ddtree_queue_waiting",) in after


def test_the_log_has_numbers_and_no_text(server):
    _, answer = server.chat("What is 12 + 30?")
    deadline = time.monotonic() + 60
    while not (found := [line for line in server.lines() if line.get("id") == answer["id"]]):
        assert time.monotonic() < deadline  # it is written behind the answer
        time.sleep(0.02)
    (line,) = found
    assert line["output_tokens"] == answer["usage"]["completion_tokens"]
    assert line["rounds"] == answer["ddtree"]["decode_rounds"]
    assert (line["status"], line["outcome"]) == (200, "stop")
    assert "12 + 30" not in json.dumps(server.lines())
