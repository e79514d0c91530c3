/* base/selection.h: which passes run. A selection is a list such as "-fuse,-match"; NULL stands for
 * the environment's MICA_PASSES, or all. */
#ifndef MICA_BASE_SELECTION_H
#define MICA_BASE_SELECTION_H

#include <stdbool.h>

/* The selection, or the environment's; never NULL. */
const char *mica_selection_text(const char *selection);
/* false when the pass is switched off; also for steps outside the array of passes, such as `plan`.
 */
bool mica_selection_has(const char *selection, const char *pass);

#endif
