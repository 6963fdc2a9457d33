"""Rivals: what others do, and simple baselines, to measure the policies of this package against."""
