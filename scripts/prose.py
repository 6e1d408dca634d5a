#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The prose of documents and comments: phrases that strangers stumble over, passive sentences, and a readability grade.

    scripts/prose.py            findings, as FILE:LINE: phrase: what to write; exit status 1 if there are any
    scripts/prose.py --grades   words, Flesch-Kincaid grade and passive sentences of README, documents and comments

scripts/prose.txt lists the phrases. A passive sentence is a finding in a document, and in a comment if it names who acts
("is read by the loop": "the loop reads"). In a contract such as "`path` is copied" the passive is the normal form, so other
comments may have it. If proselint is installed, it checks the documents too. Code, generated pages and tables are left out.
"""
import argparse
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GENERATED = {"docs/commands.md", "docs/options.md"}
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
# proselint's checks that mean other kinds of text than technical ones.
PROSELINT_OFF = ("typography", "garner.phrasal_adjectives", "weasel_words", "annotations", "dates_times", "hyperbole", "lexical_illusions",
                 "spelling", "consistency", "misc.waxed", "misc.scare_quotes", "misc.but", "misc.currency", "leonard", "links")

IRREGULAR = ("begun|bound|broken|brought|built|caught|chosen|cut|dealt|done|drawn|driven|fed|felt|forgotten|found|frozen|given|"
             "gone|heard|held|hidden|kept|known|laid|led|left|lost|made|meant|met|overwritten|paid|put|read|run|said|seen|sent|"
             "set|shown|sold|spent|split|stored|taken|thought|told|thrown|won|written")
PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being)\s+(?:(?:not|never|also|then|only|still|always|already|often|\w+ly)\s+)?"
                     r"(\w+ed|%s)\b(\s+by\s+(?:the|a|an|its|this|that|these|each|another|shoal)\b)?" % IRREGULAR, re.I)
# Participles that state how a thing is, not what somebody does to it, and "divided by" and its kind.
STATES = set("allowed based bounded closed complicated connected damaged distributed encrypted enabled fixed indeed installed known "
             "limited malformed missed needed numbered owned permitted related required signed sorted supported trusted unaligned "
             "unchanged undefined unlimited unmodified unsigned unused used".split())
RELATIONS = set("caused covered divided followed governed limited multiplied preceded scaled surrounded weighted".split())


def listed(*patterns):
    out = subprocess.run(["git", "-C", ROOT, "ls-files", *patterns], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [name for name in out.split("\n") if name]


def documents():
    return [name for name in listed("*.md") if name not in GENERATED and not name.startswith("CHANGELOG")]


def sources():
    return [name for name in listed("src/*.[ch]", "src/*.cl", "include/*.h", "test/*.[ch]", "bench/*.c", "fuzz/*.[ch]", "examples/*.c")]


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def paragraphs_of_document(text):
    """(line, text) of each paragraph: without code, tables and links' targets."""
    fenced, start, lines = False, 0, []
    for number, line in enumerate(text.split("\n") + [""], 1):
        if line.startswith("```"):
            fenced = not fenced
        left_out = fenced or line.startswith(("```", "    ", "|", "<", "#")) or not line.strip()
        if left_out or re.match(r"\s*([-*]|\d+\.) ", line):
            if lines:
                yield start, " ".join(lines)
            lines = []
        if not left_out:
            if not lines:
                start = number
            line = re.sub(r"`[^`]*`", "CODE", line)
            lines.append(re.sub(r"\]\([^)]*\)", "]", line).strip(" -*"))


def comments_of_source(text):
    """(line, text) of each comment: without examples and figures, which are indented."""
    for match in COMMENT.finditer(text):
        body = match.group(0)
        if not body.startswith(("/*", "//")) or "SPDX" in body:
            continue
        line = text.count("\n", 0, match.start()) + 1
        lines = [re.sub(r"^\s*(/?\*+/?|//+)\s?", "", part).rstrip(" */") for part in body.split("\n")]
        kept = [part for part in lines if not part.startswith("    ")]
        yield line, re.sub(r"\s+", " ", " ".join(kept)).strip()


def phrases():
    found = []
    for line in read("scripts/prose.txt").split("\n"):
        if line and not line.startswith("#"):
            pattern, advice = line.split("\t")
            found.append((re.compile(pattern, re.I), advice))
    return found


def findings():
    patterns = phrases()
    texts = [(name, paragraphs_of_document(read(name))) for name in documents()]
    texts += [(name, comments_of_source(read(name))) for name in sources()]
    for name, paragraphs in texts:
        for line, text in paragraphs:
            for pattern, advice in patterns:
                for match in pattern.finditer(text):
                    yield "%s:%d: '%s': %s" % (name, line, match.group(0), advice)


def sentences(text):
    """The sentences of a paragraph that have words."""
    return [part for part in re.split(r"[.!?:;](?:\s|$)", text) if re.search("[A-Za-z]", part)]


def passives(text, with_agent):
    """What makes a sentence passive, once a sentence; `with_agent`: only if the sentence names who acts."""
    for sentence in sentences(text):
        for match in PASSIVE.finditer(sentence):
            participle, agent = match.group(1).lower(), match.group(2)
            if participle not in RELATIONS if with_agent and agent else not with_agent and participle not in STATES | RELATIONS:
                yield match.group(0)
                break


def passive_findings():
    for name in documents():
        for line, text in paragraphs_of_document(read(name)):
            for phrase in passives(text, False):
                yield "%s:%d: '%s': say who acts, or what happens" % (name, line, phrase)
    for name in sources():
        for line, text in comments_of_source(read(name)):
            for phrase in passives(text, True):
                yield "%s:%d: '%s': start with who acts" % (name, line, phrase)


def proselint_findings():
    program = os.environ.get("PROSELINT", "proselint")
    try:
        out = subprocess.run([program, "--json", *documents()], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False).stdout
    except OSError:
        return
    for line in out.split("\n"):
        if not line.strip():
            continue
        for error in json.loads(line).get("data", {}).get("errors", []):
            if not error["check"].startswith(PROSELINT_OFF):
                yield "%s: %s" % (error["check"], error["message"])


def syllables(word):
    word = re.sub(r"(?:[^laeiouy]es|ed|[^laeiouy]e)$", "", word.lower())
    return max(1, len(re.findall(r"[aeiouy]{1,2}", word)))


def grade(texts):
    """Words, and the Flesch-Kincaid grade (J. P. Kincaid et al., 1975)."""
    words = number = count = 0
    for text in texts:
        for sentence in sentences(text):
            found = re.findall(r"[A-Za-z][A-Za-z']*", sentence)
            number += 1
            words += len(found)
            count += sum(map(syllables, found))
    return words, 0.39 * words / max(1, number) + 11.8 * count / max(1, words) - 15.59


def print_grades():
    groups = {"README.md": [text for _, text in paragraphs_of_document(read("README.md"))],
              "documents": [text for name in documents() for _, text in paragraphs_of_document(read(name))],
              "comments": [text for name in sources() for _, text in comments_of_source(read(name))]}
    for name, texts in groups.items():
        passive = sum(len(list(passives(text, False))) for text in texts)
        print("%-10s %7d words, grade %.1f, %d of %d sentences passive" % (
            name, *grade(texts), passive, sum(len(sentences(text)) for text in texts)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grades", action="store_true")
    options = parser.parse_args()
    if options.grades:
        print_grades()
        return 0
    found = [*findings(), *passive_findings(), *proselint_findings()]
    for line in found:
        print(line)
    if not found:
        print("prose: %d documents, %d sources" % (len(documents()), len(sources())))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
