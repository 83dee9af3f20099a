"""The documentation does what it says: its examples run, its links lead somewhere, generated pages are current."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import examples  # noqa: E402
import pages  # noqa: E402
import reference  # noqa: E402

# Pages with blocks that cannot run here, and how many: they install software, need a network or a notebook.
# Pages of servers ask for one that runs.
NOT_RUN = {
    "docs/how-to/flight-sql.md": 1,
    "docs/how-to/http.md": 1,
    "docs/how-to/serve.md": 1,
    "docs/python/ibis.md": 1,
    "docs/python/notebooks.md": 3,
    "docs/python/serve.md": 3,
    "docs/start/installation.md": 1,
    "docs/tasks/09-tpch.md": 1,
}


@pytest.mark.parametrize("page", examples.pages(), ids=lambda page: str(page.relative_to(examples.ROOT)))
def test_examples_print_what_the_page_shows(page):
    faults, _ = examples.run_page(page)
    assert not faults, "\n\n".join(faults) + f"\n\npython book/examples.py --update {page.relative_to(examples.ROOT)}"


def test_only_listed_blocks_are_not_run():
    documents = [examples.ROOT / "README.md", *examples.DOCS.rglob("*.md")]
    counts = {str(p.relative_to(examples.ROOT)): examples.skipped(p.read_text()) for p in documents}
    assert {page: count for page, count in counts.items() if count} == NOT_RUN


def test_links_lead_somewhere():
    assert pages.link_faults() == []


def test_every_page_is_in_the_contents():
    assert pages.contents_faults() == []


def test_pages_made_from_the_engines_lists_are_current():
    stale = [str(page.relative_to(pages.ROOT)) for page, text in reference.made().items() if page.read_text() != text]
    assert stale == [], "make reference"


PLANTED = """# A page with a fault of each kind
```sql
SELECT 40 + 2 AS answer;
```
```text
 answer
--------
     41
(1 row)
```

```python
print(1 + 1)
```
```text
3
```

```console
$ echo right
wrong
```

```sql
SELECT no_such_column;
```
"""


def test_planted_faults_are_found(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(PLANTED)
    monkeypatch.setattr(examples, "ROOT", tmp_path)
    faults, written = examples.run_page(page)
    assert [fault.split("\n")[0] for fault in faults] == ["page.md:6", "page.md:16", "page.md:20", "page.md:25: failed:"]
    assert "     42\n" in written and "\n2\n" in written and "\nright\n```" in written
    page.write_text(written.split("```sql\nSELECT no_such")[0])
    assert examples.run_page(page)[0] == []


def test_planted_links_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "DOCS", tmp_path / "docs")
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("[page](docs/a.md#a-heading) [gone](docs/gone.md)\n")
    (tmp_path / "docs" / "a.md").write_text("# A heading\n[here](#a-heading) [nowhere](#no-heading)\n")
    (tmp_path / "docs" / "SUMMARY.md").write_text("[b](b.md)\n")
    assert sorted(fault.split(": ", 1)[1] for fault in pages.link_faults()) == [
        "#no-heading: no such heading",
        "b.md: no such file",
        "docs/gone.md: no such file",
    ]
    assert pages.contents_faults() == ["SUMMARY.md lacks a.md", "SUMMARY.md lists b.md, which is not there"]


def test_measured_values_are_not_compared():
    assert examples.normal("  » 3 rows; 0.021 ms; 71.2 kB") == examples.normal("  » 3 rows; 10.1 ms; 7 kB")
    assert examples.normal("  » 3 rows; 0.021 ms") != examples.normal("  » 4 rows; 0.021 ms")


def test_a_terminal_forgets_an_erased_bar():
    assert examples.screen("\r\x1b[K 25 % [███···]\r\x1b[Kdone\r\n") == "done"
