"""The causes are said in whole sentences, and a fault that does not exist is refused with the nearest one."""

from __future__ import annotations

import pytest

from engine.causes import CAUSES, check_faults
from engine.errors import EngineError


@pytest.mark.parametrize("cause", CAUSES.values(), ids=list(CAUSES))
def test_a_cause_is_readable(cause) -> None:
    assert not cause.title.endswith(".")
    assert cause.why.endswith(".")
    assert cause.todo.endswith(".")
    assert cause.name == cause.name.lower()


def test_a_fault_that_does_not_exist_is_refused_with_the_nearest() -> None:
    check_faults(tuple(CAUSES))
    with pytest.raises(EngineError, match="no fault wrong-leef") as caught:
        check_faults(("wrong-leef",))
    assert "Did you mean wrong-leaf?" in caught.value.hint
