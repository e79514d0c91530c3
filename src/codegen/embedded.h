/* codegen/embedded.h: the text of ir/scalar*.h, put into the library when it is built
 * (cmake/embed.cmake), for the compilers that the devices call at run time. */
#ifndef MICA_CODEGEN_EMBEDDED_H
#define MICA_CODEGEN_EMBEDDED_H

#include <stdint.h>

typedef struct mica_embedded_header {
    const char *name, *text;
} mica_embedded_header;
extern const mica_embedded_header mica_embedded_headers[];
extern const int32_t mica_embedded_header_count;

#endif
