"""Tests of the harness without other processes: answers, statistics, protocol.

The faults that a comparison of answers must find are planted here: a wrong
value, a missing row, a duplicate, rows out of order.
"""

from __future__ import annotations

import datetime
import io
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from compare import protocol
from compare.__main__ import byte_count, main
from compare.answer_files import read_answer_file, write_answer_file
from compare.answers import first_difference, order_columns
from compare.cells import cells_agree, rows_of
from compare.outcome import EngineOutcome, QueryOutcome
from compare.suites import (
    ANSWERS_FOLDER,
    chosen_queries,
    folder_name,
    query_text,
    read_queries,
)
from compare.summary import geometric_mean, shared_ratio
from compare.worker import Worker


class TestCells:
    @pytest.mark.parametrize(
        ("left", "right", "same"),
        [
            (1, 1, True),
            (1, 2, False),
            (1, 1.0, True),
            (None, None, True),
            (None, 0, False),
            ("13", "13", True),
            ("13", 13, False),
            ("a", "a ", False),
            (Decimal("1.50"), Decimal("1.5"), True),
            (Decimal("1.50"), Decimal("1.51"), False),
            # Exact sums must be exact, however large.
            (Decimal("56586554400.73"), Decimal("56586554400.74"), False),
            # Averages end where an engine's division ends.
            (Decimal("25.522005"), Decimal("25.5220058532573370"), True),
            (Decimal("25.522003"), Decimal("25.5220058532573370"), False),
            (Decimal("25.522006"), 25.522005853257337, True),
            (Decimal("25.522008"), 25.522005853257337, False),
            # A double, written down, is half its spacing away at most.
            (Decimal("16.380778626395543"), Decimal("16.3807786263955404"), True),
            (Decimal("16.380778626395543"), Decimal("16.3807786263955534"), False),
            (Decimal("16.38077862639554"), Decimal("16.38077862639556"), False),
            # A short decimal beside a double is still exact.
            (Decimal("25.52"), 25.522005853257337, False),
            (16.380778626395543, 16.38077862639554, True),
            (16.380778626395543, 16.380778, False),
        ],
    )
    def test_agree(self, left: object, right: object, same: bool) -> None:
        assert cells_agree(left, right) is same  # type: ignore[arg-type]
        assert cells_agree(right, left) is same  # type: ignore[arg-type]

    def test_engines_type_the_same_answer_differently(self) -> None:
        day = datetime.date(1995, 1, 1)
        one = pa.table({"n": pa.array([7], pa.int64()), "d": pa.array([day], pa.date32())})
        other = pa.table(
            {
                "n": pa.array([Decimal(7)], pa.decimal128(38, 0)),
                "d": pa.array([day], pa.date64()),
            }
        )
        assert rows_of(one) == rows_of(other) == [(7, "1995-01-01")]


class TestAnswers:
    ROWS = (("a", 3, 1.0), ("b", 2, 2.0), ("c", 2, 3.0), ("d", 1, 4.0))

    def test_equal(self) -> None:
        assert first_difference(self.ROWS, self.ROWS, [1]) is None

    def test_planted_wrong_value(self) -> None:
        wrong = [*self.ROWS[:2], ("c", 2, 3.1), self.ROWS[3]]
        found = first_difference(wrong, self.ROWS, [1])
        assert found == "row 3, column 3: 3.1, expected 3.0"

    def test_missing_row(self) -> None:
        assert first_difference(self.ROWS[:3], self.ROWS, [1]) == "3 rows, expected 4"

    def test_duplicate_row_in_the_place_of_another(self) -> None:
        wrong = [self.ROWS[0], self.ROWS[1], self.ROWS[1], self.ROWS[3]]
        assert first_difference(wrong, self.ROWS, [1]) is not None

    def test_ties_may_come_in_any_order(self) -> None:
        swapped = [self.ROWS[0], self.ROWS[2], self.ROWS[1], self.ROWS[3]]
        assert first_difference(swapped, self.ROWS, [1]) is None
        assert first_difference(swapped, self.ROWS, [0]) is not None

    def test_wrong_order_is_a_difference(self) -> None:
        assert first_difference(self.ROWS[::-1], self.ROWS, [1]) is not None
        assert first_difference(self.ROWS[::-1], self.ROWS, []) is None

    def test_order_columns(self) -> None:
        names = ["n_name", "revenue", "year"]
        sql = "select (select a from t order by year) from t order by revenue desc, N_NAME limit 3"
        assert order_columns(sql, names) == [1, 0]
        assert order_columns("select 1 from t", names) == []
        assert order_columns("select 1 from t order by 3, 1", names) == [2, 0]
        assert order_columns("select sum(x) over (order by year) from t", names) == []

    def test_every_order_by_of_the_suites_is_understood(self) -> None:
        for suite, unordered in (
            ("tpch", {"q06", "q14", "q17", "q19"}),
            ("ssb", {"q1.1", "q1.2", "q1.3"}),
        ):
            for name, sql in read_queries(suite, Decimal(1)).items():
                file = ANSWERS_FOLDER / "tpch-sf1" / f"{name}.tsv"
                if suite == "tpch":
                    names = file.read_text().split("\n", 1)[0].split("\t")
                else:
                    names = ["d_year", "p_brand1", "c_nation", "s_nation", "c_city"]
                    names += ["s_city", "p_category", "revenue"]
                assert bool(order_columns(sql, names)) is (name not in unordered), name


class TestAnswerFiles:
    TABLE = pa.table(
        {
            "text": ["tab\there", "back\\slash\nline", None, "13", ""],
            "whole": pa.array([1, 2, None, 13, -5], pa.int64()),
            "price": pa.array(
                [Decimal("1.50"), None, Decimal("-0.01"), Decimal("2.00"), Decimal("0.00")],
                pa.decimal128(15, 2),
            ),
            "share": [0.1, 1e-7, None, 1e300, 2.0],
            "day": pa.array([datetime.date(1995, 1, 31)] * 5, pa.date32()),
        }
    )

    def test_round_trip(self, tmp_path: Path) -> None:
        file = tmp_path / "a.tsv"
        write_answer_file(file, self.TABLE)
        names, rows = read_answer_file(file, self.TABLE.schema)
        assert names == self.TABLE.column_names
        assert first_difference(rows, rows_of(self.TABLE), [0]) is None

    def test_form(self, tmp_path: Path) -> None:
        file = tmp_path / "a.tsv"
        write_answer_file(file, self.TABLE.slice(0, 3))
        assert file.read_text().split("\n") == [
            "text\twhole\tprice\tshare\tday",
            "tab\\there\t1\t1.50\t0.1\t1995-01-31",
            "back\\\\slash\\nline\t2\t\\N\t1e-07\t1995-01-31",
            "\\N\t\\N\t-0.01\t\\N\t1995-01-31",
            "",
        ]

    def test_no_rows(self, tmp_path: Path) -> None:
        file = tmp_path / "a.tsv"
        write_answer_file(file, self.TABLE.slice(0, 0))
        assert read_answer_file(file, self.TABLE.schema)[1] == []


class TestSummary:
    def test_geometric_mean(self) -> None:
        assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
        with pytest.raises(ValueError):
            geometric_mean([])
        with pytest.raises(ValueError):
            geometric_mean([1.0, 0.0])

    def test_shared_ratio_counts_only_queries_of_both(self) -> None:
        base = {"q1": 1.0, "q2": 1.0, "q3": 100.0}
        assert shared_ratio({"q1": 2.0, "q2": 8.0, "q4": 9.0}, base) == (pytest.approx(4.0), 2)
        assert shared_ratio({"q9": 1.0}, base) is None

    def test_medians_leave_failed_queries_out(self) -> None:
        outcome = EngineOutcome("toy")
        outcome.queries["q1"] = QueryOutcome(seconds=[3.0, 1.0, 2.0])
        outcome.queries["q2"] = QueryOutcome(seconds=[1.0], error="failed")
        assert outcome.medians() == {"q1": 2.0}


class TestSuites:
    def test_chosen_queries(self) -> None:
        known = [f"q{number:02d}" for number in range(1, 23)]
        assert chosen_queries("1,3-5,q22", known) == ["q01", "q03", "q04", "q05", "q22"]
        assert chosen_queries("4.1", ["q1.1", "q4.1"]) == ["q4.1"]
        with pytest.raises(ValueError, match="q01, q02"):
            chosen_queries("23", known)

    def test_fraction_of_q11(self) -> None:
        assert query_text("* {fraction}", Decimal("0.01")) == "* 0.01"
        assert query_text("* {fraction}", Decimal(1)) == "* 0.0001"
        assert query_text("* {fraction}", Decimal(10)) == "* 0.00001"

    def test_all_queries_are_there(self) -> None:
        assert len(read_queries("tpch", Decimal(1))) == 22
        assert len(read_queries("ssb", Decimal(1))) == 13

    def test_folder_name(self) -> None:
        assert folder_name("tpch", Decimal(10)) == "tpch-sf10"
        assert folder_name("tpch", Decimal("0.010")) == "tpch-sf0.01"

    def test_byte_count(self) -> None:
        assert byte_count("16GB") == 16 * 10**9
        assert byte_count("1.5 GiB") == 3 * 2**29


class TestWorker:
    """The protocol, without a process."""

    @staticmethod
    def serve(*lines: bytes) -> list[protocol.Message]:
        replies = io.BytesIO()
        Worker("toy_engines:ToyEngine").serve(io.BytesIO(b"".join(lines)), replies)
        return [protocol.decode(line) for line in replies.getvalue().splitlines()]

    START = protocol.encode(
        {"do": "start", "threads": 1, "memory_bytes": 1, "scratch": "/tmp", "settings": {}}
    )

    def test_a_session(self, tmp_path: Path) -> None:
        file = tmp_path / "answer.arrow"
        run = {"do": "run", "sql": "42", "warm_ups": 1, "answer_file": str(file)}
        close = protocol.encode({"do": "close"})
        started, ran, closed = self.serve(self.START, protocol.encode(run), close, b"never read")
        assert started == {"ok": True, "version": "1.0", "description": "a toy"}
        assert ran["rows"] == 1 and ran["seconds"] >= 0
        assert closed == {"ok": True}
        with pa.ipc.open_file(str(file)) as answer:
            assert answer.read_all().to_pydict() == {"x": [42]}

    def test_a_failure_is_a_reply(self) -> None:
        fail, good = (
            protocol.encode({"do": "run", "sql": sql, "warm_ups": 0}) for sql in ("fail", "1")
        )
        _, failed, ran = self.serve(self.START, fail, good)
        assert failed == {"ok": False, "error": "ValueError: no such query"}
        assert ran["ok"]

    def test_a_line_that_is_no_message(self) -> None:
        for line in (b"nonsense", b"[1]", b""):
            with pytest.raises(protocol.ProtocolError):
                protocol.decode(line)


def test_missing_data_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path)]) == 2
    assert "python prepare.py --suite tpch --scale 1" in capsys.readouterr().err
