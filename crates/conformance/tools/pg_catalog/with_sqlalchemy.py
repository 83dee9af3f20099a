"""Asks for everything that sqlalchemy asks PostgreSQL's catalog for, so that the server's log has the statements."""
import sqlalchemy as sa
e = sa.create_engine("postgresql+psycopg2://postgres@/shop?host=/tmp/pgref&port=54329&application_name=sqlalchemy")
with e.connect() as c:
    i = sa.inspect(c)
    i.get_schema_names(); i.get_table_names(); i.get_view_names(); i.get_view_definition('rich')
    i.get_materialized_view_names(); i.get_sequence_names(); i.get_temp_table_names(); i.get_temp_view_names()
    for s,t in [(None,'customer'),('sales','purchase')]:
        i.get_columns(t, s); i.get_pk_constraint(t,s); i.get_foreign_keys(t,s); i.get_indexes(t,s)
        i.get_unique_constraints(t,s); i.get_check_constraints(t,s); i.get_table_comment(t,s); i.get_table_options(t,s)
    i.get_multi_columns(); i.get_multi_indexes(schema='sales'); i.get_enums(); i.get_domains()
    i.has_table('customer'); i.has_table('nope'); i.has_index('purchase','purchase_placed', schema='sales'); i.has_sequence('order_numbers'); i.has_schema('sales')
    i.get_table_oid('customer')
    m = sa.MetaData(); m.reflect(c)
