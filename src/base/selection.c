#include "base/selection.h"

#include <string.h>

#include "base/platform.h"

const char *mica_selection_text(const char *selection) {
    if (!selection) selection = mica_environment("MICA_PASSES");
    return selection ? selection : "";
}

bool mica_selection_has(const char *selection, const char *pass) {
    size_t length = strlen(pass);
    for (const char *s = mica_selection_text(selection); *s;) {
        size_t n = strcspn(s, ",");
        if (n == length + 1 && s[0] == '-' && memcmp(s + 1, pass, length) == 0) return false;
        s += n + (s[n] == ',');
    }
    return true;
}
