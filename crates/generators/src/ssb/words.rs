//! SSB's value domains: the words of the specification (which takes them from TPC-H), and the dictionaries of
//! the columns made from them.

use crate::columns::Words;
use std::sync::LazyLock;

pub(super) const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];

/// Nations in the order of TPC-H's nation keys, each with the index of its region.
pub(super) const NATIONS: [(&str, usize); 25] = [
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("JAPAN", 2),
    ("JORDAN", 4),
    ("KENYA", 0),
    ("MOROCCO", 0),
    ("MOZAMBIQUE", 0),
    ("PERU", 1),
    ("CHINA", 2),
    ("ROMANIA", 3),
    ("SAUDI ARABIA", 4),
    ("VIETNAM", 2),
    ("RUSSIA", 3),
    ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
];

/// Cities of a nation: its name cut or padded to nine characters, and a digit.
pub(super) const CITIES_PER_NATION: usize = 10;

const SEGMENTS: [&str; 5] = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"];
const PRIORITIES: [&str; 5] = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECI", "5-LOW"];
const SHIP_MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "TRUCK", "MAIL", "FOB", "SHIP"];

const TYPE_WORDS: [&[&str]; 3] = [
    &["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"],
    &["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"],
    &["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"],
];
const CONTAINER_WORDS: [&[&str]; 2] =
    [&["SM", "LG", "MED", "JUMBO", "WRAP"], &["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"]];

const COLORS: &str = "\
    almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished \
    chartreuse chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick \
    floral forest frosted gainsboro ghost goldenrod green grey honeydew hot indian ivory khaki lace \
    lavender lawn lemon light lime linen magenta maroon medium metallic midnight mint misty moccasin \
    navajo navy olive orange orchid pale papaya peach peru pink plum powder puff purple red rose rosy \
    royal saddle salmon sandy seashell sienna sky slate smoke snow spring steel tan thistle tomato \
    turquoise violet wheat white yellow";

/// Manufacturers, categories of each, and brands of each category: `MFGR#1`, `MFGR#12`, `MFGR#1240`.
pub(super) const MANUFACTURERS: usize = 5;
pub(super) const CATEGORIES_PER_MANUFACTURER: usize = 5;
pub(super) const BRANDS_PER_CATEGORY: usize = 40;

/// The dictionary of each column that has one.
pub(super) struct Dictionaries {
    pub(super) regions: Words,
    pub(super) nations: Words,
    pub(super) cities: Words,
    pub(super) segments: Words,
    pub(super) manufacturers: Words,
    pub(super) categories: Words,
    pub(super) brands: Words,
    pub(super) colors: Words,
    /// Two colours, the first one's index times the number of colours plus the second one's.
    pub(super) names: Words,
    pub(super) types: Words,
    pub(super) containers: Words,
    pub(super) priorities: Words,
    pub(super) ship_modes: Words,
}

/// Made once: a few thousand short strings.
pub(super) static DICTIONARIES: LazyLock<Dictionaries> = LazyLock::new(|| {
    let colors: Vec<&str> = COLORS.split_whitespace().collect();
    let city = |at: usize| format!("{:<9.9}{}", NATIONS[at / CITIES_PER_NATION].0, at % CITIES_PER_NATION);
    let category = |at: usize| {
        format!("MFGR#{}{}", at / CATEGORIES_PER_MANUFACTURER + 1, at % CATEGORIES_PER_MANUFACTURER + 1)
    };
    let brand = |at: usize| format!("{}{}", category(at / BRANDS_PER_CATEGORY), at % BRANDS_PER_CATEGORY + 1);
    let categories = MANUFACTURERS * CATEGORIES_PER_MANUFACTURER;
    Dictionaries {
        regions: Words::new(REGIONS),
        nations: Words::new(NATIONS.map(|(name, _)| name)),
        cities: Words::new((0..NATIONS.len() * CITIES_PER_NATION).map(city)),
        segments: Words::new(SEGMENTS),
        manufacturers: Words::new((1..=MANUFACTURERS).map(|number| format!("MFGR#{number}"))),
        categories: Words::new((0..categories).map(category)),
        brands: Words::new((0..categories * BRANDS_PER_CATEGORY).map(brand)),
        names: Words::new(phrases(&[&colors, &colors])),
        colors: Words::new(&colors),
        types: Words::new(phrases(&TYPE_WORDS)),
        containers: Words::new(phrases(&CONTAINER_WORDS)),
        priorities: Words::new(PRIORITIES),
        ship_modes: Words::new(SHIP_MODES),
    }
});

/// One word of each list, in every combination, the last list's word changing first.
fn phrases(lists: &[&[&str]]) -> Vec<String> {
    lists.iter().fold(vec![String::new()], |heads, list| {
        let join = |head: &String, word: &str| {
            if head.is_empty() { word.to_string() } else { format!("{head} {word}") }
        };
        heads.iter().flat_map(|head| list.iter().map(move |word| join(head, word))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_have_the_specified_sizes() {
        let words = &*DICTIONARIES;
        let sizes =
            [&words.cities, &words.brands, &words.colors, &words.names, &words.types, &words.containers];
        assert_eq!(sizes.map(Words::len), [250, 1000, 92, 92 * 92, 150, 40]);
        for region in 0..REGIONS.len() {
            assert_eq!(NATIONS.iter().filter(|nation| nation.1 == region).count(), 5);
        }
    }
}
