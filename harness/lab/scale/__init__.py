"""The scale mode: one merge of generated tables of 10^5 to 10^8 rows, judged out of core."""
