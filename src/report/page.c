/* The page: one file of HTML with its style, its script and its data. All tables and pictures of
 * time and memory are there without the script, which sorts, filters, marks what a pass changed and
 * draws graphs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "mica/runtime.h"
#include "report/parts.h"

#define P mica_text_printf

enum {
    MOST_ROWS = 200,     /* of a table over all programs */
    MOST_DETAILS = 48,   /* programs that are shown with their graphs */
    MOST_SHORT_ROWS = 24 /* of the table of programs, before the rest is folded away */
};

/* ---- text -------------------------------------------------------------------------------------*/

/* The length of the character at s, 0 where the bytes are none of UTF-8. */
int32_t report_character(const char *string) {
    const unsigned char *s = (const unsigned char *)string;
    int32_t n = s[0] < 0x80   ? 1
                : s[0] < 0xc2 ? 0
                : s[0] < 0xe0 ? 2
                : s[0] < 0xf0 ? 3
                : s[0] < 0xf5 ? 4
                              : 0;
    for (int32_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0))) return 0;
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))) return 0;
    return n;
}

/* Control characters other than newlines and tabs, and bytes that are no UTF-8, become a mark. */
void report_escape(mica_text *text, const char *s) {
    while (*s) {
        int32_t n = report_character(s);
        bool is_control = n == 1 && ((unsigned char)*s < 0x20 || *s == 0x7f);
        if (n == 0 || (is_control && *s != '\n' && *s != '\t')) {
            mica_text_append(text, "\uFFFD");
            s++;
            continue;
        }
        switch (*s) {
        case '&': mica_text_append(text, "&amp;"); break;
        case '<': mica_text_append(text, "&lt;"); break;
        case '>': mica_text_append(text, "&gt;"); break;
        case '"': mica_text_append(text, "&quot;"); break;
        case '\'': mica_text_append(text, "&#39;"); break;
        default: mica_text_append_bytes(text, s, (size_t)n);
        }
        s += n;
    }
}

static void element(mica_text *t, const char *name, const char *class, const char *content) {
    if (*class)
        P(t, "<%s class=\"%s\">", name, class);
    else
        P(t, "<%s>", name);
    report_escape(t, content);
    P(t, "</%s>", name);
}

/* A cell of a number, which sorts by `value`. */
static void number(mica_text *t, double value, const char *words) {
    P(t, "<td class=\"n\" data-v=\"%.9g\">%s</td>", value, words);
}

static void count(mica_text *t, int64_t n) {
    P(t, "<td class=\"n\" data-v=\"%lld\">%lld</td>", (long long)n, (long long)n);
}

static void cell(mica_text *t, const char *text) {
    element(t, "td", "", text);
}

/* A long type is cut off by the style; its title has all of it. */
static void type_cell(mica_text *t, const char *text) {
    mica_text_append(t, "<td class=\"type\" title=\"");
    report_escape(t, text);
    mica_text_append(t, "\"><code>");
    report_escape(t, text);
    mica_text_append(t, "</code></td>");
}

static void code_cell(mica_text *t, const char *text) {
    mica_text_append(t, "<td><code>");
    report_escape(t, text);
    mica_text_append(t, "</code></td>");
}

/* "file.py:12 layer" with the whole as a title. */
static void line_text(mica_text *t, const char *line) {
    if (!*line) return;
    const char *layer = strstr(line, MICA_REPORT_LAYER), *end = layer ? layer : line + strlen(line);
    char file[320];
    const char *shown = end;
    while (shown > line && shown[-1] != '/') shown--;
    snprintf(file, sizeof file, "%.*s", (int)(end - shown), shown);
    mica_text_append(t, "<span class=\"line\" title=\"");
    report_escape(t, line);
    mica_text_append(t, "\">");
    report_escape(t, file);
    if (layer) {
        const char *last = strrchr(layer, '/');
        mica_text_append(t, " <b>");
        report_escape(t, last ? last + 1 : layer + sizeof MICA_REPORT_LAYER - 1);
        mica_text_append(t, "</b>");
    }
    mica_text_append(t, "</span>");
}

static void begin_table(mica_text *t, const char *class, const char *const *columns) {
    P(t, "<div class=\"scroll\"><table class=\"%s\"><thead><tr>", class);
    for (; *columns; columns++) {
        bool is_number = **columns == '#';
        P(t, "<th%s>%s</th>", is_number ? " class=\"n\"" : "", *columns + is_number);
    }
    mica_text_append(t, "</tr></thead><tbody>\n");
}

static void end_table(mica_text *t) {
    mica_text_append(t, "</tbody></table></div>\n");
}

static void bar(mica_text *t, double part, const char *class) {
    double width = part < 0 ? 0 : part > 1 ? 100 : 100 * part;
    P(t, "<span class=\"bar %s\"><i style=\"width:%.1f%%\"></i></span>", class, width);
}

/* ---- head -------------------------------------------------------------------------------------*/

static const char *embedded(const char *name) {
    for (int32_t i = 0; i < report_file_count; i++) {
        const char *slash = strrchr(report_files[i].name, '/');
        if (!strcmp(slash ? slash + 1 : report_files[i].name, name)) return report_files[i].text;
    }
    return "";
}

static void write_title(mica_text *t) {
    const char *title = mica_environment("MICA_REPORT_TITLE");
    report_escape(t, title && *title ? title : "a run");
}

static void write_head(mica_text *t) {
    mica_text_append(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Mica: ");
    write_title(t);
    mica_text_append(t, "</title>\n<style>\n");
    mica_text_append(t, embedded("page.css"));
    mica_text_append(t, "</style>\n</head>\n<body>\n<header><div><h1><span class=\"mark\">mica"
                        "</span> ");
    write_title(t);
    mica_text_append(t, "</h1>\n<p class=\"quiet\">");
    report_escape(t, mica_machine_description());
    P(t, " \u00b7 %d threads \u00b7 Mica %s", mica_pool_threads(), mica_version());
    mica_text_append(
        t, "</p></div>\n<nav><a href=\"#timeline\">Timeline</a><a href=\"#programs\">Programs</a>"
           "<a href=\"#kernels\">Kernels</a><a href=\"#memory\">Memory</a>"
           "<a href=\"#host\">Host and transfers</a><a href=\"#graphs\">Graphs and code</a>"
           "</nav></header>\n<main>\n");
}

/* ---- overview ---------------------------------------------------------------------------------*/

static void card(mica_text *t, const char *name, const char *value, const char *more) {
    P(t, "<div class=\"card\"><span>%s</span><b>%s</b><small>%s</small></div>\n", name, value,
      more);
}

static void write_overview(mica_text *t, const report_data *d) {
    char more[160];
    double wall = d->end - d->start, peak = 0, moved = 0;
    int32_t generated = 0;
    for (int32_t i = 0; i < d->n_devices; i++) peak += d->devices[i].peak;
    for (int32_t i = 0; i < d->n_transfers; i++) moved += d->transfers[i].bytes;
    for (int32_t i = 0; i < d->n_programs; i++)
        generated += !strcmp(d->programs[i]->code, "generated");
    mica_text_append(t, "<section class=\"cards\" id=\"overview\">\n");
    snprintf(more, sizeof more, "%.0f%% of %s since the first use", 100 * d->run_seconds / wall,
             report_seconds(wall).chars);
    card(t, "in programs", report_seconds(d->run_seconds).chars, more);
    snprintf(more, sizeof more, "%lld launches", (long long)d->launches);
    card(t, "in kernels", report_seconds(d->kernel_seconds).chars, more);
    char n[32];
    snprintf(n, sizeof n, "%d", d->n_programs + d->programs_lost);
    snprintf(more, sizeof more, "%d with generated code", generated);
    card(t, "programs", n, more);
    card(t, "memory at most", report_bytes(peak).chars, "of tensors, arenas and constants");
    snprintf(more, sizeof more, "%s/s", report_bytes(d->copy_limit).chars);
    card(t, "copy limit", more, "read and written, all threads");
    snprintf(more, sizeof more, "%d kinds of ops ran on the host", d->n_hosts);
    card(t, "transfers", report_bytes(moved).chars, more);
    mica_text_append(t, "</section>\n");
    if (d->programs_lost || d->texts_lost || d->rows_lost)
        P(t,
          "<p class=\"warn\">Not all of it fits here: %d programs, %lld texts and %d rows were "
          "left out.</p>\n",
          d->programs_lost, (long long)d->texts_lost, d->rows_lost);
}

static void write_timeline(mica_text *t, const report_data *d) {
    mica_text_append(t, "<section id=\"timeline\"><h2>Timeline</h2>\n<p class=\"quiet\">Memory in "
                        "use, and below it the part of the time in which programs ran.</p>\n");
    for (int32_t i = 0; i < d->n_devices; i++) report_write_chart(t, d, &d->devices[i]);
    if (!d->n_devices) mica_text_append(t, "<p>No device was used.</p>\n");
    mica_text_append(t, "</section>\n");
}

/* ---- programs ---------------------------------------------------------------------------------*/

static void program_link(mica_text *t, const report_program *p, int32_t rank) {
    if (rank < MOST_DETAILS)
        P(t, "<td class=\"name\"><a href=\"#program-%d\">", rank);
    else
        mica_text_append(t, "<td class=\"name\">");
    report_escape(t, p->name);
    mica_text_append(t, rank < MOST_DETAILS ? "</a></td>" : "</td>");
}

static void write_programs(mica_text *t, const report_data *d, report_program **sorted) {
    static const char *const columns[] = {"program", "made at",  "device", "code",
                                          "#runs",   "#time",    "share",  "#a run",
                                          "#making", "#kernels", "#arena", NULL};
    mica_text_append(t, "<section id=\"programs\"><h2>Programs</h2>\n<p class=\"quiet\">A program "
                        "is a graph that was compiled. With generated code it has a second row: "
                        "built-in kernels run until the compiler is done.</p>\n");
    begin_table(t, "sortable", columns);
    for (int32_t i = 0; i < d->n_programs && i < MOST_ROWS; i++) {
        const report_program *p = sorted[i];
        mica_text_append(t, i < MOST_SHORT_ROWS ? "<tr>" : "<tr class=\"more\">");
        program_link(t, p, i);
        mica_text_append(t, "<td>");
        line_text(t, report_line_text(d, p->line));
        mica_text_append(t, "</td>");
        cell(t, p->device);
        P(t, "<td><span class=\"tag %s\">%s</span></td>", p->code, p->code);
        count(t, p->runs);
        number(t, p->seconds, report_seconds(p->seconds).chars);
        mica_text_append(t, "<td>");
        bar(t, d->run_seconds > 0 ? p->seconds / d->run_seconds : 0, "");
        mica_text_append(t, "</td>");
        double one = p->runs ? p->seconds / (double)p->runs : 0;
        number(t, one, p->runs ? report_seconds(one).chars : "");
        number(t, p->made_seconds, report_seconds(p->made_seconds).chars);
        count(t, p->n_kernels + p->kernels_lost);
        number(t, (double)p->arena_bytes, report_bytes((double)p->arena_bytes).chars);
        mica_text_append(t, "</tr>\n");
    }
    end_table(t);
    if (d->n_programs > MOST_ROWS)
        P(t, "<p class=\"quiet\">%d more took less time than these.</p>\n",
          d->n_programs - MOST_ROWS);
    mica_text_append(t, "</section>\n");
}

/* ---- kernels ----------------------------------------------------------------------------------*/

typedef struct ranked {
    const report_kernel *kernel;
    const report_program *program;
    int32_t rank; /* of the program */
} ranked;

static int by_time(const void *a, const void *b) {
    double x = ((const ranked *)a)->kernel->seconds, y = ((const ranked *)b)->kernel->seconds;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void lines_of(mica_text *t, const report_data *d, const report_kernel *k) {
    mica_text_append(t, "<td class=\"from\">");
    for (int32_t i = 0; i < k->n_lines; i++) {
        if (i) mica_text_append(t, "<br>");
        line_text(t, report_line_text(d, k->lines[i]));
    }
    mica_text_append(t, "</td>");
}

/* Bytes and operations in a second; the limit is that of the host's memory. */
static void rates(mica_text *t, const report_data *d, const report_kernel *k, bool on_host) {
    double n = (double)k->launches, limit = on_host ? d->copy_limit : 0;
    double rate = k->seconds > 0 ? k->bytes * n / k->seconds : 0;
    char words[64];
    number(t, k->bytes, report_bytes(k->bytes).chars);
    snprintf(words, sizeof words, "%s/s", report_bytes(rate).chars);
    number(t, rate, words);
    mica_text_append(t, "<td>");
    if (limit > 0) {
        bar(t, rate / limit, rate > limit ? "over" : "");
        if (rate > limit)
            mica_text_append(t, " <small>in cache</small>");
        else
            P(t, " <small>%.0f%%</small>", 100 * rate / limit);
    }
    mica_text_append(t, "</td>");
    double operations = k->seconds > 0 ? k->operations * n / k->seconds : 0;
    snprintf(words, sizeof words, "%.3g G/s", operations / 1e9);
    number(t, operations, operations > 0 ? words : "");
}

static void source_link(mica_text *t, const report_kernel *k, int32_t rank, bool links) {
    if (links && k->source >= 0)
        P(t, "<td><a href=\"#source-%d-%d\">%s</a></td>", rank, k->source, k->how);
    else
        cell(t, k->how);
}

static bool is_host_device(const report_program *p) {
    return !strncmp(p->device, "cpu", 3);
}

static int64_t most_kernels(const report_data *d) {
    int64_t n = 0;
    for (int32_t i = 0; i < d->n_programs; i++) n += d->programs[i]->n_kernels;
    return n;
}

static void write_kernels(mica_text *t, const report_data *d, report_program **sorted) {
    static const char *const columns[] = {
        "kernel", "result",    "program", "from",  "code",       "#launches",   "#time",
        "share",  "#a launch", "#bytes",  "#rate", "of copying", "#operations", NULL};
    ranked *all = mica_alloc(sizeof *all * (size_t)(most_kernels(d) + 1));
    int64_t n = 0;
    mica_text_append(t, "<section id=\"kernels\"><h2>Kernels</h2>\n<p class=\"quiet\">Bytes are "
                        "those of operands and results, each once: the least that must move. A "
                        "rate above the copy limit means that they were in the caches.</p>\n");
    for (int32_t i = 0; all && i < d->n_programs; i++)
        for (int32_t k = 0; k < sorted[i]->n_kernels; k++)
            if (sorted[i]->kernels[k].launches)
                all[n++] = (ranked){&sorted[i]->kernels[k], sorted[i], i};
    if (all) qsort(all, (size_t)n, sizeof *all, by_time);
    begin_table(t, "sortable", columns);
    for (int64_t i = 0; i < n && i < MOST_ROWS; i++) {
        const report_kernel *k = all[i].kernel;
        mica_text_append(t, i < MOST_SHORT_ROWS ? "<tr>" : "<tr class=\"more\">");
        code_cell(t, k->label);
        type_cell(t, k->type);
        program_link(t, all[i].program, all[i].rank);
        lines_of(t, d, k);
        source_link(t, k, all[i].rank, all[i].rank < MOST_DETAILS);
        count(t, k->launches);
        number(t, k->seconds, report_seconds(k->seconds).chars);
        mica_text_append(t, "<td>");
        bar(t, d->kernel_seconds > 0 ? k->seconds / d->kernel_seconds : 0, "");
        mica_text_append(t, "</td>");
        double one = k->seconds / (double)k->launches;
        number(t, one, report_seconds(one).chars);
        rates(t, d, k, is_host_device(all[i].program));
        mica_text_append(t, "</tr>\n");
    }
    end_table(t);
    mica_text_append(t, "</section>\n");
    mica_free(all);
}

/* ---- memory, host -----------------------------------------------------------------------------*/

static void write_memory(mica_text *t, const report_data *d) {
    static const char *const columns[] = {"holder", "allocated at", "#number", "#bytes of each",
                                          "#bytes", "share",        NULL};
    mica_text_append(t, "<section id=\"memory\"><h2>Memory</h2>\n");
    for (int32_t i = 0; i < d->n_devices; i++) {
        const report_device *device = &d->devices[i];
        mica_text_append(t, "<h3>");
        report_escape(t, device->name);
        P(t, ": %s at most, %s after the first use</h3>\n", report_bytes(device->peak).chars,
          report_seconds(device->peak_time).chars);
        if (!device->n_holders) continue;
        begin_table(t, "sortable", columns);
        for (int32_t k = 0; k < device->n_holders; k++) {
            const mica_report_holder *h = &device->holders[k];
            double bytes = h->bytes * (double)h->n;
            mica_text_append(t, "<tr>");
            code_cell(t, h->what);
            mica_text_append(t, "<td>");
            line_text(t, report_line_text(d, h->line));
            mica_text_append(t, "</td>");
            count(t, h->n);
            number(t, h->bytes, report_bytes(h->bytes).chars);
            number(t, bytes, report_bytes(bytes).chars);
            mica_text_append(t, "<td>");
            bar(t, device->asked > 0 ? bytes / device->asked : 0, "");
            mica_text_append(t, "</td></tr>\n");
        }
        end_table(t);
    }
    mica_text_append(t, "</section>\n");
}

static void write_host(mica_text *t, const report_data *d) {
    static const char *const hosts[] = {"op", "why", "#times", "#time", NULL};
    static const char *const transfers[] = {"what", "from", "to", "#times", "#bytes", NULL};
    mica_text_append(t, "<section id=\"host\"><h2>Host and transfers</h2>\n");
    if (d->n_hosts) {
        begin_table(t, "sortable", hosts);
        for (int32_t i = 0; i < d->n_hosts; i++) {
            mica_text_append(t, "<tr>");
            code_cell(t, d->hosts[i].what);
            cell(t, d->hosts[i].why);
            count(t, d->hosts[i].n);
            number(t, d->hosts[i].seconds, report_seconds(d->hosts[i].seconds).chars);
            mica_text_append(t, "</tr>\n");
        }
        end_table(t);
    } else {
        mica_text_append(t, "<p>Nothing ran on the host beside the programs.</p>\n");
    }
    if (d->n_transfers) {
        begin_table(t, "sortable", transfers);
        for (int32_t i = 0; i < d->n_transfers; i++) {
            mica_text_append(t, "<tr>");
            code_cell(t, d->transfers[i].what);
            cell(t, d->transfers[i].from);
            cell(t, d->transfers[i].to);
            count(t, d->transfers[i].n);
            number(t, d->transfers[i].bytes, report_bytes(d->transfers[i].bytes).chars);
            mica_text_append(t, "</tr>\n");
        }
        end_table(t);
    } else {
        mica_text_append(t, "<p>No tensor moved between devices: the host addresses the memory of "
                            "all that were used.</p>\n");
    }
    mica_text_append(t, "</section>\n");
}

/* ---- graphs and code --------------------------------------------------------------------------*/

static void write_passes(mica_text *t, const report_program *p, int32_t rank) {
    if (!p->n_passes) return;
    mica_text_append(t, "<div class=\"passes\"><h4>The graph, pass by pass</h4>\n");
    for (int32_t i = 0; i < p->n_passes; i++) {
        const report_pass *pass = &p->passes[i];
        if (!pass->text) {
            P(t, "<p class=\"pass quiet\"><b>%s</b> %s</p>\n", pass->name,
              pass->is_same ? "changes nothing" : "(there was no room for it)");
            continue;
        }
        P(t, "<details class=\"pass\" id=\"%s-%d\"><summary><b>%s</b></summary><pre>", pass->name,
          rank, pass->name);
        report_escape(t, pass->text);
        P(t, "%s</pre></details>\n", pass->is_cut ? "(the rest is left out)" : "");
    }
    mica_text_append(t, "</div>\n");
}

static void write_notes(mica_text *t, const report_program *p) {
    const char *note = p->notes.data;
    if (!note || !*note) return;
    mica_text_append(t, "<details class=\"notes\" open><summary><b>What was fused, and why not"
                        "</b></summary><ul>\n");
    while (*note) {
        size_t n = strcspn(note, "\n");
        char line[600];
        snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1), note);
        element(t, "li", "", line);
        mica_text_append(t, "\n");
        note += n + (note[n] == '\n');
    }
    mica_text_append(t, "</ul></details>\n");
}

static void write_values(mica_text *t, const report_data *d, const report_program *p) {
    static const char *const columns[] = {"value", "type", "from", "#bytes", "alive", NULL};
    if (!p->n_values) return;
    double commands = p->n_kernels + p->kernels_lost;
    mica_text_append(t, "<details><summary><b>The largest values in its arena</b></summary>\n");
    begin_table(t, "sortable", columns);
    for (int32_t i = 0; i < p->n_values; i++) {
        const report_value *v = &p->values[i];
        mica_text_append(t, "<tr>");
        code_cell(t, v->label);
        type_cell(t, v->type);
        mica_text_append(t, "<td>");
        line_text(t, report_line_text(d, v->line));
        mica_text_append(t, "</td>");
        number(t, v->bytes, report_bytes(v->bytes).chars);
        double left = commands > 0 ? 100 * v->first / commands : 0;
        double width = commands > 0 ? 100 * (v->last - v->first + 1) / commands : 0;
        if (left + width > 100) width = 100 - left;
        P(t,
          "<td data-v=\"%d\"><span class=\"life\"><i style=\"margin-left:%.1f%%;width:%.1f%%\">"
          "</i></span> <small>%d to %d</small></td></tr>\n",
          v->first, left, width, v->first, v->last);
    }
    end_table(t);
    mica_text_append(t, "</details>\n");
}

static void write_own_kernels(mica_text *t, const report_data *d, const report_program *p,
                              int32_t rank) {
    static const char *const columns[] = {
        "kernel",    "result", "from",  "code",       "#launches",   "#time", "share",
        "#a launch", "#bytes", "#rate", "of copying", "#operations", NULL};
    if (!p->n_kernels) return;
    double total = 0;
    for (int32_t i = 0; i < p->n_kernels; i++) total += p->kernels[i].seconds;
    P(t, "<details%s><summary><b>%d kernels</b>, in the order of the program</summary>\n",
      rank ? "" : " open", p->n_kernels);
    begin_table(t, "sortable", columns);
    for (int32_t i = 0; i < p->n_kernels && i < MOST_ROWS; i++) {
        const report_kernel *k = &p->kernels[i];
        mica_text_append(t, "<tr>");
        code_cell(t, k->label);
        type_cell(t, k->type);
        lines_of(t, d, k);
        source_link(t, k, rank, true);
        count(t, k->launches);
        number(t, k->seconds, report_seconds(k->seconds).chars);
        mica_text_append(t, "<td>");
        bar(t, total > 0 ? k->seconds / total : 0, "");
        mica_text_append(t, "</td>");
        double one = k->launches ? k->seconds / (double)k->launches : 0;
        number(t, one, k->launches ? report_seconds(one).chars : "");
        rates(t, d, k, is_host_device(p));
        mica_text_append(t, "</tr>\n");
    }
    end_table(t);
    mica_text_append(t, "</details>\n");
}

static void write_sources(mica_text *t, const report_program *p, int32_t rank) {
    int32_t n = 0;
    for (int32_t i = 0; i < p->n_sources; i++) n += p->sources[i] != NULL;
    if (!n) return;
    P(t, "<div class=\"sources\"><h4>Generated code</h4>\n");
    for (int32_t i = 0; i < p->n_sources; i++) {
        if (!p->sources[i]) continue;
        const char *label = "";
        for (int32_t k = 0; k < p->n_kernels; k++)
            if (p->kernels[k].source == i) label = p->kernels[k].label;
        P(t, "<details id=\"source-%d-%d\"><summary><code>", rank, i);
        report_escape(t, *label ? label : "a kernel");
        mica_text_append(t, "</code></summary><pre>");
        report_escape(t, p->sources[i]);
        mica_text_append(t, "</pre></details>\n");
    }
    mica_text_append(t, "</div>\n");
}

static void write_details(mica_text *t, const report_data *d, report_program **sorted) {
    mica_text_append(t, "<section id=\"graphs\"><h2>Graphs and code</h2>\n");
    for (int32_t i = 0; i < d->n_programs && i < MOST_DETAILS; i++) {
        const report_program *p = sorted[i];
        P(t, "<details class=\"program\" id=\"program-%d\"%s><summary><b>", i, i ? "" : " open");
        report_escape(t, p->name);
        P(t, "</b> <span class=\"tag %s\">%s</span> <span class=\"quiet\">", p->code, p->code);
        report_escape(t, p->device);
        P(t, " \u00b7 %lld runs \u00b7 %s \u00b7 arena %s \u00b7 constants %s</span>",
          (long long)p->runs, report_seconds(p->seconds).chars,
          report_bytes((double)p->arena_bytes).chars,
          report_bytes((double)p->constants_bytes).chars);
        mica_text_append(t, "</summary>\n");
        write_own_kernels(t, d, p, i);
        write_notes(t, p);
        write_values(t, d, p);
        write_passes(t, p, i);
        write_sources(t, p, i);
        mica_text_append(t, "</details>\n");
    }
    if (d->notes.data && *d->notes.data) {
        mica_text_append(t, "<details class=\"notes\"><summary><b>Other lines of the log</b>"
                            "</summary><pre>");
        report_escape(t, d->notes.data);
        mica_text_append(t, "</pre></details>\n");
    }
    mica_text_append(t, "</section>\n");
}

/* ---- the page ---------------------------------------------------------------------------------*/

void report_write_page(mica_text *t, const report_data *d) {
    report_program **sorted = report_by_time(d);
    if (!sorted) {
        t->failed = true;
        return;
    }
    write_head(t);
    write_overview(t, d);
    write_timeline(t, d);
    write_programs(t, d, sorted);
    write_kernels(t, d, sorted);
    write_memory(t, d);
    write_host(t, d);
    write_details(t, d, sorted);
    mica_free(sorted);
    mica_text_append(t, "</main>\n<script type=\"application/json\" id=\"data\">");
    report_write_json(t, d);
    mica_text_append(t, "</script>\n<script>\n");
    mica_text_append(t, embedded("page.js"));
    mica_text_append(t, "</script>\n</body>\n</html>\n");
}
