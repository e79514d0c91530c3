/* report/parts.h: what is kept, shared by the files of this room. */
#ifndef MICA_REPORT_PARTS_H
#define MICA_REPORT_PARTS_H

#include "base/platform.h"
#include "base/strings.h"
#include "report/report.h"

#define MICA_REPORT_LAYER " \u00b7 " /* between a line and a layer */

typedef struct report_pass {
    char name[24];
    char *text; /* NULL: as before, or not kept */
    bool is_same, is_cut;
} report_pass;

typedef struct report_kernel {
    char label[160], type[64], how[24];
    int32_t source, lines[4], n_lines;
    double bytes, operations;
    int64_t launches;
    double seconds, fastest;
} report_kernel;

typedef struct report_value {
    char label[64], type[64];
    double bytes;
    int32_t first, last, line;
} report_value;

typedef struct report_program {
    char name[96], device[32], code[16];
    int32_t line;
    report_pass passes[MICA_REPORT_PASSES];
    int32_t n_passes;
    mica_text notes;
    bool notes_are_cut;
    char **sources;
    int32_t n_sources;
    report_kernel *kernels;
    int32_t n_kernels, kernels_capacity, kernels_lost;
    report_value values[MICA_REPORT_VALUES]; /* the largest first */
    int32_t n_values;
    size_t arena_bytes, constants_bytes;
    double made_seconds;
    int64_t runs;
    double seconds;
} report_program;

typedef struct report_bucket {
    double most, cached; /* bytes */
    double busy;         /* seconds */
    bool is_known;
} report_bucket;

typedef struct report_device {
    char name[32];
    report_bucket buckets[MICA_REPORT_BUCKETS];
    double peak, peak_time, asked; /* asked: bytes in use when holders were taken */
    mica_report_holder holders[MICA_REPORT_HOLDERS];
    int32_t n_holders;
} report_device;

typedef struct report_row {
    char what[112], from[32], to[32]; /* or op, why */
    char why[96];
    int64_t n;
    double bytes, seconds;
} report_row;

typedef struct report_data {
    report_program **programs;
    int32_t n_programs, programs_lost;
    report_device devices[MICA_REPORT_DEVICES];
    int32_t n_devices;
    double start, width, end; /* of the buckets; end: of the process */
    report_row transfers[MICA_REPORT_ROWS], hosts[MICA_REPORT_ROWS];
    int32_t n_transfers, n_hosts, rows_lost;
    mica_text notes; /* of no program */
    char **lines;
    int32_t n_lines;
    size_t text_bytes;
    int64_t texts_lost, launches;
    double kernel_seconds, run_seconds;
    double copy_limit; /* bytes per second, read and written; 0: not measured */
} report_data;

/* "" for 0. */
const char *report_line_text(const report_data *d, int32_t line);
/* The programs with the most time first; an array of n_programs to be freed, or NULL. */
report_program **report_by_time(const report_data *d);
/* How fast this machine copies large memory, with all threads. */
double report_measure_copy(void);
/* 12.3 MB, 45.6 µs: three digits. */
typedef struct report_words {
    char chars[48];
} report_words;
report_words report_bytes(double bytes);
report_words report_seconds(double seconds);

/* The page, and the lines of MICA_LOG=time. */
void report_write_page(mica_text *text, const report_data *d);
void report_write_json(mica_text *text, const report_data *d);
void report_json_string(mica_text *text, const char *string);
void report_write_chart(mica_text *text, const report_data *d, const report_device *device);
void report_log_times(const report_data *d);
/* The length of the character at s, 0 where the bytes are none of UTF-8. */
int32_t report_character(const char *s);
/* Anybody's text inside HTML. */
void report_escape(mica_text *text, const char *string);

/* Embedded by the build: page.css, page.js. */
typedef struct report_file {
    const char *name, *text;
} report_file;
extern const report_file report_files[];
extern const int32_t report_file_count;

#endif
