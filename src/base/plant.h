/* base/plant.h: faults that can be switched on, in builds for tests only (the CMake option
 * MICA_PLANT): MICA_PLANT=<name> in the environment puts the known fault of that name into a pass
 * of the compiler. tests/compile/test_modes.c shows that the random graphs notice each. */
#ifndef MICA_BASE_PLANT_H
#define MICA_BASE_PLANT_H

#include <stdbool.h>

#ifdef MICA_PLANT
#include <string.h>

#include "base/platform.h"

static inline bool mica_is_planted(const char *name) {
    const char *text = mica_environment("MICA_PLANT");
    return text && !strcmp(text, name);
}
#else
#define mica_is_planted(name) false
#endif

#endif
