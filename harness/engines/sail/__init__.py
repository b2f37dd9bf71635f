"""The engine ``sail``: MERGE of LakeSail's Sail, behind a Spark Connect server of its own."""
