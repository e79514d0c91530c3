/* device/cpu/radix.h: a radix sort from the lowest digit up, for items of one kind. Included with
 *     ITEM      the type          COUNT  an unsigned type that holds n
 *     KEY(item) its key           NAME(x) x with a suffix
 * A line is cut into blocks by its length alone. Each block counts its digits; a block's items of
 * a digit go behind those of smaller digits and of earlier blocks. So the result is that of one
 * block, whatever the threads do. A sort that is interrupted ends after a pass: all items are
 * there, in some order. */

typedef struct NAME(radix_pass) {
    const ITEM *from;
    ITEM *to;
    int64_t n, block; /* items, and how many a block has */
    int shift, bits;
    COUNT *counts; /* a row of digits per block; then where its items go */
} NAME(radix_pass);

static void NAME(count_digits)(void *context, int64_t begin, int64_t end) {
    const NAME(radix_pass) *p = context;
    const uint64_t mask = ((uint64_t)1 << p->bits) - 1;
    for (int64_t b = begin; b < end; b++) {
        COUNT *counts = p->counts + (b << p->bits);
        int64_t last = cpu_min(p->n, (b + 1) * p->block);
        memset(counts, 0, sizeof *counts << p->bits);
        for (int64_t i = b * p->block; i < last; i++)
            counts[(uint64_t)KEY(p->from[i]) >> p->shift & mask]++;
    }
}

static void NAME(move_items)(void *context, int64_t begin, int64_t end) {
    const NAME(radix_pass) *p = context;
    const uint64_t mask = ((uint64_t)1 << p->bits) - 1;
    ITEM *to = p->to;
    for (int64_t b = begin; b < end; b++) {
        COUNT *places = p->counts + (b << p->bits);
        int64_t last = cpu_min(p->n, (b + 1) * p->block);
        for (int64_t i = b * p->block; i < last; i++) {
            ITEM item = p->from[i];
            to[places[(uint64_t)KEY(item) >> p->shift & mask]++] = item;
        }
    }
}

/* From counts to places; false when all items have the same digit, so that nothing moves. */
static bool NAME(find_places)(const NAME(radix_pass) * p, int64_t blocks) {
    COUNT total = 0;
    for (int64_t digit = 0; digit < (int64_t)1 << p->bits; digit++) {
        COUNT before = total;
        for (int64_t b = 0; b < blocks; b++) {
            COUNT *count = &p->counts[(b << p->bits) + digit], here = *count;
            *count = total;
            total += here;
        }
        if (total - before == (COUNT)p->n) return false;
    }
    return true;
}

static void NAME(insertion_sort)(ITEM *a, int64_t n, int low, int high) {
    const uint64_t mask = ~(uint64_t)0 >> (64 - (high - low));
    for (int64_t i = 1; i < n; i++) {
        ITEM item = a[i];
        uint64_t key = (uint64_t)KEY(item) >> low & mask;
        int64_t j = i;
        for (; j > 0 && ((uint64_t)KEY(a[j - 1]) >> low & mask) > key; j--) a[j] = a[j - 1];
        a[j] = item;
    }
}

ITEM *NAME(mica_cpu_radix)(ITEM *a, ITEM *b, int64_t n, int low, int high, void *counts) {
    if (n <= RADIX_INSERTION) {
        NAME(insertion_sort)(a, n, low, high);
        return a;
    }
    int64_t blocks = radix_blocks(n);
    int widest = n >= RADIX_LARGE ? RADIX_WIDE : RADIX_NARROW;
    int passes = (high - low + widest - 1) / widest;
    int digit = (high - low + passes - 1) / passes;
    NAME(radix_pass) p = {.n = n, .block = cpu_ceil_div(n, blocks), .counts = counts};
    for (int shift = low; shift < high; shift += digit) {
        if (mica_interrupt_must_leave_around()) break;
        p.from = a;
        p.to = b;
        p.shift = shift;
        p.bits = (int)cpu_min(digit, high - shift);
        mica_parallel_for(blocks, 1, NAME(count_digits), &p);
        if (!NAME(find_places)(&p, blocks)) continue;
        mica_parallel_for(blocks, 1, NAME(move_items), &p);
        ITEM *other = a;
        a = b;
        b = other;
    }
    return a;
}

#undef ITEM
#undef COUNT
#undef KEY
#undef NAME
