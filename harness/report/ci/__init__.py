"""Parts for a CI service: results read back and compared, annotations, summaries, JUnit files, workflows."""
