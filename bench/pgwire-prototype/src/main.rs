//! The server of `crates/pgproto/examples/prototype_server.rs` on the library `pgwire`, as its examples write one: the same
//! batch, row by row through `DataRowEncoder`.
//!
//! ```text
//! cargo run --release --manifest-path bench/pgwire-prototype/Cargo.toml -- 127.0.0.1:5434
//! psql -h 127.0.0.1 -p 5434 -c '5000000'
//! ```

#[path = "../../../crates/pgproto/examples/lineitem/mod.rs"]
mod lineitem;

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{Days, NaiveDate};
use futures::{StreamExt, stream};
use pgwire::api::portal::{Format, Portal};
use pgwire::api::query::{ExtendedQueryHandler, SimpleQueryHandler};
use pgwire::api::results::{
    DataRowEncoder, DescribePortalResponse, DescribeStatementResponse, FieldInfo, QueryResponse, Response,
};
use pgwire::api::stmt::{NoopQueryParser, StoredStatement};
use pgwire::api::{ClientInfo, PgWireServerHandlers};
use pgwire::error::PgWireResult;
use pgwire::tokio::process_socket;
use rust_decimal::Decimal;
use tokio::net::TcpListener;
use types::Type;
use vector::{Batch, Data};

struct Prototype {
    types: Vec<Type>,
    batch: Batch,
    parser: Arc<NoopQueryParser>,
}

/// So many rows of lineitem for a text that is a number; one row of one column for others.
fn wanted(text: &str) -> Option<usize> {
    text.trim().trim_end_matches(';').parse().ok()
}

fn wire_type(ty: Type) -> pgwire::api::Type {
    match ty {
        Type::BigInt => pgwire::api::Type::INT8,
        Type::Integer => pgwire::api::Type::INT4,
        Type::Decimal { .. } => pgwire::api::Type::NUMERIC,
        Type::Char(_) => pgwire::api::Type::BPCHAR,
        Type::Date => pgwire::api::Type::DATE,
        _ => pgwire::api::Type::VARCHAR,
    }
}

fn encode(encoder: &mut DataRowEncoder, ty: Type, data: &Data, row: usize) -> PgWireResult<()> {
    match (ty, data) {
        (Type::Date, Data::I32(values)) => {
            let day = NaiveDate::default() + Days::new(u64::try_from(values[row]).unwrap_or(0));
            encoder.encode_field(&day)
        }
        (_, Data::I32(values)) => encoder.encode_field(&values[row]),
        (Type::Decimal { scale, .. }, Data::I64(values)) => {
            encoder.encode_field(&Decimal::new(values[row], scale.into()))
        }
        (_, Data::I64(values)) => encoder.encode_field(&values[row]),
        (Type::Char(n), Data::Bytes(strings)) => {
            let text = std::str::from_utf8(strings.get(row)).unwrap_or_default();
            encoder.encode_field(&format!("{text:0$}", n as usize))
        }
        (_, Data::Bytes(strings)) => {
            encoder.encode_field(&std::str::from_utf8(strings.get(row)).unwrap_or_default())
        }
        _ => encoder.encode_field(&None::<i32>),
    }
}

impl Prototype {
    fn fields(&self, text: &str, format: &Format) -> Vec<FieldInfo> {
        let field = |(at, ty): (usize, &Type)| {
            FieldInfo::new(format!("c{at}"), None, None, wire_type(*ty), format.format_for(at))
        };
        match wanted(text) {
            Some(_) => self.types.iter().enumerate().map(field).collect(),
            None => vec![field((0, &Type::Integer))],
        }
    }
    fn answer(&self, text: &str, format: &Format) -> Response {
        let fields = Arc::new(self.fields(text, format));
        let mut encoder = DataRowEncoder::new(fields.clone());
        let Some(rows) = wanted(text) else {
            let row = encoder.encode_field(&1i32).map(|()| encoder.take_row());
            return Response::Query(QueryResponse::new(fields, stream::iter([row])));
        };
        let (types, batch) = (self.types.clone(), self.batch.clone());
        let rows = stream::iter(0..rows).map(move |row| {
            for (column, ty) in batch.columns.iter().zip(&types) {
                encode(&mut encoder, *ty, column.data(), row % batch.rows)?;
            }
            Ok(encoder.take_row())
        });
        Response::Query(QueryResponse::new(fields, rows))
    }
}

#[async_trait]
impl SimpleQueryHandler for Prototype {
    async fn do_query<C>(&self, _client: &mut C, query: &str) -> PgWireResult<Vec<Response>>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        Ok(vec![self.answer(query, &Format::UnifiedText)])
    }
}

#[async_trait]
impl ExtendedQueryHandler for Prototype {
    type Statement = String;
    type QueryParser = NoopQueryParser;

    fn query_parser(&self) -> Arc<Self::QueryParser> {
        self.parser.clone()
    }
    async fn do_query<C>(
        &self,
        _: &mut C,
        portal: &Portal<String>,
        _max_rows: usize,
    ) -> PgWireResult<Response>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        Ok(self.answer(&portal.statement.statement, &portal.result_column_format))
    }
    async fn do_describe_statement<C>(
        &self,
        _: &mut C,
        statement: &StoredStatement<String>,
    ) -> PgWireResult<DescribeStatementResponse>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        Ok(DescribeStatementResponse::new(vec![], self.fields(&statement.statement, &Format::UnifiedText)))
    }
    async fn do_describe_portal<C>(
        &self,
        _: &mut C,
        portal: &Portal<String>,
    ) -> PgWireResult<DescribePortalResponse>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        Ok(DescribePortalResponse::new(
            self.fields(&portal.statement.statement, &portal.result_column_format),
        ))
    }
}

struct Handlers(Arc<Prototype>);

impl PgWireServerHandlers for Handlers {
    fn simple_query_handler(&self) -> Arc<impl SimpleQueryHandler> {
        self.0.clone()
    }
    fn extended_query_handler(&self) -> Arc<impl ExtendedQueryHandler> {
        self.0.clone()
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:5434".to_owned());
    let listener = TcpListener::bind(&address).await?;
    let (types, batch) = lineitem::lineitem();
    let handlers = Arc::new(Handlers(Arc::new(Prototype { types, batch, parser: Arc::default() })));
    println!("listening on {address}");
    loop {
        let (socket, _) = listener.accept().await?;
        let handlers = handlers.clone();
        tokio::spawn(async move { process_socket(socket, None, handlers).await });
    }
}
