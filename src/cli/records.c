/* mica records: a folder of pictures, or files of MNIST's format, as TFRecord files of about one
 * size. A record is a tf.train.Example message; its features have the names that TensorFlow's own
 * converters of ImageNet and MNIST gave them. Each file appears whole or not at all. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

typedef struct source {
    char *path, *class_name; /* class_name: of a picture in a folder */
    int64_t label, bytes;
    const uint8_t *pixels; /* of IDX files */
} source;

typedef struct job {
    const char *inputs[2], *prefix;
    int n_inputs;
    double shard_bytes;
    uint64_t seed;
    bool is_shuffled;
    source *sources;
    int64_t n, capacity, height, width;
    char **classes;
    int64_t n_classes, n_passed_over;
    uint8_t *pixels, *labels;
    int64_t n_labels;
} job;

static mica_status no_memory(void) {
    return mica_status_create(MICA_OUT_OF_MEMORY, "out of memory");
}

/* ---- messages ---------------------------------------------------------------------------------*/

typedef struct message {
    uint8_t *bytes;
    size_t n, capacity;
    bool is_failed;
} message;

static void put(message *m, const void *bytes, size_t n) {
    if (m->is_failed) return;
    if (m->n + n > m->capacity) {
        size_t capacity = 2 * (m->n + n) + 64;
        uint8_t *grown = realloc(m->bytes, capacity);
        m->is_failed = !grown;
        if (!grown) return;
        m->bytes = grown;
        m->capacity = capacity;
    }
    if (n > 0) memcpy(m->bytes + m->n, bytes, n);
    m->n += n;
}

static void put_varint(message *m, uint64_t value) {
    uint8_t bytes[10];
    size_t n = 0;
    for (; value > 127; value >>= 7) bytes[n++] = (uint8_t)(value | 128);
    bytes[n++] = (uint8_t)value;
    put(m, bytes, n);
}

/* A field of bytes; the tag is its number times 8 and 2. */
static void put_field(message *m, int number, const void *bytes, size_t n) {
    put_varint(m, (uint64_t)number << 3 | 2);
    put_varint(m, n);
    put(m, bytes, n);
}

static void put_message(message *m, int number, message *part) {
    put_field(m, number, part->bytes, part->n);
    m->is_failed |= part->is_failed;
    free(part->bytes);
}

enum { FEATURES = 1, FEATURE = 1, KEY = 1, VALUE = 2, BYTES_LIST = 1, INT64_LIST = 3 };

static void put_feature(message *features, const char *key, int kind, message *list) {
    message feature = {NULL, 0, 0, false}, entry = feature;
    put_message(&feature, kind, list);
    put_field(&entry, KEY, key, strlen(key));
    put_message(&entry, VALUE, &feature);
    put_message(features, FEATURE, &entry);
}

static void put_bytes(message *features, const char *key, const void *bytes, size_t n) {
    message list = {NULL, 0, 0, false};
    put_field(&list, 1, bytes, n);
    put_feature(features, key, BYTES_LIST, &list);
}

static void put_text(message *features, const char *key, const char *text) {
    put_bytes(features, key, text, strlen(text));
}

static void put_integer(message *features, const char *key, int64_t value) {
    message list = {NULL, 0, 0, false}, packed = list;
    put_varint(&packed, (uint64_t)value);
    put_message(&list, 1, &packed);
    put_feature(features, key, INT64_LIST, &list);
}

static mica_status add_source(job *j, source s) {
    if (j->n == j->capacity) {
        int64_t capacity = j->capacity ? 2 * j->capacity : 256;
        source *grown = realloc(j->sources, (size_t)capacity * sizeof *grown);
        if (!grown) return no_memory();
        j->sources = grown;
        j->capacity = capacity;
    }
    j->sources[j->n++] = s;
    return NULL;
}

/* ---- a folder of pictures ---------------------------------------------------------------------*/

static char *join(const char *folder, const char *name) {
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n);
    if (path) snprintf(path, n, "%s/%s", folder, name);
    return path;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static mica_status add_name(char ***names, int64_t *n, const char *name) {
    char **grown = realloc(*names, (size_t)(*n + 1) * sizeof *grown);
    if (grown) *names = grown;
    char *copy = grown ? strdup(name) : NULL;
    if (!copy) return no_memory();
    grown[(*n)++] = copy;
    return NULL;
}

/* The names in a folder, sorted, without those that begin with a dot. */
static mica_status list_folder(const char *folder, char ***names, int64_t *n) {
    DIR *entries = opendir(folder);
    mica_status status = NULL;
    if (!entries) return mica_status_create(MICA_NOT_FOUND, "%s: %s", folder, strerror(errno));
    for (struct dirent *e = readdir(entries); e && !status; e = readdir(entries))
        if (e->d_name[0] != '.') status = add_name(names, n, e->d_name);
    closedir(entries);
    if (*n > 0) qsort(*names, (size_t)*n, sizeof **names, compare_names);
    return status;
}

static void free_names(char **names, int64_t n) {
    for (int64_t i = 0; i < n; i++) free(names[i]);
    free(names);
}

static bool is_kind(const char *path, mode_t kind, int64_t *out_bytes) {
    struct stat s;
    if (stat(path, &s) || (s.st_mode & S_IFMT) != kind) return false;
    *out_bytes = s.st_size;
    return true;
}

/* Whether the file begins as a picture does. */
static bool is_picture(const char *path) {
    uint8_t bytes[8];
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return mica_picture_format_of(bytes, n) != MICA_PICTURE_UNKNOWN;
}

static mica_status add_class(job *j, const char *folder, char *name, int64_t label) {
    char **names = NULL;
    int64_t n = 0, bytes;
    mica_status status = list_folder(folder, &names, &n);
    for (int64_t i = 0; i < n && !status; i++) {
        char *path = join(folder, names[i]);
        if (!path) {
            status = no_memory();
        } else if (is_kind(path, S_IFREG, &bytes) && is_picture(path)) {
            status = add_source(j, (source){path, name, label, bytes + 200, NULL});
            if (!status) path = NULL;
        } else {
            j->n_passed_over++;
        }
        free(path);
    }
    free_names(names, n);
    return status;
}

static mica_status find_pictures(job *j) {
    char **names = NULL;
    int64_t n = 0, bytes;
    mica_status status = list_folder(j->inputs[0], &names, &n);
    for (int64_t i = 0; i < n && !status; i++) {
        char *path = join(j->inputs[0], names[i]);
        if (!path)
            status = no_memory();
        else if (!is_kind(path, S_IFDIR, &bytes))
            j->n_passed_over++;
        else
            status = add_name(&j->classes, &j->n_classes, names[i]);
        if (!status && path && is_kind(path, S_IFDIR, &bytes))
            status = add_class(j, path, j->classes[j->n_classes - 1], j->n_classes - 1);
        free(path);
    }
    free_names(names, n);
    if (!status && j->n == 0)
        status = mica_status_create(MICA_NOT_FOUND,
                                    "%s: there are no pictures (JPEG, PNG, GIF, BMP) in its "
                                    "folders, of which there should be one for each class",
                                    j->inputs[0]);
    return status;
}

static mica_status picture_features(const source *s, message *features) {
    static const char *const formats[] = {"", "jpeg", "png", "gif", "bmp"};
    char *bytes;
    size_t n;
    mica_status status = cli_read_file(s->path, &bytes, &n);
    if (status) return status;
    const char *slash = strrchr(s->path, '/');
    put_bytes(features, "image/encoded", bytes, n);
    put_text(features, "image/format", formats[mica_picture_format_of(bytes, n)]);
    put_text(features, "image/filename", slash ? slash + 1 : s->path);
    put_text(features, "image/class/text", s->class_name);
    put_integer(features, "image/class/label", s->label);
    free(bytes);
    return NULL;
}

/* ---- files of MNIST's format ------------------------------------------------------------------*/

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && !strcmp(text + n - k, end);
}

/* The whole file, unpacked: sizes of `rank` axes, then a byte for each element. */
static mica_status read_idx(const char *path, int rank, int64_t *dims, uint8_t **out_bytes) {
    mica_file_reader *reader = NULL;
    const uint8_t *header = NULL, *piece;
    size_t n = 0, size = 1, header_size = 4 + 4 * (size_t)rank;
    mica_status status =
        mica_file_reader_open(path, ends_with(path, ".gz") ? "GZIP" : "", 0, &reader);
    if (!status) status = mica_file_reader_take(reader, header_size, &header, &n);
    bool is_right = !status && n == header_size && !header[0] && !header[1] && header[2] == 8 &&
                    header[3] == rank;
    for (int i = 0; is_right && i < rank; i++) {
        const uint8_t *at = header + 4 + 4 * i;
        dims[i] = (int64_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
        is_right = dims[i] > 0 && (uint64_t)dims[i] <= (UINT64_C(1) << 40) / size;
        size *= (size_t)dims[i];
    }
    if (!status && !is_right)
        status = mica_status_create(MICA_DATA_LOSS,
                                    "%s: is no IDX file of bytes with %d axes, which MNIST's "
                                    "%s are",
                                    path, rank, rank == 1 ? "labels" : "pictures");
    /* Memory is taken for what is there, not for what the header says. */
    message all = {NULL, 0, 0, false};
    while (!status && all.n < size) {
        size_t wanted = size - all.n < 1 << 20 ? size - all.n : 1 << 20;
        status = mica_file_reader_take(reader, wanted, &piece, &n);
        if (!status && n == 0)
            status = mica_status_create(MICA_DATA_LOSS, "%s: ends after %zu of %zu bytes", path,
                                        all.n, size);
        if (!status) put(&all, piece, n);
        if (!status && all.is_failed) status = no_memory();
    }
    mica_file_reader_release(reader);
    if (status)
        free(all.bytes);
    else
        *out_bytes = all.bytes;
    return status;
}

static mica_status find_digits(job *j) {
    int64_t dims[3] = {0, 0, 0};
    mica_status status = read_idx(j->inputs[0], 3, dims, &j->pixels);
    if (!status) status = read_idx(j->inputs[1], 1, &j->n_labels, &j->labels);
    if (!status && dims[0] != j->n_labels)
        status = mica_status_create(MICA_INVALID_ARGUMENT, "%s has %lld pictures, %s %lld labels",
                                    j->inputs[0], (long long)dims[0], j->inputs[1],
                                    (long long)j->n_labels);
    j->height = dims[1];
    j->width = dims[2];
    int64_t bytes = j->height * j->width;
    for (int64_t i = 0; i < dims[0] && !status; i++)
        status =
            add_source(j, (source){NULL, NULL, j->labels[i], bytes + 100, j->pixels + i * bytes});
    return status;
}

static void digit_features(const job *j, const source *s, message *features) {
    put_bytes(features, "image_raw", s->pixels, (size_t)(j->height * j->width));
    put_integer(features, "height", j->height);
    put_integer(features, "width", j->width);
    put_integer(features, "depth", 1);
    put_integer(features, "label", s->label);
}

/* ---- files of records -------------------------------------------------------------------------*/

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void shuffle(job *j) {
    uint64_t state = j->seed;
    for (int64_t i = j->n - 1; i > 0; i--) {
        int64_t k = (int64_t)(next_random(&state) % (uint64_t)(i + 1));
        source kept = j->sources[i];
        j->sources[i] = j->sources[k];
        j->sources[k] = kept;
    }
}

static mica_status write_record(const job *j, const source *s, mica_record_writer *writer) {
    message features = {NULL, 0, 0, false}, example = features;
    mica_status status = NULL;
    if (s->pixels)
        digit_features(j, s, &features);
    else
        status = picture_features(s, &features);
    put_message(&example, FEATURES, &features);
    if (!status && example.is_failed) status = no_memory();
    if (!status) status = mica_record_writer_append(writer, example.bytes, example.n);
    free(example.bytes);
    return status;
}

/* Sources from `first` up to but without `next`. */
static mica_status write_shard(const job *j, int64_t shard, int64_t shards, int64_t first,
                               int64_t next) {
    char path[4096];
    mica_record_writer *writer = NULL;
    int n = snprintf(path, sizeof path, "%s-%05lld-of-%05lld", j->prefix, (long long)shard,
                     (long long)shards);
    if (n < 0 || (size_t)n >= sizeof path)
        return mica_status_create(MICA_INVALID_ARGUMENT, "%s: is too long a name", j->prefix);
    mica_status status = mica_record_writer_create(path, NULL, &writer);
    for (int64_t i = first; i < next && !status; i++)
        status = write_record(j, &j->sources[i], writer);
    if (!status) status = mica_record_writer_finish(writer);
    mica_record_writer_release(writer);
    if (!status) printf("%s: %lld records\n", path, (long long)(next - first));
    return status;
}

static mica_status write_shards(const job *j) {
    double total = 0, done = 0;
    for (int64_t i = 0; i < j->n; i++) total += (double)j->sources[i].bytes;
    double wanted = total / j->shard_bytes;
    int64_t shards = wanted < 1 ? 1 : (int64_t)(wanted + 0.5), first = 0;
    if (shards > 99999 || shards > j->n)
        return mica_status_create(MICA_INVALID_ARGUMENT,
                                  "%.0f MB in files of %g MB are too many files", total / 1e6,
                                  j->shard_bytes / 1e6);
    mica_status status = NULL;
    for (int64_t shard = 0; shard < shards && !status; shard++) {
        int64_t next = first;
        double end = total * (double)(shard + 1) / (double)shards;
        bool is_last = shard + 1 == shards;
        while (next < j->n && (is_last || done < end)) done += (double)j->sources[next++].bytes;
        status = write_shard(j, shard, shards, first, next);
        first = next;
    }
    return status;
}

static void print_classes(const job *j) {
    for (int64_t i = 0; i < j->n_classes; i++)
        printf("class %lld: %s\n", (long long)i, j->classes[i]);
    if (j->n_passed_over > 0)
        fprintf(stderr, "mica: %lld files that are no pictures were passed over\n",
                (long long)j->n_passed_over);
}

/* ---- arguments --------------------------------------------------------------------------------*/

static int take_option(job *j, const char *name, const char *value) {
    char *end = NULL;
    errno = 0;
    if (!value) return cli_usage("records: %s needs a value", name);
    if (!strcmp(name, "--output")) {
        j->prefix = value;
    } else if (!strcmp(name, "--size")) {
        j->shard_bytes = strtod(value, &end) * 1e6;
        if (*end || !(j->shard_bytes >= 1) || j->shard_bytes > 1e15)
            return cli_usage("records: the size is a number of MB, not '%s'", value);
    } else {
        j->seed = strtoull(value, &end, 10);
        j->is_shuffled = true;
        if (errno || *end || !*value || *value == '-')
            return cli_usage("records: the seed must be a number, not '%s'", value);
    }
    return CLI_DONE;
}

static int parse(int argc, char **argv, job *j) {
    static const char *const options[] = {"--output", "--size", "--seed"};
    for (int i = 0; i < argc; i++) {
        bool is_option = false;
        for (int k = 0; k < 3; k++) is_option |= !strcmp(argv[i], options[k]);
        if (is_option) {
            int code = take_option(j, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
            if (code != CLI_DONE) return code;
            i++;
        } else if (argv[i][0] == '-' && argv[i][1]) {
            return cli_usage("records: unknown option '%s'", argv[i]);
        } else if (j->n_inputs == 2) {
            return cli_usage("records: one folder, or pictures and labels, not '%s' too", argv[i]);
        } else {
            j->inputs[j->n_inputs++] = argv[i];
        }
    }
    if (j->n_inputs == 0) return cli_usage("records: no folder and no files are given");
    return j->prefix ? CLI_DONE : cli_usage("records: --output is needed");
}

int cli_records(int argc, char **argv) {
    job j = {.shard_bytes = 100e6};
    int code = parse(argc, argv, &j);
    if (code == CLI_DONE) {
        mica_status status = j.n_inputs == 1 ? find_pictures(&j) : find_digits(&j);
        if (!status && j.is_shuffled) shuffle(&j);
        if (!status) status = write_shards(&j);
        if (status)
            code = cli_fail(status);
        else
            print_classes(&j);
    }
    for (int64_t i = 0; i < j.n; i++) free(j.sources[i].path);
    free(j.sources);
    free_names(j.classes, j.n_classes);
    free(j.pixels);
    free(j.labels);
    return code;
}
