"""What holds the pages together: links, the table of contents, and the built book.

    python book/pages.py            checks links and contents
    python book/pages.py BUILT      makes links to sources work in a book that mdBook built there, and checks its links
"""

from __future__ import annotations

import html
import os
import re
import sys
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# Pages for those who work on the project; the book leaves them out.
NOT_IN_BOOK = {"SUMMARY.md", "acceptance.md"}

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
HREF = re.compile(r'(?P<name>href|src)="(?P<target>[^"]+)"')


def plain(page: Path) -> list[str]:
    """The lines of a page outside of fenced blocks, code in line blanked."""
    lines, fenced = [], False
    for line in page.read_text().splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
            line = ""
        lines.append("" if fenced else line)
    return lines


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as mdBook and GitHub make them."""
    found: dict[str, int] = {}
    result = set()
    for line in plain(page):
        if heading := re.match(r"#{1,6}\s+(.*)", line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "").strip().lower()
            slug = re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text))
            count = found.get(slug, 0)
            found[slug] = count + 1
            result.add(slug if count == 0 else f"{slug}-{count}")
    return result


def link_faults() -> list[str]:
    """Links of the documentation that lead nowhere."""
    faults = []
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        for number, line in enumerate(plain(page), 1):
            for match in LINK.finditer(re.sub(r"`[^`]*`", "", line)):
                target = match[1] or match[2]
                if "://" in target or target.startswith("mailto:"):
                    continue
                path, _, anchor = target.partition("#")
                file = (page.parent / unquote(path)).resolve() if path else page
                where = f"{page.relative_to(ROOT)}:{number}: {target}"
                if not file.exists():
                    faults.append(f"{where}: no such file")
                elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                    faults.append(f"{where}: no such heading")
    return faults


def contents_faults() -> list[str]:
    """Pages that the table of contents lacks, or lists twice."""
    listed = [m[1] for line in plain(DOCS / "SUMMARY.md") for m in LINK.finditer(line)]
    there = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - NOT_IN_BOOK
    faults = [f"SUMMARY.md lacks {page}" for page in sorted(there - set(listed))]
    faults += [f"SUMMARY.md lists {page}, which is not there" for page in sorted(set(listed) - there)]
    return faults + [f"SUMMARY.md lists {page} twice" for page in sorted({p for p in listed if listed.count(p) > 1})]


def finish(built: Path) -> list[str]:
    """Points links that leave the book at the files of this checkout; returns links of the book that lead nowhere."""
    faults = []
    for page in sorted(built.rglob("*.html")):
        source_folder = (DOCS / page.relative_to(built)).parent

        def mend(match: re.Match[str]) -> str:
            target = html.unescape(match["target"])
            path, hash_sign, anchor = target.partition("#")
            if not path or "://" in path or path.startswith(("mailto:", "data:", "/")):
                return match[0]
            if (page.parent / unquote(path)).exists():
                return match[0]
            # mdBook writes .html for .md, also where the page is none of its own.
            for name in (path, re.sub(r"\.html$", ".md", path)):
                file = (source_folder / unquote(name)).resolve()
                if file.exists() and file.is_relative_to(ROOT):
                    there = os.path.relpath(file, page.parent)
                    return f'{match["name"]}="{html.escape(there + hash_sign + anchor)}"'
            faults.append(f"{page.relative_to(built)}: {target}")
            return match[0]

        # Code that a page shows is text with its brackets escaped, so every href is a link.
        text = page.read_text()
        mended = HREF.sub(mend, text)
        if mended != text:
            page.write_text(mended)
    return faults


def main() -> int:
    faults = finish(Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else link_faults() + contents_faults()
    print("\n".join(faults) or "every link leads somewhere")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
