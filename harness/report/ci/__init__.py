"""What a CI service needs: results read back and compared, annotations, summaries, JUnit files, workflows."""
