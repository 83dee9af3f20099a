//! Which instruction set this process uses, and the ways to compile one loop for each.
//!
//! AVX-512 here means what Ice Lake and Zen 4 have (F, BW, DQ, VL, VBMI, VBMI2, VPOPCNTDQ): older parts take the AVX2
//! path, so that there is one AVX-512 code path to test. `QUICKSTEP_SIMD=scalar|avx2|avx512` lowers the level, for
//! measurements; `set_level` (`SET simd`) does so while the process runs. Neither can raise it above what the
//! processor has. Every level gives the same results, so a change while queries run does no harm.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// An instruction set that kernels are compiled for; a greater one includes the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// No vector instructions beyond those that the compiler may use anywhere.
    Scalar,
    /// Registers of 32 bytes.
    Avx2,
    /// Registers of 64 bytes, with masks.
    Avx512,
}

impl Level {
    /// The name that the setting `simd` and `QUICKSTEP_SIMD` use.
    pub fn name(self) -> &'static str {
        match self {
            Level::Scalar => "scalar",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
    /// The level of a name, in lower case; `None` for any other text.
    pub fn from_name(name: &str) -> Option<Level> {
        [Level::Scalar, Level::Avx2, Level::Avx512].into_iter().find(|level| level.name() == name)
    }
    /// Every level this processor can run, lowest first.
    pub fn available() -> impl Iterator<Item = Level> {
        let best = detect();
        [Level::Scalar, Level::Avx2, Level::Avx512].into_iter().filter(move |l| *l <= best)
    }
}

fn detect() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let avx512 = avx2
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512vpopcntdq");
        if avx512 {
            return Level::Avx512;
        }
        if avx2 {
            return Level::Avx2;
        }
    }
    Level::Scalar
}

/// `Level as u8`, or `UNDECIDED`.
static LEVEL: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = u8::MAX;

/// The level in use.
#[inline]
pub fn level() -> Level {
    match LEVEL.load(Relaxed) {
        2 => Level::Avx512,
        1 => Level::Avx2,
        0 => Level::Scalar,
        _ => decide(),
    }
}

#[cold]
fn decide() -> Level {
    let wanted = std::env::var("QUICKSTEP_SIMD").ok().and_then(|name| Level::from_name(&name));
    set_level(wanted)
}

/// Uses this level from now on, or the processor's best when it is `None` or beyond the processor; what was chosen.
pub fn set_level(wanted: Option<Level>) -> Level {
    let best = detect();
    let chosen = wanted.map_or(best, |level| level.min(best));
    // Nothing else is published by this: a reader of the level gets one that the processor has.
    LEVEL.store(chosen as u8, Relaxed);
    chosen
}

/// A loop to be compiled once per level. Write `run` with `#[inline(always)]`, and everything hot in it too: only what
/// is inlined is compiled with the level's instructions. Safe, so crates without `unsafe` use this rather than
/// `dispatch!`.
pub trait Kernel {
    /// What the loop gives.
    type Output;
    /// The loop. `run` and `run_at` call it with the level's instructions; a direct call compiles it without them.
    fn run(self) -> Self::Output;
}

/// Runs a kernel at the process's level.
#[inline]
pub fn run<K: Kernel>(kernel: K) -> K::Output {
    run_at(level(), kernel)
}

/// Runs a kernel at a level, lowered to what the processor has.
#[inline]
pub fn run_at<K: Kernel>(wanted: Level, kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn with_avx2<K: Kernel>(kernel: K) -> K::Output {
            kernel.run()
        }
        #[target_feature(
            enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq"
        )]
        fn with_avx512<K: Kernel>(kernel: K) -> K::Output {
            kernel.run()
        }
        match wanted.min(level()) {
            // SAFETY: `level` is never above what `detect` found the processor to have.
            Level::Avx512 => return unsafe { with_avx512(kernel) },
            // SAFETY: as above.
            Level::Avx2 => return unsafe { with_avx2(kernel) },
            Level::Scalar => {}
        }
    }
    let _ = wanted;
    kernel.run()
}

/// Compiles a function's body for every level; the call picks one. For crates that may use `unsafe`; generic
/// parameters take one bound each, and every hot callee must be `#[inline(always)]`.
///
/// ```
/// simd::dispatch! {
///     /// Sum of squares.
///     fn squares(values: &[u32]) -> u64 {
///         values.iter().map(|v| u64::from(*v) * u64::from(*v)).sum()
///     }
/// }
/// assert_eq!(squares(&[1, 2, 3]), 14);
/// ```
#[macro_export]
macro_rules! dispatch {
    ($(#[$meta:meta])* $vis:vis fn $name:ident $(<$($generic:ident : $bound:path),+>)?
        ($($argument:ident : $ty:ty),* $(,)?) $(-> $output:ty)? $body:block) => {
        $(#[$meta])*
        $vis fn $name $(<$($generic: $bound),+>)? ($($argument: $ty),*) $(-> $output)? {
            #[inline(always)]
            fn plain $(<$($generic: $bound),+>)? ($($argument: $ty),*) $(-> $output)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                fn with_avx2 $(<$($generic: $bound),+>)? ($($argument: $ty),*) $(-> $output)? {
                    plain($($argument),*)
                }
                #[target_feature(
                    enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq"
                )]
                fn with_avx512 $(<$($generic: $bound),+>)? ($($argument: $ty),*) $(-> $output)? {
                    plain($($argument),*)
                }
                match $crate::level() {
                    // SAFETY: `level` is never above what the processor was found to have.
                    $crate::Level::Avx512 => return unsafe { with_avx512($($argument),*) },
                    // SAFETY: as above.
                    $crate::Level::Avx2 => return unsafe { with_avx2($($argument),*) },
                    $crate::Level::Scalar => {}
                }
            }
            plain($($argument),*)
        }
    };
}
