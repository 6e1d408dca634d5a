# SPDX-License-Identifier: Apache-2.0
"""Writes src/data/photos/photo_golden.h: image files and what Pillow decodes and resizes them to.

    python3 test/golden/make_photos.py src/data/photos/photo_golden.h     (Pillow 13.0; then clang-format)

Files that Pillow cannot write (16 bits, Adam7, PPM with another highest level) are built here from their description.
"""

import io
import struct
import sys
import zlib

from PIL import Image

SIDE = 8


def level(x, y, c):
    return (x * 37 + y * 91 + c * 53 + x * y % 7 * 11) % 256


def picture(width, height):
    image = Image.new("RGB", (width, height))
    image.putdata([tuple(level(x, y, c) for c in range(3)) for y in range(height) for x in range(width)])
    return image


def smooth(mode="RGB"):
    """Without edges, which JPEG and WebP would blur."""
    image = Image.new("RGB", (SIDE, SIDE))
    image.putdata([(20 * x + 40, 25 * y + 30, 200 - 10 * x - 9 * y) for y in range(SIDE) for x in range(SIDE)])
    return image.convert(mode)


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def planes(image):
    pixels = list(image.getdata())
    if image.mode == "L":
        return 1, pixels
    return 3, [pixel[c] for c in range(3) for pixel in pixels]


def over_white(image):
    """RGBA or LA on white, rounded to the nearest level."""
    pixels = [tuple((v * p[-1] + 255 * (255 - p[-1]) + 127) // 255 for v in p[:-1]) for p in image.getdata()]
    out = Image.new("RGB" if image.mode == "RGBA" else "L", image.size)
    out.putdata(pixels if image.mode == "RGBA" else [p[0] for p in pixels])
    return out


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(depth, colour, rows, interlace=0, extra=b""):
    """A PNG of rows of bytes as they are stored, unfiltered (filter 0)."""
    head = struct.pack(">IIBBBBB", SIDE, SIDE, depth, colour, 0, 0, interlace)
    data = b"".join(b"\0" + row for row in rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(data, 9)) +
            chunk(b"IEND", b""))


def interlaced(image):
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    rows = []
    for x0, y0, dx, dy in passes:
        for y in range(y0, SIDE, dy):
            row = b"".join(bytes(image.getpixel((x, y))) for x in range(x0, SIDE, dx))
            if row:
                rows.append(row)
    return png(8, 2, rows, 1)


def bmp32(image, masks=False):
    pixels = b"".join(bytes(image.getpixel((x, y)))[::-1] + b"\x07" for y in range(SIDE) for x in range(SIDE))
    extra = struct.pack("<III", 0xff0000, 0xff00, 0xff) if masks else b""
    head = struct.pack("<IiiHHIIiiII", 40, SIDE, -SIDE, 1, 32, 3 if masks else 0, len(pixels), 0, 0, 0, 0) + extra
    return b"BM" + struct.pack("<IHHI", 14 + len(head) + len(pixels), 0, 0, 14 + len(head)) + head + pixels


def files():
    """Name, file, what it is to be, how far a level may be off."""
    rgb, grey = picture(SIDE, SIDE), picture(SIDE, SIDE).convert("L")
    for name, image, options in (
            ("jpeg", smooth(), {}),
            ("jpeg_progressive", smooth(), {"progressive": True}), ("jpeg_grey", smooth("L"), {}),
            ("jpeg_cmyk", smooth("CMYK"), {})):
        data = saved(image, "JPEG", quality=90, **options)
        decoded = Image.open(io.BytesIO(data))
        yield name, data, decoded.convert("RGB") if decoded.mode == "CMYK" else decoded, 1
    yield "png", saved(rgb, "PNG"), rgb, 0
    yield "png_grey", saved(grey, "PNG"), grey, 0
    yield "png_1_bit", saved(grey.convert("1"), "PNG"), grey.convert("1").convert("L"), 0
    palette = rgb.quantize(16)
    yield "png_palette", saved(palette, "PNG"), palette.convert("RGB"), 0
    yield "png_palette_clear", saved(palette, "PNG", transparency=3), over_white(
        Image.open(io.BytesIO(saved(palette, "PNG", transparency=3))).convert("RGBA")), 0
    alpha = rgb.copy().convert("RGBA")
    alpha.putalpha(grey)
    yield "png_alpha", saved(alpha, "PNG"), over_white(alpha), 0
    grey_alpha = Image.merge("LA", (grey, rgb.getchannel(1)))
    yield "png_grey_alpha", saved(grey_alpha, "PNG"), over_white(grey_alpha), 0
    high = [b"".join(bytes([grey.getpixel((x, y)), 200]) for x in range(SIDE)) for y in range(SIDE)]
    yield "png_grey_16", png(16, 0, high), grey, 0
    high = [b"".join(bytes([v, 250]) for x in range(SIDE) for v in rgb.getpixel((x, y))) for y in range(SIDE)]
    yield "png_16", png(16, 2, high), rgb, 0
    yield "png_interlaced", interlaced(rgb), rgb, 0
    turn = struct.pack(">2sHIHHHIHHI", b"MM", 42, 8, 1, 0x112, 3, 1, 6, 0, 0)
    rows = [b"".join(bytes(rgb.getpixel((x, y))) for x in range(SIDE)) for y in range(SIDE)]
    yield "png_turned", png(8, 2, rows, extra=chunk(b"eXIf", turn)), rgb.transpose(Image.Transpose.ROTATE_270), 0
    yield "ppm", saved(rgb, "PPM"), rgb, 0
    text = "P2 # made\n8 8\n100\n" + "\n".join(
        " ".join(str(level(x, y, 0) % 101) for x in range(SIDE)) for y in range(SIDE))
    hundred = Image.new("L", (SIDE, SIDE))
    hundred.putdata([(level(x, y, 0) % 101 * 255 + 50) // 100 for y in range(SIDE) for x in range(SIDE)])
    yield "pgm_text", text.encode(), hundred, 0
    yield "pgm_16", b"P5\n8 8 65535\n" + b"".join(bytes([v, v]) for v in grey.tobytes()), grey, 0
    yield "bmp", saved(rgb, "BMP"), rgb, 0
    yield "bmp_palette", saved(palette, "BMP"), palette.convert("RGB"), 0
    yield "bmp_down", bmp32(rgb), rgb, 0
    yield "bmp_masks", bmp32(rgb, True), rgb, 0
    yield "webp", saved(rgb, "WEBP", lossless=True), rgb, 0
    data = saved(smooth(), "WEBP", quality=90)
    yield "webp_lossy", data, Image.open(io.BytesIO(data)).convert("RGB"), 0
    data = saved(alpha, "WEBP", lossless=True, exact=True)
    yield "webp_alpha", data, over_white(alpha), 0


def fits():
    """Kind, width, height, side, and Pillow's resize of the same window; padding as fit.c has it."""
    for width, height, side in ((5, 5, 5), (17, 11, 4), (40, 27, 5), (3, 2, 7), (1, 9, 3)):
        image = picture(width, height)
        least, longest = min(width, height), max(width, height)
        left, top = (width - least) / 2, (height - least) / 2
        yield "CROP", image, side, image.resize((side, side), Image.Resampling.BILINEAR,
                                                (left, top, left + least, top + least))
        yield "STRETCH", image, side, image.resize((side, side), Image.Resampling.BILINEAR)
        inner = []
        for size in (width, height):
            odd = side % 2
            pairs = int((side * size / longest - odd) / 2 + 0.5)
            inner.append(max(2 * pairs + odd, 2 - odd))
        out = Image.new("RGB", (side, side))
        out.paste(image.resize(inner, Image.Resampling.BILINEAR), ((side - inner[0]) // 2, (side - inner[1]) // 2))
        yield "PAD", image, side, out


def array(name, data):
    return "static const uint8_t %s[] = {%s};\n" % (name, ", ".join(str(v) for v in data))


def main():
    out = ["/* SPDX-License-Identifier: Apache-2.0 */\n",
           "/* Made by test/golden/make_photos.py: image files and what Pillow makes of them. */\n",
           "#ifndef SHOAL_DATA_PHOTOS_PHOTO_GOLDEN_H\n#define SHOAL_DATA_PHOTOS_PHOTO_GOLDEN_H\n\n",
           "#include <stdint.h>\n\n#include \"base/test.h\"\n#include \"data/photos/fit.h\"\n\n",
           "#define GOLDEN_SIDE %d\n\n" % SIDE]
    rows = []
    for name, data, image, off in files():
        channels, pixels = planes(image)
        out.append(array("golden_" + name, data))
        out.append(array("golden_%s_pixels" % name, pixels))
        rows.append('    {"%s", golden_%s, sizeof golden_%s, golden_%s_pixels, %d, %d},\n' % (
            name, name, name, name, channels, off))
    out.append("\nstatic const struct golden_photo {\n    const char *name;\n    const uint8_t *file;\n"
               "    size_t bytes;\n    const uint8_t *pixels; /* [channels][side][side] */\n"
               "    uint32_t channels;\n    int off; /* levels that may differ */\n} golden_photos[] = {\n")
    out += rows + ["};\n\n"]
    rows = []
    for number, (kind, image, side, square) in enumerate(fits()):
        out.append(array("golden_square_%d" % number, planes(square)[1]))
        rows.append("    {SH_FIT_%s, %d, %d, %d, golden_square_%d},\n" % (kind, *image.size, side, number))
    out.append("\n/* Of a picture whose level is (37 x + 91 y + 53 c + x y %% 7 * 11) %% 256. */\n".replace("%%", "%"))
    out.append("static const struct golden_fit {\n    sh_fit_kind kind;\n    uint32_t width, height, side;\n"
               "    const uint8_t *pixels; /* [3][side][side] */\n} golden_fits[] = {\n")
    out += rows + ["};\n\n#endif\n"]
    with open(sys.argv[1], "w", encoding="ascii") as file:
        file.writelines(out)


if __name__ == "__main__":
    main()
