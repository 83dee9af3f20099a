//! Functions that stand in FROM.

use super::Section;

pub(super) const SECTIONS: &[Section] = &[
    Section {
        kind: "table",
        category: "rows",
        entries: &[
            (
                "generate_series",
                "generate_series(start, stop [, step])",
                "The numbers or moments from start to stop, both included.",
                "SELECT * FROM generate_series(1, 7, 3)",
                "1, 4, 7",
            ),
            (
                "range",
                "range([start,] stop [, step])",
                "The numbers or moments from start, or from 0, to before stop.",
                "SELECT * FROM range(3)",
                "0, 1, 2",
            ),
        ],
    },
    Section {
        kind: "table",
        category: "files",
        entries: &[
            (
                "read_arrow",
                "read_arrow('file' [, option => value, ...])",
                "The rows of Arrow IPC files; the name may be a pattern with * and ?.",
                "SELECT * FROM read_arrow('data/*.arrow')",
                "",
            ),
            (
                "read_csv",
                "read_csv('file' [, option => value, ...])",
                "The rows of CSV files; what no option says is found by looking at the first rows.",
                "SELECT * FROM read_csv('data/*.csv', header => true)",
                "",
            ),
            (
                "read_parquet",
                "read_parquet('file' [, option => value, ...])",
                "The rows of Parquet files; only the row groups and columns that a query needs are read.",
                "SELECT count(*) FROM read_parquet('data/*.parquet')",
                "",
            ),
            (
                "read_tbl",
                "read_tbl('file' [, option => value, ...])",
                "The rows of files as the TPC generators write them, with | behind every value.",
                "SELECT * FROM read_tbl('lineitem.tbl')",
                "",
            ),
        ],
    },
];
