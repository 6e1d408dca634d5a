# SPDX-License-Identifier: Apache-2.0
"""Pages that shoal makes, taken apart.

    page = pages.Reader(text)
    pages.pixels(page.pictures[0])      # (width, height, channels, bytes)
"""

import base64
import html.parser
import struct
import zlib

VOID = {"meta", "br", "link", "img", "input", "hr", "polyline"}


class Reader(html.parser.HTMLParser):
    """Tags, attributes and texts of a page; raises where tags do not close."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.texts, self.scripts = [], [], [], []
        self.feed(text)
        self.close()
        if self.open:
            raise AssertionError("not closed: %s" % self.open)
        before = "data:image/png;base64,"
        sources = [attributes["src"] for tag, attributes in self.found if tag == "img"]
        if not all(source.startswith(before) for source in sources):
            raise AssertionError("pictures from outside: %s" % sources)
        self.pictures = [base64.b64decode(source[len(before):], validate=True) for source in sources]

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            raise AssertionError("</%s> closes nothing" % tag)

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] == "script" else self.texts).append(data)

    def tags(self, tag):
        return [attributes for found, attributes in self.found if found == tag]

    @property
    def text(self):
        return "\n".join(self.texts)


def pixels(png):
    """Width, height, channels and bytes of a PNG without filters; raises where a chunk is wrong."""
    if png[:8] != b"\x89PNG\r\n\x1a\n":
        raise AssertionError("no PNG: %r" % png[:16])
    chunks, at = {}, 8
    while at < len(png):
        count, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + count]
        if struct.unpack(">I", png[at + 8 + count:at + 12 + count])[0] != zlib.crc32(kind + body):
            raise AssertionError("%s has another sum" % kind)
        chunks[kind] = body
        at += 12 + count
    width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    if depth != 8 or colour not in (0, 2) or rest != [0, 0, 0] or b"IEND" not in chunks:
        raise AssertionError("unusual PNG")
    channels = 3 if colour == 2 else 1
    rows, line = zlib.decompress(chunks[b"IDAT"]), width * channels + 1
    if len(rows) != height * line or any(rows[y * line] for y in range(height)):
        raise AssertionError("%d bytes for %d x %d" % (len(rows), width, height))
    return width, height, channels, b"".join(rows[y * line + 1:(y + 1) * line] for y in range(height))
