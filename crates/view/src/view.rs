//! Questions in, bytes out: what the page asks over HTTP, or finds already answered in a saved file.
//!
//! | path | answer |
//! |---|---|
//! | `/`, `/page.js`, `/style.css` | the page itself |
//! | `/model` | what there is to see (JSON) |
//! | `/tile?series&by&hide&q&axis&level&index&floor` | a piece of the picture ([`crate::tile`]) |
//! | `/moment?series&by&hide&q&moment` | who holds memory then (JSON) |
//! | `/search?series&by&q` | what was found (JSON) |
//! | `/allocation?series&id` | one allocation with its stack (JSON) |
//! | `/map?series&by&moment&floor` | the segment map (JSON) |
//!
//! `hide` is a bit mask of groups that are switched off, `q` a search ([`crate::search`]).

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use trace::{History, Recording};

use crate::axis::Axis;
use crate::grouping::Grouping;
use crate::layer::Layer;
use crate::request::Query;
use crate::search::Search;
use crate::series::{Series, Together};
use crate::site::Sites;
use crate::tile::{Place, Tile};
use crate::{Error, detail, map, model, moment, page};

/// One file to look at.
#[derive(Debug)]
pub struct Run {
    pub name: String,
    pub recording: Recording,
    /// One per device of the recording.
    pub histories: Vec<History>,
    /// Bytes to draw a limit at, instead of the card's own.
    pub limit: Option<u64>,
}

/// An answer, and what kind of bytes it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub content_type: &'static str,
    pub bytes: Cow<'static, [u8]>,
}

/// One or more runs, laid out and ready to be asked about.
#[derive(Debug)]
pub struct View {
    pub(crate) series: Vec<Series>,
    /// The last few selections, latest last: a page that pans asks for one again and again.
    layers: Mutex<Vec<(Selection, Arc<Layer>)>>,
}

const LAYERS_KEPT: usize = 6;

/// No recording is longer. A level may be coarser than a run needs, where it is laid over a longer one.
const COARSEST: u32 = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Selection {
    series: usize,
    by: &'static str,
    hide: u32,
    search: String,
}

impl View {
    /// Runs without any device have nothing to show and are left out.
    pub fn new(runs: Vec<Run>) -> View {
        let runs: Vec<Arc<Run>> = runs.into_iter().map(Arc::new).collect();
        let together = Together::of(&runs);
        let mut series = Vec::new();
        for (number, run) in runs.into_iter().enumerate() {
            let sites = Arc::new(Sites::new(&run.recording));
            for device in 0..run.recording.devices.len() {
                series.push(Series::new(run.clone(), number, device, sites.clone(), together));
            }
        }
        View { series, layers: Mutex::default() }
    }

    /// There is nothing to see.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    pub fn respond(&self, path: &str, query: &str) -> Result<Response, Error> {
        let query = Query::read(query);
        match path {
            "/" => Ok(Response::html(page::INDEX)),
            "/page.js" => Ok(Response::new("text/javascript; charset=utf-8", page::script().into_bytes())),
            "/style.css" => Ok(Response::new("text/css; charset=utf-8", page::STYLE.as_bytes())),
            "/model" => Ok(Response::json(&model::model(&self.series))),
            "/tile" => self.tile(&query),
            "/moment" => self.moment(&query),
            "/search" => self.search(&query),
            "/allocation" => self.allocation(&query),
            "/map" => self.map(&query),
            _ => Err(Error::NoPage(path.to_owned())),
        }
    }

    fn tile(&self, query: &Query) -> Result<Response, Error> {
        let (series, grouping, layer) = self.selected(query)?;
        let kind = query.axis()?;
        let axis = series.axis(kind).ok_or(Error::NotThere { what: "axis", which: query.text("axis").to_owned() })?;
        let place =
            Place { level: query.number("level")?, index: query.number("index")?, floor: query.number("floor")? };
        if place.level > COARSEST {
            return Err(Error::NotThere { what: "level", which: place.level.to_string() });
        }
        let tile = Tile::new(series, grouping, &layer, axis, place);
        Ok(Response::new("application/octet-stream", tile.bytes()))
    }

    fn moment(&self, query: &Query) -> Result<Response, Error> {
        let (series, grouping, layer) = self.selected(query)?;
        Ok(Response::json(&moment::moment(series, grouping, &layer, a_moment(series, query)?)))
    }

    fn search(&self, query: &Query) -> Result<Response, Error> {
        let (series, grouping, layer) = self.selected(query)?;
        Ok(Response::json(&moment::found(series, grouping, &layer)))
    }

    fn allocation(&self, query: &Query) -> Result<Response, Error> {
        let id = query.number("id")?;
        let found = detail::detail(self.one(query)?, id);
        found.map(|found| Response::json(&found)).ok_or(Error::NotThere { what: "allocation", which: id.to_string() })
    }

    fn map(&self, query: &Query) -> Result<Response, Error> {
        let series = self.one(query)?;
        let moment = a_moment(series, query)?;
        Ok(Response::json(&map::map(series, grouping(series, query)?, moment, query.number("floor")?)))
    }

    fn one(&self, query: &Query) -> Result<&Series, Error> {
        let number: usize = query.number("series")?;
        self.series.get(number).ok_or(Error::NotThere { what: "series", which: number.to_string() })
    }

    fn selected(&self, query: &Query) -> Result<(&Series, &Grouping, Arc<Layer>), Error> {
        let series = self.one(query)?;
        let grouping = grouping(series, query)?;
        let selection = Selection {
            series: query.number("series")?,
            by: grouping.id,
            hide: query.number("hide")?,
            search: query.text("q").trim().to_owned(),
        };
        Ok((series, grouping, self.layer(series, grouping, selection)))
    }

    pub(crate) fn layer_of_all(&self, series: usize, grouping: &Grouping) -> Arc<Layer> {
        let selection = Selection { series, by: grouping.id, hide: 0, search: String::new() };
        self.layer(&self.series[series], grouping, selection)
    }

    /// Made under the lock: requests for the same selection come in bunches, and one of them is to do the work.
    fn layer(&self, series: &Series, grouping: &Grouping, selection: Selection) -> Arc<Layer> {
        let mut layers = self.layers.lock().unwrap_or_else(PoisonError::into_inner);
        let known = layers.iter().position(|(known, _)| *known == selection);
        let (selection, layer) = known.map(|at| layers.remove(at)).unwrap_or_else(|| {
            let layer = Arc::new(new_layer(series, grouping, &selection));
            (selection, layer)
        });
        if layers.len() >= LAYERS_KEPT {
            layers.remove(0);
        }
        layers.push((selection, layer.clone()));
        layer
    }
}

fn new_layer(series: &Series, grouping: &Grouping, selection: &Selection) -> Layer {
    let mut selected = Search::read(&selection.search).select(series);
    for (at, selected) in selected.iter_mut().enumerate() {
        *selected &= selection.hide >> grouping.of[at] & 1 == 0;
    }
    Layer::new(&series.lives, &grouping.of, grouping.groups.len(), selected)
}

fn grouping<'a>(series: &'a Series, query: &Query) -> Result<&'a Grouping, Error> {
    let id = query.text("by");
    let found = if id.is_empty() { series.groupings.first() } else { series.grouping(id) };
    found.ok_or(Error::NotThere { what: "grouping", which: id.to_owned() })
}

fn a_moment(series: &Series, query: &Query) -> Result<u32, Error> {
    let moment: u32 = query.number("moment")?;
    let there = moment < series.lives.moments;
    there.then_some(moment).ok_or(Error::NotThere { what: "moment", which: moment.to_string() })
}

/// The level at which everything is in one tile.
pub(crate) fn coarsest(axis: &Axis) -> u32 {
    let tiles = axis.extent().div_ceil(crate::tile::COLUMNS);
    u64::BITS - tiles.saturating_sub(1).leading_zeros()
}

impl Response {
    fn new(content_type: &'static str, bytes: impl Into<Cow<'static, [u8]>>) -> Response {
        Response { content_type, bytes: bytes.into() }
    }

    fn html(text: &'static str) -> Response {
        Response::new("text/html; charset=utf-8", text.as_bytes())
    }

    fn json(value: &impl Serialize) -> Response {
        Response::new("application/json", serde_json::to_vec(value).expect("plain data always serialises"))
    }
}
