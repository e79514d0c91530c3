/* The page's data, for programs that read it. */
#include <string.h>

#include "report/parts.h"

/* Inside <script>: no '<' of anybody's, so that no text can end the element. */
void report_json_string(mica_text *t, const char *text) {
    mica_text_append_char(t, '"');
    for (int32_t n; *text; text += n ? n : 1) {
        n = report_character(text);
        if (n == 0)
            mica_text_append(t, "\uFFFD");
        else if (*text == '"' || *text == '\\')
            mica_text_printf(t, "\\%c", *text);
        else if (n == 1 && ((unsigned char)*text < 0x20 || strchr("\x7f<>&", *text)))
            mica_text_printf(t, "\\u%04x", *text);
        else
            mica_text_append_bytes(t, text, (size_t)n);
    }
    mica_text_append_char(t, '"');
}

static void field(mica_text *t, const char *name, const char *text) {
    mica_text_printf(t, "\"%s\":", name);
    report_json_string(t, text);
    mica_text_append_char(t, ',');
}

static void write_kernel(mica_text *t, const report_data *d, const report_kernel *k) {
    mica_text_append_char(t, '{');
    field(t, "label", k->label);
    field(t, "type", k->type);
    field(t, "code", k->how);
    field(t, "line", k->n_lines ? report_line_text(d, k->lines[0]) : "");
    mica_text_printf(t,
                     "\"launches\":%lld,\"seconds\":%.9g,\"fastest\":%.9g,\"bytes\":%.0f,"
                     "\"operations\":%.0f}",
                     (long long)k->launches, k->seconds, k->fastest, k->bytes, k->operations);
}

static void write_program(mica_text *t, const report_data *d, const report_program *p) {
    mica_text_append_char(t, '{');
    field(t, "name", p->name);
    field(t, "device", p->device);
    field(t, "code", p->code);
    field(t, "line", report_line_text(d, p->line));
    mica_text_printf(t,
                     "\"runs\":%lld,\"seconds\":%.9g,\"making\":%.9g,\"arena\":%zu,"
                     "\"constants\":%zu,\"kernels\":[",
                     (long long)p->runs, p->seconds, p->made_seconds, p->arena_bytes,
                     p->constants_bytes);
    for (int32_t i = 0; i < p->n_kernels; i++) {
        if (i) mica_text_append_char(t, ',');
        write_kernel(t, d, &p->kernels[i]);
    }
    mica_text_append(t, "]}");
}

static void write_device(mica_text *t, const report_data *d, const report_device *device) {
    int32_t n = (int32_t)((d->end - d->start) / d->width) + 1;
    mica_text_append_char(t, '{');
    field(t, "name", device->name);
    mica_text_printf(t, "\"peak\":%.0f,\"peak_at\":%.6g,\"memory\":[", device->peak,
                     device->peak_time);
    for (int32_t i = 0; i < n && i < MICA_REPORT_BUCKETS; i++)
        mica_text_printf(t, device->buckets[i].is_known ? "%s%.0f" : "%snull", i ? "," : "",
                         device->buckets[i].most);
    mica_text_append(t, "],\"busy\":[");
    for (int32_t i = 0; i < n && i < MICA_REPORT_BUCKETS; i++)
        mica_text_printf(t, "%s%.3g", i ? "," : "", device->buckets[i].busy / d->width);
    mica_text_append(t, "],\"holders\":[");
    for (int32_t i = 0; i < device->n_holders; i++) {
        const mica_report_holder *h = &device->holders[i];
        mica_text_append(t, i ? ",{" : "{");
        field(t, "what", h->what);
        field(t, "line", report_line_text(d, h->line));
        mica_text_printf(t, "\"bytes\":%.0f,\"number\":%lld}", h->bytes, (long long)h->n);
    }
    mica_text_append(t, "]}");
}

static void write_rows(mica_text *t, const report_row *rows, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        mica_text_append(t, i ? ",{" : "{");
        field(t, "what", rows[i].what);
        field(t, "from", rows[i].from);
        field(t, "to", rows[i].to);
        field(t, "why", rows[i].why);
        mica_text_printf(t, "\"times\":%lld,\"bytes\":%.0f,\"seconds\":%.9g}", (long long)rows[i].n,
                         rows[i].bytes, rows[i].seconds);
    }
}

void report_write_json(mica_text *t, const report_data *d) {
    mica_text_printf(t,
                     "{\"version\":1,\"seconds\":%.9g,\"in_programs\":%.9g,\"in_kernels\":%.9g,"
                     "\"launches\":%lld,\"copy_limit\":%.0f,\"bucket\":%.9g,\"programs\":[",
                     d->end - d->start, d->run_seconds, d->kernel_seconds, (long long)d->launches,
                     d->copy_limit, d->width);
    for (int32_t i = 0; i < d->n_programs; i++) {
        if (i) mica_text_append_char(t, ',');
        write_program(t, d, d->programs[i]);
    }
    mica_text_append(t, "],\"devices\":[");
    for (int32_t i = 0; i < d->n_devices; i++) {
        if (i) mica_text_append_char(t, ',');
        write_device(t, d, &d->devices[i]);
    }
    mica_text_append(t, "],\"host\":[");
    write_rows(t, d->hosts, d->n_hosts);
    mica_text_append(t, "],\"transfers\":[");
    write_rows(t, d->transfers, d->n_transfers);
    mica_text_append(t, "]}");
}
