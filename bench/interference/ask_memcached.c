// SPDX-License-Identifier: MIT
/*
 * Asks a memcached what it was made for, then ends it: ask_memcached SOCKET [REQUESTS
 * [CONNECTIONS]]
 *
 * Seven of ten requests set and three get, as memaslap does by default, on connections of its own
 * which it serves by poll, so many requests on the way as there are connections. Waits for the
 * server to come up; it must have been started with -A.
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 64, KEYS = 10000, VALUE = 512, ROOM = 4096 };

static struct connection {
    int descriptor;
    size_t received;
    char answer[ROOM];
} connections[CONNECTIONS_MAX];

static uint64_t draw(void)
{
    static uint64_t random = 88172645463325252u;
    random ^= random << 13;
    random ^= random >> 7;
    return random ^= random << 17;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "ask_memcached: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Ten seconds for the server to start. */
static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    for (int attempt = 0; attempt < 1000; attempt++) {
        int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
        if (descriptor < 0)
            fail("socket");
        if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0)
            return descriptor;
        close(descriptor);
        usleep(10000);
    }
    fail(path);
}

static void ask(struct connection *connection)
{
    char request[VALUE + 128], value[VALUE];
    int bytes;
    unsigned key = (unsigned)(draw() % KEYS);
    if (draw() % 10 < 7) {
        memset(value, 'a' + (int)(key % 26), sizeof value);
        bytes = snprintf(request, sizeof request, "set key%u 0 0 %d\r\n%.*s\r\n", key, VALUE, VALUE,
                         value);
    } else {
        bytes = snprintf(request, sizeof request, "get key%u\r\n", key);
    }
    if (write(connection->descriptor, request, (size_t)bytes) != bytes)
        fail("write");
    connection->received = 0;
}

static int ends_with(const struct connection *connection, const char *text)
{
    size_t bytes = strlen(text);
    return connection->received >= bytes &&
           memcmp(connection->answer + connection->received - bytes, text, bytes) == 0;
}

/* Is the answer complete? */
static int take(struct connection *connection)
{
    ssize_t bytes = read(connection->descriptor, connection->answer + connection->received,
                         ROOM - connection->received);
    if (bytes <= 0)
        fail("read");
    connection->received += (size_t)bytes;
    if (strncmp(connection->answer, "ERROR", 5) == 0 ||
        strncmp(connection->answer, "SERVER_ERROR", 12) == 0)
        fail("the server's answer");
    return ends_with(connection, "STORED\r\n") || ends_with(connection, "END\r\n");
}

int main(int argc, char **argv)
{
    struct pollfd waiting[CONNECTIONS_MAX];
    if (argc < 2)
        return 2;
    uint64_t requests = argc > 2 ? strtoull(argv[2], NULL, 10) : 300000, answered = 0, asked = 0;
    int count = argc > 3 ? atoi(argv[3]) : 16;
    if (count < 1 || count > CONNECTIONS_MAX)
        return 2;
    for (int i = 0; i < count; i++) {
        connections[i].descriptor = connect_to(argv[1]);
        waiting[i] = (struct pollfd){connections[i].descriptor, POLLIN, 0};
        ask(&connections[i]);
        asked++;
    }
    while (answered < requests) {
        if (poll(waiting, (nfds_t)count, 10000) <= 0)
            fail("poll");
        for (int i = 0; i < count; i++) {
            if (!waiting[i].revents || !take(&connections[i]))
                continue;
            answered++;
            if (asked++ < requests + (uint64_t)count)
                ask(&connections[i]);
        }
    }
    int last = connect_to(argv[1]);
    if (write(last, "shutdown\r\n", 10) != 10)
        fail("write");
    char rest[64];
    while (read(last, rest, sizeof rest) > 0) /* until it has gone */
        ;
    return 0;
}
