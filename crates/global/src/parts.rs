//! The memory behind global objects on one node: words that many may change at once, and parts of any type, each behind a
//! lock. A body runs under its part's lock, so bodies on one part happen one after another, each at one moment: that is
//! what makes blocking delegates sequentially consistent, whoever runs them (Herlihy and Wing 1990: linearizability of each
//! object is linearizability of all).

use std::any::Any;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use memory::{Budget, Reservation};
use sync::CachePadded;

use crate::address::{Layout, LocaleId};
use crate::error::GlobalError;
use crate::packet::Operation;

/// A type whose values fit a word and whose cells can be changed by many at once.
pub trait Word: Copy + Send + Sync + PartialEq + 'static {
    /// A place in memory for one.
    type Cell: Default + Send + Sync + 'static;
    /// Its number on the wire.
    const KIND: u8;
    /// As 64 bits.
    fn to_bits(self) -> u64;
    /// From 64 bits.
    fn from_bits(bits: u64) -> Self;
    /// Does it, at one moment; gives what was there.
    fn apply(cell: &Self::Cell, operation: Operation, operand: Self, second: Self) -> Self;
    /// Reads a cell.
    fn load(cell: &Self::Cell) -> Self;
    /// Writes a cell; gives what was there.
    fn replace(cell: &Self::Cell, value: Self) -> Self {
        Self::apply(cell, Operation::Write, value, value)
    }
    /// Cells with the values that numbers from 0 have.
    fn cells(count: u32, value: impl Fn(u32) -> Self) -> Vec<Self::Cell> {
        let cell = |number| {
            let cell = Self::Cell::default();
            Self::replace(&cell, value(number));
            cell
        };
        (0..count).map(cell).collect()
    }
}

macro_rules! word {
    ($ty:ty, $cell:ty, $kind:literal) => {
        impl Word for $ty {
            type Cell = $cell;
            const KIND: u8 = $kind;
            #[inline]
            fn to_bits(self) -> u64 {
                self as u64
            }
            #[inline]
            fn from_bits(bits: u64) -> Self {
                bits as $ty
            }
            #[inline]
            fn load(cell: &Self::Cell) -> Self {
                cell.load(SeqCst)
            }
            #[inline]
            fn apply(cell: &Self::Cell, operation: Operation, operand: Self, second: Self) -> Self {
                match operation {
                    Operation::Read => cell.load(SeqCst),
                    Operation::Write => cell.swap(operand, SeqCst),
                    Operation::Add => cell.fetch_add(operand, SeqCst),
                    Operation::CompareSwap => match cell.compare_exchange(operand, second, SeqCst, SeqCst) {
                        Ok(before) | Err(before) => before,
                    },
                    Operation::Minimum => cell.fetch_min(operand, SeqCst),
                    Operation::Maximum => cell.fetch_max(operand, SeqCst),
                }
            }
        }
    };
}
word!(u64, AtomicU64, 0);
word!(i64, AtomicI64, 1);
word!(u32, AtomicU32, 2);

impl Word for f64 {
    type Cell = AtomicU64;
    const KIND: u8 = 3;
    #[inline]
    fn to_bits(self) -> u64 {
        f64::to_bits(self)
    }
    #[inline]
    fn from_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }
    #[inline]
    fn load(cell: &Self::Cell) -> Self {
        f64::from_bits(cell.load(SeqCst))
    }
    #[inline]
    fn apply(cell: &Self::Cell, operation: Operation, operand: Self, second: Self) -> Self {
        let change = |before: u64| {
            let value = f64::from_bits(before);
            let after = match operation {
                Operation::Read => return None,
                Operation::Write => operand,
                Operation::Add => value + operand,
                // Bits, not values: a NaN can be replaced, and 0 is not −0.
                Operation::CompareSwap => return (before == operand.to_bits()).then(|| second.to_bits()),
                Operation::Minimum => value.min(operand),
                Operation::Maximum => value.max(operand),
            };
            Some(after.to_bits())
        };
        match cell.fetch_update(SeqCst, SeqCst, change) {
            Ok(before) | Err(before) => f64::from_bits(before),
        }
    }
}

/// An object of global memory, as its node keeps it.
pub(crate) trait Object: Send + Sync {
    /// Does it to an element; none where there is no such word here.
    fn word(
        &self,
        locale: LocaleId,
        offset: u32,
        operation: Operation,
        operand: u64,
        second: u64,
    ) -> Option<u64>;
    /// How its elements lie, where it is an array.
    fn layout(&self) -> Option<&Layout>;
    /// For handlers, which know what it is.
    fn as_any(&self) -> &dyn Any;
    /// For handles, which own it.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

/// A node's parts of an array of words.
pub(crate) struct Words<T: Word> {
    pub(crate) layout: Layout,
    pub(crate) first: usize,
    pub(crate) parts: Vec<Box<[T::Cell]>>,
    _charge: Reservation,
}

impl<T: Word> Words<T> {
    /// The parts of locales `first` and following, all zero bits, charged to the budget.
    pub(crate) fn new(
        layout: Layout,
        first: usize,
        locales: usize,
        budget: &Budget,
    ) -> Result<Self, GlobalError> {
        let lengths = (first..first + locales).map(|at| layout.part_length(LocaleId(at as u16)));
        let charge = budget.reserve(lengths.clone().sum::<u64>() * size_of::<T::Cell>() as u64)?;
        let part = |length: u64| (0..length).map(|_| T::Cell::default()).collect();
        Ok(Words { layout, first, parts: lengths.map(part).collect(), _charge: charge })
    }

    #[inline]
    pub(crate) fn cell(&self, locale: LocaleId, offset: u32) -> Option<&T::Cell> {
        self.parts.get(locale.index().wrapping_sub(self.first))?.get(offset as usize)
    }
}

impl<T: Word> Object for Words<T> {
    #[inline]
    fn word(
        &self,
        locale: LocaleId,
        offset: u32,
        operation: Operation,
        operand: u64,
        second: u64,
    ) -> Option<u64> {
        let cell = self.cell(locale, offset)?;
        Some(T::apply(cell, operation, T::from_bits(operand), T::from_bits(second)).to_bits())
    }

    fn layout(&self) -> Option<&Layout> {
        Some(&self.layout)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// One value a locale of this node, each behind its lock.
pub(crate) struct Parts<T> {
    parts: Vec<CachePadded<Mutex<T>>>,
    pub(crate) _charge: Reservation,
}

impl<T: Send + 'static> Parts<T> {
    pub(crate) fn new(values: impl Iterator<Item = T>, charge: Reservation) -> Self {
        Parts { parts: values.map(|value| CachePadded(Mutex::new(value))).collect(), _charge: charge }
    }

    /// Runs a body on a part; none where there is no such part.
    pub(crate) fn with<R>(&self, part: usize, body: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut value = self.parts.get(part)?.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(body(&mut value))
    }

    /// Runs a body on a part now, or gives it back where another one is at it.
    pub(crate) fn try_with<R, F: FnOnce(&mut T) -> R>(&self, part: usize, body: F) -> Result<R, F> {
        match self.parts[part].0.try_lock() {
            Ok(mut value) => Ok(body(&mut value)),
            Err(TryLockError::Poisoned(value)) => Ok(body(&mut value.into_inner())),
            Err(TryLockError::WouldBlock) => Err(body),
        }
    }
}

impl<T: Send + 'static> Object for Parts<T> {
    fn word(&self, _: LocaleId, _: u32, _: Operation, _: u64, _: u64) -> Option<u64> {
        None
    }

    fn layout(&self) -> Option<&Layout> {
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}
