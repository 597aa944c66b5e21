#include "profile/protocol.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

void mo_put_u32(mo_str *out, uint32_t value)
{
    mo_str_add_bytes(out, &value, sizeof value);
}

void mo_put_i64(mo_str *out, int64_t value)
{
    mo_str_add_bytes(out, &value, sizeof value);
}

void mo_put_f64(mo_str *out, double value)
{
    mo_str_add_bytes(out, &value, sizeof value);
}

void mo_put_text(mo_str *out, const char *text)
{
    mo_put_bytes(out, text, strlen(text) + 1);
}

void mo_put_bytes(mo_str *out, const void *bytes, size_t length)
{
    mo_put_i64(out, (int64_t)length);
    if (length > 0) mo_str_add_bytes(out, bytes, length);
}

static void get(mo_message *in, void *value, size_t size)
{
    memset(value, 0, size);
    if (in->left < size) {
        in->bad = true;
        return;
    }
    memcpy(value, in->at, size);
    in->at += size;
    in->left -= size;
}

uint32_t mo_get_u32(mo_message *in)
{
    uint32_t value;
    get(in, &value, sizeof value);
    return value;
}

int64_t mo_get_i64(mo_message *in)
{
    int64_t value;
    get(in, &value, sizeof value);
    return value;
}

double mo_get_f64(mo_message *in)
{
    double value;
    get(in, &value, sizeof value);
    return value;
}

const unsigned char *mo_get_bytes(mo_message *in, size_t *length)
{
    int64_t size = mo_get_i64(in);
    *length = 0;
    if (in->bad || size < 0 || (uint64_t)size > in->left) {
        in->bad = true;
        return NULL;
    }
    const unsigned char *bytes = in->at;
    in->at += size;
    in->left -= (size_t)size;
    *length = (size_t)size;
    return bytes;
}

const char *mo_get_text(mo_message *in)
{
    size_t length;
    const unsigned char *bytes = mo_get_bytes(in, &length);
    if (bytes != NULL && length > 0 && bytes[length - 1] == '\0') return (const char *)bytes;
    in->bad = true;
    return "";
}

uint32_t mo_get_count(mo_message *in, size_t each)
{
    uint32_t count = mo_get_u32(in);
    if (count <= in->left / each) return count;
    in->bad = true;
    return 0;
}

/* Waits until the socket is ready for `events`. */
static mo_io wait_for(int socket, short events, double end)
{
    for (;;) {
        int timeout = -1;
        if (end > 0) {
            double left = end - mo_clock_seconds();
            if (left <= 0) return MO_IO_TIMEOUT;
            timeout = left > 1e6 ? 1000000000 : (int)(left * 1e3) + 1;
        }
        struct pollfd wanted = {.fd = socket, .events = events};
        int n = poll(&wanted, 1, timeout);
        if (n > 0) return MO_IO_OK;
        if (n < 0 && errno != EINTR) return MO_IO_CLOSED;
    }
}

static mo_io send_all(int socket, const unsigned char *bytes, size_t length, double end)
{
    while (length > 0) {
        mo_io ready = wait_for(socket, POLLOUT, end);
        if (ready != MO_IO_OK) return ready;
        ssize_t n = send(socket, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) {
            if (errno == EINTR || errno == EAGAIN) continue;
            return MO_IO_CLOSED;
        }
        bytes += n;
        length -= (size_t)n;
    }
    return MO_IO_OK;
}

static mo_io receive_all(int socket, unsigned char *bytes, size_t length, double end)
{
    while (length > 0) {
        mo_io ready = wait_for(socket, POLLIN, end);
        if (ready != MO_IO_OK) return ready;
        ssize_t n = recv(socket, bytes, length, MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) return MO_IO_CLOSED;
        bytes += n;
        length -= (size_t)n;
    }
    return MO_IO_OK;
}

mo_io mo_message_send(int socket, const void *bytes, size_t length, double end)
{
    uint64_t size = length;
    mo_io io = send_all(socket, (const unsigned char *)&size, sizeof size, end);
    return io == MO_IO_OK ? send_all(socket, bytes, length, end) : io;
}

/* Grows with what arrives: a length that is not backed by bytes must not reserve memory for all of them. */
mo_io mo_message_receive(int socket, mo_str *message, double end)
{
    unsigned char piece[65536];
    uint64_t size = 0;
    mo_str_clear(message);
    mo_io io = receive_all(socket, (unsigned char *)&size, sizeof size, end);
    while (io == MO_IO_OK && message->length < size) {
        uint64_t left = size - message->length;
        size_t next = left < sizeof piece ? (size_t)left : sizeof piece;
        io = receive_all(socket, piece, next, end);
        if (io == MO_IO_OK) mo_str_add_bytes(message, piece, next);
    }
    return io;
}
