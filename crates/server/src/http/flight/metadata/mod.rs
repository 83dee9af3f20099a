//! Metadata: catalogs, schemas, tables, keys, types, and what the server can do.
//!
//! What the catalog has is read by SQL over `information_schema` and `pg_catalog`, on a session of the role that asks, so
//! that it sees what it sees at the other entrances. The schemas of the answers are Flight SQL's.

mod info;
mod keys;
mod parts;
mod tables;
mod type_info;

use arrow_array::RecordBatch;
use arrow_flight::sql::*;
use arrow_schema::SchemaRef;
use engine::{Result, Session};
use tonic::Status;

use super::encode::Encoder;
use super::rows::{Rows, Sent};
use super::shared::{Caller, Flight};
use crate::server::Shared;
use parts::failed;

/// What is asked for.
#[derive(Clone, Debug)]
pub enum Metadata {
    /// Databases: one.
    Catalogs(CommandGetCatalogs),
    /// Schemas by a pattern.
    Schemas(CommandGetDbSchemas),
    /// Tables and views by patterns, with their columns if these are asked for.
    Tables(CommandGetTables),
    /// Kinds of tables.
    TableTypes(CommandGetTableTypes),
    /// What the server can do.
    Info(CommandGetSqlInfo),
    /// A table's primary key.
    PrimaryKeys(CommandGetPrimaryKeys),
    /// Foreign keys, as a query for them says which.
    ForeignKeys(keys::ForeignKeys),
    /// Types.
    Types(CommandGetXdbcTypeInfo),
}

macro_rules! from_commands {
    ($($command:ident => $variant:ident;)*) => {
        $(impl From<$command> for Metadata {
            fn from(command: $command) -> Metadata {
                Metadata::$variant(command.into())
            }
        })*
    };
}

from_commands! {
    CommandGetCatalogs => Catalogs;
    CommandGetDbSchemas => Schemas;
    CommandGetTables => Tables;
    CommandGetTableTypes => TableTypes;
    CommandGetSqlInfo => Info;
    CommandGetPrimaryKeys => PrimaryKeys;
    CommandGetExportedKeys => ForeignKeys;
    CommandGetImportedKeys => ForeignKeys;
    CommandGetCrossReference => ForeignKeys;
    CommandGetXdbcTypeInfo => Types;
}

impl Metadata {
    /// The columns of the answer.
    pub fn schema(&self) -> SchemaRef {
        match self {
            Metadata::Catalogs(command) => command.into_builder().schema(),
            Metadata::Schemas(command) => command.clone().into_builder().schema(),
            Metadata::Tables(command) => command.clone().into_builder().schema(),
            Metadata::TableTypes(command) => command.into_builder().schema(),
            Metadata::Info(_) => info::schema(),
            Metadata::PrimaryKeys(_) => keys::primary_schema(),
            Metadata::ForeignKeys(_) => keys::foreign_schema(),
            Metadata::Types(_) => type_info::schema(),
        }
    }

    /// The answer.
    fn rows(self, server: &Shared, session: &Session) -> Result<RecordBatch> {
        match self {
            Metadata::Catalogs(command) => {
                let mut builder = command.into_builder();
                builder.append(session.database().name());
                builder.build().map_err(failed)
            }
            Metadata::Schemas(command) => tables::schemas(session, command),
            Metadata::Tables(command) => tables::tables(server, session, command),
            Metadata::TableTypes(command) => {
                let mut builder = command.into_builder();
                tables::TABLE_TYPES.iter().for_each(|(_, name)| builder.append(name));
                builder.build().map_err(failed)
            }
            Metadata::Info(command) => info::rows(command),
            Metadata::PrimaryKeys(command) => keys::primary(session, &command),
            Metadata::ForeignKeys(wanted) => keys::foreign(session, &wanted),
            Metadata::Types(command) => type_info::rows(command),
        }
    }
}

impl Flight {
    /// Sends metadata.
    pub async fn send_metadata(
        &self,
        caller: &Caller,
        metadata: Metadata,
    ) -> std::result::Result<Sent, Status> {
        let place = self.place(caller, None)?;
        let stream = self.stream_place()?;
        let server = self.http.server.clone();
        let batch = self.run(&place, "", move |session| metadata.rows(&server, session)).await?;
        let executor = self.http.server.executor.clone();
        let (rows, sent) = Rows::new(executor.clone(), self.runtime.clone(), &place.cancel);
        let job = move || {
            let _stream = stream;
            let mut encoder = Encoder::new(batch.schema());
            let outcome = rows.send(encoder.schema());
            let outcome = outcome.and_then(|()| encoder.each(&batch, |message| rows.send(message)));
            rows.end(outcome, "");
        };
        // It was let in when it was read.
        _ = executor.submit(true, Box::new(job));
        Ok(sent)
    }
}
