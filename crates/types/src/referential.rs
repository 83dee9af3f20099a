//! What becomes of rows that refer to a row whose key goes or changes.

/// ON DELETE and ON UPDATE of a foreign key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReferentialAction {
    /// An error, unless at the statement's end some row has the key, or nobody refers to it.
    #[default]
    NoAction,
    /// An error at once.
    Restrict,
    /// They go with it, or get its new key.
    Cascade,
    SetNull,
    SetDefault,
}

impl ReferentialAction {
    pub const ALL: [ReferentialAction; 5] =
        [Self::NoAction, Self::Restrict, Self::Cascade, Self::SetNull, Self::SetDefault];

    /// As SQL writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoAction => "NO ACTION",
            Self::Restrict => "RESTRICT",
            Self::Cascade => "CASCADE",
            Self::SetNull => "SET NULL",
            Self::SetDefault => "SET DEFAULT",
        }
    }
    /// Its number in files, which never changes.
    pub fn code(self) -> u8 {
        match self {
            Self::NoAction => 0,
            Self::Restrict => 1,
            Self::Cascade => 2,
            Self::SetNull => 3,
            Self::SetDefault => 4,
        }
    }
    pub fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.code() == code)
    }
    /// Whether rows are changed by it.
    pub fn changes_rows(self) -> bool {
        !matches!(self, Self::NoAction | Self::Restrict)
    }
}
