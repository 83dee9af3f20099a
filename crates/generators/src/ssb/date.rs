//! SSB's date dimension: every day of 1992 to 1998. Named ddate, as date is a keyword.
//!
//! Deviation: the paper counts 2,556 days; the seven years have 2,557, two of them being leap years.

use crate::columns::{int32, shown, text};
use crate::table::Cell;
use arrow_array::ArrayRef;
use arrow_schema::ArrowError;
use std::sync::LazyLock;

/// A day of the calendar.
#[derive(Clone, Copy)]
pub(super) struct Day {
    year: i32,
    /// 1 to 12.
    month: i32,
    /// 1 to 31.
    day: i32,
    /// 1 to 366.
    day_of_year: i32,
    /// 0 is Sunday.
    weekday: usize,
    last_of_month: bool,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// (month, day) of the days that count as holidays.
const HOLIDAYS: [(i32, i32); 10] =
    [(12, 24), (1, 1), (2, 20), (4, 20), (5, 20), (7, 20), (8, 20), (9, 20), (10, 20), (11, 20)];

/// All days in order, from 1 January 1992, a Wednesday.
pub(super) static DAYS: LazyLock<Vec<Day>> = LazyLock::new(|| {
    let mut days: Vec<Day> = Vec::with_capacity(DAY_COUNT);
    for year in 1992..=1998 {
        let mut day_of_year = 0;
        for month in 1..=12 {
            let month_days = match month {
                // No century year among the seven.
                2 if year % 4 == 0 => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            for day in 1..=month_days {
                day_of_year += 1;
                let weekday = (days.len() + 3) % 7;
                days.push(Day { year, month, day, day_of_year, weekday, last_of_month: day == month_days });
            }
        }
    }
    days
});

pub(super) const DAY_COUNT: usize = 7 * 365 + 2;

/// Days on which orders are placed: through 2 August 1998, so that every order ships within the seven years.
pub(super) const ORDER_DAY_COUNT: usize = 6 * 365 + 2 + 214;

impl Day {
    /// As yyyymmdd.
    pub(super) fn key(&self) -> i32 {
        self.year * 10_000 + self.month * 100 + self.day
    }

    fn month_name(&self) -> &'static str {
        MONTHS[self.month as usize - 1]
    }

    fn season(&self) -> &'static str {
        match self.month {
            1..=3 => "Winter",
            4 => "Spring",
            5..=8 => "Summer",
            9 | 10 => "Fall",
            _ => "Christmas",
        }
    }
}

pub(super) fn ddate(_: &Cell) -> Result<Vec<ArrayRef>, ArrowError> {
    let days = &DAYS[..];
    Ok(vec![
        int32(days, Day::key),
        shown(days, |day| format!("{} {}, {}", day.month_name(), day.day, day.year))?,
        text(days, |day| WEEKDAYS[day.weekday]),
        text(days, Day::month_name),
        int32(days, |day| day.year),
        int32(days, |day| day.year * 100 + day.month),
        shown(days, |day| format!("{}{}", &day.month_name()[..3], day.year))?,
        int32(days, |day| day.weekday as i32 + 1),
        int32(days, |day| day.day),
        int32(days, |day| day.day_of_year),
        int32(days, |day| day.month),
        int32(days, |day| (day.day_of_year - 1) / 7 + 1),
        text(days, Day::season),
        int32(days, |day| i32::from(day.weekday == 6)),
        int32(days, |day| i32::from(day.last_of_month)),
        int32(days, |day| i32::from(HOLIDAYS.contains(&(day.month, day.day)))),
        int32(days, |day| i32::from((1..=5).contains(&day.weekday))),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar_is_complete() {
        assert_eq!(DAYS.len(), DAY_COUNT);
        assert_eq!((DAYS[0].key(), DAYS[DAY_COUNT - 1].key()), (19920101, 19981231));
        assert_eq!(DAYS[ORDER_DAY_COUNT - 1].key(), 19980802);
        // 31 December 1998 was a Thursday, 29 February 1996 too.
        assert_eq!(WEEKDAYS[DAYS[DAY_COUNT - 1].weekday], "Thursday");
        let leap_day = DAYS.iter().find(|day| day.key() == 19960229).map(|day| WEEKDAYS[day.weekday]);
        assert_eq!(leap_day, Some("Thursday"));
        assert!(DAYS.windows(2).all(|pair| pair[0].key() < pair[1].key()));
    }
}
