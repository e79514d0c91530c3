/* The timeline of a device as a picture: memory as an area, below it how busy it was. */
#include <math.h>

#include "report/parts.h"

enum { WIDTH = 1000, HEIGHT = 150, LANE = 22, GAP = 8, LEFT = 64, BOTTOM = 20, TOP = 8 };

/* 1, 2 or 5 times a power of ten, so that `most` has at most `n` of them. */
static double round_step(double most, int32_t n) {
    if (!(most > 0)) return 1;
    double step = pow(10, floor(log10(most / n)));
    while (most / step > n) {
        double first = step / pow(10, floor(log10(step) + 1e-9));
        step *= first < 1.5 ? 2 : first < 3 ? 2.5 : 2;
    }
    return step;
}

static void write_axes(mica_text *t, double top, double seconds) {
    double y_step = round_step(top, 4), x_step = round_step(seconds, 8);
    for (double y = 0; y <= top * 1.0001; y += y_step) {
        double at = TOP + HEIGHT - HEIGHT * y / top;
        mica_text_printf(t, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>",
                         LEFT, LEFT + WIDTH, at, at);
        mica_text_printf(t, "<text x=\"%d\" y=\"%.1f\" class=\"y\">%s</text>", LEFT - 6, at + 4,
                         y > 0 ? report_bytes(y).chars : "0");
    }
    for (double x = 0; x <= seconds * 1.0001; x += x_step)
        mica_text_printf(t, "<text x=\"%.1f\" y=\"%d\" class=\"x\">%s</text>",
                         LEFT + WIDTH * x / seconds, TOP + HEIGHT + GAP + LANE + BOTTOM - 4,
                         x > 0 ? report_seconds(x).chars : "0");
}

void report_write_chart(mica_text *t, const report_data *d, const report_device *device) {
    double seconds = d->end - d->start, top = device->peak > 0 ? 1.08 * device->peak : 1;
    int32_t n = (int32_t)(seconds / d->width) + 1;
    if (n > MICA_REPORT_BUCKETS) n = MICA_REPORT_BUCKETS;
    mica_text_append(t, "<figure class=\"chart\"><figcaption>");
    report_escape(t, device->name);
    mica_text_printf(t,
                     "</figcaption><svg viewBox=\"0 0 %d %d\" role=\"img\" "
                     "aria-label=\"memory and use over time\" data-left=\"%d\" data-width=\"%d\">",
                     LEFT + WIDTH + 24, TOP + HEIGHT + GAP + LANE + BOTTOM, LEFT, WIDTH);
    write_axes(t, top, seconds);
    /* Each bucket is a step; one without news is as the one before. */
    mica_text_printf(t, "<path class=\"memory\" d=\"M%d %d", LEFT, TOP + HEIGHT);
    double before = 0;
    for (int32_t i = 0; i < n; i++) {
        const report_bucket *b = &device->buckets[i];
        double from = i * d->width, to = from + d->width < seconds ? from + d->width : seconds;
        double value = b->is_known ? b->most : before;
        double y = TOP + HEIGHT - HEIGHT * value / top;
        mica_text_printf(t, "L%.1f %.1fL%.1f %.1f", LEFT + WIDTH * from / seconds, y,
                         LEFT + WIDTH * to / seconds, y);
        before = value;
    }
    mica_text_printf(t, "L%d %dZ\"/>", LEFT + WIDTH, TOP + HEIGHT);
    double x = LEFT + WIDTH * device->peak_time / seconds;
    double y = TOP + HEIGHT - HEIGHT * device->peak / top;
    if (device->peak > 0)
        mica_text_printf(t,
                         "<circle class=\"peak\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"><title>%s after "
                         "%s</title></circle>",
                         x, y, report_bytes(device->peak).chars,
                         report_seconds(device->peak_time).chars);
    mica_text_printf(t, "<rect class=\"lane\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>", LEFT,
                     TOP + HEIGHT + GAP, WIDTH, LANE);
    mica_text_printf(t, "<text x=\"%d\" y=\"%d\" class=\"y\">busy</text>", LEFT - 6,
                     TOP + HEIGHT + GAP + 15);
    for (int32_t i = 0; i < n; i++) {
        double part = device->buckets[i].busy / d->width, from = i * d->width;
        if (part > 1) part = 1;
        if (part < 0.002) continue;
        double height = LANE * (part < 0.05 ? 0.05 : part);
        mica_text_printf(t,
                         "<rect class=\"busy\" x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" "
                         "height=\"%.1f\"/>",
                         LEFT + WIDTH * from / seconds, TOP + HEIGHT + GAP + LANE - height,
                         WIDTH * d->width / seconds, height);
    }
    mica_text_append(t, "</svg></figure>\n");
}
