"""Where everything of ours lies inside an environment, relative to its prefix.

    <prefix>/share/fastinstall/
        receipt.json                    of the setup that holds
        tx/<id>/plan.json               what a transaction set out to do
        tx/<id>/journal.jsonl           what it did
        tx/<id>/{stage,aside}/          what it brings in, what it moved aside
        tx/<id>/previous-receipt.json   the receipt that it replaced
        kept/<id>/                      foreign content that a forced rollback moved out of the way

All of it is ours; nothing of the environment's own lies there.
"""

SHARE = "share"
ROOT = "share/fastinstall"
RECEIPT = "share/fastinstall/receipt.json"
TRANSACTIONS = "share/fastinstall/tx"
JOURNAL = "journal.jsonl"
"""Of a transaction, in its directory."""
