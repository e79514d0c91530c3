/* mica/version.h: which Mica a program is compiled with; mica_version() (runtime.h) says which one
 * it runs with. Until version 1 the numbers in the tables (ops.def and the like) may change with
 * MINOR, so libraries of different MINOR have different names to the loader (libmica.so.0.1) and
 * find_package takes none for another.
 *
 * @example
 * #if !MICA_VERSION_AT_LEAST(0, 1, 0)
 * #error "Mica 0.1.0 is needed"
 * #endif
 * if (strcmp(mica_version(), MICA_VERSION_STRING)) puts("another Mica than the headers'");
 * @end
 */
#ifndef MICA_VERSION_H
#define MICA_VERSION_H

/* CMakeLists.txt stops when these are not its project's version. */
#define MICA_VERSION_MAJOR 0
#define MICA_VERSION_MINOR 1
#define MICA_VERSION_PATCH 0
#define MICA_VERSION_STRING "0.1.0"

/* Whether this version is the given one or a later one, for #if. */
#define MICA_VERSION_AT_LEAST(major, minor, patch)                                                 \
    (MICA_VERSION_MAJOR > (major) ||                                                               \
     (MICA_VERSION_MAJOR == (major) &&                                                             \
      (MICA_VERSION_MINOR > (minor) ||                                                             \
       (MICA_VERSION_MINOR == (minor) && MICA_VERSION_PATCH >= (patch)))))

#endif
