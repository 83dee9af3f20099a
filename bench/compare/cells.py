"""Values of an answer, brought to the few kinds that can be compared.

Engines type the same answer differently: a sum of integers is a 64-bit integer
in one and a DECIMAL(38,0) in another, an average a double or a decimal.  A cell
is what is left when that is taken away: text (dates included, as ISO), an exact
number, a double, or NULL.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TypeAlias

import pyarrow as pa

Cell: TypeAlias = str | int | Decimal | float | None
Row: TypeAlias = tuple[Cell, ...]

# Exact numbers with as many fractional digits as this may be quotients, cut or
# rounded where the engine's division ends: HyPer's averages have 6 digits.
# The suites' sums and products have at most that many.
QUOTIENT_DIGITS_MIN = 6

# Doubles are summed in any order: an error of about 1e-16 an addition, over
# 6 million rows at scale 1, far below this; a wrong row is far above.
RELATIVE_TOLERANCE = 1e-9

# Answer files write doubles with the fewest digits that give the same double
# back, 15 to 17 of them where it is no short number: a decimal of so many may
# be one, and is then as near to the value as a double can be.
DOUBLE_DIGITS_MIN = 15
DOUBLE_SPACING = Decimal(2) ** -52


def rows_of(answer: pa.Table) -> list[Row]:
    """The rows of an Arrow table as cells."""
    columns = [[cell_of(value) for value in column.to_pylist()] for column in answer.columns]
    return list(zip(*columns, strict=True))


def cell_of(value: object) -> Cell:
    """One Python value, as pyarrow makes it, as a cell."""
    match value:
        case None | str() | float():
            return value
        case bool() | int():
            return int(value)
        case Decimal():
            return int(value) if fractional_digits(value) == 0 else value
        case datetime.datetime() if value.time() == datetime.time.min:
            return value.date().isoformat()
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case bytes():
            return value.decode()
    raise TypeError(f"no cell for {value!r} of type {type(value).__name__}")


def fractional_digits(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int), "answers hold no decimal NaN or infinity"
    return max(0, -exponent)


def cells_agree(left: Cell, right: Cell) -> bool:
    """Whether two cells are the same value, by the rules in README.md.

    Text, NULLs and exact numbers are equal or they are not.  Where a number
    may be a quotient, one unit of its last digit is allowed; where one is a
    double, a relative difference of RELATIVE_TOLERANCE.
    """
    if left is None or right is None or isinstance(left, str) or isinstance(right, str):
        return left == right
    if left == right:
        return True
    if isinstance(left, float) or isinstance(right, float):
        difference = abs(float(left) - float(right))
        size = max(abs(float(left)), abs(float(right)))
        if difference <= RELATIVE_TOLERANCE * size:
            return True
        return difference <= float(quotient_unit(left, right)) * (1 + 1e-6)
    return abs(Decimal(left) - Decimal(right)) <= quotient_unit(left, right)


def quotient_unit(left: Cell, right: Cell) -> Decimal:
    """By how much two quotients may differ; 0 if they are none.

    The last digit's unit of the shorter decimal, or the distance of two doubles
    where the shorter decimal may be a double written down.
    """
    decimals = [cell for cell in (left, right) if isinstance(cell, Decimal)]
    if len(decimals) == 0 or any(isinstance(cell, int) for cell in (left, right)):
        return Decimal(0)
    shorter = min(decimals, key=fractional_digits)
    if fractional_digits(shorter) < QUOTIENT_DIGITS_MIN:
        return Decimal(0)
    unit = Decimal(1).scaleb(-fractional_digits(shorter))
    if len(shorter.as_tuple().digits) < DOUBLE_DIGITS_MIN:
        return unit
    return max(unit, abs(shorter) * DOUBLE_SPACING)
