/* io/bundle.h: what readers and writers of bundles share. */
#ifndef MICA_IO_BUNDLE_H
#define MICA_IO_BUNDLE_H

#include "mica/io.h"

#define IO_MOST_SHARDS 99999 /* names of data files have five digits */
/* Bytes that are read or written at a time, and by one thread. */
#define IO_BUNDLE_PIECE ((int64_t)1 << 18)
#define IO_BUNDLE_STRETCH ((int64_t)1 << 22)

/* How many shards the index of a bundle names; 0 when there is none that can be read. */
uint32_t io_bundle_shards(const char *prefix);

#endif
