/* SPDX-License-Identifier: Apache-2.0 */
/* A peer that is cut off needs a separate network: see test/e2e/network_test.py. */
#include "base/test.h"
#include "net/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

static void connect_two(int ends[2])
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof name;
    const int door = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(door, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(door, 1), 0);
    assert_int_equal(getsockname(door, (struct sockaddr *)&name, &bytes), 0);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(ends[0], (struct sockaddr *)&name, sizeof name), 0);
    ends[1] = accept(door, NULL, NULL);
    assert_true(ends[1] >= 0);
    close(door);
}

static int option(int fd, int level, int name)
{
    int value = 0;
    socklen_t bytes = sizeof value;
    assert_int_equal(getsockopt(fd, level, name, &value, &bytes), 0);
    return value;
}

static void asks_a_silent_peer(void **state)
{
    (void)state;
    int ends[2];
    connect_two(ends);
    sh_socket_configure(ends[0]);
    assert_true(option(ends[0], IPPROTO_TCP, TCP_NODELAY));
    assert_true(option(ends[0], SOL_SOCKET, SO_KEEPALIVE));
    assert_int_equal(option(ends[0], IPPROTO_TCP, TCP_KEEPIDLE), SH_SOCKET_PROBE_SECONDS);
    assert_int_equal(option(ends[0], IPPROTO_TCP, TCP_KEEPCNT), SH_SOCKET_TRIES);
    close(ends[0]);
    close(ends[1]);
}

static void who_takes_nothing_is_not_cut_off(void **state)
{
    (void)state;
    static const char bytes[65536];
    int ends[2];
    connect_two(ends);
    assert_false(sh_socket_is_cut_off(ends[0]));
    while (send(ends[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
    assert_false(sh_socket_is_cut_off(ends[0]));
    close(ends[0]);
    close(ends[1]);
    assert_false(sh_socket_is_cut_off(-1));
}

static void fill(int fd)
{
    static const char bytes[65536];
    while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
}

static void take(int fd, size_t count)
{
    static char bytes[65536];
    while (count > 0) {
        const ssize_t taken = recv(fd, bytes, count < sizeof bytes ? count : sizeof bytes, 0);
        assert_true(taken > 0);
        count -= (size_t)taken;
    }
}

static void a_connection_crawls_where_hardly_anything_is_taken(void **state)
{
    (void)state;
    sh_socket_crawl crawl = {0};
    unsigned char info[512];
    socklen_t told = sizeof info;
    int ends[2];
    connect_two(ends);
    assert_int_equal(getsockopt(ends[0], IPPROTO_TCP, TCP_INFO, info, &told), 0);
    if (told < 128) /* the end of tcpi_bytes_acked */
        skip_because("this system, or its emulation, does not say what was acknowledged");
    for (int i = 0; i < 3; i++)
        sh_socket_look(ends[0], &crawl);
    assert_int_equal(crawl.looks, 0); /* nothing waits */
    fill(ends[0]);
    for (int i = 0; i < 1000000 && crawl.looks < 3; i++)
        sh_socket_look(ends[0], &crawl);
    for (uint32_t i = 4; i <= 8; i++) {
        sh_socket_look(ends[0], &crawl);
        assert_int_equal(crawl.looks, i);
    }
    for (int i = 0; i < 1000 && crawl.looks > 0; i++) {
        take(ends[1], 65536);
        sh_socket_look(ends[0], &crawl);
        fill(ends[0]);
    }
    assert_int_equal(crawl.looks, 0);
    close(ends[0]);
    sh_socket_look(-1, &crawl);
    assert_int_equal(crawl.looks, 0);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_a_silent_peer),
        cmocka_unit_test(who_takes_nothing_is_not_cut_off),
        cmocka_unit_test(a_connection_crawls_where_hardly_anything_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
