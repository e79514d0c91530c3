/* What the rooms above say, kept until the page is written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "mica/runtime.h"
#include "report/parts.h"

int32_t mica_report_state = MICA_REPORT_NOT_READ;

static struct {
    mica_mutex lock;
    mica_mutex turning_on;
    report_data *data; /* while it is on */
    char *path;        /* of the page, or NULL: MICA_LOG=time alone */
    uint32_t life;     /* numbers of programs of an earlier one mean nothing */
    bool ends_with_process;
} report;

static _Thread_local int64_t current; /* the program that is being made, or 0 */
static _Thread_local double began;
static _Thread_local int32_t line_here = MICA_REPORT_ASK;
static _Thread_local struct { /* the last one that was found */
    uint32_t life;
    int32_t line;
} marked;

/* ---- on and off -------------------------------------------------------------------------------*/

static void hear(mica_log_topic topic, const char *text);

static void finish_with_process(void) {
    if (!mica_fork_happened()) mica_report_finish();
}

/* What is asked for and cannot be kept for want of memory is as if it were not asked for. */
static void turn_on(const char *path) {
    report_data *data = mica_calloc(1, sizeof *data);
    char *copy = path ? mica_strdup(path) : NULL;
    if (!data || (path && !copy)) {
        mica_free(data);
        mica_free(copy);
        __atomic_store_n(&mica_report_state, 0, __ATOMIC_RELEASE);
        return;
    }
    data->start = mica_clock_seconds();
    data->width = 1e-3;
    mica_text_init(&data->notes);
    mica_fork_watch();
    mica_mutex_lock(&report.lock);
    report.data = data;
    report.path = copy;
    report.life++;
    bool registers = !report.ends_with_process;
    report.ends_with_process = true;
    mica_mutex_unlock(&report.lock);
    if (registers) atexit(finish_with_process);
    uint32_t topics = UINT32_C(1) << MICA_LOG_PASS | UINT32_C(1) << MICA_LOG_MATCH |
                      UINT32_C(1) << MICA_LOG_FUSE | UINT32_C(1) << MICA_LOG_WARNING;
    mica_log_tap(path ? topics : 0, hear);
    __atomic_store_n(&mica_report_state, 1, __ATOMIC_RELEASE);
}

bool mica_report_look_up(void) {
    int32_t state = __atomic_load_n(&mica_report_state, __ATOMIC_ACQUIRE);
    if (state != MICA_REPORT_NOT_READ) return state == 1;
    mica_mutex_lock(&report.turning_on);
    if (__atomic_load_n(&mica_report_state, __ATOMIC_ACQUIRE) == MICA_REPORT_NOT_READ) {
        const char *path = mica_environment("MICA_REPORT");
        if (path && !*path) path = NULL;
        if (path || mica_log_on(MICA_LOG_TIME))
            turn_on(path);
        else
            __atomic_store_n(&mica_report_state, 0, __ATOMIC_RELEASE);
    }
    mica_mutex_unlock(&report.turning_on);
    return __atomic_load_n(&mica_report_state, __ATOMIC_ACQUIRE) == 1;
}

/* The data with the lock held, or NULL without it. */
static report_data *lock(void) {
    if (!mica_report_is_on()) return NULL;
    mica_mutex_lock(&report.lock);
    if (report.data) return report.data;
    mica_mutex_unlock(&report.lock);
    return NULL;
}

static void unlock(void) {
    mica_mutex_unlock(&report.lock);
}

/* ---- texts ------------------------------------------------------------------------------------*/

static void copy_text(char *to, size_t capacity, const char *from) {
    size_t n = strlen(from);
    if (n >= capacity) {
        n = capacity - 1;
        while (n > 0 && ((unsigned char)from[n] & 0xc0) == 0x80) n--; /* whole UTF-8 characters */
    }
    memcpy(to, from, n);
    to[n] = 0;
}
#define COPY(array, text) copy_text(array, sizeof array, text)

/* A copy of at most MICA_REPORT_TEXT bytes; NULL when there is no room for it. */
static char *keep_text(report_data *d, const char *text, bool *out_cut) {
    size_t n = strlen(text);
    *out_cut = n > MICA_REPORT_TEXT;
    if (*out_cut) n = MICA_REPORT_TEXT;
    while (*out_cut && n > 0 && text[n - 1] != '\n') n--;
    char *kept = d->text_bytes + n <= MICA_REPORT_TEXTS ? mica_alloc(n + 1) : NULL;
    if (!kept) {
        d->texts_lost++;
        return NULL;
    }
    memcpy(kept, text, n);
    kept[n] = 0;
    d->text_bytes += n;
    return kept;
}

/* ---- lines of the caller's program ------------------------------------------------------------*/

static bool (*find_line)(char *text, size_t capacity);

void mica_set_caller_line(bool (*find)(char *text, size_t capacity)) {
    __atomic_store_n(&find_line, find, __ATOMIC_RELEASE);
}

bool mica_report_find_line(char *text, size_t capacity) {
    bool (*find)(char *text, size_t capacity) = __atomic_load_n(&find_line, __ATOMIC_ACQUIRE);
    return find && find(text, capacity);
}

int32_t mica_report_set_line(int32_t line) {
    int32_t before = line_here;
    line_here = line;
    return before;
}

static int32_t number_of_line(report_data *d, const char *text) {
    for (int32_t i = 0; i < d->n_lines; i++)
        if (!strcmp(d->lines[i], text)) return i + 1;
    if (d->n_lines == MICA_REPORT_LINES) return 0;
    if (!d->lines) d->lines = mica_calloc(MICA_REPORT_LINES, sizeof *d->lines);
    char *kept = d->lines ? mica_strdup(text) : NULL;
    if (!kept) return 0;
    d->lines[d->n_lines++] = kept;
    return d->n_lines;
}

int32_t mica_report_line(void) {
    if (line_here != MICA_REPORT_ASK) return line_here;
    char text[400] = "";
    if (!mica_report_is_on()) return 0;
    if (!mica_report_find_line(text, sizeof text))
        return marked.life == report.life ? marked.line : 0;
    report_data *d = lock();
    if (!d) return 0;
    marked.line = number_of_line(d, text);
    marked.life = report.life;
    unlock();
    return marked.line;
}

void mica_mark_caller_line(void) {
    if (mica_report_is_on()) mica_report_line();
}

int32_t mica_report_line_of(const char *op_name) {
    int32_t line = mica_report_line();
    const char *slash = strrchr(op_name, '/');
    if (!slash || slash == op_name) return line;
    report_data *d = lock();
    if (!d) return 0;
    char text[600];
    snprintf(text, sizeof text, "%s" MICA_REPORT_LAYER "%.*s", report_line_text(d, line),
             (int)(slash - op_name), op_name);
    line = number_of_line(d, text);
    unlock();
    return line;
}

const char *report_line_text(const report_data *d, int32_t line) {
    return line > 0 && line <= d->n_lines ? d->lines[line - 1] : "";
}

/* ---- programs ---------------------------------------------------------------------------------*/

static report_program *find_program(report_data *d, int64_t number) {
    int64_t i = (number & 0xffffffff) - 1;
    if (number >> 32 != (int64_t)report.life || i < 0 || i >= d->n_programs) return NULL;
    return d->programs[i];
}

static report_program *create_program(report_data *d) {
    if (!d->programs) d->programs = mica_calloc(MICA_REPORT_PROGRAMS, sizeof *d->programs);
    if (!d->programs || d->n_programs == MICA_REPORT_PROGRAMS) return NULL;
    report_program *p = mica_calloc(1, sizeof *p);
    if (!p) return NULL;
    mica_text_init(&p->notes);
    d->programs[d->n_programs++] = p;
    return p;
}

int64_t mica_report_begin(const char *name, const char *device, const char *code) {
    int32_t line = mica_report_line();
    current = 0;
    report_data *d = lock();
    if (!d) return 0;
    report_program *p = create_program(d);
    if (p) {
        COPY(p->name, name);
        COPY(p->device, device);
        COPY(p->code, code);
        p->line = line;
        current = (int64_t)report.life << 32 | d->n_programs;
    } else {
        d->programs_lost++;
    }
    began = mica_clock_seconds();
    unlock();
    return current;
}

static bool is_last_text(const report_program *p, const char *text) {
    for (int32_t i = p->n_passes - 1; i >= 0; i--)
        if (p->passes[i].text) return !p->passes[i].is_cut && !strcmp(p->passes[i].text, text);
    return false;
}

/* "name\ntext": the graph after the pass of that name. */
static void add_pass(report_data *d, report_program *p, const char *dump) {
    const char *newline = strchr(dump, '\n');
    if (!newline || p->n_passes == MICA_REPORT_PASSES) return;
    report_pass *pass = &p->passes[p->n_passes];
    size_t n = (size_t)(newline - dump);
    if (n >= sizeof pass->name) return;
    memcpy(pass->name, dump, n);
    pass->name[n] = 0;
    pass->is_same = is_last_text(p, newline + 1);
    if (!pass->is_same) pass->text = keep_text(d, newline + 1, &pass->is_cut);
    p->n_passes++;
}

static void add_note(report_data *d, mica_text *notes, const char *text) {
    if (notes->length + strlen(text) + 1 > MICA_REPORT_NOTES) {
        d->texts_lost++;
        return;
    }
    mica_text_append(notes, text);
    mica_text_append_char(notes, '\n');
}

/* Lines of the log: graphs between passes come in several lines, all others are one. */
static void hear(mica_log_topic topic, const char *text) {
    report_data *d = lock();
    if (!d) return;
    report_program *p = find_program(d, current);
    bool is_graph = topic == MICA_LOG_PASS && strchr(text, '\n');
    if (p && is_graph)
        add_pass(d, p, text);
    else if (!is_graph)
        add_note(d, p ? &p->notes : &d->notes, text);
    unlock();
}

void mica_report_source(int32_t number, const char *text) {
    report_data *d = lock();
    if (!d) return;
    report_program *p = find_program(d, current);
    if (p && number >= p->n_sources && number < MICA_REPORT_KERNELS) {
        size_t n = (size_t)number + 1;
        char **sources = mica_realloc(p->sources, n * sizeof *sources);
        if (sources) {
            memset(sources + p->n_sources, 0, (n - (size_t)p->n_sources) * sizeof *sources);
            p->sources = sources;
            p->n_sources = (int32_t)n;
        }
    }
    bool is_cut;
    if (p && number >= 0 && number < p->n_sources && !p->sources[number] && report.path)
        p->sources[number] = keep_text(d, text, &is_cut);
    unlock();
}

void mica_report_made(int64_t program, size_t arena_bytes, size_t constants_bytes) {
    report_data *d = lock();
    if (current == program) current = 0;
    if (!d) return;
    report_program *p = find_program(d, program);
    if (p) {
        p->arena_bytes = arena_bytes;
        p->constants_bytes = constants_bytes;
        p->made_seconds = mica_clock_seconds() - began;
    }
    unlock();
}

static report_kernel *new_kernel(report_program *p) {
    if (p->n_kernels == MICA_REPORT_KERNELS) return NULL;
    if (p->n_kernels == p->kernels_capacity) {
        int32_t capacity = p->kernels_capacity ? 2 * p->kernels_capacity : 4;
        report_kernel *kernels = mica_realloc(p->kernels, (size_t)capacity * sizeof *kernels);
        if (!kernels) return NULL;
        p->kernels = kernels;
        p->kernels_capacity = capacity;
    }
    report_kernel *k = &p->kernels[p->n_kernels++];
    memset(k, 0, sizeof *k);
    return k;
}

int32_t mica_report_add_kernel(int64_t program, const mica_report_kernel *kernel) {
    report_data *d = lock();
    if (!d) return -1;
    report_program *p = find_program(d, program);
    report_kernel *k = p ? new_kernel(p) : NULL;
    int32_t number = k ? p->n_kernels - 1 : -1;
    if (p && !k) p->kernels_lost++;
    if (k) {
        COPY(k->label, kernel->label);
        COPY(k->type, kernel->type);
        COPY(k->how, kernel->how);
        k->source = kernel->source;
        k->bytes = kernel->bytes;
        k->operations = kernel->operations;
        if (!p->line && kernel->n_lines) p->line = kernel->lines[0];
        for (int32_t i = 0; i < kernel->n_lines && i < 4; i++) k->lines[i] = kernel->lines[i];
        k->n_lines = kernel->n_lines < 4 ? kernel->n_lines : 4;
    }
    unlock();
    return number;
}

void mica_report_add_value(int64_t program, const char *label, const char *type, double bytes,
                           int32_t first, int32_t last, int32_t line) {
    report_data *d = lock();
    if (!d) return;
    report_program *p = find_program(d, program);
    int32_t at = p ? p->n_values : 0;
    while (at > 0 && p->values[at - 1].bytes < bytes) at--;
    if (p && at < MICA_REPORT_VALUES) {
        int32_t moved = p->n_values < MICA_REPORT_VALUES ? p->n_values : MICA_REPORT_VALUES - 1;
        memmove(&p->values[at + 1], &p->values[at], (size_t)(moved - at) * sizeof *p->values);
        report_value *v = &p->values[at];
        COPY(v->label, label);
        COPY(v->type, type);
        v->bytes = bytes;
        v->first = first;
        v->last = last;
        v->line = line;
        p->n_values = moved + 1;
    }
    unlock();
}

/* ---- time -------------------------------------------------------------------------------------*/

static report_device *find_device(report_data *d, const char *name) {
    for (int32_t i = 0; i < d->n_devices; i++)
        if (!strcmp(d->devices[i].name, name)) return &d->devices[i];
    if (d->n_devices == MICA_REPORT_DEVICES) return NULL;
    report_device *device = &d->devices[d->n_devices++];
    COPY(device->name, name);
    return device;
}

/* Two buckets become one, of twice the time. */
static void widen(report_data *d) {
    for (int32_t i = 0; i < d->n_devices; i++) {
        report_bucket *b = d->devices[i].buckets;
        for (int32_t k = 0; k < MICA_REPORT_BUCKETS / 2; k++) {
            const report_bucket *x = &b[2 * k], *y = x + 1;
            b[k] = (report_bucket){.most = x->most > y->most ? x->most : y->most,
                                   .cached = x->cached > y->cached ? x->cached : y->cached,
                                   .busy = x->busy + y->busy,
                                   .is_known = x->is_known || y->is_known};
        }
        memset(b + MICA_REPORT_BUCKETS / 2, 0, sizeof *b * (MICA_REPORT_BUCKETS / 2));
    }
    d->width *= 2;
}

static int32_t bucket_at(report_data *d, double time) {
    double since = time - d->start;
    if (since < 0) since = 0;
    while (since >= d->width * MICA_REPORT_BUCKETS) widen(d);
    return (int32_t)(since / d->width);
}

void mica_report_launched(int64_t program, int32_t kernel, double seconds) {
    report_data *d = lock();
    if (!d) return;
    report_program *p = find_program(d, program);
    d->launches++;
    d->kernel_seconds += seconds;
    if (p && kernel >= 0 && kernel < p->n_kernels) {
        report_kernel *k = &p->kernels[kernel];
        if (!k->launches || seconds < k->fastest) k->fastest = seconds;
        k->launches++;
        k->seconds += seconds;
    }
    unlock();
}

void mica_report_ran(int64_t program, double start, double seconds) {
    report_data *d = lock();
    if (!d) return;
    report_program *p = find_program(d, program);
    report_device *device = p ? find_device(d, p->device) : NULL;
    if (p) {
        p->runs++;
        p->seconds += seconds;
    }
    d->run_seconds += seconds;
    int32_t last = bucket_at(d, start + seconds), first = bucket_at(d, start);
    for (int32_t i = first; device && i <= last; i++) {
        double from = d->start + i * d->width, to = from + d->width;
        if (from < start) from = start;
        if (to > start + seconds) to = start + seconds;
        if (to > from) device->buckets[i].busy += to - from;
    }
    unlock();
}

/* ---- memory -----------------------------------------------------------------------------------*/

void mica_report_memory(const char *device_name, size_t in_use, size_t cached) {
    report_data *d = lock();
    if (!d) return;
    double now = mica_clock_seconds();
    int32_t i = bucket_at(d, now);
    report_device *device = find_device(d, device_name);
    if (device) {
        report_bucket *b = &device->buckets[i];
        if ((double)in_use > b->most || !b->is_known) b->most = (double)in_use;
        b->cached = (double)cached;
        b->is_known = true;
        if ((double)in_use > device->peak) {
            device->peak = (double)in_use;
            device->peak_time = now - d->start;
        }
    }
    unlock();
}

bool mica_report_wants_holders(const char *device_name, size_t in_use) {
    report_data *d = lock();
    if (!d) return false;
    report_device *device = find_device(d, device_name);
    bool wants = device && (double)in_use > 1.02 * device->asked;
    unlock();
    return wants;
}

void mica_report_holders(const char *device_name, size_t in_use, const mica_report_holder *holders,
                         int32_t n) {
    report_data *d = lock();
    if (!d) return;
    report_device *device = find_device(d, device_name);
    if (device) {
        device->asked = (double)in_use;
        device->n_holders = n < MICA_REPORT_HOLDERS ? n : MICA_REPORT_HOLDERS;
        memcpy(device->holders, holders, sizeof *holders * (size_t)device->n_holders);
    }
    unlock();
}

/* ---- the host ---------------------------------------------------------------------------------*/

static report_row *find_row(report_data *d, report_row *rows, int32_t *n, const report_row *row) {
    for (int32_t i = 0; i < *n; i++)
        if (!strcmp(rows[i].what, row->what) && !strcmp(rows[i].from, row->from) &&
            !strcmp(rows[i].to, row->to) && !strcmp(rows[i].why, row->why))
            return &rows[i];
    if (*n == MICA_REPORT_ROWS) {
        d->rows_lost++;
        return NULL;
    }
    rows[*n] = *row;
    return &rows[(*n)++];
}

void mica_report_transfer(const char *what, const char *from, const char *to, size_t bytes) {
    report_data *d = lock();
    if (!d) return;
    report_row row = {.n = 0};
    COPY(row.what, what);
    COPY(row.from, from);
    COPY(row.to, to);
    report_row *kept = find_row(d, d->transfers, &d->n_transfers, &row);
    if (kept) {
        kept->n++;
        kept->bytes += (double)bytes;
    }
    unlock();
}

void mica_report_host(const char *op, const char *why, double seconds) {
    report_data *d = lock();
    if (!d) return;
    report_row row = {.n = 0};
    COPY(row.what, op);
    COPY(row.why, why);
    report_row *kept = find_row(d, d->hosts, &d->n_hosts, &row);
    if (kept) {
        kept->n++;
        kept->seconds += seconds;
    }
    unlock();
}

/* ---- the end ----------------------------------------------------------------------------------*/

static void free_program(report_program *p) {
    for (int32_t i = 0; i < p->n_passes; i++) mica_free(p->passes[i].text);
    for (int32_t i = 0; i < p->n_sources; i++) mica_free(p->sources[i]);
    mica_free(p->sources);
    mica_free(p->kernels);
    mica_text_deinit(&p->notes);
    mica_free(p);
}

static void free_data(report_data *d) {
    for (int32_t i = 0; i < d->n_programs; i++) free_program(d->programs[i]);
    mica_free(d->programs);
    for (int32_t i = 0; i < d->n_lines; i++) mica_free(d->lines[i]);
    mica_free(d->lines);
    mica_text_deinit(&d->notes);
    mica_free(d);
}

/* "%p" in the path is the number of the process. */
static mica_status place_of(const char *path, char **out_place) {
    mica_text text;
    mica_text_init(&text);
    for (; *path; path++) {
        if (path[0] == '%' && path[1] == 'p') {
            mica_text_printf(&text, "%lld", (long long)mica_process_id());
            path++;
        } else {
            mica_text_append_char(&text, *path);
        }
    }
    return mica_text_finish(&text, out_place);
}

static mica_status write_page(const report_data *d, const char *path) {
    mica_text text;
    char *page = NULL, *place = NULL;
    mica_text_init(&text);
    report_write_page(&text, d);
    MICA_TRY(mica_text_finish(&text, &page));
    mica_status status = place_of(path, &place);
    if (!status) status = mica_file_write_atomic(place, page, strlen(page));
    mica_free(place);
    mica_free(page);
    return status;
}

void mica_report_finish(void) {
    if (__atomic_load_n(&mica_report_state, __ATOMIC_ACQUIRE) != 1) {
        __atomic_store_n(&mica_report_state, MICA_REPORT_NOT_READ, __ATOMIC_RELEASE);
        return;
    }
    mica_mutex_lock(&report.lock);
    report_data *d = report.data;
    char *path = report.path;
    report.data = NULL;
    report.path = NULL;
    mica_mutex_unlock(&report.lock);
    mica_log_tap(0, NULL);
    __atomic_store_n(&mica_report_state, 0, __ATOMIC_RELEASE); /* what follows records nothing */
    if (d && d->n_programs + d->n_transfers + d->n_hosts > 0) {
        d->end = mica_clock_seconds();
        d->copy_limit = report_measure_copy();
        if (mica_log_on(MICA_LOG_TIME)) report_log_times(d);
        mica_status status = path ? write_page(d, path) : NULL;
        if (status)
            mica_log_write(MICA_LOG_WARNING, "the report was not written to %s: %s", path,
                           mica_status_message(status));
        mica_status_release(status);
    }
    if (d) free_data(d);
    mica_free(path);
    __atomic_store_n(&mica_report_state, MICA_REPORT_NOT_READ, __ATOMIC_RELEASE);
}
