"""SQLAlchemy's dialect as programs use it. Its own suite runs by `tests/sqlalchemy/run.py`."""

import datetime
import decimal
import uuid

import pytest

sa = pytest.importorskip("sqlalchemy")

import quickstep  # noqa: E402
from sqlalchemy.dialects import registry  # noqa: E402
from sqlalchemy.dialects.postgresql import insert  # noqa: E402
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship  # noqa: E402

registry.register("quickstep", "quickstep.sqlalchemy", "QuickstepDialect")


@pytest.fixture
def engine():
    engine = sa.create_engine("quickstep://?workers=2&memory=1GB")
    yield engine
    engine.dispose()


@pytest.fixture
def people(engine):
    meta = sa.MetaData()
    table = sa.Table(
        "people",
        meta,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(30), nullable=False, unique=True),
        sa.Column("total", sa.Numeric(10, 2)),
    )
    meta.create_all(engine)
    return table


def test_the_entry_points_are_this_packages():
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = {(each.group, each.name): each.value for each in distribution("quickstep-sql").entry_points}
    except PackageNotFoundError:
        pytest.skip("the package is not installed")
    assert found[("sqlalchemy.dialects", "quickstep")] == "quickstep.sqlalchemy:QuickstepDialect"
    assert found[("ibis.backends", "quickstep")] == "quickstep.ibis"


def test_rows_go_in_and_come_out(engine, people):
    with engine.begin() as connection:
        rows = [{"name": "Ada", "total": decimal.Decimal("12.50")}, {"name": "O'Hara", "total": None}]
        assert connection.execute(people.insert().returning(people.c.id), rows).fetchall() == [(1,), (2,)]
        assert connection.execute(people.update().where(people.c.id == 2).values(total=7)).rowcount == 1
    with engine.connect() as connection:
        found = connection.execute(sa.select(people).where(people.c.name == "O'Hara")).one()
        assert found == (2, "O'Hara", decimal.Decimal("7.00"))
        assert connection.execute(sa.select(sa.func.count()).where(people.c.id.in_([1, 2, 3]))).scalar() == 2
        assert connection.execute(sa.select(people.c.id).where(people.c.id.in_([]))).all() == []


def test_many_rows_are_one_insert(engine, people, monkeypatch):
    texts = []
    run = quickstep.Cursor.execute
    monkeypatch.setattr(quickstep.Cursor, "execute", lambda self, *given: texts.append(given[0]) or run(self, *given))
    with engine.begin() as connection:
        connection.execute(people.insert(), [{"id": i, "name": str(i), "total": i} for i in range(5_000)])
        assert texts == []
        assert connection.execute(sa.select(sa.func.sum(people.c.total))).scalar() == 12_497_500


def test_on_conflict_updates_or_passes_over(engine, people):
    with engine.begin() as connection:
        connection.execute(people.insert(), [{"id": 1, "name": "Ada", "total": 1}])
        given = insert(people).values(id=1, name="Ada", total=5)
        connection.execute(given.on_conflict_do_update(index_elements=[people.c.id], set_={"total": given.excluded.total}))
        connection.execute(insert(people).values(id=1, name="Eve", total=9).on_conflict_do_nothing())
        assert connection.execute(sa.select(people)).all() == [(1, "Ada", decimal.Decimal("5.00"))]


def test_transactions_and_savepoints(engine, people):
    with engine.connect() as connection:
        connection.execute(people.insert().values(name="gone"))
        connection.rollback()
        assert connection.execute(sa.select(people)).all() == []
        connection.execute(people.insert().values(name="kept"))
        with pytest.raises(sa.exc.IntegrityError):
            with connection.begin_nested():
                connection.execute(people.insert().values(name="kept"))
        connection.commit()
    with engine.connect() as connection:
        assert connection.execute(sa.select(people.c.name)).scalars().all() == ["kept"]
        assert not connection.connection.driver_connection.autocommit
    automatic = engine.execution_options(isolation_level="AUTOCOMMIT")
    with automatic.connect() as connection:
        connection.execute(people.insert().values(name="at once"))
        connection.rollback()
        assert connection.execute(sa.select(sa.func.count()).select_from(people)).scalar() == 2


def test_serializable_is_asked_for_and_weaker_levels_are_refused(engine):
    with engine.connect().execution_options(isolation_level="SERIALIZABLE") as connection:
        assert connection.get_isolation_level() == "SERIALIZABLE"
        assert connection.execute(sa.text("SHOW transaction_isolation")).scalar() == "serializable"
    with engine.connect() as connection:
        assert connection.get_isolation_level() == "REPEATABLE READ"
    with pytest.raises(sa.exc.ArgumentError, match="REPEATABLE READ, SERIALIZABLE"):
        engine.connect().execution_options(isolation_level="READ COMMITTED")


def test_types_come_back_as_they_went_in(engine):
    meta = sa.MetaData()
    columns = {
        "list": (sa.ARRAY(sa.Integer), [1, None, 3]),
        "empty": (sa.ARRAY(sa.Text), []),
        "json": (sa.JSON, {"a": [1, None, "x"]}),
        "id": (sa.Uuid, uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
        "span": (sa.Interval, datetime.timedelta(days=2, minutes=3)),
        "at": (sa.DateTime, datetime.datetime(2024, 2, 29, 12, 34, 56, 789)),
        "zoned": (sa.DateTime(timezone=True), datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc)),
        "day": (sa.Date, datetime.date(2024, 2, 29)),
        "time": (sa.Time, datetime.time(1, 2, 3)),
        "exact": (sa.Numeric(20, 5), decimal.Decimal("123456789012345.67890")),
        "bytes": (sa.LargeBinary, b"\x00\xff"),
        "flag": (sa.Boolean, True),
        "kind": (sa.Enum("a", "b", name="kinds"), "b"),
    }
    table = sa.Table("t", meta, *(sa.Column(name, ty) for name, (ty, _) in columns.items()))
    meta.create_all(engine)
    values = {name: value for name, (_, value) in columns.items()}
    with engine.begin() as connection:
        connection.execute(table.insert(), values)
        connection.execute(table.insert(), [{}])
        first, second = connection.execute(sa.select(table).order_by(table.c.id.nulls_last())).mappings().all()
        assert dict(first) == values
        assert set(second.values()) == {None}
        assert connection.execute(sa.select(table.c.json["a"][2].as_string()).where(table.c.flag)).scalar() == "x"
        assert connection.execute(sa.select(table.c.id).where(sa.literal(3) == sa.any_(table.c.list))).scalar() == values["id"]


def test_question_marks_are_operators_of_jsonb(engine):
    from sqlalchemy.dialects.postgresql import JSONB

    table = sa.Table("t", sa.MetaData(), sa.Column("a", sa.Integer), sa.Column("j", JSONB))
    text = str(sa.select(table.c.a).where(table.c.j.has_key("k"), table.c.a > 3).compile(engine))
    assert " ? $1" in text and "> $2" in text


def test_structs_are_json_and_reflected(engine):
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE s (id INTEGER PRIMARY KEY, place STRUCT(x INTEGER, y TEXT), tags TEXT[], n DECIMAL(9,3) DEFAULT 1.5)"
        )
        connection.exec_driver_sql("INSERT INTO s VALUES (1, {'x': 1, 'y': 'a'}, ['p', 'q'], 2)")
    table = sa.Table("s", sa.MetaData(), autoload_with=engine)
    assert isinstance(table.c.place.type, sa.JSON) and isinstance(table.c.tags.type, sa.ARRAY)
    assert (table.c.n.type.precision, table.c.n.type.scale) == (9, 3)
    assert [column.name for column in table.primary_key] == ["id"]
    with engine.connect() as connection:
        assert connection.execute(sa.select(table)).one() == (1, {"x": 1, "y": "a"}, ["p", "q"], decimal.Decimal("2.000"))


def test_keys_indices_and_views_are_reflected(engine, people):
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA sales")
        connection.exec_driver_sql(
            "CREATE TABLE sales.orders (id INTEGER PRIMARY KEY, who INTEGER REFERENCES people (id) ON DELETE CASCADE, n INTEGER CHECK (n > 0))"
        )
        connection.exec_driver_sql("CREATE INDEX orders_n ON sales.orders (n)")
        connection.exec_driver_sql("COMMENT ON TABLE sales.orders IS 'what was ordered'")
        connection.exec_driver_sql("CREATE VIEW names AS SELECT name FROM people")
    inspector = sa.inspect(engine)
    assert inspector.get_table_names() == ["people"] and inspector.get_view_names() == ["names"]
    assert inspector.get_table_names("sales") == ["orders"]
    (key,) = inspector.get_foreign_keys("orders", "sales")
    assert key["referred_table"] == "people" and key["options"] == {"ondelete": "CASCADE"}
    assert [each["name"] for each in inspector.get_indexes("orders", "sales")] == ["orders_n"]
    assert len(inspector.get_check_constraints("orders", "sales")) == 1
    assert inspector.get_table_comment("orders", "sales") == {"text": "what was ordered"}
    assert not inspector.has_table("nosuch")


def test_tables_of_schemas_are_written(engine):
    table = sa.Table("items", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("n", sa.Integer), schema="shop")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA shop")
        table.create(connection)
        assert connection.execute(table.insert().returning(table.c.id), [{"n": 1}, {"n": 2}]).scalars().all() == [1, 2]
        assert connection.execute(table.update().where(table.c.id == 2).values(n=table.c.n + 5).returning(table.c.n)).scalar() == 7
        given = insert(table).values(id=1, n=3)
        given = given.on_conflict_do_update(index_elements=["id"], set_={"n": table.c.n + given.excluded.n})
        assert connection.execute(given.returning(table.c.n)).scalar() == 4
        assert connection.execute(table.delete().where(table.c.n == 7).returning(table.c.id)).scalar() == 2


def test_missing_tables_are_no_variables_of_sqlalchemy(engine):
    statement = [1, 2, 3]  # noqa: F841
    with engine.connect() as connection:
        for name in ("statement", "cursor", "parameters", "context"):
            with pytest.raises(sa.exc.ProgrammingError, match="does not exist"):
                connection.exec_driver_sql(f"SELECT * FROM {name}")
            connection.rollback()


def test_objects_map_to_rows(engine):
    class Base(DeclarativeBase):
        pass

    class Author(Base):
        __tablename__ = "authors"
        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str]
        books: Mapped[list["Book"]] = relationship(back_populates="author", cascade="all, delete-orphan")

    class Book(Base):
        __tablename__ = "books"
        id: Mapped[int] = mapped_column(primary_key=True)
        title: Mapped[str]
        author_id: Mapped[int] = mapped_column(sa.ForeignKey("authors.id"))
        author: Mapped[Author] = relationship(back_populates="books")

    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add(Author(name="Ada", books=[Book(title="Notes"), Book(title="Letters")]))
        session.commit()
        found = session.scalars(sa.select(Author).join(Book).where(Book.title == "Letters")).one()
        found.books[0].title = "More notes"
        session.commit()
        assert sorted(session.scalars(sa.select(Book.title))) == ["Letters", "More notes"]
        session.delete(found)
        session.commit()
        assert session.scalar(sa.select(sa.func.count()).select_from(Book)) == 0


def test_rows_come_in_parts(engine):
    with engine.connect() as connection:
        result = connection.execute(sa.text("SELECT i FROM range(1000) r(i)"), execution_options={"yield_per": 100})
        parts = [len(part) for part in result.partitions(100)]
    assert parts == [100] * 10


def test_memory_is_one_database_of_all_connections(engine, people):
    with engine.begin() as connection:
        connection.execute(people.insert().values(name="Ada"))
    with engine.connect() as first, engine.connect() as second:
        assert first.connection.driver_connection is not second.connection.driver_connection
        assert second.execute(sa.select(people.c.name)).scalar() == "Ada"
    with sa.create_engine("quickstep://?workers=1").connect() as elsewhere:
        assert not sa.inspect(elsewhere).has_table("people")


def test_files_are_shared_and_urls_checked(tmp_path):
    url = f"quickstep:///{tmp_path}/some.db"
    first = sa.create_engine(url)
    with first.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t AS SELECT 7 AS x")
    with sa.create_engine(url).connect() as connection:
        assert connection.exec_driver_sql("SELECT x FROM t").scalar() == 7
    for wrong in ("quickstep://host/some.db", "quickstep://?nosuch=1"):
        with pytest.raises(sa.exc.ArgumentError):
            sa.create_engine(wrong).connect()


def test_pandas_reads_and_writes(engine):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"]})
    frame.to_sql("frames", engine, index=False)
    assert pandas.read_sql("SELECT count(*) AS n, max(b) AS b FROM frames", engine).to_dict("records") == [{"n": 3, "b": "z"}]
    frame.to_sql("frames", engine, index=False, if_exists="replace")
    assert pandas.read_sql_table("frames", engine).shape == (3, 2)
