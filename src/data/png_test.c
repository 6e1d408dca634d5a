/* SPDX-License-Identifier: Apache-2.0 */
#include "data/png.h"

#include <zlib.h>

#include "base/test.h"

static size_t from_base64(uint8_t *bytes, size_t most, const char *text)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t count = 0;
    uint32_t held = 0, bits = 0;
    assert_int_equal(strlen(text) % 4, 0);
    for (; *text != '\0' && *text != '='; text++) {
        const char *at = strchr(letters, *text);
        assert_non_null(at);
        held = held << 6 | (uint32_t)(at - letters);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            assert_true(count < most);
            bytes[count++] = (uint8_t)(held >> bits);
        }
    }
    assert_true(strspn(text, "=") == strlen(text) && strlen(text) <= 2);
    return count;
}

static uint32_t u32_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void check(const sh_png *png)
{
    uint8_t file[20000], rows[20000];
    char *text;
    assert_ok(sh_png_base64(&text, png));
    const size_t count = from_base64(file, sizeof file, text);
    free(text);
    assert_memory_equal(file, "\x89PNG\r\n\x1a\n", 8);
    const size_t line = (size_t)png->width * png->channels;
    static const char *const kinds[] = {"IHDR", "IDAT", "IEND"};
    size_t at = 8;
    for (int i = 0; i < 3; i++) {
        const uint32_t bytes = u32_at(file + at);
        assert_true(at + 12 + bytes <= count);
        assert_memory_equal(file + at + 4, kinds[i], 4);
        assert_int_equal(u32_at(file + at + 8 + bytes), crc32(0, file + at + 4, bytes + 4));
        const uint8_t *data = file + at + 8;
        if (i == 0) {
            assert_int_equal(bytes, 13);
            assert_true(u32_at(data) == png->width && u32_at(data + 4) == png->height);
            assert_true(data[8] == 8 && data[9] == (png->channels == 3 ? 2 : 0));
            assert_memory_equal(data + 10, "\0\0\0", 3);
        } else if (i == 1) {
            uLongf size = sizeof rows;
            assert_int_equal(uncompress(rows, &size, data, bytes), Z_OK);
            assert_int_equal(size, png->height * (line + 1));
        }
        at += 12 + bytes;
    }
    assert_int_equal(at, count);
    for (uint32_t y = 0; y < png->height; y++) {
        assert_int_equal(rows[y * (line + 1)], 0);
        assert_memory_equal(rows + y * (line + 1) + 1, png->pixels + y * line, line);
    }
}

static void pictures_are_read_again(void **state)
{
    (void)state;
    static uint8_t pixels[64 * 64 * 3];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * i % 251);
    check(&(sh_png){.pixels = pixels, .width = 28, .height = 28, .channels = 1});
    check(&(sh_png){.pixels = pixels, .width = 64, .height = 64, .channels = 3});
    check(&(sh_png){.pixels = pixels, .width = 1, .height = 1, .channels = 1});
    check(&(sh_png){.pixels = pixels, .width = 3, .height = 1, .channels = 3});
    for (uint32_t width = 2; width < 9; width++)
        check(&(sh_png){.pixels = pixels, .width = width, .height = 2, .channels = 1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_are_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
