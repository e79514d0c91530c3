/* Encodings of code points: UTF-8, UTF-16 and UTF-32 with the first byte highest, ASCII, Latin-1.
 * What is cut short or no code point counts as one mistake, and reading goes on behind it. */
#include <string.h>
#include <strings.h>

#include "tf/strings.h"

bool mica_tf_encoding_parse(const char *name, mica_tf_encoding *out) {
    static const struct {
        const char *name;
        mica_tf_encoding encoding;
    } names[] = {{"UTF-8", MICA_TF_UTF8},         {"UTF8", MICA_TF_UTF8},
                 {"UTF-16-BE", MICA_TF_UTF16_BE}, {"UTF-16BE", MICA_TF_UTF16_BE},
                 {"UTF-32-BE", MICA_TF_UTF32_BE}, {"UTF-32BE", MICA_TF_UTF32_BE},
                 {"US-ASCII", MICA_TF_ASCII},     {"ASCII", MICA_TF_ASCII},
                 {"latin1", MICA_TF_LATIN1},      {"ISO-8859-1", MICA_TF_LATIN1}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(name, names[i].name)) {
            *out = names[i].encoding;
            return true;
        }
    return false;
}

static uint32_t read_bytes(const char *s, size_t n) {
    uint32_t value = 0;
    for (size_t i = 0; i < n; i++) value = value << 8 | (uint8_t)s[i];
    return value;
}

static size_t next_utf16(const char *s, size_t n, int32_t *out_code) {
    *out_code = -1;
    if (n < 2) return n;
    uint32_t unit = read_bytes(s, 2);
    if (unit >> 11 != 0x1b) {
        *out_code = (int32_t)unit;
        return 2;
    }
    uint32_t low = n >= 4 ? read_bytes(s + 2, 2) : 0;
    if (unit >> 10 != 0x36 || low >> 10 != 0x37) return 2;
    *out_code = (int32_t)(0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff)));
    return 4;
}

static size_t next_utf32(const char *s, size_t n, int32_t *out_code) {
    uint32_t code = n < 4 ? UINT32_MAX : read_bytes(s, 4);
    *out_code = code > 0x10ffff || code >> 11 == 0x1b ? -1 : (int32_t)code;
    return n < 4 ? n : 4;
}

size_t mica_tf_code_next(mica_tf_encoding encoding, const char *s, size_t n, int32_t *out_code) {
    int32_t byte = (uint8_t)s[0];
    switch (encoding) {
    case MICA_TF_UTF8: return mica_tf_utf8_next(s, n, out_code);
    case MICA_TF_UTF16_BE: return next_utf16(s, n, out_code);
    case MICA_TF_UTF32_BE: return next_utf32(s, n, out_code);
    case MICA_TF_ASCII: *out_code = byte < 0x80 ? byte : -1; return 1;
    case MICA_TF_LATIN1: *out_code = byte; return 1;
    }
    *out_code = -1;
    return n;
}

static void append_bytes(mica_text *text, uint32_t value, int n) {
    while (n-- > 0) mica_text_append_char(text, (char)(value >> 8 * n & 0xff));
}

void mica_tf_code_append(mica_tf_encoding encoding, mica_text *text, uint32_t code) {
    if (encoding == MICA_TF_UTF32_BE) {
        append_bytes(text, code, 4);
    } else if (encoding != MICA_TF_UTF16_BE) {
        mica_tf_utf8_append(text, code);
    } else if (code < 0x10000) {
        append_bytes(text, code, 2);
    } else {
        append_bytes(text, 0xd800 | (code - 0x10000) >> 10, 2);
        append_bytes(text, 0xdc00 | (code & 0x3ff), 2);
    }
}
