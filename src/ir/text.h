/* ir/text.h: what the printer and the parser agree on. */
#ifndef MICA_IR_TEXT_H
#define MICA_IR_TEXT_H

#include <stdbool.h>

/* Letters, digits and _ . - + $ : what a word of the text is made of. */
static inline bool mica_is_word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-' || c == '+' || c == '$';
}

/* true for a word; other names are written in quotes. */
static inline bool mica_is_word(const char *name) {
    const char *at = name;
    while (mica_is_word_char(*at)) at++;
    return *at == 0 && at != name;
}

#endif
