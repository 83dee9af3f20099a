//! Global addresses and how arrays lie over the locales. Pure arithmetic: no memory is touched here.
//!
//! A *locale* is a part of global memory with the worker that runs its tasks; every byte of global memory has one. An
//! address is 64 bits, so it can be kept in an array, sent, and compared:
//!
//! ```text
//!  bit 63     62 ............ 47        46 ................................. 0
//!      | 0 | object, 16 bits          | index of an element of an array, 47 bits           |   spread: an array's
//!  bit 63     62 ......... 48     47 .............. 32     31 ............. 0
//!      | 1 | locale, 15 bits   | object, 16 bits      | offset within its part, 32 bits    |   placed: one locale's
//! ```
//! Arithmetic on a spread address goes from element to element of the array, across blocks and locales; on a placed one
//! within the locale's part. [`Layout`] turns the first into the second and back.
//!
//! Deviation from the thesis (Myers 2016, 2.3.1): an address names an object and an offset, no machine address, so that
//! one that comes from elsewhere can be checked before it is followed; and distributions are per array, not per heap.

use crate::error::GlobalError;

/// A part of global memory and its worker: 0 to the number of locales − 1, over all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocaleId(pub u16);

impl LocaleId {
    /// As an index into tables of locales.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The most locales: 15 bits.
pub const LOCALES_MAX: usize = 1 << 15;
/// The most objects that live at one time: 16 bits.
pub const OBJECTS_MAX: usize = 1 << 16;
const INDEX_BITS: u32 = 47;
const PLACED: u64 = 1 << 63;

/// Where something lies in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GlobalAddress(pub u64);

/// What an address says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// An element of a spread array.
    Element {
        /// The array.
        object: u16,
        /// Which element.
        index: u64,
    },
    /// A place in one locale's part of an object.
    Place {
        /// The locale.
        locale: LocaleId,
        /// The object.
        object: u16,
        /// Which element of that part.
        offset: u32,
    },
}

impl GlobalAddress {
    /// Of an element of an array; the index is below 2^47.
    pub fn element(object: u16, index: u64) -> Self {
        debug_assert!(index >> INDEX_BITS == 0);
        GlobalAddress(u64::from(object) << INDEX_BITS | index & ((1 << INDEX_BITS) - 1))
    }

    /// Of a place at a locale below 2^15.
    pub fn place(locale: LocaleId, object: u16, offset: u32) -> Self {
        debug_assert!(locale.index() < LOCALES_MAX);
        GlobalAddress(PLACED | u64::from(locale.0) << 48 | u64::from(object) << 32 | u64::from(offset))
    }

    /// What it says.
    pub fn target(self) -> Target {
        if self.0 & PLACED == 0 {
            let (object, index) = ((self.0 >> INDEX_BITS) as u16, self.0 & ((1 << INDEX_BITS) - 1));
            Target::Element { object, index }
        } else {
            let locale = LocaleId((self.0 >> 48) as u16 & 0x7fff);
            Target::Place { locale, object: (self.0 >> 32) as u16, offset: self.0 as u32 }
        }
    }

    /// The address so many elements further; none where it would leave what an address can say.
    pub fn checked_add(self, elements: i64) -> Option<Self> {
        match self.target() {
            Target::Element { object, index } => {
                let index = index.checked_add_signed(elements).filter(|index| index >> INDEX_BITS == 0)?;
                Some(Self::element(object, index))
            }
            Target::Place { locale, object, offset } => {
                let offset = u32::try_from(i64::from(offset).checked_add(elements)?).ok()?;
                Some(Self::place(locale, object, offset))
            }
        }
    }

    /// How many elements `other` lies before this one; none where they belong to different objects or locales.
    pub fn checked_sub(self, other: Self) -> Option<i64> {
        match (self.target(), other.target()) {
            (Target::Element { object: a, index: to }, Target::Element { object: b, index: from })
                if a == b =>
            {
                Some(to as i64 - from as i64)
            }
            (
                Target::Place { locale: here, object: a, offset: to },
                Target::Place { locale: there, object: b, offset: from },
            ) if (here, a) == (there, b) => Some(i64::from(to) - i64::from(from)),
            _ => None,
        }
    }
}

/// How an array's elements are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// One run of elements a locale.
    Block,
    /// Runs of so many elements, dealt to the locales in turn.
    BlockCyclic(u64),
}

/// Where each element of an array lies: element `i` is in block `i / block`, blocks go round the locales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    length: u64,
    locales: u64,
    block: u64,
    /// `log2(block)` where that is whole: most blocks are powers of two, and a shift is cheaper than a division.
    shift: Option<u32>,
}

impl Layout {
    /// The layout of so many elements over so many locales.
    pub fn new(length: u64, locales: usize, distribution: Distribution) -> Result<Self, GlobalError> {
        let refuse = |what, given: u64| Err(GlobalError::Argument { what, given: given.to_string() });
        if length >> INDEX_BITS != 0 {
            return refuse("an array's length", length);
        }
        if locales == 0 || locales > LOCALES_MAX {
            return refuse("the number of locales", locales as u64);
        }
        let block = match distribution {
            Distribution::Block => length.div_ceil(locales as u64).max(1),
            Distribution::BlockCyclic(0) => return refuse("a block", 0),
            Distribution::BlockCyclic(block) => block.min(length.max(1)),
        };
        let shift = block.is_power_of_two().then(|| block.trailing_zeros());
        let layout = Layout { length, locales: locales as u64, block, shift };
        if layout.part_length(LocaleId(0)) > u64::from(u32::MAX) {
            return refuse("an array's length", length);
        }
        Ok(layout)
    }

    /// Elements of the array.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Elements of a block.
    pub fn block(&self) -> u64 {
        self.block
    }

    /// Locales that it is spread over.
    pub fn locales(&self) -> usize {
        self.locales as usize
    }

    /// The locale of an element, and its offset in that locale's part.
    #[inline]
    pub fn place(&self, index: u64) -> (LocaleId, u32) {
        let (block, within) = match self.shift {
            Some(shift) => (index >> shift, index & (self.block - 1)),
            None => (index / self.block, index % self.block),
        };
        if block < self.locales {
            return (LocaleId(block as u16), within as u32);
        }
        let (round, locale) = (block / self.locales, block % self.locales);
        (LocaleId(locale as u16), (round * self.block + within) as u32)
    }

    /// The element that lies there.
    pub fn index(&self, locale: LocaleId, offset: u32) -> u64 {
        let (round, within) = (u64::from(offset) / self.block, u64::from(offset) % self.block);
        (round * self.locales + u64::from(locale.0)) * self.block + within
    }

    /// How many elements a locale has.
    pub fn part_length(&self, locale: LocaleId) -> u64 {
        let cycle = self.block * self.locales;
        let (rounds, rest) = (self.length / cycle, self.length % cycle);
        let before = u64::from(locale.0) * self.block;
        rounds * self.block + rest.saturating_sub(before).min(self.block)
    }

    /// The run of elements around one that lie at its locale without a gap.
    pub fn run(&self, index: u64) -> std::ops::Range<u64> {
        let first = index / self.block * self.block;
        first..(first + self.block).min(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_as_they_were_made() {
        let mut random = random::Random::new(1);
        for _ in 0..10_000 {
            let (object, index) = (random.bits() as u16, random.bits() >> 17);
            assert_eq!(GlobalAddress::element(object, index).target(), Target::Element { object, index });
            let (locale, offset) = (LocaleId(random.bits() as u16 & 0x7fff), random.bits() as u32);
            let place = GlobalAddress::place(locale, object, offset);
            assert_eq!(place.target(), Target::Place { locale, object, offset });
            assert_eq!(place.checked_add(1).is_some(), offset != u32::MAX);
        }
        assert_eq!(GlobalAddress::element(1, 0).checked_add(-1), None);
        assert_eq!(GlobalAddress::element(1, (1 << 47) - 1).checked_add(1), None);
    }

    /// Each layout against the list that dealing the elements out one by one gives.
    #[test]
    fn layouts_agree_with_dealing_elements_out() {
        let mut random = random::Random::new(2);
        for _ in 0..300 {
            let (length, locales) = (random.below(200_u64), random.below(7_usize) + 1);
            let blocks = [Distribution::Block, Distribution::BlockCyclic(random.below(9_u64) + 1)];
            let layout = Layout::new(length, locales, *random.pick(&blocks)).unwrap();
            let mut parts: Vec<Vec<u64>> = vec![Vec::new(); locales];
            for index in 0..length {
                let at = (index / layout.block()) as usize % locales;
                assert_eq!(layout.place(index), (LocaleId(at as u16), parts[at].len() as u32));
                parts[at].push(index);
                let run = layout.run(index);
                assert!(run.contains(&index) && run.clone().all(|i| layout.place(i).0.index() == at));
            }
            let fair = length / locales as u64;
            for (at, part) in parts.iter().enumerate() {
                let locale = LocaleId(at as u16);
                assert_eq!(layout.part_length(locale), part.len() as u64);
                assert!((part.len() as u64).abs_diff(fair) <= layout.block(), "{layout:?}");
                let found = (0..part.len()).map(|offset| layout.index(locale, offset as u32));
                assert!(found.eq(part.iter().copied()));
            }
            // Walking by address arithmetic goes over blocks and locales as the array does.
            let mut address = GlobalAddress::element(7, 0);
            for index in 0..length {
                assert_eq!(address.target(), Target::Element { object: 7, index });
                assert_eq!(address.checked_sub(GlobalAddress::element(7, 0)), Some(index as i64));
                address = address.checked_add(1).unwrap();
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Layout::new(1 << 47, 1, Distribution::Block).is_err());
        assert!(Layout::new(1 << 33, 1, Distribution::Block).is_err());
        assert!(Layout::new(10, 0, Distribution::Block).is_err());
        assert!(Layout::new(10, 1, Distribution::BlockCyclic(0)).is_err());
    }
}
