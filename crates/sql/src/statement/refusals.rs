//! Clauses that the parser knows and the engine does not: refused by name, never ignored.
//!
//! Each node is taken apart field by field, so that a field which a newer parser adds fails to compile until it is
//! read or refused. Fields that are read elsewhere stand as `_`; `grammar_walk` proves that they are.

use sqlparser::ast::{CreateTable, CreateView, HiveDistributionStyle, Statement as Syntax, ViewColumnDef};
use types::{Error, Result};

use crate::place;

/// Fails on the first clause that is there.
fn refuse(statement: &str, clauses: &[(bool, &str)]) -> Result<()> {
    match clauses.iter().find(|(there, _)| *there) {
        None => Ok(()),
        Some((_, clause)) => Err(Error::unsupported(format!("{clause} of {statement} is not supported"))
            .with_hint("leave the clause out")
            .at(place::START)),
    }
}

/// Refuses what the statement says and nothing would read.
pub(super) fn refuse_unread(syntax: &Syntax) -> Result<()> {
    match syntax {
        Syntax::CreateTable(create) => of_create_table(create),
        Syntax::CreateView(view) => of_create_view(view),
        Syntax::CreateSchema {
            schema_name: _,
            if_not_exists: _,
            with,
            options,
            default_collate_spec,
            clone,
        } => refuse(
            "CREATE SCHEMA",
            &[
                (with.is_some(), "WITH"),
                (options.is_some(), "OPTIONS"),
                (default_collate_spec.is_some(), "DEFAULT COLLATE"),
                (clone.is_some(), "CLONE"),
            ],
        ),
        Syntax::Drop {
            object_type: _,
            if_exists: _,
            names: _,
            cascade: _,
            // What holds without a word.
            restrict: _,
            purge,
            temporary,
            table,
        } => refuse("DROP", &[(*purge, "PURGE"), (*temporary, "TEMPORARY"), (table.is_some(), "ON table")]),
        Syntax::Explain {
            describe_alias: _,
            analyze: _,
            // How much is shown: always all that there is.
            verbose: _,
            query_plan,
            estimate,
            statement: _,
            format: _,
            options: _,
        } => refuse("EXPLAIN", &[(*query_plan, "QUERY PLAN"), (*estimate, "ESTIMATE")]),
        Syntax::Execute {
            name: _,
            parameters: _,
            has_parentheses: _,
            immediate,
            into,
            using,
            output,
            default,
        } => refuse(
            "EXECUTE",
            &[
                (*immediate, "IMMEDIATE"),
                (!into.is_empty(), "INTO"),
                (!using.is_empty(), "USING"),
                (*output, "OUTPUT"),
                (*default, "DEFAULT"),
            ],
        ),
        Syntax::Comment { object_type: _, object_name: _, comment: _, if_exists } => {
            refuse("COMMENT", &[(*if_exists, "IF EXISTS")])
        }
        _ => Ok(()),
    }
}

fn of_create_table(create: &CreateTable) -> Result<()> {
    let CreateTable {
        or_replace: _,
        temporary: _,
        external,
        dynamic,
        // GLOBAL and LOCAL say nothing, as in PostgreSQL.
        global: _,
        if_not_exists: _,
        transient,
        volatile,
        iceberg,
        snapshot,
        name: _,
        columns: _,
        constraints: _,
        hive_distribution,
        hive_formats,
        table_options: _,
        file_format,
        location,
        query: _,
        without_rowid,
        like,
        clone,
        version,
        comment,
        on_commit,
        on_cluster,
        primary_key,
        order_by,
        partition_by,
        cluster_by,
        clustered_by,
        inherits,
        partition_of,
        for_values,
        strict,
        copy_grants,
        enable_schema_evolution,
        change_tracking,
        data_retention_time_in_days,
        max_data_extension_time_in_days,
        default_ddl_collation,
        with_aggregation_policy,
        with_row_access_policy,
        with_storage_lifecycle_policy,
        with_tags,
        external_volume,
        base_location,
        catalog,
        catalog_sync,
        storage_serialization_policy,
        target_lag,
        warehouse,
        refresh_mode,
        initialize,
        require_user,
        diststyle,
        distkey,
        sortkey,
        backup,
    } = create;
    let snowflake = *dynamic
        || *transient
        || *volatile
        || *iceberg
        || *snapshot
        || version.is_some()
        || *copy_grants
        || enable_schema_evolution.is_some()
        || change_tracking.is_some()
        || data_retention_time_in_days.is_some()
        || max_data_extension_time_in_days.is_some()
        || default_ddl_collation.is_some()
        || with_aggregation_policy.is_some()
        || with_row_access_policy.is_some()
        || with_storage_lifecycle_policy.is_some()
        || with_tags.is_some()
        || external_volume.is_some()
        || base_location.is_some()
        || catalog.is_some()
        || catalog_sync.is_some()
        || storage_serialization_policy.is_some()
        || target_lag.is_some()
        || warehouse.is_some()
        || refresh_mode.is_some()
        || initialize.is_some()
        || *require_user;
    let redshift = diststyle.is_some() || distkey.is_some() || sortkey.is_some() || backup.is_some();
    let formats = hive_formats.as_ref().is_some_and(|f| {
        f.row_format.is_some() || f.serde_properties.is_some() || f.storage.is_some() || f.location.is_some()
    });
    refuse(
        "CREATE TABLE",
        &[
            (*external || file_format.is_some() || location.is_some() || formats, "EXTERNAL or a format"),
            (like.is_some(), "LIKE"),
            (clone.is_some(), "CLONE"),
            (inherits.is_some(), "INHERITS"),
            (partition_by.is_some() || partition_of.is_some() || for_values.is_some(), "this PARTITION BY"),
            (order_by.is_some() || primary_key.is_some(), "ORDER BY or PRIMARY KEY behind the columns"),
            (cluster_by.is_some() || clustered_by.is_some() || on_cluster.is_some(), "CLUSTER"),
            (on_commit.is_some(), "ON COMMIT"),
            (*hive_distribution != HiveDistributionStyle::NONE, "a distribution"),
            (*without_rowid, "WITHOUT ROWID"),
            (*strict, "STRICT"),
            (comment.is_some(), "COMMENT"),
            (snowflake, "this option"),
            (redshift, "DISTSTYLE, DISTKEY, SORTKEY or BACKUP"),
        ],
    )
}

fn of_create_view(view: &CreateView) -> Result<()> {
    let CreateView {
        or_alter,
        or_replace: _,
        materialized,
        secure,
        name: _,
        name_before_not_exists: _,
        columns,
        query: _,
        options,
        cluster_by,
        comment,
        with_no_schema_binding,
        if_not_exists: _,
        temporary: _,
        copy_grants,
        to,
        params,
    } = view;
    let odd_column = |column: &ViewColumnDef| {
        let ViewColumnDef { name: _, data_type, options } = column;
        data_type.is_some() || options.is_some()
    };
    refuse(
        "CREATE VIEW",
        &[
            (*materialized, "MATERIALIZED"),
            (*secure, "SECURE"),
            (*or_alter, "OR ALTER"),
            (columns.iter().any(odd_column), "a column's type or option"),
            (!matches!(options, sqlparser::ast::CreateTableOptions::None), "an option"),
            (!cluster_by.is_empty(), "CLUSTER BY"),
            (comment.is_some(), "COMMENT"),
            (*with_no_schema_binding, "WITH NO SCHEMA BINDING"),
            (*copy_grants, "COPY GRANTS"),
            (to.is_some(), "TO"),
            (params.is_some(), "ALGORITHM, DEFINER or SQL SECURITY"),
        ],
    )
}
