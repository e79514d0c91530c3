/* mica/status.h: how every fallible call answers.
 *
 * A mica_status is NULL when all went well; otherwise it owns a code, a message that names the
 * operation and its values, and the chain of source places it passed through. The caller looks at
 * it and releases it. Making a status never fails: when there is no memory for the message, a
 * shared out-of-memory status stands in for it.
 *
 * @example
 *     mica_device *device = NULL;
 *     mica_status status = mica_device_open("any", &device);
 *     if (status) {
 *         puts(mica_status_message(status));
 *         mica_status_release(status);
 *     }
 *     mica_device_release(device);
 * @end
 */
#ifndef MICA_STATUS_H
#define MICA_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MICA_API __attribute__((visibility("default")))
#define MICA_MUST_CHECK __attribute__((warn_unused_result))
#define MICA_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define MICA_API
#define MICA_MUST_CHECK
#define MICA_PRINTF(text, first)
#endif

typedef enum mica_code {
    MICA_OK = 0,
    MICA_INVALID_ARGUMENT,    /* the caller's values cannot be used: shapes, dtypes, names, files */
    MICA_OUT_OF_MEMORY,       /* host or device; nothing was changed */
    MICA_NOT_FOUND,           /* a device, file or name that does not exist */
    MICA_UNSUPPORTED,         /* understood, but not possible on this device or machine */
    MICA_FAILED_PRECONDITION, /* the right call at the wrong time */
    MICA_DEVICE_ERROR,        /* the device failed; its stream answers this until it is reset */
    MICA_CALLBACK_ERROR,      /* a user's callback said no */
    MICA_DATA_LOSS,           /* a file or message is truncated or corrupt */
    MICA_INTERNAL,            /* our own mistake */
    MICA_OUT_OF_RANGE,        /* past the end of a sequence */
    MICA_RESOURCE_EXHAUSTED,  /* a disk, a quota, the number of open files */
    MICA_UNAVAILABLE,         /* another process cannot be reached, was lost or is too slow */
    MICA_CANCELLED,           /* whoever asked for it does not want it any more */
} mica_code;

typedef struct mica_status_object *mica_status;

MICA_API mica_code mica_status_code(mica_status status);
/* "" for NULL. Valid until the status is released. */
MICA_API const char *mica_status_message(mica_status status);
/* The message followed by one line per source place, innermost first. Valid as above. */
MICA_API const char *mica_status_trace(mica_status status);
/* The code's name in lower case, such as "invalid argument". */
MICA_API const char *mica_code_name(mica_code code);
MICA_API void mica_status_release(mica_status status);

/* Makes a status, for callbacks that fail. */
MICA_API MICA_MUST_CHECK mica_status mica_status_create(mica_code code, const char *format, ...)
    MICA_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif
