"""Logs that people have: evaluation logs of many tools, each as the same frame of scores.

Columns of the frame: option, evaluator, item, score; in comparisons also rival (the option that
stands second; the score then says by how much the first is better); option_group, rival_group and
evaluator_group (families of models); length and rival_length where answers are there.
"""

from evenhand.readers.read import read_scores

__all__ = ["read_scores"]
