/* codegen/toolchain.h: from C text to loaded code, by the machine's own C compiler.
 *
 * The compiler is the first of MICA_CC (a program with arguments; `none`: there is none), cc, gcc,
 * clang, and the one of the Python package ziglang beside this library. What it makes is kept on
 * disk under a name made of the text, the flags and the compiler: in MICA_CACHE, or
 * $XDG_CACHE_HOME/mica, or ~/.cache/mica. A folder that others may write to is not used; an entry
 * that is not whole is made again. The oldest entries go when there are too many. Without a folder
 * things are made in a temporary one. Several processes may use the folder at once: entries come
 * into being by a rename. */
#ifndef MICA_CODEGEN_TOOLCHAIN_H
#define MICA_CODEGEN_TOOLCHAIN_H

#include "base/platform.h"

/* flags: more flags, ended by a NULL. UNSUPPORTED when there is no compiler. */
MICA_MUST_CHECK mica_status mica_toolchain_load(const char *source, const char *const *flags,
                                                mica_library **out_library);

#endif
