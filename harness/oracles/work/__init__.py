"""The oracle of work: which files of the target a merge had to read and to rewrite.

``file_bounds``    the log's facts about a file
``condition_parts``  the parts of a condition, and the columns by whose order each is decided
``possible_rows``  rows that stand for all rows that the log allows in a file
``needs``          the need of each file, and the work that an engine did without need

Nothing here comes from an engine, and none of it decides whether rows are right.
"""
