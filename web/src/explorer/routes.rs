//! The routes of the API.

use std::{sync::Arc, time::Instant};

use axum::{
    Router,
    body::Bytes,
    extract::{
        Path, RawQuery, Request, State,
        rejection::{BytesRejection, PathRejection},
    },
    handler::Handler,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use ziggurat_telemetry::{ExplorerMetrics, Route};

use super::{
    answers::{self, Batch},
    query::Query,
    tables::Served,
};
use crate::server::{self, ApiError, is_known};

/// The rolls of a main line, unless a number is asked for, and the most there are.
const MAIN_LINE_ROLLS: (usize, usize) = (100, 500);

/// What the routes know.
#[derive(Clone)]
pub struct Api {
    /// The tables.
    pub tables: Arc<[Served]>,
    /// What is counted.
    pub metrics: ExplorerMetrics,
}

type Answer = Result<Response, ApiError>;

impl Api {
    /// The routes.
    pub fn router(self) -> Router {
        let counted = |route: Route| from_fn_with_state((self.metrics.clone(), route), count);
        let of_table = get(position.layer(counted(Route::Position)))
            .post(positions.layer(counted(Route::Positions)));
        let review = review.layer(counted(Route::Review));
        Router::new()
            .route("/v1/tables", get(tables.layer(counted(Route::Tables))))
            .route("/v1/review", axum::routing::post(review))
            .route("/v1/{table}", of_table)
            .route("/v1/{table}/mainline", get(main_line.layer(counted(Route::MainLine))))
            .with_state(self)
    }

    /// The table of a name.
    fn at(&self, name: &str) -> Result<usize, ApiError> {
        self.tables.iter().position(|table| table.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.tables.iter().map(|table| table.name.as_str()).collect();
            let problem = format!("there is no table `{}`", name.escape_debug());
            ApiError::new(StatusCode::NOT_FOUND, problem)
                .help(format!("tables are {}", names.join(", ")))
        })
    }

    /// Asks a table, on a thread that may wait for the disk.
    async fn ask(
        &self,
        at: usize,
        question: impl FnOnce(&Served) -> Result<Value, ApiError> + Send + 'static,
    ) -> Answer {
        let tables = Arc::clone(&self.tables);
        off_the_runtime(move || question(&tables[at])).await
    }

    /// The same for what depends on the table and the address alone: nothing is asked if the client has the answer.
    async fn ask_cached(
        &self,
        at: usize,
        headers: &HeaderMap,
        question: impl FnOnce(&Served) -> Result<Value, ApiError> + Send + 'static,
    ) -> Answer {
        let tag = &self.tables[at].tag;
        let common = [
            (header::ETAG, HeaderValue::from_str(tag).expect("a tag of visible characters")),
            (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
        ];
        if is_known(headers, tag) {
            return Ok((StatusCode::NOT_MODIFIED, common).into_response());
        }
        Ok((common, self.ask(at, question).await?).into_response())
    }
}

async fn off_the_runtime(
    work: impl FnOnce() -> Result<Value, ApiError> + Send + 'static,
) -> Answer {
    let answer = spawn_blocking(move || work().map(|value| server::json(&value))).await;
    answer.unwrap_or_else(|error| {
        tracing::error!("a request was not answered: {error}");
        let problem = "the server failed, which is a bug";
        Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, problem))
    })
}

/// `GET /v1/tables`: which tables there are.
async fn tables(State(api): State<Api>, RawQuery(query): RawQuery) -> Answer {
    Query::parse(query.as_deref(), &[])?;
    let tables: Vec<Value> = api.tables.iter().map(Served::describe).collect();
    Ok(server::json(&json!({"tables": tables})))
}

/// `GET /v1/{table}?position=4,8/1,3&roll=2`: a position and the legal moves for a roll, or all rolls.
async fn position(
    State(api): State<Api>,
    name: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let at = api.at(&name?.0)?;
    let query = Query::parse(query.as_deref(), &["position", "roll"])?;
    let ruleset = api.tables[at].advisor.ruleset();
    let text = query.get("position").ok_or_else(|| {
        ApiError::bad_request("there is no position")
            .with("parameter", "position")
            .help("ask for one, such as ?position=start or ?position=4,8+1/3,12&roll=2")
    })?;
    let position = answers::position(ruleset, text)?;
    let roll = query.get("roll").map(|text| answers::roll(ruleset, text)).transpose()?;
    api.metrics.positions.inc();
    api.ask_cached(at, &headers, move |table| answers::outlook(table, &position, roll)).await
}

/// `POST /v1/{table}`: the values of many positions, or their moves, in their order.
async fn positions(
    State(api): State<Api>,
    name: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    let at = api.at(&name?.0)?;
    Query::parse(query.as_deref(), &[])?;
    let body = body?;
    let metrics = api.metrics.clone();
    api.ask(at, move |table| {
        let batch = Batch::parse(&body)?;
        let answer = answers::batch(table, &batch)?;
        metrics.positions.inc_by(batch.len() as u64);
        Ok(answer)
    })
    .await
}

/// `GET /v1/{table}/mainline?position=start&rolls=100`: play in which nobody is lucky.
async fn main_line(
    State(api): State<Api>,
    name: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let at = api.at(&name?.0)?;
    let query = Query::parse(query.as_deref(), &["position", "rolls"])?;
    let ruleset = api.tables[at].advisor.ruleset();
    let position = answers::position(ruleset, query.get("position").unwrap_or("start"))?;
    let (usual, most) = MAIN_LINE_ROLLS;
    let rolls = query.number("rolls", usual, most)?;
    api.ask_cached(at, &headers, move |table| answers::main_line(table, &position, rolls)).await
}

/// `POST /v1/review?table=NAME` with a record, RGN or JSON: the account of a game.
async fn review(
    State(api): State<Api>,
    RawQuery(query): RawQuery,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    let query = Query::parse(query.as_deref(), &["table"])?;
    let named = query.get("table").map(|name| api.at(name)).transpose()?;
    let body = body?;
    off_the_runtime(move || {
        let named = named.map(|at| &api.tables[at]);
        let (table, game) = answers::game(&api.tables, named, &body)?;
        answers::account(table, game)
    })
    .await
}

/// Counts a request.
async fn count(
    State((metrics, route)): State<(ExplorerMetrics, Route)>,
    request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let answer = next.run(request).await;
    metrics.requests.of((route, answer.status().as_u16())).inc();
    metrics.request.observe(begun.elapsed().as_secs_f64());
    answer
}
