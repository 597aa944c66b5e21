/* Messages between the tool and its worker process (profile/worker.h): a length and that many bytes, in
 * the machine's own byte order, since both ends are one program.
 *
 * Writing goes through a growing buffer; reading through a cursor that remembers when a message was too
 * short, so that a reader checks once, at the end. */
#ifndef MO_PROFILE_PROTOCOL_H
#define MO_PROFILE_PROTOCOL_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    MO_REQUEST_FACTS, /* -> facts of the GPU */
    MO_REQUEST_DATA,  /* sizes of the buffers of input sets */
    MO_REQUEST_SET,   /* contents of one of them */
    MO_REQUEST_JOB,   /* kernels and how to launch them -> attributes of each kernel */
    MO_REQUEST_RUN,   /* job on one set -> contents of the outputs */
    MO_REQUEST_TIME,  /* job over rotating sets -> times */
    MO_REQUEST_DROP_JOB,
    MO_REQUEST_DROP_DATA
} mo_request_kind;

/* What stands first in a reply. Anything but OK is followed by a text. */
typedef enum {
    MO_REPLY_OK,
    MO_REPLY_NO_FIT,    /* the kernel or its buffers do not fit the GPU; the worker can go on */
    MO_REPLY_BAD_WRITE, /* a guard around a buffer was overwritten; the worker can go on */
    MO_REPLY_FAILED     /* the driver reported an error; the worker is of no more use */
} mo_reply_code;

void mo_put_u32(mo_str *out, uint32_t value);
void mo_put_i64(mo_str *out, int64_t value);
void mo_put_f64(mo_str *out, double value);
void mo_put_text(mo_str *out, const char *text);
void mo_put_bytes(mo_str *out, const void *bytes, size_t length); /* with its length */

typedef struct {
    const unsigned char *at;
    size_t left;
    bool bad; /* something was asked for that was not there */
} mo_message;

uint32_t mo_get_u32(mo_message *in);
int64_t mo_get_i64(mo_message *in);
double mo_get_f64(mo_message *in);
const char *mo_get_text(mo_message *in); /* "" when bad; borrowed from the message */
const unsigned char *mo_get_bytes(mo_message *in, size_t *length); /* borrowed from the message */
/* A count that precedes `each` or more bytes for every item: 0 and bad when they cannot be there. */
uint32_t mo_get_count(mo_message *in, size_t each);

typedef enum { MO_IO_OK, MO_IO_CLOSED, MO_IO_TIMEOUT } mo_io;

/* Whole messages over a stream socket. `end` is a time of mo_clock_seconds, or <= 0 for no bound. */
mo_io mo_message_send(int socket, const void *bytes, size_t length, double end);
mo_io mo_message_receive(int socket, mo_str *message, double end);

#endif
