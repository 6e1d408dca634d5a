#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the documents as a site, with mkdocs (apt-get install mkdocs).

    scripts/build-site.py              writes build/site
    scripts/build-site.py FOLDER       writes FOLDER

README.md becomes the first page, docs/ keeps its folders, and the other documents of the project go to project/. Links between documents
are adapted; links to sources, which the site does not have, become plain text. A broken link, or a document without a place in the
navigation of docs/mkdocs.yml, is an error.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROJECT = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md", "lab/README.md")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def pages():
    """Where each document of the tree is in the site."""
    places = {"README.md": "index.md", **{name: "project/" + name for name in PROJECT}}
    for folder, _, names in os.walk(os.path.join(ROOT, "docs")):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            if name.endswith((".md", ".svg")):
                places[path] = os.path.relpath(path, "docs")
    return places


def adapted(text, source, places):
    """The text of a document with its links as the site has them."""

    def link(match):
        picture, words, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match.group(0)
        path, _, anchor = target.partition("#")
        named = os.path.normpath(os.path.join(os.path.dirname(source), path))
        if not os.path.exists(os.path.join(ROOT, named)):
            sys.exit("%s: a link to '%s', which does not exist" % (source, target))
        if named not in places:
            return words
        there = os.path.relpath(places[named], os.path.dirname(places[source]) or ".")
        return "%s[%s](%s%s)" % (picture, words, there, "#" + anchor if anchor else "")

    return LINK.sub(link, text)


def stage(folder, places):
    for source, place in places.items():
        path = os.path.join(folder, place)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if source.endswith(".svg"):
            shutil.copyfile(os.path.join(ROOT, source), path)
            continue
        with open(os.path.join(ROOT, source), encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(adapted(text, source, places))


def unlisted(places):
    with open(os.path.join(ROOT, "docs/mkdocs.yml"), encoding="utf-8") as file:
        listed = set(re.findall(r": (\S+\.md)$", file.read(), re.M))
    return sorted(place for place in places.values() if place.endswith(".md") and place not in listed)


def main():
    target = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build/site"))
    places = pages()
    if unlisted(places):
        sys.exit("docs/mkdocs.yml: the navigation lacks %s" % ", ".join(unlisted(places)))
    if shutil.which("mkdocs") is None:
        sys.exit("mkdocs is missing: apt-get install mkdocs")
    with tempfile.TemporaryDirectory() as work:
        stage(os.path.join(work, "docs"), places)
        shutil.copyfile(os.path.join(ROOT, "docs/mkdocs.yml"), os.path.join(work, "mkdocs.yml"))
        return subprocess.run(["mkdocs", "build", "--quiet", "--strict", "--site-dir", target], cwd=work, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
