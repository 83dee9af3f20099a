//! SSB's fact table. A cell is a range of orders, each of 1 to 7 lines; a line's random numbers are addressed
//! by order * 8 + line, so nothing depends on the orders before.
//!
//! Order keys are sparse, 8 used of every 32, and a third of the customers, those whose key is a multiple of
//! three, never order: both as in TPC-H. Money is in whole cents (the paper: "no decimals").

use super::date::{DAY_COUNT, DAYS, ORDER_DAY_COUNT};
use super::random::Stream;
use super::words::DICTIONARIES;
use super::{customers, part, suppliers};
use crate::columns::leading;
use crate::table::Cell;
use arrow_array::{ArrayRef, Int32Array, Int64Array, StringViewArray};
use arrow_schema::ArrowError;
use std::sync::{Arc, LazyLock};

const LINES: Stream = Stream::new(401);
const CUSTOMER: Stream = Stream::new(402);
const ORDER_DAY: Stream = Stream::new(403);
const PRIORITY: Stream = Stream::new(404);
const PART: Stream = Stream::new(405);
const SUPPLIER: Stream = Stream::new(406);
const QUANTITY: Stream = Stream::new(407);
const DISCOUNT: Stream = Stream::new(408);
const TAX: Stream = Stream::new(409);
const COMMIT_DAYS: Stream = Stream::new(410);
const SHIP_MODE: Stream = Stream::new(411);

const LINES_MAX: usize = 7;

/// Orders of a batch; a cell has fewer than twice as many.
pub(super) const ORDER_GOAL: u64 = 2_048;

/// lo_shippriority is "0" in every row, so all batches slice one column.
static SHIP_PRIORITIES: LazyLock<ArrayRef> = LazyLock::new(|| {
    Arc::new(StringViewArray::from_iter_values(std::iter::repeat_n("0", 2 * ORDER_GOAL as usize * LINES_MAX)))
});

/// yyyymmdd of every day.
static DAY_KEYS: LazyLock<Vec<i32>> = LazyLock::new(|| DAYS.iter().map(super::date::Day::key).collect());

/// What all lines of an order share.
struct Order {
    lines: usize,
    key: i64,
    customer: i32,
    day: usize,
    priority: usize,
}

impl Order {
    fn new(index: u64, customers: u64) -> Order {
        // Customers 1, 2, 4, 5, 7, 8, ... order.
        let customer = CUSTOMER.below(index, customers - customers / 3);
        Order {
            lines: LINES.between(index, 1, LINES_MAX as i32) as usize,
            key: (index / 8 * 32 + index % 8 + 1) as i64,
            customer: (customer / 2 * 3 + customer % 2 + 1) as i32,
            day: ORDER_DAY.index(index, ORDER_DAY_COUNT),
            priority: PRIORITY.index(index, DICTIONARIES.priorities.len()),
        }
    }
}

/// The lines of a cell: for each, its order's position in the cell, and its address.
struct Lines {
    orders: Vec<Order>,
    order_of_line: Vec<u32>,
    addresses: Vec<u64>,
}

impl Lines {
    fn new(cell: &Cell) -> Lines {
        let customers = customers(cell.scale);
        let orders: Vec<Order> = cell.units.clone().map(|index| Order::new(index, customers)).collect();
        let count = orders.iter().map(|order| order.lines).sum();
        let (mut order_of_line, mut addresses) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (at, (order, index)) in orders.iter().zip(cell.units.clone()).enumerate() {
            order_of_line.extend(std::iter::repeat_n(at as u32, order.lines));
            addresses.extend((0..order.lines as u64).map(|line| index * 8 + line));
        }
        Lines { orders, order_of_line, addresses }
    }

    fn drawn(&self, draw: impl Fn(u64) -> i32) -> Vec<i32> {
        self.addresses.iter().map(|&address| draw(address)).collect()
    }

    /// A value of each order, once for each of its lines.
    fn repeated<V>(&self, value: impl Fn(&Order) -> V) -> impl Iterator<Item = V> {
        self.order_of_line.iter().map(move |&at| value(&self.orders[at as usize]))
    }
}

pub(super) fn lineorder(cell: &Cell) -> Result<Vec<ArrayRef>, ArrowError> {
    let words = &*DICTIONARIES;
    let lines = Lines::new(cell);
    let rows = lines.addresses.len();

    let parts = lines.drawn(|address| PART.below(address, part::count(cell.scale)) as i32 + 1);
    let suppliers = lines.drawn(|address| SUPPLIER.below(address, suppliers(cell.scale)) as i32 + 1);
    let quantities = lines.drawn(|address| QUANTITY.between(address, 1, 50));
    let discounts = lines.drawn(|address| DISCOUNT.between(address, 0, 10));
    let taxes = lines.drawn(|address| TAX.between(address, 0, 8));

    // A line costs at most 2,099.00 * 50, some 1.05e7 cents: its percentages and an order's sum fit 32 bits.
    let extended: Vec<i32> = zipped(&parts, &quantities, |key, quantity| part::price(key) * quantity);
    let revenues: Vec<i32> = zipped(&extended, &discounts, |price, discount| percent(price, 100 - discount));
    let taxed: Vec<i32> = zipped(&revenues, &taxes, |revenue, tax| percent(revenue, 100 + tax));
    let costs: Vec<i32> = parts.iter().map(|&key| 6 * part::price(key) / 10).collect();
    let mut totals = vec![0; lines.orders.len()];
    for (&order, price) in lines.order_of_line.iter().zip(taxed) {
        totals[order as usize] += price;
    }

    let commit_days = lines.repeated(|order| order.day).zip(&lines.addresses).map(|(day, &address)| {
        DAY_KEYS[(day + COMMIT_DAYS.between(address, 30, 90) as usize).min(DAY_COUNT - 1)]
    });
    let modes = lines.addresses.iter().map(|&address| SHIP_MODE.index(address, words.ship_modes.len()));
    Ok(vec![
        Arc::new(Int64Array::from_iter_values(lines.repeated(|order| order.key))),
        integers(lines.drawn(|address| (address % 8) as i32 + 1)),
        integers(lines.repeated(|order| order.customer).collect()),
        integers(parts),
        integers(suppliers),
        integers(lines.repeated(|order| DAY_KEYS[order.day]).collect()),
        words.priorities.column(lines.repeated(|order| order.priority))?,
        leading(&SHIP_PRIORITIES, rows),
        integers(quantities),
        integers(extended),
        integers(lines.order_of_line.iter().map(|&order| totals[order as usize]).collect()),
        integers(discounts),
        integers(revenues),
        integers(costs),
        integers(taxes),
        integers(commit_days.collect()),
        words.ship_modes.column(modes)?,
    ])
}

/// `amount` times `hundredths` over 100, rounded down.
fn percent(amount: i32, hundredths: i32) -> i32 {
    (i64::from(amount) * i64::from(hundredths) / 100) as i32
}

fn zipped(left: &[i32], right: &[i32], combine: impl Fn(i32, i32) -> i32) -> Vec<i32> {
    left.iter().zip(right).map(|(&left, &right)| combine(left, right)).collect()
}

fn integers(values: Vec<i32>) -> ArrayRef {
    Arc::new(Int32Array::from(values))
}
