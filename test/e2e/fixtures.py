# SPDX-License-Identifier: Apache-2.0
"""Files as people have them, photos, recordings and arrays, made without other libraries.

    fixtures.write(self.path("photos", "cat", "1.jpg"), fixtures.jpeg(16, 16))
"""

import os
import struct
import zlib


def write(path, content):
    """Makes a file and the folders above it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def png_chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width, height, rows=None, depth=8, colour=0, interlace=0, before=b""):
    """A PNG; `rows` are its bytes with the filter's byte before each row, black where they are left out. `before` are
    chunks before the pixels."""
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b"\0" + bytes((width * channels * depth + 7) // 8)) for _ in range(height)
                      ) if rows is None else packer.compress(rows)
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", head) + before + png_chunk(b"IDAT", packed + packer.flush()) +
            png_chunk(b"IEND", b""))


def adam7(width, height):
    """The rows of a black interlaced PNG of 8 bits and one channel."""
    passes = ((0, 8, 0, 8), (4, 8, 0, 8), (0, 4, 4, 8), (2, 4, 0, 4), (0, 2, 2, 4), (1, 2, 0, 2), (0, 1, 1, 2))
    rows = b""
    for x, across, y, down in passes:
        columns, lines = -(-(width - x) // across), -(-(height - y) // down)
        if columns > 0 and lines > 0:
            rows += (b"\0" + bytes(columns)) * lines
    return rows


def jpeg(width, height, value=128, components=1):
    """A baseline JPEG of one shade (ITU-T T.81): grey, YCbCr (3) or Adobe's CMYK (4)."""
    def segment(marker, body):
        return struct.pack(">BBH", 0xff, marker, len(body) + 2) + body
    # Differences of DC are told by 4 bits for their length; of AC there is the end of the block alone, one bit.
    codes = (segment(0xc4, b"\0" + bytes([0, 0, 0, 12] + 12 * [0]) + bytes(range(12))) +
             segment(0xc4, b"\x10" + bytes([1] + 15 * [0]) + b"\0"))
    shape = struct.pack(">BHHB", 8, height, width, components)
    frame = segment(0xc0, shape + b"".join(bytes([i + 1, 0x11, 0]) for i in range(components)))
    scan = segment(0xda, bytes([components]) + b"".join(bytes([i + 1, 0]) for i in range(components)) + b"\0\x3f\0")
    level = value - 128
    length = abs(level).bit_length()
    first = format(length, "04b") + (format(level if level > 0 else level + (1 << length) - 1, "0%db" % length)
                                     if length else "") + "0"
    blocks = -(-width // 8) * -(-height // 8)
    bits = components * first + (blocks - 1) * components * "00000"
    bits += -len(bits) % 8 * "1"
    data = int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\0")
    adobe = segment(0xee, b"Adobe\0\x64\0\0\0\0\0") if components == 4 else b""
    return b"\xff\xd8" + adobe + segment(0xdb, b"\0" + 64 * b"\x08") + codes + frame + scan + data + b"\xff\xd9"


def wav(samples, rate=8000, channels=1, bits=16, form=1, promised=None):
    """A WAV file of these bytes of samples; its header promises `promised` bytes where that is given."""
    block = channels * bits // 8
    head = struct.pack("<IHHIIHH", 16, form, channels, rate, rate * block, block, bits)
    body = b"WAVEfmt " + head + b"data" + struct.pack("<I", len(samples) if promised is None else promised) + samples
    return b"RIFF" + struct.pack("<I", len(body) & 0xffffffff) + body


def npy(kind, shape, content, fortran=False):
    """An array as numpy.save writes it."""
    head = str({"descr": kind, "fortran_order": fortran, "shape": shape})
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + content
