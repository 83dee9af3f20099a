"""Reference answers as text files: one query a file, one row a line.

The first line names the columns; values are separated by tabs.  NULL is `\\N`;
backslash, tab and line breaks in text are written `\\\\`, `\\t`, `\\n`, `\\r`.
Decimals have all digits of their scale, doubles the shortest digits that give
the same double back, dates are ISO.  tests/answers/README.md says the same to
those who read the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from compare.cells import Cell, Row, rows_of

NULL = "\\N"
ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
ESCAPE_TABLE = str.maketrans(ESCAPES)
PLAIN_OF_ESCAPE = {escape[1]: plain for plain, escape in ESCAPES.items()}


def write_answer_file(file: Path, answer: pa.Table) -> None:
    """Writes an answer; the same answer always gives the same bytes."""
    lines = ["\t".join(answer.column_names)]
    lines += ["\t".join(text_of(cell) for cell in row) for row in rows_of(answer)]
    file.write_text("".join(f"{line}\n" for line in lines), newline="")


def read_answer_file(file: Path, like: pa.Schema) -> tuple[list[str], list[Row]]:
    """Reads column names and rows; `like` tells text columns from numbers.

    The files carry no types: '13' is a number in one column and the first
    digits of a telephone number in another.  An answer to compare knows.
    """
    with file.open(newline="") as source:
        lines = source.read().removesuffix("\n").split("\n")
    names = lines[0].split("\t")
    numeric = [is_numeric(field.type) for field in like]
    numeric += [False] * (len(names) - len(numeric))
    rows = [parse_row(line, numeric) for line in lines[1:]]
    return names, rows


def parse_row(line: str, numeric: Sequence[bool]) -> Row:
    texts = line.split("\t")
    return tuple(parse_cell(text, number) for text, number in zip(texts, numeric, strict=False))


def parse_cell(text: str, number: bool) -> Cell:
    if text == NULL:
        return None
    if not number:
        return unescape(text)
    if "e" in text or text in ("inf", "-inf", "nan"):
        return float(text)
    return Decimal(text) if "." in text else int(text)


def text_of(cell: Cell) -> str:
    match cell:
        case None:
            return NULL
        case str():
            return cell.translate(ESCAPE_TABLE)
        case float():
            return repr(cell)
        case Decimal():
            return f"{cell:f}"
        case int():
            return str(cell)


def unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain: list[str] = []
    characters = iter(text)
    for character in characters:
        if character == "\\":
            following = next(characters, "")
            plain.append(PLAIN_OF_ESCAPE.get(following, following))
        else:
            plain.append(character)
    return "".join(plain)


def is_numeric(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )
