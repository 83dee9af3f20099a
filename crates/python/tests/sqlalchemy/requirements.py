"""What of SQLAlchemy's suite is run: everything that its own requirements open for PostgreSQL, whether it passes or not.

What is closed is closed for PostgreSQL there, too, or is named with its reason in `LACKS`.
"""

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

# Closed by default, and opened for PostgreSQL.
_OPEN = """
    create_table_as create_temp_table_as table_ddl_if_exists index_ddl_if_exists uuid_data_type
    boolean_col_expressions nullsordering intersect except_ window_functions window_range window_range_numeric
    window_range_non_numeric ctes ctes_with_update_delete ctes_with_values ctes_on_dml tuple_in views
    cross_schema_fk_reflection foreign_key_constraint_name_reflection implicit_default_schema
    reflects_pk_names reflect_tables_no_columns temp_table_comment_reflection
    comment_reflection comment_reflection_full_unicode constraint_comment_reflection
    foreign_key_constraint_option_reflection_ondelete
    fk_constraint_option_reflection_ondelete_restrict fk_constraint_option_reflection_ondelete_noaction
    foreign_key_constraint_option_reflection_onupdate fk_constraint_option_reflection_onupdate_restrict
    has_temp_table temporary_views create_or_replace_view schema_create_delete
    indexes_with_expressions reflect_indexes_with_expressions
    inline_check_constraint_reflection check_constraint_reflection unicode_ddl datetime_interval datetime_literals
    datetime_timezone datetime_historic date_historic autocommit skip_autocommit_rollback
    isolation_level array_type json_type precision_numerics_enotation_small precision_numerics_enotation_large
    precision_numerics_many_significant_digits precision_numerics_retains_significant_digits server_defaults
    expression_server_defaults infinity_floats float_or_double_precision_behaves_generically savepoints update_from
    delete_from order_by_label_with_expression computed_columns computed_columns_stored
    computed_columns_default_persisted computed_columns_reflect_persisted supports_distinct_on identity_columns
    identity_columns_standard regexp_match regexp_replace fetch_first fetch_no_order_by fetch_expression
    supports_bitwise_or supports_bitwise_and supports_bitwise_not supports_bitwise_xor
    supports_bitwise_shift aggregate_order_by repeated_column_foreign_keys repeated_remote_col_foreign_keys
    unique_constraints_reflect_as_index unique_index_reflect_as_unique_constraints table_value_constructor mod_operator_as_percent_sign
    time_timezone default_schema_name_switch fetch_ties on_update_cascade recursive_fk_cascade
    index_reflects_included_columns
    materialized_views column_collation_reflection temp_table_names reflect_table_options
    deferrable_fks
"""

LACKS = {
    "default_schema_name_switch": "the default schema of a session is switched by a setting of its own",
    "materialized_views": "there are none",
    "deferrable_fks": "foreign keys are checked by each statement",
    "time_timezone": "values of TIME WITH TIME ZONE come as text",
    "indexes_with_expressions": "an index is on columns",
    "reflect_indexes_with_expressions": "an index is on columns",
    "constraint_comment_reflection": "constraints have no comments",
    "reflect_tables_no_columns": "a table has at least one column",
    "repeated_column_foreign_keys": "a key names a column once",
    "repeated_remote_col_foreign_keys": "a key names a column once",
    "index_reflects_included_columns": "indices have no INCLUDE",
}


class Requirements(SuiteRequirements):
    """The requirements as above."""

    def get_isolation_levels(self, config):
        """Levels that there are."""
        return {"default": "REPEATABLE READ", "supported": ["AUTOCOMMIT", "REPEATABLE READ", "SERIALIZABLE"]}

    def get_order_by_collation(self, config):
        """A collation that sorts by bytes."""
        return "C"

    @property
    def server_side_cursors(self):
        """The suite knows the cursor classes of a few drivers, and takes those of others for the plain kind."""
        return exclusions.closed()


for _name in _OPEN.split():
    assert hasattr(SuiteRequirements, _name), _name
    if _name not in LACKS:
        setattr(Requirements, _name, property(lambda self: exclusions.open()))
