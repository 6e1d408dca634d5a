#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what a terminal showed as an SVG, line by line in time.

    scripts/terminal_picture.py docs/terminal.txt docs/terminal.svg

A line that begins with "$ " is what somebody typed, "..." stands for lines that are left out. What
shows no animation shows all lines at once.
"""

import html
import sys

LETTER, LINE, MARGIN = 7.83, 19, 16  # of 13 pixels, in a font whose letters are equally wide
SECONDS, PAUSE = 0.22, 1.2  # a line; before what is typed


def picture(lines):
    width = round(LETTER * max(len(line) for line in lines) + 2 * MARGIN)
    height = LINE * len(lines) + 2 * MARGIN
    drawn, at = [], 0.0
    for number, line in enumerate(lines):
        typed = line.startswith("$ ")
        at += PAUSE if typed and number > 0 else SECONDS
        drawn.append('<text xml:space="preserve" class="%s" x="%d" y="%d" style="animation-delay:%.2fs">%s</text>' % (
            "typed" if typed else "said", MARGIN, MARGIN + LINE * number + 14, at, html.escape(line)))
    return """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">
<style>
text { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre; }
text { animation: appear 0.1s backwards; }
.said { fill: #d7dce2; }
.typed { fill: #7ee0a3; font-weight: bold; }
@keyframes appear { from { opacity: 0; } }
</style>
<rect width="100%%" height="100%%" rx="8" fill="#15191e"/>
%s
</svg>
""" % (width, height, width, height, "\n".join(drawn))


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: terminal_picture.py TEXT SVG")
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = file.read().rstrip("\n").split("\n")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(picture(lines))


if __name__ == "__main__":
    main()
