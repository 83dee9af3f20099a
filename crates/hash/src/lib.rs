//! Join tables, aggregation tables and filters, with their byte layouts.
