"""Documents written by another version of fastinstall."""

from typing import Any

import pytest
from support.values.builders import receipt

from fastinstall.core.codec import document, encode
from fastinstall.core.errors import DocumentError, LaterDocumentError
from fastinstall.model.receipt import Receipt
from fastinstall.model.stored_documents import keep_unknown_keys, open_stored


def _opened(data: object) -> Receipt:
    return open_stored(Receipt, "receipt", data, file="receipt.json")


def _with_unknown_keys() -> dict[str, Any]:
    later = document("receipt", receipt())
    later |= {"signed_by": {"name": "somebody"}, "tool_version": "7.1"}
    later["core"] |= {"compressed": True}
    return later


def test_keys_that_nobody_knows_are_passed_over_at_every_depth() -> None:
    assert _opened(_with_unknown_keys()).core == receipt().core


def test_they_stay_where_the_document_is_written_anew() -> None:
    before = _with_unknown_keys()
    read = _opened(before)
    after = keep_unknown_keys(before, document("receipt", read))
    assert after == before
    assert list(after)[: len(encode(read)) + 1] == ["schema", *encode(read)], "ours in their order, and then the others"


def test_another_schema_number_is_refused_naming_the_writer() -> None:
    with pytest.raises(LaterDocumentError) as caught:
        _opened({"schema": "fastinstall.receipt/2", "tool_version": "7.1"})
    assert caught.value.message.startswith("receipt.json: schema: expected 'fastinstall.receipt/1', found ")
    assert "'fastinstall.receipt/2': written by fastinstall 7.1" in caught.value.message
    assert "'fastinstall>=7.1'" in str(caught.value.hint)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("schema", [None, 1, "fastinstall.receipt/0", "fastinstall.plan/2", "fastinstall.receipt/x"])
def test_what_is_no_later_receipt_is_malformed(schema: object) -> None:
    with pytest.raises(DocumentError, match=r"schema: expected 'fastinstall\.receipt/1'") as caught:
        _opened({**document("receipt", receipt()), "schema": schema})
    assert not isinstance(caught.value, LaterDocumentError)


def test_a_known_key_with_a_wrong_value_is_malformed_as_ever() -> None:
    with pytest.raises(DocumentError, match=r"receipt\.json: core: expected a table"):
        _opened({**document("receipt", receipt()), "core": "none"})
