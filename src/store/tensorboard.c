/* SPDX-License-Identifier: Apache-2.0 */
#include "store/tensorboard.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/file.h"

#define BUFFER_BYTES 16384
#define EVENT_BYTES 1024
#define FLUSH_SECONDS 5.0
#define HEAD_BYTES 12
#define CHECK_BYTES 4

struct sh_tensorboard {
    int fd;
    bool failing;
    char path[SH_PATH_BYTES];
    off_t written; /* of whole records */
    double flushed;
    size_t used;
    unsigned char buffer[BUFFER_BYTES];
};

typedef struct message {
    size_t bytes;
    unsigned char data[EVENT_BYTES];
} message;

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 }; /* wire types of Protocol Buffers */

/* Returns the CRC-32C of the data, masked as the format requires. */
static uint32_t check_of(const unsigned char *data, size_t bytes)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0x82f63b78 & -(crc & 1));
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

static void put_little(unsigned char *place, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        place[i] = (unsigned char)(number >> 8 * i);
}

static void put_fixed(message *m, uint64_t number, size_t bytes)
{
    assert(m->bytes + bytes <= EVENT_BYTES);
    put_little(m->data + m->bytes, number, bytes);
    m->bytes += bytes;
}

static void put_varint(message *m, uint64_t number)
{
    for (; number > 127; number >>= 7)
        put_fixed(m, number | 128, 1);
    put_fixed(m, number, 1);
}

static void put_key(message *m, unsigned field, unsigned type)
{
    put_varint(m, field << 3 | type);
}

static void put_bytes(message *m, unsigned field, const void *data, size_t bytes)
{
    put_key(m, field, BYTES);
    put_varint(m, bytes);
    assert(m->bytes + bytes <= EVENT_BYTES);
    memcpy(m->data + m->bytes, data, bytes);
    m->bytes += bytes;
}

static void begin_event(message *m, double at, uint64_t step)
{
    uint64_t bits;
    memcpy(&bits, &at, sizeof bits);
    m->bytes = 0;
    put_key(m, 1, FIXED64);
    put_fixed(m, bits, 8);
    put_key(m, 2, VARINT);
    put_varint(m, step);
}

sh_status sh_tensorboard_flush(sh_tensorboard *board)
{
    for (size_t at = 0; at < board->used;) {
        const ssize_t wrote = write(board->fd, board->buffer + at, board->used - at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) { /* readers stop at an incomplete record */
            const int error = wrote < 0 ? errno : ENOSPC;
            const int cut = ftruncate(board->fd, board->written);
            (void)cut;
            board->failing = true;
            return sh_fail_errno(error, "%s: cannot write", board->path);
        }
        at += (size_t)wrote;
    }
    board->written += (off_t)board->used;
    board->used = 0;
    board->failing = false;
    return SH_OK;
}

bool sh_tensorboard_is_failing(const sh_tensorboard *board)
{
    return board != NULL && board->failing;
}

static sh_status add_record(sh_tensorboard *board, const message *event, double at)
{
    const bool soon = fabs(at - board->flushed) < FLUSH_SECONDS;
    if (board->used + HEAD_BYTES + event->bytes + CHECK_BYTES > BUFFER_BYTES) {
        if (board->failing && soon)
            return SH_OK; /* dropped */
        board->flushed = at;
        SH_TRY(sh_tensorboard_flush(board));
    }
    unsigned char *place = board->buffer + board->used;
    put_little(place, event->bytes, 8);
    put_little(place + 8, check_of(place, 8), CHECK_BYTES);
    memcpy(place + HEAD_BYTES, event->data, event->bytes);
    put_little(place + HEAD_BYTES + event->bytes, check_of(event->data, event->bytes), CHECK_BYTES);
    board->used += HEAD_BYTES + event->bytes + CHECK_BYTES;
    if (soon)
        return SH_OK;
    board->flushed = at;
    return sh_tensorboard_flush(board);
}

sh_status sh_tensorboard_open(sh_tensorboard **board, const sh_tensorboard_options *options)
{
    static const char version[] = "brain.Event:2";
    static const unsigned char start[] = {1 << 3 | VARINT, 1};
    char name[256];
    message event;
    snprintf(name, sizeof name, SH_TENSORBOARD_PREFIX "%010lld.%.128s.%ld", (long long)options->at,
             options->host, (long)getpid());
    for (char *at = name; *at != '\0'; at++)
        if (*at == '/')
            *at = '-';
    sh_tensorboard *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a file for TensorBoard");
    fresh->flushed = options->at;
    fresh->fd = -1;
    sh_status status;
    SH_TRY_DONE(sh_path_join(fresh->path, options->folder, name));
    SH_TRY_DONE(sh_file_open_own(&fresh->fd, fresh->path, O_WRONLY | O_CREAT | O_APPEND));
    fresh->written = lseek(fresh->fd, 0, SEEK_END);
    begin_event(&event, options->at, 0);
    put_bytes(&event, 3, version, sizeof version - 1);
    SH_TRY_DONE(add_record(fresh, &event, options->at));
    begin_event(&event, options->at, options->start_step + 1);
    put_bytes(&event, 7, start, sizeof start);
    SH_TRY_DONE(add_record(fresh, &event, options->at));
    SH_TRY_DONE(sh_tensorboard_flush(fresh));
    *board = fresh;
    return SH_OK;
done:
    sh_tensorboard_close(fresh);
    return status;
}

sh_status sh_tensorboard_add(sh_tensorboard *board, double at, uint64_t step,
                             const sh_scalar *scalars, size_t count)
{
    message event, summary = {0};
    for (size_t i = 0; i < count; i++) {
        message value = {0};
        uint32_t bits;
        const float number = (float)scalars[i].value;
        if (!isfinite(scalars[i].value))
            continue;
        memcpy(&bits, &number, sizeof bits);
        put_bytes(&value, 1, scalars[i].tag, strlen(scalars[i].tag));
        put_key(&value, 2, FIXED32);
        put_fixed(&value, bits, 4);
        put_bytes(&summary, 1, value.data, value.bytes);
    }
    if (summary.bytes == 0)
        return SH_OK;
    begin_event(&event, at, step);
    put_bytes(&event, 5, summary.data, summary.bytes);
    return add_record(board, &event, at);
}

void sh_tensorboard_close(sh_tensorboard *board)
{
    if (board == NULL)
        return;
    const sh_status status = board->fd < 0 ? SH_OK : sh_tensorboard_flush(board);
    (void)status;
    if (board->fd >= 0)
        close(board->fd);
    free(board);
}
