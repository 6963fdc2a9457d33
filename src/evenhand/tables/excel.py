"""The library that reads and writes Excel workbooks, which is an extra."""

from __future__ import annotations

from typing import Any

from evenhand.errors import InputError


def openpyxl_module() -> Any:
    """Return openpyxl with what is used of it, or say how to install it."""
    try:
        import openpyxl  # noqa: PLC0415 - an extra
        import openpyxl.styles  # noqa: PLC0415 - an extra
        import openpyxl.worksheet.datavalidation  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise InputError(
            'Excel workbooks need openpyxl: pip install "evenhand[excel]", or use CSV UTF-8'
        ) from None
    return openpyxl
