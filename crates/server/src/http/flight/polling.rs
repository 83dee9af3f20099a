//! PollFlightInfo, which the library's Flight SQL leaves out: all other calls are handed on.
//!
//! A query's FlightInfo is there at once, as the query runs when its rows are fetched, and what is no query has run when
//! its FlightInfo is given. So the first poll is the last: it has the whole FlightInfo and no further descriptor.

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, HandshakeRequest, PollInfo,
    SchemaResult, Ticket,
};
use tonic::{Request, Response, Status, Streaming};

use super::service::Service;

/// The service, with polling.
#[derive(Clone)]
pub struct Polled(pub Service);

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl FlightService for Polled {
    type HandshakeStream = <Service as FlightService>::HandshakeStream;
    type ListFlightsStream = <Service as FlightService>::ListFlightsStream;
    type DoGetStream = <Service as FlightService>::DoGetStream;
    type DoPutStream = <Service as FlightService>::DoPutStream;
    type DoExchangeStream = <Service as FlightService>::DoExchangeStream;
    type DoActionStream = <Service as FlightService>::DoActionStream;
    type ListActionsStream = <Service as FlightService>::ListActionsStream;

    async fn poll_flight_info(&self, request: Request<FlightDescriptor>) -> Answer<PollInfo> {
        let info = self.0.get_flight_info(request).await?.into_inner();
        let whole = PollInfo {
            info: Some(info),
            flight_descriptor: None,
            progress: Some(1.0),
            expiration_time: None,
        };
        Ok(Response::new(whole))
    }

    async fn handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Answer<Self::HandshakeStream> {
        self.0.handshake(request).await
    }
    async fn list_flights(&self, request: Request<Criteria>) -> Answer<Self::ListFlightsStream> {
        self.0.list_flights(request).await
    }
    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> Answer<FlightInfo> {
        self.0.get_flight_info(request).await
    }
    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Answer<SchemaResult> {
        self.0.get_schema(request).await
    }
    async fn do_get(&self, request: Request<Ticket>) -> Answer<Self::DoGetStream> {
        self.0.do_get(request).await
    }
    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> Answer<Self::DoPutStream> {
        self.0.do_put(request).await
    }
    async fn do_exchange(&self, request: Request<Streaming<FlightData>>) -> Answer<Self::DoExchangeStream> {
        self.0.do_exchange(request).await
    }
    async fn do_action(&self, request: Request<Action>) -> Answer<Self::DoActionStream> {
        self.0.do_action(request).await
    }
    async fn list_actions(&self, request: Request<Empty>) -> Answer<Self::ListActionsStream> {
        self.0.list_actions(request).await
    }
}
