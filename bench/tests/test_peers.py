"""Tests of what the peers need, without any of them: rewrites, CSV, tables, the gate."""

from __future__ import annotations

import datetime
import time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import install_peers
from compare.csv_files import csv_file, write_csv_file
from compare.engines import KNOWN_ENGINES
from compare.engines.tables import create_table, foreign_keys, primary_key
from compare import gate as gate_module
from compare.gate import Gate, GateLost
from compare.rewrites import REWRITES_FOLDER, Rewrite, read_rewrites, rewrite_of, rewritten
from compare.suites import ANSWERS_FOLDER, TABLES_OF_SUITE, read_queries

HOLD = "sh -c 'echo held; cat > /dev/null'"


class TestRewrites:
    def test_text_and_pattern(self) -> None:
        plain = rewrite_of({"queries": ["s/q1"], "from": "a.b", "to": r"\1", "why": "dots"})
        pattern = rewrite_of({"queries": ["s/*"], "pattern": "(c)d", "to": r"\1e", "why": "ends"})
        texts, reasons = rewritten([plain, pattern], "s", {"q1": "a.b cd", "q2": "a.b", "q3": "cd"})
        assert texts == {"q1": r"\1 ce", "q2": "a.b", "q3": "ce"}
        assert reasons == {"q1": ["dots", "ends"], "q3": ["ends"]}

    def test_a_rewrite_that_finds_nothing_is_an_error(self) -> None:
        stale = Rewrite(("s/q1",), "gone", "", "stale")
        with pytest.raises(ValueError, match="s/q1 does not hold 'gone'"):
            rewritten([stale], "s", {"q1": "other text"})

    @pytest.mark.parametrize("file", sorted(REWRITES_FOLDER.glob("*.toml")), ids=lambda f: f.stem)
    def test_every_kept_rewrite_applies_and_has_a_reason(self, file: Path) -> None:
        assert file.stem in KNOWN_ENGINES
        rewrites = read_rewrites(file.stem)
        assert rewrites and all(rewrite.why.strip() for rewrite in rewrites)
        changed: set[str] = set()
        for suite in TABLES_OF_SUITE:
            _, reasons = rewritten(rewrites, suite, read_queries(suite, Decimal(1)))
            changed |= {why for found in reasons.values() for why in found}
        assert changed == {rewrite.why for rewrite in rewrites}

    def test_an_engine_without_a_file_has_none(self, tmp_path: Path) -> None:
        assert read_rewrites("quickstep", tmp_path) == []


class TestFiles:
    SCHEMA = pa.schema(
        [
            pa.field("k", pa.int64(), nullable=False),
            pa.field("i", pa.int32()),
            pa.field("price", pa.decimal128(7, 2)),
            pa.field("day", pa.date32()),
            pa.field("text", pa.string_view()),
        ]
    )

    def write(self, folder: Path) -> Path:
        rows = {
            "k": [1, 2],
            "i": [5, None],
            "price": [Decimal("1.50"), None],
            "day": [datetime.date(1995, 1, 31), None],
            "text": ['say "a, b"', None],
        }
        file = folder / "t.parquet"
        pyarrow.parquet.write_table(pa.table(rows, self.SCHEMA), file)
        return file

    def test_csv(self, tmp_path: Path) -> None:
        file = self.write(tmp_path)
        copy = write_csv_file(file)
        assert copy == csv_file(file)
        assert copy.read_text() == '1,5,1.50,1995-01-31,"say ""a, b"""\n2,,,,\n'
        written = copy.stat().st_mtime_ns
        assert write_csv_file(file).stat().st_mtime_ns == written

    def test_create_table(self, tmp_path: Path) -> None:
        file = self.write(tmp_path)
        assert create_table("t", file) == (
            "create table t (k bigint not null, i integer, price decimal(7, 2), day date, text text)"
        )
        assert primary_key("t", file) == "k"
        assert primary_key("lineitem", file) == "l_orderkey, l_linenumber"
        assert foreign_keys("customer", file) == []


def test_flat_queries_ask_what_ssb_asks() -> None:
    flat, star = read_queries("ssbflat", Decimal(1)), read_queries("ssb", Decimal(1))
    assert list(flat) == list(star)
    for query in flat:
        answer = (ANSWERS_FOLDER / "ssb-sf1" / f"{query}.tsv").read_text()
        for name in answer.split("\n", 1)[0].split("\t"):
            assert name in flat[query], (query, name)
        assert " join " not in flat[query] and "from lineorder_flat\n" in flat[query]


class TestGate:
    @pytest.fixture(autouse=True)
    def idle(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever else the machine does, the tests find it idle."""
        monkeypatch.setattr(gate_module, "busy_share", lambda _seconds: 0.0)

    def test_a_machine_that_stays_busy_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        shares = [0.5, 0.5, 0.0]
        monkeypatch.setattr(gate_module, "LISTEN_SECONDS", 0.0)
        monkeypatch.setattr(gate_module, "busy_share", lambda _seconds: shares.pop(0))
        with Gate(HOLD) as gate:
            gate.hold()
            assert shares == []
        monkeypatch.setattr(gate_module, "busy_share", lambda _seconds: 0.5)
        monkeypatch.setattr(gate_module, "OPENINGS_MAX", 2)
        with pytest.raises(GateLost, match="busy in spite"):
            Gate(HOLD).hold()

    def test_opens_once_for_a_stretch(self) -> None:
        with Gate(HOLD, stretch_seconds=60) as gate:
            gate.hold()
            process = gate._process
            gate.hold()
            assert gate._process is process and process is not None
        assert process.poll() is not None

    def test_opens_anew_after_a_stretch(self) -> None:
        with Gate(HOLD, stretch_seconds=0, rest_seconds=0.2) as gate:
            gate.hold()
            first, started = gate._process, time.monotonic()
            gate.hold()
            assert gate._process is not first
            assert time.monotonic() - started >= 0.2

    def test_a_command_that_ends_is_an_error(self) -> None:
        with Gate("sh -c 'echo held'") as gate:
            with pytest.raises(GateLost):
                gate.hold()
                time.sleep(0.1)
                gate.check()
        with Gate("sh -c 'echo held'") as gate:
            for _ in range(2):
                gate.hold(anew=True)
                time.sleep(0.1)
        with pytest.raises(GateLost, match="without a word"):
            Gate("true").hold()

    def test_no_command_holds_nothing(self) -> None:
        with Gate() as gate:
            gate.hold()
            gate.check()


class TestInstallation:
    def test_every_engine_is_known(self) -> None:
        assert set(install_peers.NEEDS) == set(KNOWN_ENGINES)

    def test_pins(self) -> None:
        text = "# duckdb==0\nduckdb==2.0.0\npsycopg[binary]==3.3.9\n"
        assert install_peers.pinned("duckdb", text) == "duckdb==2.0.0"
        assert install_peers.pinned("psycopg", text) == "psycopg[binary]==3.3.9"
        assert install_peers.pinned("other", text) == "other"

    def test_says_what_is_left_out(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fail() -> None:
            raise install_peers.CannotInstall("no such package")

        there = install_peers.Need("a", lambda: True, fail)
        absent = install_peers.Need("b", lambda: False, fail)
        monkeypatch.setattr(install_peers, "NEEDS", {"duckdb": [there], "spark": [there, absent]})
        assert install_peers.main(["duckdb", "spark", "oracle"]) == 0
        out, err = capsys.readouterr()
        assert out == "duckdb\n"
        assert "spark is left out: no such package" in err and "oracle is left out: unknown" in err
        assert install_peers.main(["spark"]) == 1
