"""Every merge of a small scope, checked by three oracles."""
