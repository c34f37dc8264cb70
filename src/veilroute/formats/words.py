"""Words that many edges share, such as street names: each is held once and numbered."""

from __future__ import annotations


class WordList:
    """Numbers texts in the order in which they come; the empty text has number 0."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def number(self, text: str) -> int:
        """The number of a text; what cannot be printed in it becomes a space."""
        shown = text if text.isprintable() else "".join(sign if sign.isprintable() else " " for sign in text)
        return self._numbers.setdefault(" ".join(shown.split()), len(self._numbers))

    @property
    def words(self) -> tuple[str, ...]:
        """All texts so far, by number."""
        return tuple(self._numbers)


def labels_of_texts(texts: list[str]) -> list[int] | list[str] | None:
    """Node labels for the ids of a text file: integers where all are, and none where these are 0, 1, 2, ... in order.

    An id such as ``007`` is no integer: it would come back as ``7``.
    """
    if not all(_is_whole(text) for text in texts):
        return texts
    numbers = [int(text) for text in texts]
    return None if numbers == list(range(len(numbers))) else numbers


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19 and str(int(text)) == text


def number_of_text(text: str) -> int | float:
    """A number as written: an integer where it is one; raises ``ValueError`` where it is none."""
    return int(text) if _is_whole(text.strip()) else float(text)
