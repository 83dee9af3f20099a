"""The 21 tables of the join order benchmark's schema, filled with made-up films: see `other_suites.py`.

What makes such joins hard to plan is that columns of different tables go together. Here a title's country, genre, year, kind and
popularity are drawn first, each depending on the ones before; the companies that make it are of its country, its keywords and
ratings go with its genre, popular titles have more of everything, and few people play in most of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from other_suites import SEED, joined, labelled, skewed, words

TITLES_OF_SCALE = 400_000
KINDS = ("movie", "tv series", "tv movie", "video movie", "tv mini series", "video game", "episode")
COUNTRIES = ("[us]", "[gb]", "[in]", "[fr]", "[de]", "[jp]", "[it]", "[es]", "[ca]", "[se]", "[br]", "[mx]", "[cn]", "[kr]", "[ru]", "[pl]")
NAMES_OF_COUNTRIES = (
    "USA", "UK", "India", "France", "Germany", "Japan", "Italy", "Spain", "Canada", "Sweden", "Brazil", "Mexico", "China", "South Korea",
    "Russia", "Poland",
)
LANGUAGES = (
    "English", "English", "Hindi", "French", "German", "Japanese", "Italian", "Spanish", "English", "Swedish", "Portuguese", "Spanish",
    "Mandarin", "Korean", "Russian", "Polish",
)
GENRES = (
    "Drama", "Comedy", "Documentary", "Short", "Romance", "Action", "Thriller", "Horror", "Crime", "Family", "Adventure", "Animation",
    "Sci-Fi", "Mystery", "Fantasy", "Music", "War", "Western", "Sport", "Film-Noir",
)
COMPANY_TYPES = ("distributors", "production companies", "special effects companies", "miscellaneous companies")
INFO_TYPES = (
    "runtimes", "color info", "genres", "languages", "countries", "release dates", "budget", "certificates", "sound mix", "plot",
    "tech info", "rating", "votes", "top 250 rank", "bottom 10 rank", "birth date", "height", "biography", "trivia", "quotes",
)
ROLES = (
    "actor", "actress", "producer", "writer", "cinematographer", "composer", "costume designer", "director", "editor", "miscellaneous crew",
    "production designer", "guest",
)
LINKS = ("follows", "followed by", "remake of", "remade as", "references", "referenced in", "spoofs", "spoofed in", "features", "version of")
SYLLABLES = ("ba", "ko", "ri", "lo", "me", "san", "ti", "ver", "dan", "ou", "pe", "lin", "gar", "ast", "no", "fel", "mi", "tho", "zu", "ka")
NOTES = ("(voice)", "(uncredited)", "(as himself)", "(producer)", "(executive producer)", "(voice) (uncredited)", "(archive footage)", "(writer)")
WORDS_OF_KEYWORDS = (
    "murder", "love", "sequel", "superhero", "revenge", "family", "war", "ghost", "music", "space", "school", "robbery", "friendship", "blood",
    "marriage", "police", "dog", "future", "island", "trial", "character-name-in-title", "based-on-novel", "independent-film", "violence",
)


def name_of(numbers: Any) -> Any:
    """A name of syllables, another one for each number."""
    parts = [words(numbers // len(SYLLABLES) ** place % len(SYLLABLES), SYLLABLES) for place in range(4)]
    return joined(*parts)


@dataclass
class Titles:
    """What the other tables follow."""

    ids: Any
    kind: Any
    country: Any
    genre: Any
    year: Any
    fame: Any


def titles(random: Any, count: int) -> Titles:
    country = skewed(random, count, len(COUNTRIES), 2.2)
    genre = (skewed(random, count, len(GENRES), 1.8) + np.where(random.random(count) < 0.5, country, 0)) % len(GENRES)
    # Cheaper kinds came with television and are of some genres.
    kind = np.where(random.random(count) < 0.55 + 0.02 * genre, skewed(random, count, len(KINDS), 3), 6)
    year = 2013 - skewed(random, count, 110, 2.4) - np.where(genre >= 15, 15, 0)
    year = np.maximum(year, np.where(kind == 0, 1890, 1950))
    fame = random.random(count) ** 6 * (1 + (country == 0)) * np.where(kind == 6, 0.4, 1)
    return Titles(np.arange(1, count + 1), kind, country, genre, year, fame)


def several(random: Any, t: Titles, mean: float, most: float) -> Any:
    """Positions of titles, each as often as its fame says: about `mean` times, up to `most` more for the most famous."""
    times = random.poisson(mean * 0.6 + most * t.fame)
    return np.repeat(np.arange(len(t.ids)), times)


def some(random: Any, texts: Any, share: float) -> Any:
    """The texts with NULL in all but a share of the rows."""
    mask = random.random(len(texts)) < share
    return pa.compute.if_else(pa.array(mask), texts, pa.scalar(None, pa.string()))


def integers(numbers: Any, present: Any = None) -> Any:
    return pa.array(numbers.astype(np.int32), mask=None if present is None else ~present)


def numbered(columns: dict[str, Any]) -> Any:
    rows = len(next(iter(columns.values())))
    return pa.table({"id": integers(np.arange(1, rows + 1)), **columns})


def names_table(column: str, values: tuple[str, ...]) -> Any:
    return numbered({column: pa.array(values)})


def movies(scale: Decimal, folder: Path) -> None:
    random = np.random.default_rng(SEED)
    t = titles(random, max(1000, int(TITLES_OF_SCALE * scale)))
    count = len(t.ids)
    tables = small_tables(random, count)
    tables |= title_tables(random, t)
    tables |= company_tables(random, t)
    tables |= information(random, t)
    tables |= keyword_tables(random, t)
    tables |= people(random, t)
    for name, table in tables.items():
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet")


def small_tables(random: Any, count: int) -> dict[str, Any]:
    links = max(10, count // 80)
    complete = max(10, count // 20)
    return {
        "kind_type": names_table("kind", KINDS),
        "company_type": names_table("kind", COMPANY_TYPES),
        "info_type": names_table("info", INFO_TYPES),
        "role_type": names_table("role", ROLES),
        "link_type": names_table("link", LINKS),
        "comp_cast_type": names_table("kind", ("cast", "crew", "complete", "complete+verified")),
        "movie_link": numbered({
            "movie_id": integers(skewed(random, links, count, 2) + 1),
            "linked_movie_id": integers(skewed(random, links, count, 2) + 1),
            "link_type_id": integers(skewed(random, links, len(LINKS), 1.5) + 1),
        }),
        "complete_cast": numbered({
            "movie_id": integers(random.integers(1, count + 1, complete)),
            "subject_id": integers(random.integers(1, 3, complete)),
            "status_id": integers(random.integers(3, 5, complete)),
        }),
    }


def title_tables(random: Any, t: Titles) -> dict[str, Any]:
    count = len(t.ids)
    named = joined("The ", words(t.genre, GENRES), " of ", name_of(t.ids * 7 % 160_000), labelled(" ", t.ids % 89))
    episode = t.kind == 6
    aka = several(random, t, 0.1, 0.5)
    return {
        "title": pa.table({
            "id": integers(t.ids),
            "title": named,
            "kind_id": integers(t.kind + 1),
            "production_year": integers(t.year, random.random(count) > 0.03),
            "episode_of_id": integers(random.integers(1, count + 1, count), episode),
            "season_nr": integers(random.integers(1, 20, count), episode),
            "episode_nr": integers(random.integers(1, 60, count), episode),
        }),
        "aka_title": numbered({
            "movie_id": integers(t.ids[aka]),
            "title": joined("Alias ", name_of(aka * 13 % 160_000), labelled(" ", aka)),
            "kind_id": integers(t.kind[aka] + 1),
        }),
    }


def company_tables(random: Any, t: Titles) -> dict[str, Any]:
    companies = max(200, len(t.ids) // 10)
    country = skewed(random, companies, len(COUNTRIES), 2)
    by_country = [np.flatnonzero(country == one) for one in range(len(COUNTRIES))]
    every = np.arange(companies)
    at = several(random, t, 1.0, 3)
    # Mostly a company of the title's country, large ones first.
    choice = random.random(len(at)) ** 2
    company = (choice * companies).astype(np.int64)
    for one, own in enumerate(by_country):
        if len(own):
            here = (t.country[at] == one) & (random.random(len(at)) < 0.8)
            company[here] = own[(choice[here] * len(own)).astype(np.int64)]
    kind = skewed(random, len(at), 4, 2)
    note = joined("(", words(np.clip(t.year[at], 1950, 2013) - 1950, [str(year) for year in range(1950, 2014)]), ") ",
                  words(skewed(random, len(at), 4, 1.5), ["(worldwide)", "(USA) (theatrical)", "(VHS)", "(co-production) (TV)"]))
    return {
        "company_name": pa.table({
            "id": integers(every + 1),
            "name": joined(name_of(every * 31 % 160_000), words(every % 5, [" Film", " Pictures", " Studios", " Television", " Warner"])),
            "country_code": some(random, words(country, COUNTRIES), 0.94),
        }),
        "movie_companies": numbered({
            "movie_id": integers(t.ids[at]),
            "company_id": integers(company + 1),
            "company_type_id": integers(kind + 1),
            "note": some(random, note, 0.55),
        }),
    }


def information(random: Any, t: Titles) -> dict[str, Any]:
    kinds = {name: number + 1 for number, name in enumerate(INFO_TYPES)}
    parts: list[tuple[str, Any, Any]] = []

    def add(kind: str, at: Any, texts: Any) -> None:
        parts.append((kind, at, texts))

    every = np.arange(len(t.ids))
    second = np.flatnonzero(random.random(len(t.ids)) < 0.4)
    add("genres", every, words(t.genre, GENRES))
    add("genres", second, words((t.genre[second] + 1 + skewed(random, len(second), 6, 2)) % len(GENRES), GENRES))
    add("countries", every, words(t.country, NAMES_OF_COUNTRIES))
    add("languages", every, words(t.country, LANGUAGES))
    known = np.flatnonzero(random.random(len(t.ids)) < 0.7)
    add("runtimes", known, labelled("", 30 + skewed(random, len(known), 150, 1.3)))
    add("color info", known, words((t.year[known] < 1965).astype(np.int64), ("Color", "Black and White")))
    released = several(random, t, 1.0, 4)
    dates = joined(words(np.where(random.random(len(released)) < 0.6, t.country[released], skewed(random, len(released), 16, 1.5)), NAMES_OF_COUNTRIES),
                   labelled(":", random.integers(1, 29, len(released)), " "), words(random.integers(0, 6, len(released)), ("January", "March", "May", "July", "October", "December")),
                   labelled(" ", t.year[released]))
    add("release dates", released, dates)
    costly = np.flatnonzero(random.random(len(t.ids)) < t.fame)
    add("budget", costly, labelled("$", (t.fame[costly] * 2e8).astype(np.int64) // 1000 * 1000))
    add("certificates", known, words(t.country[known] % 4, ("USA:PG", "USA:R", "UK:15", "Germany:12")))
    info = pa.table({
        "movie_id": integers(np.concatenate([t.ids[at] for _, at, _ in parts])),
        "info_type_id": integers(np.concatenate([np.full(len(at), kinds[kind]) for kind, at, _ in parts])),
        "info": pa.concat_arrays([texts.combine_chunks() if hasattr(texts, "combine_chunks") else texts for _, _, texts in parts]),
    })
    # As the original, rows of a title lie together.
    info = info.sort_by([("movie_id", "ascending"), ("info_type_id", "ascending")])
    info = info.append_column("note", some(random, words(skewed(random, info.num_rows, 4, 2), ("(internet)", "(DVD)", "(premiere)", "(re-release)")), 0.15))
    return {"movie_info": with_ids(info), "movie_info_idx": with_ids(ratings(random, t, kinds))}


def ratings(random: Any, t: Titles, kinds: dict[str, int]) -> Any:
    rated = np.flatnonzero(random.random(len(t.ids)) < 0.25 + t.fame)
    tenths = np.clip(random.normal(58, 14, len(rated)) + 14 * t.fame[rated] - 8 * (t.genre[rated] == 7) + 6 * (t.genre[rated] == 2), 10, 99).astype(np.int64)
    votes = (5 + 2e5 * t.fame[rated] * random.random(len(rated))).astype(np.int64)
    rating = joined(labelled("", tenths // 10), labelled(".", tenths % 10))
    best = rated[np.argsort(-(t.fame[rated] * tenths), kind="stable")[:250]]
    columns = [(rated, "rating", rating), (rated, "votes", labelled("", votes)), (best, "top 250 rank", labelled("", np.arange(1, len(best) + 1)))]
    return pa.table({
        "movie_id": integers(np.concatenate([t.ids[at] for at, _, _ in columns])),
        "info_type_id": integers(np.concatenate([np.full(len(at), kinds[kind]) for at, kind, _ in columns])),
        "info": pa.concat_arrays([texts for _, _, texts in columns]),
    }).sort_by([("movie_id", "ascending"), ("info_type_id", "ascending")])


def with_ids(table: Any) -> Any:
    return table.add_column(0, "id", integers(np.arange(1, table.num_rows + 1)))


def keyword_tables(random: Any, t: Titles) -> dict[str, Any]:
    count = max(500, len(t.ids) // 20)
    numbers = np.arange(count)
    first = words(numbers % len(WORDS_OF_KEYWORDS), WORDS_OF_KEYWORDS)
    # The first ones are plain words, which are also the frequent ones.
    keyword = pa.compute.if_else(pa.array(numbers < len(WORDS_OF_KEYWORDS)), first, joined(first, "-", name_of(numbers)))
    at = several(random, t, 1.5, 12)
    own = t.genre[at] + len(GENRES) * skewed(random, len(at), count // len(GENRES), 3)
    chosen = np.where(random.random(len(at)) < 0.6, own % count, skewed(random, len(at), count, 3))
    return {
        "keyword": pa.table({"id": integers(numbers + 1), "keyword": keyword}),
        "movie_keyword": numbered({"movie_id": integers(t.ids[at]), "keyword_id": integers(chosen + 1)}),
    }


def people(random: Any, t: Titles) -> dict[str, Any]:
    count = max(1000, len(t.ids))
    numbers = np.arange(count)
    female = random.random(count) < 0.38
    country = skewed(random, count, len(COUNTRIES), 2)
    at = several(random, t, 10, 60)
    # People play in titles of their country when they play at all.
    person = skewed(random, len(at), count, 2.5)
    order = np.argsort(country, kind="stable")
    starts = np.searchsorted(country[order], np.arange(len(COUNTRIES) + 1))
    here = random.random(len(at)) < 0.7
    low, size = starts[t.country[at]], np.diff(starts)[t.country[at]]
    person = np.where(here & (size > 0), order[np.minimum(low + (random.random(len(at)) ** 2.5 * size).astype(np.int64), count - 1)], person)
    plays = random.random(len(at)) < 0.6
    role = np.where(plays, female[person], 2 + skewed(random, len(at), len(ROLES) - 2, 1.5))
    characters = max(500, count // 2)
    aliases, known = skewed(random, count // 4, count, 2), skewed(random, count, count, 1.5)
    noted = words(skewed(random, len(at), len(NOTES), 2), NOTES)
    return {
        "name": pa.table({
            "id": integers(numbers + 1),
            "name": joined(name_of(numbers * 17 % 160_000), ", ", name_of(numbers * 29 % 160_000), labelled(" ", numbers % 7)),
            "gender": some(random, words(female.astype(np.int64), ("m", "f")), 0.8),
            "name_pcode_cf": some(random, joined(words(numbers % 26, [chr(65 + letter) for letter in range(26)]), labelled("", numbers % 600)), 0.9),
        }),
        "char_name": numbered({"name": joined(name_of(np.arange(characters) * 11 % 160_000), labelled(" ", np.arange(characters) % 13))}),
        "cast_info": numbered({
            "person_id": integers(person + 1),
            "movie_id": integers(t.ids[at]),
            "person_role_id": integers(skewed(random, len(at), characters, 2) + 1, plays),
            "note": some(random, noted, 0.35),
            "nr_order": integers(random.integers(1, 60, len(at)), plays),
            "role_id": integers(role + 1),
        }),
        "aka_name": numbered({
            "person_id": integers(aliases + 1),
            "name": joined("Alias ", name_of(aliases * 23 % 160_000), labelled(" ", np.arange(len(aliases)) % 101)),
        }),
        "person_info": numbered({
            "person_id": integers(known + 1),
            "info_type_id": integers(16 + skewed(random, len(known), 5, 1.2)),
            "info": joined("about ", name_of(known * 3 % 160_000), labelled(" ", np.arange(len(known)))),
            "note": some(random, words(known % 3, ("Volker Boehm", "anonymous", "fan")), 0.1),
        }),
    }
