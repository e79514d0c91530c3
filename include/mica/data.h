/* mica/data.h: pipelines that make elements.
 *
 * A dataset says how elements are made and does not change; an iterator makes them, one after the
 * other. An element is a row of values (mica/tf.h), as many as the dataset has components. A
 * function of a pipeline is a graph of TensorFlow's ops, so that it runs without the language that
 * described it. Datasets and iterators are reference-counted, and any thread may use them.
 *
 * @example
 *     mica_dataset *numbers = NULL, *pairs = NULL;
 *     mica_iterator *iterator = NULL;
 *     mica_tf_value pair;
 *     bool end = false;
 *     mica_status status = mica_dataset_range(0, 10, 1, MICA_TF_int64, &numbers);
 *     if (!status) status = mica_dataset_batch(numbers, 2, false, &pairs);
 *     if (!status) status = mica_iterator_create(pairs, NULL, &iterator);
 *     while (!status && !end) {
 *         status = mica_iterator_next(iterator, &pair, 1, &end);
 *         if (!status && !end) mica_tf_value_release(pair);
 *     }
 *     mica_iterator_release(iterator);
 *     mica_dataset_release(pairs);
 *     mica_dataset_release(numbers);
 *     mica_status_release(status);
 * @end
 */
#ifndef MICA_DATA_H
#define MICA_DATA_H

#include "tf.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mica_dataset mica_dataset;
typedef struct mica_iterator mica_iterator;

MICA_API void mica_dataset_retain(mica_dataset *dataset);
MICA_API void mica_dataset_release(mica_dataset *dataset);
MICA_API int32_t mica_dataset_component_count(const mica_dataset *dataset);
/* How many elements there are, as far as that is known without making them. */
enum { MICA_DATASET_INFINITE = -1, MICA_DATASET_UNKNOWN = -2 };
MICA_API int64_t mica_dataset_cardinality(const mica_dataset *dataset);
/* How many elements a batch has at most, as far as the pipeline says so: as the last batching of it
 * does, where only steps that leave elements as they are follow. */
enum { MICA_DATASET_NO_BATCH_SIZE = -1 };
MICA_API int64_t mica_dataset_batch_size(const mica_dataset *dataset);

/* ---- sources ----------------------------------------------------------------------------------*/

/* start, start + step, ... up to, not including, stop; scalars of an integer or
 * floating dtype of 8 to 64 bits. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_range(int64_t start, int64_t stop, int64_t step,
                                                        mica_tf_dtype dtype,
                                                        mica_dataset **out_dataset);
/* One element: the values themselves. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_tensors(const mica_tf_value *values, int32_t n,
                                                          mica_dataset **out_dataset);
/* An element for each index of the first axis, which all the values share. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_slices(const mica_tf_value *values, int32_t n,
                                                         mica_dataset **out_dataset);

/* Scalars of int64 below 2^32 at random, as TensorFlow's are with these seeds; without end. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_random(uint64_t seed, uint64_t seed2, bool reseed,
                                                         mica_dataset **out_dataset);

/* Strings out of files, one file after the other: TFRecord records, lines without their ends, or
 * pieces of `record` bytes between a header and a footer. After an error the next element is the
 * next file's. */
typedef enum mica_dataset_file_kind {
    MICA_DATASET_RECORDS,
    MICA_DATASET_LINES,
    MICA_DATASET_PIECES,
} mica_dataset_file_kind;
typedef struct mica_dataset_files {
    size_t size; /* sizeof(mica_dataset_files) */
    mica_dataset_file_kind kind;
    mica_tf_value names;            /* paths, strings of any shape; retained */
    const char *compression;        /* "GZIP", "ZLIB"; NULL, "": none */
    int64_t buffer_size;            /* bytes that are read at a time; 0 or less: a good number */
    int64_t header, record, footer; /* of pieces */
} mica_dataset_files;
MICA_API MICA_MUST_CHECK mica_status mica_dataset_of_files(const mica_dataset_files *files,
                                                           mica_dataset **out_dataset);

/* Records of CSV files: a scalar for each of n fields. A record that is not as it should be is an
 * error, and the next element is the record after it. */
typedef struct mica_dataset_csv {
    size_t size;                  /* sizeof(mica_dataset_csv) */
    mica_tf_value names;          /* paths, strings of any shape; retained */
    const char *compression;      /* "GZIP", "ZLIB"; NULL, "": none */
    int64_t buffer_size;          /* bytes that are read at a time; 0 or less: a good number */
    bool has_header, uses_quotes; /* each file begins with a line that is no record */
    char delimiter;
    const char *missing; /* a text that stands for no value, as an empty field does */
    size_t missing_length;
    const mica_tf_value *defaults; /* n; their dtypes are those of the fields; retained. A vector
                                      without elements: the field has to be there */
    int32_t n;
    const int64_t *select, *exclude; /* the columns that are taken, or left out; ascending */
    int64_t n_select, n_exclude;     /* at most one of them is not 0 */
} mica_dataset_csv;
MICA_API MICA_MUST_CHECK mica_status mica_dataset_of_csv(const mica_dataset_csv *csv,
                                                         mica_dataset **out_dataset);

/* ---- what is made of other datasets -----------------------------------------------------------*/

/* Components of all the inputs side by side, until the first of them ends. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_zip(mica_dataset *const *inputs, int32_t n,
                                                      mica_dataset **out_dataset);
MICA_API MICA_MUST_CHECK mica_status mica_dataset_concatenate(mica_dataset *first,
                                                              mica_dataset *second,
                                                              mica_dataset **out_dataset);
/* `count` times, or for ever when it is negative. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_repeat(mica_dataset *input, int64_t count,
                                                         mica_dataset **out_dataset);
/* The first `count` elements, all when it is negative; the others. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_take(mica_dataset *input, int64_t count,
                                                       mica_dataset **out_dataset);
MICA_API MICA_MUST_CHECK mica_status mica_dataset_skip(mica_dataset *input, int64_t count,
                                                       mica_dataset **out_dataset);
/* Every n_shards-th element, from the index-th on. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_shard(mica_dataset *input, int64_t n_shards,
                                                        int64_t index, mica_dataset **out_dataset);
/* Elements stacked along a new first axis; the last batch may be smaller unless it is dropped. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_batch(mica_dataset *input, int64_t size,
                                                        bool drop_remainder,
                                                        mica_dataset **out_dataset);
/* The same for elements of different sizes: component i is filled up with padding[i], a scalar, to
 * shapes[i]; a size of -1 there is that of the largest element of the batch. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_padded_batch(mica_dataset *input, int64_t size,
                                                               const mica_tf_shape *shapes,
                                                               const mica_tf_value *padding,
                                                               bool drop_remainder,
                                                               mica_dataset **out_dataset);
/* Datasets of up to `size` elements, every stride-th one; the next begins `shift` elements later.
 * Each component is a dataset of its own. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_window(mica_dataset *input, int64_t size,
                                                         int64_t shift, int64_t stride,
                                                         bool drop_remainder,
                                                         mica_dataset **out_dataset);
/* Elements are made by the first iterator that comes to the end, and kept in files <path>.index and
 * <path>.data-..., in the format of TensorFlow's cache, for those after it, of other processes too:
 * numbers and strings. A path that has them is read, whatever the input would give. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_file_cache(mica_dataset *input, const char *path,
                                                             mica_dataset **out_dataset);
/* The same elements, of which there are said to be so many; another number is an error. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_counted(mica_dataset *input, int64_t count,
                                                          mica_dataset **out_dataset);
/* Elements are made by the first iterator that comes to the end, and kept for those after it. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_cache(mica_dataset *input,
                                                        mica_dataset **out_dataset);
/* The inverse of a batch: an element for each index of the first axis of each element. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_unbatch(mica_dataset *input,
                                                          mica_dataset **out_dataset);
/* Batches of other sizes, which are taken in turns; elements are those that unbatch gives. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_rebatch(mica_dataset *input, const int64_t *sizes,
                                                          int64_t n, bool drop_remainder,
                                                          mica_dataset **out_dataset);
/* Elements at random out of a buffer of `size` that is kept full. The order follows from the seeds
 * as in TensorFlow; `reshuffle`: another one for each iterator. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_shuffle(mica_dataset *input, int64_t size,
                                                          uint64_t seed, uint64_t seed2,
                                                          bool reshuffle,
                                                          mica_dataset **out_dataset);
/* Elements are made by a thread of their own, up to `size` of them ahead. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_prefetch(mica_dataset *input, int64_t size,
                                                           mica_dataset **out_dataset);

/* A function of elements: its parameters are the components, then what it captures. The arrays are
 * borrowed. */
typedef struct mica_dataset_function {
    mica_tf_graph *graph;
    const mica_tf_value *captured;
    int32_t n_captured;
} mica_dataset_function;

MICA_API MICA_MUST_CHECK mica_status mica_dataset_map(mica_dataset *input,
                                                      const mica_dataset_function *function,
                                                      mica_dataset **out_dataset);
/* The function gives a dataset (as a value) for each element: their elements, in order. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_flat_map(mica_dataset *input,
                                                           const mica_dataset_function *function,
                                                           int32_t n_components,
                                                           mica_dataset **out_dataset);
/* As map, with up to `calls` of the function side by side (-1: as many as the machine has threads;
 * never more). `in_order`: the elements come in the order of the input, else as they are done. A
 * function with effects or calls of the host language, and one that draws random numbers in
 * branches, runs one after the other; random numbers are those of map in any case. */
MICA_API MICA_MUST_CHECK mica_status
mica_dataset_parallel_map(mica_dataset *input, const mica_dataset_function *function, int64_t calls,
                          bool in_order, mica_dataset **out_dataset);
/* A map of which a batch follows: `one` takes an element, `whole` the components of many elements
 * stacked to their results stacked, with the same bits, captured values and random numbers. `calls`
 * is that of parallel_map, 0 that of map. */
typedef struct mica_dataset_stage {
    mica_dataset_function one;
    mica_tf_graph *whole;
    int64_t calls;
} mica_dataset_stage;
/* The maps, one after the other, and then batch, a call of each `whole` for each batch. Where one
 * fails the functions of the elements run instead, so errors are those of the maps and the batch,
 * and the elements behind the one that failed come as they would there. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_map_batch(mica_dataset *input,
                                                            const mica_dataset_stage *stages,
                                                            int32_t n_stages, int64_t batch_size,
                                                            bool drop_remainder,
                                                            mica_dataset **out_dataset);
/* The elements for which the function gives true. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_filter(mica_dataset *input,
                                                         const mica_dataset_function *function,
                                                         mica_dataset **out_dataset);

/* The elements up to the first for which the function does not give true. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_take_while(mica_dataset *input,
                                                             const mica_dataset_function *function,
                                                             mica_dataset **out_dataset);
/* As flat_map, with cycle_length of the datasets open at a time, block_length elements of each in
 * turn. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_interleave(
    mica_dataset *input, const mica_dataset_function *function, int64_t cycle_length,
    int64_t block_length, int32_t n_components, mica_dataset **out_dataset);
/* The same with the open datasets making elements side by side, as parallel_map does. Out of order,
 * the next element is one that is done. */
MICA_API MICA_MUST_CHECK mica_status
mica_dataset_parallel_interleave(mica_dataset *input, const mica_dataset_function *function,
                                 int64_t cycle_length, int64_t block_length, int64_t calls,
                                 bool in_order, int32_t n_components, mica_dataset **out_dataset);
/* The next element of the input that `choices`, a dataset of scalars of int64, names; one that has
 * ended is passed over, or ends the whole. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_directed(mica_dataset *choices,
                                                           mica_dataset *const *inputs, int32_t n,
                                                           bool stop_on_empty,
                                                           mica_dataset **out_dataset);
/* The function takes n_state values and an element to the next state and an element of the result.
 */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_scan(mica_dataset *input,
                                                       const mica_tf_value *initial,
                                                       int32_t n_state,
                                                       const mica_dataset_function *function,
                                                       mica_dataset **out_dataset);
/* Windows of elements of one key. The first function gives an element's key, the third how many
 * elements a window of that key has, scalars of int64; the second makes a dataset of a key and its
 * window, which is a dataset too. Windows that are not full come at the end, by their keys. */
MICA_API MICA_MUST_CHECK mica_status
mica_dataset_group_by_window(mica_dataset *input, const mica_dataset_function functions[3],
                             int32_t n_components, mica_dataset **out_dataset);
/* An element for each key, by the keys: the first function gives an element's key, the second a
 * key's first state, the third takes a state and an element to the next one, the fourth the last
 * state to the element. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_group_by_reducer(
    mica_dataset *input, const mica_dataset_function functions[4], mica_dataset **out_dataset);
/* The elements, of one component, that differ from all before them. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_unique(mica_dataset *input,
                                                         mica_dataset **out_dataset);
/* The elements without those whose making failed. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_ignore_errors(mica_dataset *input,
                                                                mica_dataset **out_dataset);
/* What functions make: the first gives a value for each iterator; the second takes it to an
 * element, and to an error with code OUT_OF_RANGE at the end; the third takes it when the iterator
 * is gone.
 */
MICA_API MICA_MUST_CHECK mica_status
mica_dataset_generator(const mica_dataset_function functions[3], mica_dataset **out_dataset);

/* ---- as values of graphs ----------------------------------------------------------------------*/

/* A dataset as a value of dtype variant: a new reference. */
MICA_API MICA_MUST_CHECK mica_status mica_dataset_value(mica_dataset *dataset,
                                                        mica_tf_value *out_value);
/* The dataset that such a value holds, borrowed; NULL when it holds something else. */
MICA_API mica_dataset *mica_dataset_of(mica_tf_value value);

/* ---- iterators --------------------------------------------------------------------------------*/

/* Functions run on `device`; NULL: the CPU. */
MICA_API MICA_MUST_CHECK mica_status mica_iterator_create(mica_dataset *dataset,
                                                          mica_device *device,
                                                          mica_iterator **out_iterator);
/* Fills n values, or says that there are no more (and again when asked again). After an error the
 * next call makes the next element. */
MICA_API MICA_MUST_CHECK mica_status mica_iterator_next(mica_iterator *iterator,
                                                        mica_tf_value *out_values, int32_t n,
                                                        bool *out_end);
/* Where an iterator is, as a scalar of strings: with it another iterator of such a dataset, in this
 * process or a later one, goes on at the very next element. FAILED_PRECONDITION when a function of
 * the pipeline has state that is not the iterator's. */
MICA_API MICA_MUST_CHECK mica_status mica_iterator_save(mica_iterator *iterator,
                                                        mica_tf_value *out_state);
/* An iterator that goes on where the other was; MICA_DATA_LOSS for what is no state of an iterator
 * of such a dataset. */
MICA_API MICA_MUST_CHECK mica_status mica_iterator_restore(mica_dataset *dataset,
                                                           mica_device *device, mica_tf_value state,
                                                           mica_iterator **out_iterator);
MICA_API mica_dataset *mica_iterator_dataset(const mica_iterator *iterator); /* borrowed */
MICA_API void mica_iterator_retain(mica_iterator *iterator);
MICA_API void mica_iterator_release(mica_iterator *iterator);

#ifdef __cplusplus
}
#endif
#endif
