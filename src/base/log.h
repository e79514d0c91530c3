/* base/log.h: lines about what the library does, for those who ask with MICA_LOG=<topic>,<topic>
 * (or `all`). They go to standard error, or to the sink of mica_set_log (mica/runtime.h). */
#ifndef MICA_BASE_LOG_H
#define MICA_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef enum mica_log_topic {
    MICA_LOG_WARNING, /* something works, but not as it should */
    MICA_LOG_PASS,
    MICA_LOG_RUN,
    MICA_LOG_MEMORY,
    MICA_LOG_DEVICE,
    MICA_LOG_EAGER,
    MICA_LOG_MATCH,    /* what became a kernel of several ops, and what nearly did */
    MICA_LOG_TRANSFER, /* tensors that move to another device, to the host or from it */
    MICA_LOG_FUSE,     /* what became one kernel of generated code, and why not more */
    MICA_LOG_TIME,     /* what took how long, at the end (report/report.h) */
    MICA_LOG_TOPICS
} mica_log_topic;

extern uint32_t mica_log_asked; /* a bit per topic; all bits until the environment has been read */
bool mica_log_look_up(mica_log_topic topic);

/* One load when nothing is asked for: cheap enough to guard the making of a message. */
static inline bool mica_log_on(mica_log_topic topic) {
    return __atomic_load_n(&mica_log_asked, __ATOMIC_RELAXED) != 0 && mica_log_look_up(topic);
}
/* Does nothing unless the topic is on. A text of several lines reaches the sink line by line. */
void mica_log_write(mica_log_topic topic, const char *format, ...) MICA_PRINTF(2, 3);
/* Who hears all that is written to the topics of these bits, whole texts at a time, whatever
 * MICA_LOG asks for; NULL: none. */
void mica_log_tap(uint32_t topics, void (*tap)(mica_log_topic topic, const char *text));
/* Reads MICA_LOG again at the next question. */
void mica_log_reset(void);

#endif
