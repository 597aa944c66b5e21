#include "profile/protocol.h"

#include "base/clock.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

Test(protocol, values_come_back)
{
    mo_str out = {0};
    mo_put_u32(&out, 7);
    mo_put_i64(&out, -3);
    mo_put_f64(&out, 0.1);
    mo_put_text(&out, "kernel");
    mo_put_bytes(&out, "", 0);
    mo_message in = {.at = (const unsigned char *)out.data, .left = out.length};
    size_t length = 1;
    cr_assert_eq(mo_get_u32(&in), 7);
    cr_assert_eq(mo_get_i64(&in), -3);
    cr_assert(mo_get_f64(&in) == 0.1);
    cr_assert_str_eq(mo_get_text(&in), "kernel");
    mo_get_bytes(&in, &length);
    cr_assert_eq(length, 0);
    cr_assert(!in.bad && in.left == 0);
    mo_str_free(&out);
}

Test(protocol, short_messages_are_noticed)
{
    mo_str out = {0};
    size_t length;
    mo_put_i64(&out, 1000); /* a length with nothing behind it */
    mo_message in = {.at = (const unsigned char *)out.data, .left = out.length};
    cr_assert_null(mo_get_bytes(&in, &length));
    cr_assert(in.bad && length == 0);
    in = (mo_message){.at = (const unsigned char *)out.data, .left = out.length};
    cr_assert_eq(mo_get_count(&in, 8), 0, "1000 items of 8 bytes are not there");
    cr_assert(in.bad);
    in = (mo_message){.at = (const unsigned char *)out.data, .left = 3};
    cr_assert_eq(mo_get_u32(&in), 0);
    cr_assert_str_eq(mo_get_text(&in), "");
    cr_assert(in.bad);
    mo_str_free(&out);
}

Test(protocol, large_messages_cross_a_socket)
{
    int pair[2];
    const size_t size = 3000001;
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    char *bytes = malloc(size);
    for (size_t i = 0; i < size; i++) bytes[i] = (char)(i * 31 % 251);
    double end = mo_clock_seconds() + 20;
    pid_t child = fork();
    if (child == 0) _exit(mo_message_send(pair[1], bytes, size, end) == MO_IO_OK ? 0 : 1);
    mo_str message = {0};
    cr_assert_eq(mo_message_receive(pair[0], &message, end), MO_IO_OK);
    cr_assert_eq(message.length, size);
    cr_assert_eq(memcmp(message.data, bytes, size), 0);
    waitpid(child, NULL, 0);
    close(pair[1]);
    cr_assert_eq(mo_message_receive(pair[0], &message, end), MO_IO_CLOSED);
    cr_assert_eq(mo_message_send(pair[0], bytes, size, end), MO_IO_CLOSED);
    mo_str_free(&message);
    free(bytes);
    close(pair[0]);
}

Test(protocol, silence_times_out)
{
    int pair[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    mo_str message = {0};
    double start = mo_clock_seconds();
    cr_assert_eq(mo_message_receive(pair[0], &message, start + 0.05), MO_IO_TIMEOUT);
    cr_assert(mo_clock_seconds() - start < 5);
    char *bytes = calloc(1, 1 << 24); /* nobody reads: the socket's buffer fills up */
    cr_assert_eq(mo_message_send(pair[0], bytes, 1 << 24, mo_clock_seconds() + 0.05), MO_IO_TIMEOUT);
    free(bytes);
    mo_str_free(&message);
    close(pair[0]);
    close(pair[1]);
}
