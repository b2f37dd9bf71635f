"""The verbs ``variants`` and ``bisect``, and the run that they share."""
