//! Referential actions: what a foreign key does with rows that refer to a key that is deleted or updated.

/// ON DELETE and ON UPDATE of a foreign key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReferentialAction {
    /// An error, unless at the statement's end some row has the key again or no row refers to it.
    #[default]
    NoAction,
    /// An error at once.
    Restrict,
    /// Referring rows are deleted too, or get the new key.
    Cascade,
    /// The referring columns become NULL.
    SetNull,
    /// The referring columns get their defaults.
    SetDefault,
}

impl ReferentialAction {
    /// Every action, in the order of codes.
    pub const ALL: [ReferentialAction; 5] =
        [Self::NoAction, Self::Restrict, Self::Cascade, Self::SetNull, Self::SetDefault];

    /// The action as SQL writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoAction => "NO ACTION",
            Self::Restrict => "RESTRICT",
            Self::Cascade => "CASCADE",
            Self::SetNull => "SET NULL",
            Self::SetDefault => "SET DEFAULT",
        }
    }
    /// The code that stands for the action in files; it never changes.
    pub fn code(self) -> u8 {
        match self {
            Self::NoAction => 0,
            Self::Restrict => 1,
            Self::Cascade => 2,
            Self::SetNull => 3,
            Self::SetDefault => 4,
        }
    }
    /// The action of a code; `None` for a code that no action has.
    pub fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.code() == code)
    }
    /// Whether the action changes or deletes referring rows instead of raising an error.
    pub fn changes_rows(self) -> bool {
        !matches!(self, Self::NoAction | Self::Restrict)
    }
}
