"""SQL of a person: what it answers, how it is bounded, and what it cannot do."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from actions.isolation import landlock
from forewatch.storage import guard, process
from forewatch.storage.history import History, Tuning
from forewatch.storage.query import Column, HistoryQuery, Limits
from forewatch.storage.query_worker import explain
from forewatch.storage.testing import START, balanced, batch, event
from schemas.clock import ManualClock
from schemas.errors import ConfigError, Refused, TransientError

pytestmark = pytest.mark.usefixtures("real_workers")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two batches, one of them in Parquet."""
    root = tmp_path_factory.mktemp("query") / "history"
    history = History.open(root, ManualClock(START), Tuning(segment_rows=4, settle_s=0, grace_s=0))
    history.ingest(balanced(0))
    history.maintain()
    history.ingest(balanced(1))
    history.close()
    return root


@pytest.fixture
def query(root: Path) -> HistoryQuery:
    return HistoryQuery(root, "Europe/Berlin")


class TestAnswers:
    def test_values_come_as_json_with_their_types(self, query: HistoryQuery) -> None:
        table = query.page("""
            SELECT 12.50::DECIMAL(18,4) AS amount, TIMESTAMPTZ '2026-07-01 10:00:00Z' AS at, DATE '2026-02-01' AS day,
                   TIMESTAMP '2026-02-01 08:00:00' AS local, 2::BIGINT AS n, 1.5::DOUBLE AS x, 'nan'::DOUBLE AS odd,
                   true AS yes, NULL AS nothing, [1, 2] AS list, {'a': 'ü'} AS nested, '{"k": [1]}'::JSON AS doc,
                   'ab'::BLOB AS raw, 170141183460469231731687303715884105727::HUGEINT AS wide, TIME '08:30' AS clock
        """)
        assert dict(zip([column.name for column in table.columns], table.rows[0], strict=True)) == {
            "amount": "12.5000",
            "at": "2026-07-01T12:00:00+02:00",
            "day": "2026-02-01",
            "local": "2026-02-01T08:00:00",
            "n": 2,
            "x": 1.5,
            "odd": "nan",
            "yes": True,
            "nothing": None,
            "list": [1, 2],
            "nested": {"a": "ü"},
            "doc": {"k": [1]},
            "raw": "YWI=",
            "wide": "170141183460469231731687303715884105727",
            "clock": "08:30:00",
        }
        assert table.columns[0] == Column("amount", "DECIMAL(18,4)")
        assert json.loads(json.dumps(table.rows, allow_nan=False)) == table.rows

    def test_rows_keep_the_order_of_the_query_and_end_at_the_limit(self, query: HistoryQuery) -> None:
        table = query.page("SELECT id FROM events ORDER BY id DESC; -- newest first", rows=3)
        assert table.rows == [["event-7"], ["event-6"], ["event-5"]]
        assert table.truncated
        assert not query.page("SELECT id FROM events", rows=8).truncated

    def test_columns_of_one_name_are_all_there(self, query: HistoryQuery) -> None:
        table = query.page("SELECT 1 AS a, 2 AS a")
        assert (table.rows, len({column.name for column in table.columns})) == ([[1, 2]], 2)

    def test_a_query_may_define_and_nest_as_it_likes(self, query: HistoryQuery) -> None:
        sql = """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3),
                 batch AS (SELECT matter, sum(amount) AS total FROM events GROUP BY 1)
            SELECT matter, total, (SELECT max(i) FROM n), unnest(range(1)) FROM batch ORDER BY ALL LIMIT 1
        """
        assert query.page(sql).rows == [["batch-0", "0.0000", 3, 0]]

    def test_tables_can_be_listed_and_described(self, query: HistoryQuery) -> None:
        assert ["bank"] in query.page("SHOW TABLES").rows
        assert query.page("DESCRIBE bank").rows[0][:2] == ["id", "VARCHAR"]

    def test_today_is_the_owners_day(self, root: Path) -> None:
        zone = "SELECT current_setting('TimeZone')"
        assert HistoryQuery(root, "Asia/Kolkata").page(zone).rows == [["Asia/Kolkata"]]

    def test_an_unknown_zone_is_refused(self, root: Path) -> None:
        with pytest.raises(ConfigError, match="Europe/Atlantis"):
            HistoryQuery(root, "Europe/Atlantis")

    def test_where_there_is_no_history_it_says_how_to_begin(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="forewatch serve"):
            HistoryQuery(tmp_path, "UTC").page("SELECT 1")


class TestExport:
    def test_csv_has_the_whole_result(self, query: HistoryQuery) -> None:
        out = io.BytesIO()
        size = query.export("SELECT id, amount, 'a \"b\", c' AS note FROM events ORDER BY seq", "csv", out)
        lines = out.getvalue().decode().splitlines()
        assert size == len(out.getvalue())
        assert lines[0] == "id,amount,note"
        assert lines[1] == 'event-0,1.0000,"a ""b"", c"'
        assert len(lines) == 9

    def test_parquet_keeps_the_types(self, query: HistoryQuery, tmp_path: Path) -> None:
        path = tmp_path / "out.parquet"
        with open(path, "wb") as out:
            query.export("SELECT amount, occurred_at FROM events", "parquet", out)
        with duckdb.connect() as db:
            described = db.execute(f"DESCRIBE FROM '{path}'").fetchall()
            assert [row[1] for row in described] == ["DECIMAL(18,4)", "TIMESTAMP WITH TIME ZONE"]
            assert db.execute(f"SELECT count(*) FROM '{path}'").fetchall() == [(8,)]

    def test_an_export_is_guarded_like_a_page(self, query: HistoryQuery) -> None:
        out = io.BytesIO()
        with pytest.raises(Refused, match="COPY inside of the query"):
            query.export("WITH x AS (COPY (SELECT 1) TO '/tmp/out') SELECT 1", "csv", out)
        assert out.getvalue() == b""


FORBIDDEN = {
    "DROP VIEW events": "DROP is not allowed",
    "DELETE FROM events": "DELETE is not allowed",
    "INSERT INTO events VALUES (1)": "INSERT is not allowed",
    "CREATE TABLE x AS SELECT 1": "CREATE is not allowed",
    "COPY events TO '/tmp/out.csv'": "COPY is not allowed",
    "EXPORT DATABASE '/tmp/out'": "EXPORT is not allowed",
    "ATTACH '/tmp/other.db'": "ATTACH is not allowed",
    "INSTALL httpfs": "LOAD is not allowed",
    "LOAD httpfs": "LOAD is not allowed",
    "SET threads = 99": "SET is not allowed",
    "RESET lock_configuration": "SET is not allowed",
    "PRAGMA database_list": "PRAGMA is not allowed",
    "CALL pragma_version()": "CALL is not allowed",
    "PIVOT events ON kind USING count(*)": "PIVOT",
    "SELECT * FROM (PIVOT events ON kind USING count(*))": "PIVOT",
    "EXPLAIN ANALYZE SELECT 1": "EXPLAIN is not allowed",
    "PREPARE p AS SELECT 1": "PREPARE is not allowed",
    "SELECT 1; SELECT 2": "2 statements",
    "SELECT 1; DROP VIEW events": "2 statements",
    "": "no statement",
    "-- nothing": "no statement",
    "WITH x AS (COPY (SELECT 1) TO '/tmp/out') SELECT 1": "COPY inside of the query",
    "WITH x AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM x": "INSERT inside of the query",
    "SELECT (WITH x AS (DELETE FROM events RETURNING *) SELECT count(*) FROM x)": "DELETE inside of the query",
    "SELECT * FROM read_text('/etc/passwd')": r"read_text\(\) is not allowed",
    "SELECT * FROM READ_BLOB('/etc/passwd')": r"read_blob\(\) is not allowed",
    "SELECT * FROM read_csv('/etc/passwd')": r"read_csv\(\) is not allowed",
    "SELECT * FROM read_json('/etc/passwd')": r"read_json\(\) is not allowed",
    "SELECT * FROM read_parquet('/tmp/*.parquet')": r"read_parquet\(\) is not allowed",
    "SELECT * FROM parquet_metadata('/tmp/x.parquet')": r"parquet_metadata\(\) is not allowed",
    "SELECT * FROM parquet_kv_metadata('/tmp/x.parquet')": r"parquet_kv_metadata\(\) is not allowed",
    "SELECT * FROM glob('/etc/*')": r"glob\(\) is not allowed",
    "SELECT * FROM sniff_csv('/etc/passwd')": r"sniff_csv\(\) is not allowed",
    "SELECT * FROM query('SELECT 1')": r"query\(\) is not allowed",
    "SELECT * FROM query_table('events')": r"query_table\(\) is not allowed",
    "FROM json_execute_serialized_sql('{}')": r"json_execute_serialized_sql\(\) is not allowed",
    "SELECT 1 WHERE EXISTS (FROM duckdb_settings())": r"duckdb_settings\(\) is not allowed",
    "SELECT * FROM events, LATERAL (SELECT * FROM enable_logging())": r"enable_logging\(\) is not allowed",
    "SELECT " + "1," * 60_000 + "1": "longer than",
}


class TestGuard:
    @pytest.mark.parametrize(("sql", "says"), FORBIDDEN.items())
    def test_it_refuses_everything_but_one_select(self, sql: str, says: str) -> None:
        with duckdb.connect() as engine, pytest.raises(Refused, match=says) as refused:
            guard.check(engine, sql)
        assert "one SELECT" in str(refused.value)
        assert "\n" not in str(refused.value)

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT 1) ; COPY (SELECT 1) TO '/tmp/out' --",
            "SELECT 1) AS x; DROP VIEW events; SELECT * FROM (SELECT 1",
            "SELECT 1 /* open",
            "SELECT 'open",
        ],
    )
    def test_what_would_break_out_of_the_brackets_is_no_sql_by_itself(self, sql: str) -> None:
        with duckdb.connect() as engine, pytest.raises((duckdb.ParserException, Refused)):
            guard.check(engine, sql)

    @pytest.mark.parametrize(
        ("sql", "text"),
        [
            ("SELECT 'ü;' ; -- the end;", "SELECT 'ü;' "),
            ("SELECT 1 -- ) ; COPY", "SELECT 1 -- ) ; COPY"),
            ("FROM events SELECT id;;", "FROM events SELECT id"),
            ("SELECT $$;$$", "SELECT $$;$$"),
        ],
    )
    def test_a_query_is_taken_without_its_end(self, sql: str, text: str) -> None:
        with duckdb.connect() as engine:
            assert guard.check(engine, sql).text == text

    def test_it_knows_which_tables_a_query_reads(self) -> None:
        with duckdb.connect() as engine:
            assert guard.check(engine, "WITH b AS (FROM Bank) FROM b, events").tables == {"bank", "events"}
            assert guard.check(engine, "SHOW TABLES").tables is None


class TestRefusals:
    """The same door from outside: the worker says in one line what is wrong, and what is allowed."""

    @pytest.mark.parametrize(
        ("sql", "code", "says"),
        [
            ("SELECT amont FROM bank", "schema", 'Candidate bindings: "amount"'),
            ("SELECT * FROM evnts", "schema", 'Did you mean "events"'),
            ("SELEC 1", "syntax", "syntax error"),
            ("SELECT * FROM '/etc/passwd'", "schema", "does not exist"),
            ("SELECT repeat('x', 3000000000)", "too_large", "more memory"),
            ("SELECT list(i) FROM range(1000000000) t(i)", "too_large", "more memory"),
            ("SELECT repeat('x', 1000000) FROM range(100)", "too_large", "larger than"),
            ("SELECT ?", "failed", "parameters"),
            ("SELECT error('no luck')", "failed", "no luck"),
        ],
    )
    def test_one_line_says_what_is_wrong(self, query: HistoryQuery, sql: str, code: str, says: str) -> None:
        with pytest.raises(Refused, match=says) as refused:
            query.page(sql)
        assert refused.value.code == code
        assert "\n" not in str(refused.value)

    @pytest.mark.parametrize(
        "sql",
        ["SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c", "SELECT sleep_ms(60000)"],
    )
    def test_what_takes_too_long_is_stopped(self, root: Path, sql: str) -> None:
        with pytest.raises(Refused, match=r"longer than 1\.5 s") as refused:
            HistoryQuery(root, "UTC", Limits(deadline_s=1.5)).page(sql)
        assert refused.value.code == "too_slow"

    def test_a_file_is_beyond_the_engine_even_if_the_guard_fails(self) -> None:
        """The second fence, as the worker locks it."""
        with duckdb.connect() as engine:
            engine.execute("SET enable_external_access = false")
            with pytest.raises(duckdb.PermissionException) as refused:
                engine.execute("SELECT * FROM read_text('/etc/passwd')")
        assert explain(refused.value)[:2] == ("the query reaches for a file or a setting", "not_allowed")


@pytest.mark.skipif(not landlock.is_supported(), reason="this kernel has no Landlock")
class TestConfinement:
    """The third fence: what the process itself may do, tried with every other check off."""

    PROBE = """
import json, socket, sys
from pathlib import Path
import duckdb
from forewatch.storage.confinement import confine
root = Path(sys.argv[1])
confine(root, 512, 30)
def tried(work):
    try:
        work(); return "done"
    except BaseException as error:
        return type(error).__name__
db = duckdb.connect(config={"temp_directory": ""})
def connect():
    socket.create_connection(("127.0.0.1", int(sys.argv[2])), timeout=5)
print(json.dumps({
    "read history": tried(lambda: (root / "manifest.json").read_text()),
    "read elsewhere": tried(lambda: open("/etc/passwd").read()),
    "list elsewhere": tried(lambda: list(Path("/").iterdir())),
    "write history": tried(lambda: (root / "new").write_text("x")),
    "truncate history": tried(lambda: open(root / "manifest.json", "r+").truncate(0)),
    "remove history": tried(lambda: (root / "manifest.json").unlink()),
    "copy over history": tried(lambda: db.execute(f"COPY (SELECT 1) TO '{root}/manifest.json' (USE_TMP_FILE false)")),
    "connect": tried(connect),
}))
"""

    def test_the_worker_can_read_history_and_nothing_else(self, root: Path) -> None:
        with _listener() as port:
            probe = [sys.executable, "-c", self.PROBE, str(root), str(port)]
            env = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            done = subprocess.run(probe, capture_output=True, text=True, check=True, env=env)
        tried = json.loads(done.stdout)
        assert tried.pop("read history") == "done"
        assert set(tried.values()) <= {"PermissionError", "IOException", "OSError"}
        assert len((root / "manifest.json").read_text()) > 2


class _listener:
    def __enter__(self) -> int:
        import socket

        self._socket = socket.create_server(("127.0.0.1", 0))
        return int(self._socket.getsockname()[1])

    def __exit__(self, *exc: object) -> None:
        self._socket.close()


class TestBesideAWriter:
    @pytest.fixture
    def vanishing(self, root: Path) -> Iterator[Path]:
        """A file that is listed and cannot be opened."""
        link = root / "hot" / "000000000000.jsonl"
        link.symlink_to("nowhere")
        yield link
        link.unlink(missing_ok=True)

    def test_a_file_that_goes_away_under_a_query_is_looked_for_again(
        self, query: HistoryQuery, vanishing: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        start = process.start
        starts = []

        def second_time_lucky(module: str) -> subprocess.Popen[bytes]:
            starts.append(module)
            if len(starts) == 2:
                vanishing.unlink()
            return start(module)

        monkeypatch.setattr(process, "start", second_time_lucky)
        assert query.page("SELECT count(*) FROM events").rows == [[8]]
        assert len(starts) == 2

    def test_one_that_keeps_going_away_is_an_error_that_may_pass(self, query: HistoryQuery, vanishing: Path) -> None:
        with pytest.raises(TransientError, match="ask again"):
            query.page("SELECT count(*) FROM events")

    def test_all_looks_of_one_query_are_at_one_moment(self, tmp_path: Path) -> None:
        root = tmp_path / "history"
        history = History.open(root, ManualClock(START))
        history.ingest(batch(0, [event(0)]))
        stop = threading.Event()

        def write() -> None:
            number = 1
            while not stop.is_set():
                history.ingest(batch(number, [event(number)]))
                number += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            sql = "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM mail), (SELECT max(seq) FROM events)"
            found = [HistoryQuery(root, "UTC").page(sql).rows[0] for _ in range(3)]
        finally:
            stop.set()
            writer.join()
            history.close()
        assert all(events == mails == newest for events, mails, newest in found)


@pytest.fixture(autouse=True)
def _nothing_is_written_outside(root: Path) -> Iterator[None]:
    yield
    assert not Path("/tmp/out").exists()
    assert not Path("/tmp/out.csv").exists()
