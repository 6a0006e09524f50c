"""The receipt of an environment's current setup, which a transaction writes when it commits."""

import os
from pathlib import Path
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError, LaterDocumentError
from fastinstall.core.messages import quote
from fastinstall.journal.layout import RECEIPT
from fastinstall.model.receipt import Receipt
from fastinstall.model.stored_documents import open_stored


def read_receipt(prefix: Path) -> Receipt | None:
    """Return the receipt of an environment's current setup, or None if there is no receipt.

    Raises:
        LaterDocumentError: a later fastinstall wrote the receipt in a form that this version cannot read.
        DocumentError: the receipt is malformed; the message names the file and the key, and the hint says what to do.
    """
    try:
        data = receipt_data(prefix)
        return open_stored(Receipt, "receipt", data, file=prefix / RECEIPT) if data is not None else None
    except LaterDocumentError:
        raise
    except DocumentError as error:
        file, where = quote(prefix / RECEIPT), quote(prefix)
        raise error.hinting(
            f"set up again without it: mv {file} {file}.damaged; fastinstall setup --prefix {where}"
        ) from None


def receipt_data(prefix: Path) -> dict[str, Any] | None:
    """Return the receipt as stored, with all its keys, or None if there is none.

    Raises:
        DocumentError: the file is not a JSON object.
    """
    file = prefix / RECEIPT
    if not os.path.lexists(file):
        return None
    data = foreign.read_json(file)
    if not isinstance(data, dict):
        raise DocumentError(file, "", "expected a table of keys at the top")
    return data
