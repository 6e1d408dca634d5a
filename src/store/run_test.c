/* SPDX-License-Identifier: Apache-2.0 */
#include "store/run.h"

#include <time.h>

#include "base/scratch.h"

static char folder[SH_PATH_BYTES];
static char path[SH_PATH_BYTES];

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    return sh_path_join(path, folder, "a") == SH_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

static sh_status open_path(sh_run **run, const char *at, bool resume)
{
    return sh_run_open(run, &(sh_run_options){.path = at, .resume = resume});
}

static void make_run(const char *at)
{
    sh_run *run;
    json_t *job = json_pack("{s:s, s:i}", "model", "lenet", "seed", 1);
    assert_ok(open_path(&run, at, false));
    assert_ok(sh_run_write_json(run, SH_RUN_JOB, job));
    json_decref(job);
    sh_run_close(run);
}

static void names_new_runs(void **state)
{
    (void)state;
    static const struct {
        const char *model, *data, *name;
    } cases[] = {
        {"lenet", "digits", "lenet-digits-20261120-101203"},
        {"lenet", "digits", "lenet-digits-20261120-101203-2"},
        {"lenet", "digits", "lenet-digits-20261120-101203-3"},
        {"mlp:784-128-64-10", "mnist:/data/mnist/",
         "mlp-784-128-64-10-mnist-data-mnist-20261120-101203"},
        {"../../etc/passwd", ".hidden", "etc-passwd-hidden-20261120-101203"},
        {"a_b.onnx", "x y\n\xC3\xA9z", "a_b.onnx-x-y-z-20261120-101203"},
        {"//", "", "unnamed-unnamed-20261120-101203"},
        {"0123456789012345678901234567890123456789abc", "d",
         "0123456789012345678901234567890123456789-d-20261120-101203"},
    };
    setenv("TZ", "XYZ-2", 1); /* two hours east */
    tzset();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_run *run;
        char expected[SH_PATH_BYTES];
        assert_ok(sh_path_join(expected, path, cases[i].name));
        assert_ok(sh_run_open(&run, &(sh_run_options){.root = path,
                                                      .model = cases[i].model,
                                                      .data = cases[i].data,
                                                      .now = 1795162323}));
        assert_string_equal(sh_run_folder(run), expected);
        assert_true(sh_folder_exists(sh_run_checkpoints(run)));
        sh_run_close(run);
    }
    unsetenv("TZ");
    tzset();
}

static void holds_what_is_written(void **state)
{
    (void)state;
    sh_run *run;
    char file[SH_PATH_BYTES];
    json_t *job = json_pack("{s:s, s:[i,f]}", "model", "lenet", "list", 1, 0.5);
    assert_ok(open_path(&run, path, false));
    assert_ok(sh_run_write_json(run, SH_RUN_JOB, job));
    assert_ok(sh_run_path(run, SH_RUN_JOB, file));
    scratch_expect(file, "{\n  \"model\": \"lenet\",\n  \"list\": [\n    1,\n    0.5\n  ]\n}\n");
    assert_ok(sh_run_append_line(run, SH_RUN_METRICS, "{\"epoch\": 1}"));
    assert_ok(sh_run_append_line(run, SH_RUN_METRICS, "{\"epoch\": 2}"));
    assert_ok(sh_run_path(run, SH_RUN_METRICS, file));
    scratch_expect(file, "{\"epoch\": 1}\n{\"epoch\": 2}\n");
    sh_run_close(run);
    sh_run_close(NULL);

    json_decref(job);
}

static void writes_objects_and_lists_only(void **state)
{
    (void)state;
    sh_run *run;
    json_t *json = json_integer(1);
    make_run(path);
    assert_ok(open_path(&run, path, true));
    assert_fails(sh_run_write_json(run, SH_RUN_SUMMARY, json), SH_INVALID, "not a JSON object");
    json_decref(json);
    sh_run_close(run);
}

static void keeps_out_of_folders_of_others(void **state)
{
    (void)state;
    sh_run *const untouched = (sh_run *)&folder;
    sh_run *run = untouched;
    char file[SH_PATH_BYTES];
    assert_fails(open_path(&run, path, true), SH_NOT_FOUND, "/a: no run to resume there");
    assert_ok(sh_folder_make(path));
    assert_fails(open_path(&run, path, true), SH_NOT_FOUND,
                 "/a: holds no run to resume (no job.json)");
    assert_ok(sh_path_join(file, path, "thesis.tex"));
    scratch_write(file, "x", 1);
    assert_fails(open_path(&run, path, false), SH_REFUSED,
                 "/a: is not empty and not a shoal run: choose another folder with --run");
    assert_fails(open_path(&run, file, false), SH_INVALID, "thesis.tex: is a file, not a folder");
    assert_fails(open_path(&run, file, true), SH_INVALID, "thesis.tex: is a file, not the folder");
    assert_int_equal(scratch_count(path), 1);
    assert_ptr_equal(run, untouched);
}

static void put(const char *name)
{
    char file[SH_PATH_BYTES];
    assert_ok(sh_path_join(file, path, name));
    scratch_write(file, "x", 1);
}

static void tells_new_runs_from_old_ones(void **state)
{
    (void)state;
    sh_run *run;
    assert_ok(sh_folder_make(path));
    make_run(path);
    put("checkpoints/last.safetensors");
    assert_fails(open_path(&run, path, false), SH_REFUSED,
                 "/a: holds a run already: continue it with --resume, or choose another folder");
    assert_ok(open_path(&run, path, true));
    sh_run_close(run);
}

static void a_beginning_counts_as_empty(void **state)
{
    (void)state;
    static const char *const left[] = {"job.json.tmp-1-0",
                                       "job.json",
                                       "events.log",
                                       "metrics.jsonl",
                                       "token.tmp-1-0",
                                       "token",
                                       "token.key",
                                       "events.out.tfevents.1",
                                       "checkpoints/last.safetensors.tmp-1-0"};
    sh_run *run;
    assert_ok(open_path(&run, path, false));
    sh_run_close(run);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        put(left[i]);
    assert_ok(open_path(&run, path, false));
    assert_int_equal(scratch_count(path), 5);
    assert_int_equal(scratch_count(sh_run_checkpoints(run)), 0);
    sh_run_close(run);
}

static void take_away(const char *name)
{
    char file[SH_PATH_BYTES];
    assert_ok(sh_path_join(file, path, name));
    assert_int_equal(unlink(file), 0);
}

static void what_only_looks_like_a_beginning_is_kept(void **state)
{
    (void)state;
    sh_run *run;
    assert_ok(sh_folder_make(path));
    put("job.json");
    assert_fails(open_path(&run, path, false), SH_REFUSED, "/a: holds a run already");
    take_away("job.json");
    put("metrics.jsonl");
    assert_fails(open_path(&run, path, false), SH_REFUSED, "/a: is not empty and not a shoal run");
    take_away("metrics.jsonl");
    assert_ok(open_path(&run, path, false));
    sh_run_close(run);
    put("checkpoints/previous.safetensors");
    assert_fails(open_path(&run, path, false), SH_REFUSED, "/a: is not empty and not a shoal run");
}

static void one_at_a_time(void **state)
{
    (void)state;
    sh_run *run, *other;
    char expected[128], file[SH_PATH_BYTES];
    make_run(path);
    assert_false(sh_run_is_open(path));
    assert_ok(open_path(&run, path, true));
    assert_true(sh_run_is_open(path));
    snprintf(expected, sizeof expected,
             "/a: is in use by another shoal (process %ld): wait for its", (long)getpid());
    assert_fails(open_path(&other, path, true), SH_REFUSED, expected);
    assert_fails(open_path(&other, path, false), SH_REFUSED, expected);
    assert_ok(sh_run_path(run, SH_RUN_LOCK, file));
    assert_int_equal(truncate(file, 0), 0);
    assert_fails(open_path(&other, path, true), SH_REFUSED, "is in use by another shoal: wait for");
    assert_true(sh_run_is_open(path));
    sh_run_close(run);
    assert_false(sh_run_is_open(path));
    assert_false(sh_run_is_open(folder));
    assert_ok(open_path(&other, path, true));
    sh_run_close(other);

    assert_ok(sh_path_join(path, folder, "b"));
    assert_ok(open_path(&run, path, false));
    assert_fails(open_path(&other, path, false), SH_REFUSED, expected + strlen("/a"));
    sh_run_close(run);
}

/* A link would redirect writes to another file. */
static void opens_nothing_through_a_link(void **state)
{
    (void)state;
    static const char *const names[] = {SH_RUN_LOCK,
                                        SH_RUN_JOB,
                                        SH_RUN_EVENTS,
                                        SH_RUN_METRICS,
                                        SH_RUN_TOKEN,
                                        SH_RUN_TOKEN_KEY,
                                        SH_RUN_NETWORK,
                                        SH_RUN_DATABASE,
                                        SH_RUN_DATABASE "-wal",
                                        SH_RUN_DATABASE "-shm",
                                        "events.out.tfevents.1",
                                        SH_RUN_CHECKPOINTS};
    char victim[SH_PATH_BYTES], inner[SH_PATH_BYTES], link[SH_PATH_BYTES], expected[256];
    assert_ok(sh_path_join(victim, folder, "victim"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        sh_run *run;
        make_run(path);
        put("metrics.jsonl");
        assert_ok(sh_path_join(link, path, names[i]));
        scratch_remove(link);
        assert_ok(sh_folder_make(victim));
        assert_ok(sh_path_join(inner, victim, "last.safetensors.tmp-1-0"));
        scratch_write(inner, "keep", 4);
        assert_int_equal(symlink(i == sizeof names / sizeof *names - 1
                                     ? "../victim"
                                     : "../victim/last.safetensors.tmp-1-0",
                                 link),
                         0);
        snprintf(expected, sizeof expected, "/a/%s: is a symbolic link", names[i]);
        assert_fails(open_path(&run, path, true), SH_REFUSED, expected);
        assert_fails(open_path(&run, path, false), SH_REFUSED, expected);
        assert_false(sh_run_is_open(path));
        scratch_expect(inner, "keep");
        assert_int_equal(scratch_count(victim), 1);
        scratch_remove(path);
    }

    sh_run *run;
    make_run(path);
    assert_ok(sh_path_join(link, folder, "link"));
    assert_int_equal(symlink("a", link), 0);
    assert_ok(open_path(&run, link, true));
    assert_true(sh_run_is_open(path));
    /* A link made later is not followed either. */
    assert_ok(sh_path_join(link, path, SH_RUN_EVENTS));
    assert_int_equal(symlink("../victim/last.safetensors.tmp-1-0", link), 0);
    assert_fails(sh_run_append_line(run, SH_RUN_EVENTS, "x"), SH_REFUSED, "is a symbolic link");
    scratch_expect(inner, "keep");
    sh_run_close(run);
}

static void waits_for_no_pipe(void **state)
{
    (void)state;
    sh_run *run;
    char lock[SH_PATH_BYTES];
    make_run(path);
    assert_ok(sh_path_join(lock, path, SH_RUN_LOCK));
    scratch_remove(lock);
    assert_int_equal(mkfifo(lock, 0600), 0);
    alarm(10); /* ends the test */
    assert_false(sh_run_is_open(path));
    assert_fails(open_path(&run, path, true), SH_INVALID, "/a/lock: is not a file");
    alarm(0);
}

static void logs_events(void **state)
{
    (void)state;
    sh_run *run;
    char file[SH_PATH_BYTES], *text;
    assert_ok(open_path(&run, path, false));
    sh_log_to(SH_LOG_INFO, sh_run_log_sink, run);
    sh_log(SH_LOG_INFO, "run.started", "epochs=%d", 3);
    sh_log(SH_LOG_WARN, "net.refused", "peer=%s", "x");
    assert_ok(sh_run_path(run, SH_RUN_EVENTS, file));
    assert_ok(sh_file_read(&text, NULL, file, 4096));
    assert_non_null(strstr(text, "Z INFO run.started epochs=3\n"));
    assert_non_null(strstr(text, "Z WARN net.refused peer=x\n"));
    free(text);

    /* The line is dropped, and the error message stays. */
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkdir(file, 0700), 0);
    assert_fails(sh_fail(SH_PEER_LOST, "pi was lost"), SH_PEER_LOST, "pi was lost");
    sh_log(SH_LOG_WARN, "net.refused", "peer=%s", "x");
    assert_string_equal(sh_message(), "pi was lost");
    sh_log_to(SH_LOG_OFF, NULL, NULL);
    sh_run_close(run);
}

static void says_where_the_disk_is_full(void **state)
{
    (void)state;
    sh_run *run;
    scratch_mount(folder, 65536);
    assert_ok(open_path(&run, path, false));
    char *large = malloc(100001), file[SH_PATH_BYTES];
    assert_non_null(large);
    memset(large, 'x', 100000);
    large[100000] = '\0';
    json_t *small = json_pack("{s:i}", "seed", 1), *json = json_pack("{s:s}", "text", large);
    assert_ok(sh_run_write_json(run, SH_RUN_JOB, small));
    assert_fails(sh_run_write_json(run, SH_RUN_JOB, json), SH_NO_SPACE, "job.json: cannot write");
    assert_ok(sh_run_path(run, SH_RUN_JOB, file));
    scratch_expect(file, "{\n  \"seed\": 1\n}\n");
    assert_ok(sh_run_append_line(run, SH_RUN_METRICS, "{}"));
    assert_fails(sh_run_append_line(run, SH_RUN_METRICS, large), SH_NO_SPACE, "metrics.jsonl");
    assert_ok(sh_run_path(run, SH_RUN_METRICS, file));
    scratch_expect(file, "{}\n");
    json_decref(json);
    json_decref(small);
    free(large);
    sh_run_close(run);
    scratch_unmount(folder);
}

static void says_where_permission_lacks(void **state)
{
    (void)state;
    sh_run *run;
    assert_ok(sh_folder_make(path));
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chmod(path, 0555), 0);
    const bool root = geteuid() == 0;
    if (root)
        assert_int_equal(seteuid(65534), 0); /* root may write anywhere */
    const sh_status status = open_path(&run, path, false);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(path, 0755), 0);
    assert_fails(status, SH_PERMISSION, "/a/lock: cannot open: Permission denied; check who owns");
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(names_new_runs),
        WITH_FOLDER(holds_what_is_written),
        WITH_FOLDER(writes_objects_and_lists_only),
        WITH_FOLDER(keeps_out_of_folders_of_others),
        WITH_FOLDER(tells_new_runs_from_old_ones),
        WITH_FOLDER(a_beginning_counts_as_empty),
        WITH_FOLDER(what_only_looks_like_a_beginning_is_kept),
        WITH_FOLDER(one_at_a_time),
        WITH_FOLDER(opens_nothing_through_a_link),
        WITH_FOLDER(waits_for_no_pipe),
        WITH_FOLDER(logs_events),
        WITH_FOLDER(says_where_the_disk_is_full),
        WITH_FOLDER(says_where_permission_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
