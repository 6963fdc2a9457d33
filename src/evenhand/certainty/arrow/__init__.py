"""Large panels keep their structure: the model, and what to ask, with nothing of size q × k."""

from evenhand.certainty.arrow.model import ArrowFit, ArrowModel

__all__ = ["ArrowFit", "ArrowModel"]
