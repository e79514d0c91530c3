/* base/packages.h: where Python's packages lie, whose wheels carry libraries that are optional
 * here.
 */
#ifndef MICA_BASE_PACKAGES_H
#define MICA_BASE_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>

/* The i-th site-packages folder to look in, of those named by mica_packages_add, around this
 * library and in the active virtual environment; false after the last. It need not exist. */
bool mica_packages_folder(int i, char *path, size_t capacity);

#endif
