/* codegen/toolchain.h: from C text to loaded code, by the machine's own C compiler.
 *
 * The compiler is the first of MICA_CC (a program with arguments, which come after ours; `none`:
 * there is none), cc, gcc, clang, and the one of the Python package ziglang beside this library.
 * What it makes is kept on disk under a name made of the text, the flags and the compiler: in
 * MICA_CACHE (`off`: nowhere), or $XDG_CACHE_HOME/mica, or ~/.cache/mica. A folder that others may
 * write to is not used; one that cannot be written to is read only; an entry that is not whole is
 * made again. The entries that were not used for longest go when there are too many. Without a
 * folder things are made in a temporary one. Several processes may use the folder at once: entries
 * come into being by a rename. Only this user can read or write an entry; one that others own or
 * may write to is not loaded. In a setuid program there is no compiler. What goes wrong with the
 * folder is said once, as a warning. */
#ifndef MICA_CODEGEN_TOOLCHAIN_H
#define MICA_CODEGEN_TOOLCHAIN_H

#include "base/platform.h"

typedef struct mica_source {
    const char *text;
    const char *const *flags; /* more flags, ended by a NULL */
    bool in_background;       /* no caller waits: the compiler runs at low priority */
} mica_source;

/* UNSUPPORTED when there is no compiler. */
MICA_MUST_CHECK mica_status mica_toolchain_load(const mica_source *source,
                                                mica_library **out_library);
/* true: ends the compilers that run, and lets none begin; false: undoes that. */
void mica_toolchain_cancel(bool cancel);
/* How often a compiler was run by this process. */
int64_t mica_toolchain_runs(void);

#endif
