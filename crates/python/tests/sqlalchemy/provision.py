"""What SQLAlchemy's suite has to know of a database before it makes tables in it."""

from sqlalchemy import inspect
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.testing.provision import temp_table_keyword_args, upsert


@temp_table_keyword_args.for_db("quickstep")
def _temporary(cfg, eng):
    return {"prefixes": ["TEMPORARY"]}


@upsert.for_db("quickstep")
def _upsert(cfg, table, returning, *, set_lambda=None, sort_by_parameter_order=False, index_elements=None):
    statement = insert(table)
    if set_lambda:
        target = index_elements or inspect(table).selectable.primary_key
        statement = statement.on_conflict_do_update(index_elements=target, set_=set_lambda(statement.excluded))
    else:
        statement = statement.on_conflict_do_nothing()
    return statement.returning(*returning, sort_by_parameter_order=sort_by_parameter_order)
