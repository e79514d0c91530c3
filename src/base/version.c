#include "mica/version.h"
#include "mica/runtime.h"

const char *mica_version(void) {
    return MICA_VERSION_STRING;
}
