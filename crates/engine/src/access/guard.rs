//! What each function, procedure and setting needs: the list of what is guarded.
//!
//! Every entry of the registries has a decision here; `tests` fail where one has none, so that nothing new is open to
//! everybody by not being thought of. What opens files and addresses is decided where they are opened
//! ([`Decision::WhereOpened`]), by the capability that a role's session has, and not by how a path looks. Where a name is
//! not listed, the answer is a superuser: a gap denies.

use access::Predefined;

/// Who may use something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Every role.
    Everyone,
    /// Every role, on rows of its own; all rows for members of pg_monitor.
    OwnRows,
    /// Who runs the query that is named, and members of pg_signal_backend.
    OwnQuery,
    /// What is opened asks the session's capability.
    WhereOpened,
    /// Members of a predefined role.
    Needs(Predefined),
    /// Superusers.
    Superuser,
}

use Decision::{Everyone, Needs, OwnQuery, OwnRows, Superuser, WhereOpened};

/// Table functions about the system.
const SYSTEM_FUNCTIONS: [(&str, Decision); 32] = [
    ("quickstep_columns", Everyone),
    ("quickstep_comments", Everyone),
    ("quickstep_constraints", Everyone),
    ("quickstep_cursors", Everyone),
    ("quickstep_databases", Everyone),
    ("quickstep_functions", Everyone),
    ("quickstep_indexes", Everyone),
    ("quickstep_memory", Needs(Predefined::Monitor)),
    ("quickstep_metrics", Needs(Predefined::Monitor)),
    ("quickstep_operators", Needs(Predefined::Monitor)),
    ("quickstep_partitions", Everyone),
    ("quickstep_pool", Needs(Predefined::Monitor)),
    ("quickstep_queries", OwnRows),
    ("quickstep_query_history", OwnRows),
    ("quickstep_query_plans", Needs(Predefined::Monitor)),
    ("quickstep_reject_scans", Everyone),
    ("quickstep_rejects", Everyone),
    ("quickstep_roles", Everyone),
    ("quickstep_schemas", Everyone),
    ("quickstep_secrets", WhereOpened),
    ("quickstep_sequences", Everyone),
    ("quickstep_settings", Everyone),
    ("quickstep_slow_queries", OwnRows),
    ("quickstep_tables", Everyone),
    ("quickstep_time_zones", Everyone),
    ("quickstep_types", Everyone),
    ("quickstep_variables", Everyone),
    ("quickstep_views", Everyone),
    ("quickstep_wide_tables", Everyone),
    ("quickstep_work_orders", Needs(Predefined::Monitor)),
    ("quickstep_workers", Needs(Predefined::Monitor)),
    ("quickstep_workload", Needs(Predefined::Monitor)),
];

/// Procedures, most of which statements are parsed as.
const PROCEDURES: [(&str, Decision); 29] = [
    ("advise", Needs(Predefined::Resources)),
    ("alter_query", OwnQuery),
    ("alter_role", Everyone),
    ("backup_database", Superuser),
    ("cancel_query", OwnQuery),
    ("check_database", Needs(Predefined::Resources)),
    ("checkpoint", Needs(Predefined::Checkpoint)),
    ("compare_queries", Needs(Predefined::Monitor)),
    ("create_secret", WhereOpened),
    ("create_wide_table", Superuser),
    ("drop_secret", WhereOpened),
    ("explain_query", Needs(Predefined::Monitor)),
    ("export_database", Superuser),
    ("forget_traces", Needs(Predefined::Monitor)),
    ("forget_workload", Needs(Predefined::Resources)),
    ("ignored_setting", Everyone),
    ("import_database", WhereOpened),
    ("pause_query", OwnQuery),
    ("pragma", Everyone),
    ("refresh_wide_table", Superuser),
    ("reset_role", Everyone),
    ("reset_variable", Everyone),
    ("resume_query", OwnQuery),
    ("set_variable", Everyone),
    ("ssb", Needs(Predefined::Resources)),
    ("tpcds", Needs(Predefined::Resources)),
    ("tpch", Needs(Predefined::Resources)),
    ("write_trace", Needs(Predefined::Monitor)),
    ("dbgen", Needs(Predefined::Resources)),
];

/// Settings of a session that not every role may change. Others are the session's own.
const SESSION_SETTINGS: [(&str, Decision); 1] = [("record_workload", Needs(Predefined::Settings))];

/// The decision about a table function of the system.
pub(crate) fn system_function(name: &str) -> Decision {
    SYSTEM_FUNCTIONS.iter().find(|(known, _)| *known == name).map_or(Superuser, |(_, decision)| *decision)
}

/// The decision about a procedure.
pub(crate) fn procedure(name: &str) -> Decision {
    PROCEDURES.iter().find(|(known, _)| *known == name).map_or(Superuser, |(_, decision)| *decision)
}

/// The decision about changing a setting: those of the process are a superuser's and of who was granted them; those of
/// stores ask for secrets as well, where they are set.
pub(crate) fn setting(name: &str) -> Decision {
    if crate::settings::shared().any(|(shared, _)| shared == name) {
        return Needs(Predefined::Settings);
    }
    SESSION_SETTINGS.iter().find(|(known, _)| *known == name).map_or(Everyone, |(_, decision)| *decision)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that a registry has and the list has not would be a superuser's alone: nobody has thought of it.
    #[test]
    fn every_entry_of_the_registries_has_a_decision() {
        for name in crate::system::FUNCTIONS {
            assert!(SYSTEM_FUNCTIONS.iter().any(|(known, _)| *known == name), "{name} has no decision");
        }
        let procedures = crate::query_control::PROCEDURES.into_iter().chain(sql::secrets::PROCEDURES);
        let traces = crate::traces::procedure_names().into_iter();
        for name in procedures.chain(traces).chain(["tpch", "ssb", "tpcds"]) {
            assert!(PROCEDURES.iter().any(|(known, _)| *known == name), "{name} has no decision");
        }
        for (name, _) in crate::settings::shared() {
            assert_ne!(setting(name), Everyone, "{name} is a setting of the process");
        }
        assert_eq!((system_function("new"), procedure("new")), (Superuser, Superuser));
    }
}
