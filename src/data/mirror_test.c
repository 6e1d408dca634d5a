/* SPDX-License-Identifier: Apache-2.0 */
#include "data/mirror.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "data/delivery_fixture.h"
#include "data/mirror_cache.h"
#include "data/order.h"

enum { BLOCK = SH_MANIFEST_BLOCK_BYTES };

typedef struct bench {
    fixture s;
    sh_dataset *data;
    sh_manifest *manifest;
    sh_mirror *mirror;
    _Atomic uint32_t now, soon; /* calls of `want` */
    _Atomic uint32_t last;      /* block of the last call */
} bench;

static void note_want(void *context, uint32_t block, bool now)
{
    bench *b = context;
    atomic_fetch_add(now ? &b->now : &b->soon, 1);
    atomic_store(&b->last, block);
}

static sh_status open_limited(bench *b, uint64_t limit_bytes)
{
    sh_manifest *copy;
    SH_TRY(sh_manifest_parse(&copy, b->manifest->packed, b->manifest->packed_bytes,
                             b->manifest->root));
    const sh_mirror_options options = {limit_bytes, note_want, b};
    return sh_mirror_open(&b->mirror, copy, &options);
}

static void bench_open(bench *b)
{
    memset(b, 0, sizeof *b);
    b->data = set_open(&b->s, SET_MNIST);
    assert_ok(sh_manifest_make(&b->manifest, b->data));
    assert_ok(open_limited(b, 0));
}

static void reopen(bench *b)
{
    sh_mirror_close(b->mirror);
    assert_ok(open_limited(b, 0));
}

static void bench_close(bench *b)
{
    sh_mirror_close(b->mirror);
    sh_manifest_free(b->manifest);
    sh_dataset_close(b->data);
    fixture_remove(&b->s);
}

static uint32_t true_bytes(const bench *b, uint32_t block, uint8_t bytes[BLOCK])
{
    const sh_block about = sh_manifest_block(b->manifest, block);
    assert_ok(sh_contents_read(b->data, about.file, about.offset, bytes, about.bytes));
    return about.bytes;
}

static sh_status put(bench *b, uint32_t block)
{
    uint8_t bytes[BLOCK];
    const uint32_t count = true_bytes(b, block, bytes);
    return sh_mirror_put(b->mirror, block, bytes, count);
}

static void assert_block(bench *b, uint32_t block)
{
    uint8_t bytes[BLOCK], expected[BLOCK];
    const sh_block about = sh_manifest_block(b->manifest, block);
    true_bytes(b, block, expected);
    assert_true(sh_mirror_has(b->mirror, block));
    assert_ok(sh_mirror_read(b->mirror, about.file, about.offset, bytes, about.bytes));
    assert_memory_equal(bytes, expected, about.bytes);
}

static const char *path_of(bench *b, const char *name)
{
    char inner[160];
    snprintf(inner, sizeof inner, "cache/shoal/mirrors/%s/%s", b->manifest->root, name);
    return fixture_path(&b->s, inner);
}

static void what_was_put_is_read_also_later(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    const uint32_t blocks = b.manifest->blocks;
    assert_int_equal(sh_mirror_missing(b.mirror), blocks);
    for (uint32_t i = 0; i < blocks; i += 2) {
        assert_false(sh_mirror_has(b.mirror, i));
        assert_ok(put(&b, i));
        assert_ok(put(&b, i));
        assert_block(&b, i);
    }
    assert_int_equal(sh_mirror_counted(b.mirror).put, (blocks + 1) / 2);
    reopen(&b);
    assert_int_equal(sh_mirror_missing(b.mirror), blocks / 2);
    for (uint32_t i = 0; i < blocks; i++)
        assert_int_equal(sh_mirror_has(b.mirror, i), i % 2 == 0);
    for (uint32_t i = 1; i < blocks; i += 2)
        assert_ok(put(&b, i));
    for (uint32_t i = 0; i < blocks; i++)
        assert_block(&b, i);
    const size_t bytes = (size_t)b.manifest->contents.file[0].bytes;
    uint8_t *whole = malloc(bytes), *expected = malloc(bytes);
    assert_non_null(whole);
    assert_non_null(expected);
    assert_ok(sh_mirror_read(b.mirror, 0, 0, whole, bytes));
    assert_ok(sh_contents_read(b.data, 0, 0, expected, bytes));
    assert_memory_equal(whole, expected, bytes);
    free(whole);
    free(expected);
    assert_int_equal(sh_mirror_missing(b.mirror), 0);
    assert_int_equal(b.now + b.soon, 0);
    bench_close(&b);
    sh_mirror_close(NULL);
}

static void wrong_blocks_are_refused(void **state)
{
    (void)state;
    bench b;
    uint8_t bytes[BLOCK];
    bench_open(&b);
    const uint32_t count = true_bytes(&b, 3, bytes);
    bytes[100] ^= 4;
    assert_fails(sh_mirror_put(b.mirror, 3, bytes, count), SH_CORRUPT,
                 "block 3 (train-images-idx3-ubyte) has the wrong digest");
    bytes[100] ^= 4;
    assert_fails(sh_mirror_put(b.mirror, 4, bytes, count), SH_CORRUPT, "has the wrong digest");
    assert_fails(sh_mirror_put(b.mirror, 3, bytes, count - 1), SH_CORRUPT, "instead of 65536");
    assert_fails(sh_mirror_put(b.mirror, 3, bytes, 0), SH_CORRUPT, "has 0 bytes instead of");
    assert_fails(sh_mirror_put(b.mirror, b.manifest->blocks, bytes, count), SH_CORRUPT,
                 "was not requested");
    assert_int_equal(sh_mirror_counted(b.mirror).refused, 5);
    assert_int_equal(sh_mirror_missing(b.mirror), b.manifest->blocks);
    assert_ok(sh_mirror_put(b.mirror, 3, bytes, count));
    assert_block(&b, 3);
    bench_close(&b);
}

/* Marks without content, as after a power failure. */
static void damage_on_disk_is_found_at_the_first_use(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    const uint32_t blocks = b.manifest->blocks;
    for (uint32_t i = 0; i < blocks; i++)
        assert_ok(put(&b, i));
    sh_mirror_close(b.mirror);
    const int content = open(path_of(&b, "content"), O_WRONLY);
    assert_true(content >= 0);
    assert_int_equal(pwrite(content, "#!", 2, 2 * BLOCK + 77), 2);
    assert_int_equal(ftruncate(content, (off_t)(blocks - 1) * BLOCK), 0);
    close(content);
    assert_ok(open_limited(&b, 0));
    assert_int_equal(sh_mirror_missing(b.mirror), 0);
    assert_false(sh_mirror_touch(b.mirror, 0, 2 * BLOCK, 1));
    assert_false(sh_mirror_touch(b.mirror, 0, 2 * BLOCK, 1));
    assert_int_equal(b.soon, 1);
    assert_int_equal(b.last, 2);
    const sh_block last = sh_manifest_block(b.manifest, blocks - 1);
    assert_false(sh_mirror_touch(b.mirror, last.file, last.offset, last.bytes));
    assert_int_equal(b.last, blocks - 1);
    assert_int_equal(sh_mirror_counted(b.mirror).damaged, 2);
    assert_int_equal(sh_mirror_missing(b.mirror), 2);
    reopen(&b);
    assert_int_equal(sh_mirror_missing(b.mirror), 2);
    assert_ok(put(&b, 2));
    assert_ok(put(&b, blocks - 1));
    for (uint32_t i = 0; i < blocks; i++)
        assert_block(&b, i);
    bench_close(&b);
}

typedef struct reader {
    pthread_t thread;
    bench *bench;
    uint32_t block;
    sh_status status;
    char message[SH_MESSAGE_BYTES];
    uint8_t bytes[8];
} reader;

static void *reader_main(void *argument)
{
    reader *r = argument;
    const sh_block about = sh_manifest_block(r->bench->manifest, r->block);
    r->status = sh_mirror_read(r->bench->mirror, about.file, about.offset, r->bytes, 8);
    snprintf(r->message, sizeof r->message, "%s", sh_message());
    return NULL;
}

static void start(reader *r, bench *b, uint32_t block)
{
    *r = (reader){.bench = b, .block = block};
    assert_int_equal(pthread_create(&r->thread, NULL, reader_main, r), 0);
}

static void await_wants(const bench *b, uint32_t count)
{
    while (atomic_load(&b->now) < count)
        sched_yield();
}

static void readers_wait_for_what_is_missing(void **state)
{
    (void)state;
    enum { READERS = 4 };
    bench b;
    uint8_t bytes[BLOCK];
    reader readers[READERS];
    bench_open(&b);
    assert_false(sh_mirror_touch(b.mirror, 0, 0, 1));
    assert_int_equal(b.soon, 1);
    for (int i = 0; i < READERS; i++)
        start(&readers[i], &b, (uint32_t)i / 2 * 5);
    await_wants(&b, 2);
    assert_ok(put(&b, 9));
    assert_ok(put(&b, 5));
    assert_ok(put(&b, 0));
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i].thread, NULL);
        assert_int_equal(readers[i].status, SH_OK);
        true_bytes(&b, readers[i].block, bytes);
        assert_memory_equal(readers[i].bytes, bytes, 8);
    }
    assert_int_equal(b.now, 2);
    assert_int_equal(b.soon, 1);
    bench_close(&b);
}

static void a_failed_source_ends_the_wait(void **state)
{
    (void)state;
    bench b;
    reader r;
    uint8_t byte;
    bench_open(&b);
    assert_ok(put(&b, 1));
    start(&r, &b, 0);
    await_wants(&b, 1);
    sh_mirror_fail(b.mirror, SH_PEER_LOST, "no device is left that has the data");
    sh_mirror_fail(b.mirror, SH_IO, "later");
    pthread_join(r.thread, NULL);
    assert_int_equal(r.status, SH_PEER_LOST);
    assert_string_equal(r.message, "no device is left that has the data");
    assert_fails(sh_mirror_read(b.mirror, 0, 0, &byte, 1), SH_PEER_LOST, "no device is left");
    assert_block(&b, 1);
    assert_false(sh_mirror_touch(b.mirror, 0, 0, 1));
    assert_int_equal(b.soon, 0);
    bench_close(&b);
}

typedef struct shared {
    _Atomic uint32_t puts;
    _Atomic uint32_t allowed; /* writers wait at this count */
} shared;

static shared *share(void)
{
    shared *all =
        mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(all != MAP_FAILED);
    return all;
}

/* Puts missing blocks in the order of `seed`. */
static pid_t start_writer(bench *b, shared *all, uint64_t seed)
{
    const pid_t process = fork();
    assert_true(process >= 0);
    if (process > 0)
        return process;
    sh_order order;
    sh_order_init(&order, seed, 0, b->manifest->blocks);
    if (open_limited(b, 0) != SH_OK)
        _exit(1);
    for (uint32_t i = 0; i < b->manifest->blocks; i++) {
        const uint32_t block = sh_order_at(&order, i);
        if (sh_mirror_has(b->mirror, block))
            continue;
        while (atomic_load(&all->puts) >= atomic_load(&all->allowed))
            sched_yield();
        if (put(b, block) != SH_OK)
            _exit(1);
        atomic_fetch_add(&all->puts, 1);
    }
    _exit(0);
}

static void a_killed_writer_loses_at_most_one_block(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    shared *all = share();
    uint32_t kills = 0, cut = 0; /* put, but not counted */
    for (uint64_t round = 0; sh_mirror_missing(b.mirror) > 0; round++) {
        const uint32_t before = b.manifest->blocks - sh_mirror_missing(b.mirror);
        const uint32_t counter[4] = {(uint32_t)round}, key[2] = {3, 4};
        uint32_t draw[4];
        sh_philox(counter, key, draw);
        atomic_store(&all->puts, 0);
        atomic_store(&all->allowed, 1 + draw[0] % 3);
        sh_mirror_close(b.mirror);
        const pid_t writer = start_writer(&b, all, round);
        while (atomic_load(&all->puts) + 1 < atomic_load(&all->allowed) &&
               waitpid(writer, NULL, WNOHANG) == 0)
            sched_yield();
        for (volatile uint32_t i = 0; i < draw[1] % 40000; i++)
            ; /* about one block's time */
        kill(writer, SIGKILL);
        (void)waitpid(writer, NULL, 0);
        kills++;
        assert_ok(open_limited(&b, 0));
        const uint32_t puts = atomic_load(&all->puts);
        const uint32_t after = b.manifest->blocks - sh_mirror_missing(b.mirror);
        assert_in_range(after, before + puts, before + puts + 1);
        cut += after > before + puts;
        for (uint32_t i = 0; i < b.manifest->blocks; i++)
            if (sh_mirror_has(b.mirror, i))
                assert_block(&b, i);
        assert_int_equal(sh_mirror_counted(b.mirror).damaged, 0);
    }
    assert_true(kills > 3);
    print_message("%u kills, %u behind a mark and before its count\n", kills, cut);
    munmap(all, sizeof *all);
    bench_close(&b);
}

static void two_processes_share_a_mirror(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    shared *all = share();
    atomic_store(&all->allowed, UINT32_MAX);
    pid_t writers[2];
    for (int i = 0; i < 2; i++)
        writers[i] = start_writer(&b, all, 40 + (uint64_t)i);
    for (int i = 0; i < 2; i++) {
        int status = -1;
        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        assert_int_equal(status, 0);
    }
    for (uint32_t i = 0; i < b.manifest->blocks; i++)
        assert_block(&b, i);
    assert_int_equal(sh_mirror_missing(b.mirror), 0);
    assert_int_equal(b.now, 0);
    assert_int_equal(sh_mirror_counted(b.mirror).put, 0);
    /* Each process uses some blocks of the other. */
    assert_in_range(all->puts, b.manifest->blocks, 2 * b.manifest->blocks);
    munmap(all, sizeof *all);
    bench_close(&b);
}

static void a_full_disk_is_told(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    sh_mirror_close(b.mirror);
    b.mirror = NULL;
    char folder[SCRATCH_BYTES + 256];
    snprintf(folder, sizeof folder, "%s", fixture_path(&b.s, "cache"));
    scratch_mount(folder, 6 * 1048576);
    assert_fails(open_limited(&b, 1000), SH_NO_SPACE, "the cache is limited to 1000");
    assert_ok(open_limited(&b, 0));
    static uint8_t zeros[1048576];
    FILE *file = fopen(fixture_path(&b.s, "cache/other"), "wb");
    assert_non_null(file);
    setvbuf(file, NULL, _IONBF, 0);
    while (fwrite(zeros, 1, sizeof zeros, file) == sizeof zeros)
        ; /* another file fills the disk */
    (void)fclose(file);
    uint32_t block = 0;
    sh_status status = SH_OK;
    while (status == SH_OK && block < b.manifest->blocks)
        status = put(&b, block++);
    assert_int_equal(status, SH_NO_SPACE);
    assert_non_null(strstr(sh_message(), "/cache/shoal/mirrors: the disk is too full"));
    assert_non_null(strstr(sh_message(), " more bytes are needed, "));
    assert_false(sh_mirror_has(b.mirror, block - 1));
    assert_int_equal(unlink(fixture_path(&b.s, "cache/other")), 0);
    assert_ok(put(&b, block - 1));
    assert_block(&b, block - 1);
    sh_mirror_close(b.mirror);
    b.mirror = NULL;
    scratch_unmount(folder);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_read_also_later),
        cmocka_unit_test(wrong_blocks_are_refused),
        cmocka_unit_test(damage_on_disk_is_found_at_the_first_use),
        cmocka_unit_test(readers_wait_for_what_is_missing),
        cmocka_unit_test(a_failed_source_ends_the_wait),
        cmocka_unit_test(a_killed_writer_loses_at_most_one_block),
        cmocka_unit_test(two_processes_share_a_mirror),
        cmocka_unit_test(a_full_disk_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
