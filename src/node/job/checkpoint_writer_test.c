/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/checkpoint_writer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/scratch.h"
#include "base/test.h"
#include "store/checkpoint.h"
#include "train/snapshot.h"

typedef struct place {
    char folder[SCRATCH_BYTES], file[SCRATCH_BYTES + 32];
    sh_session *session;
    sh_checkpoint_writer writer;
} place;

static void open_place(place *p)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "mlp:784-8-10");
    snprintf(job.data, sizeof job.data, "digits:20/10");
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_session_open(&p->session, &job, NULL));
    scratch_make(p->folder);
    snprintf(p->file, sizeof p->file, "%s/" SH_CHECKPOINT_LAST, p->folder);
    sh_checkpoint_writer_init(&p->writer);
    p->writer.session = p->session;
    p->writer.folder = p->folder;
}

static void close_place(place *p)
{
    sh_checkpoint_writer_release(&p->writer);
    sh_session_close(p->session);
    scratch_remove(p->folder);
}

static uint64_t steps_on_disk(const place *p)
{
    char used[SH_PATH_BYTES];
    sh_safetensors *file;
    uint64_t steps;
    if (access(p->file, F_OK) != 0)
        return UINT64_MAX;
    assert_ok(sh_checkpoint_open(&file, used, p->folder));
    assert_ok(sh_snapshot_read_steps(&steps, file));
    sh_safetensors_close(file);
    return steps;
}

static void what_stands_is_written_once_in_haste(void **state)
{
    (void)state;
    place p;
    open_place(&p);
    p.session->replica->steps = 3;
    assert_ok(sh_checkpoint_writer_write(&p.writer, true));
    assert_int_equal(steps_on_disk(&p), 3);
    assert_int_equal(unlink(p.file), 0);
    assert_ok(sh_checkpoint_writer_write(&p.writer, true));
    assert_int_equal(steps_on_disk(&p), UINT64_MAX);
    assert_ok(sh_checkpoint_writer_write(&p.writer, false));
    assert_int_equal(steps_on_disk(&p), 3);
    p.session->replica->steps = 4;
    sh_checkpoint_writer_write_now(&p.writer);
    assert_int_equal(steps_on_disk(&p), 4);
    close_place(&p);
}

static void a_rescue_says_what_it_could_do(void **state)
{
    (void)state;
    place p;
    sh_rescue rescue = {0};
    open_place(&p);
    p.session->replica->steps = 12;
    sh_checkpoint_writer_rescue(&p.writer, NULL, &rescue);
    assert_int_equal(rescue.steps, 12);
    assert_string_equal(rescue.text, "a checkpoint of step 12 was written");
    assert_int_equal(steps_on_disk(&p), 12);

    /* The step's thread hangs while it changes the replica, which is then invalid. */
    p.session->replica->steps = 13;
    rescue = (sh_rescue){0};
    sh_replica_lock(p.session->replica);
    sh_checkpoint_writer_rescue(&p.writer, NULL, &rescue);
    sh_replica_unlock(p.session->replica);
    assert_int_equal(rescue.steps, 0);
    assert_string_equal(rescue.text, "no checkpoint could be written (the weights are being "
                                     "changed); those on the disk stay");
    assert_int_equal(steps_on_disk(&p), 12);
    assert_true(sh_replica_lock_within(p.session->replica, 0));
    sh_replica_unlock(p.session->replica);

    p.writer.folder = "/proc/none";
    sh_checkpoint_writer_rescue(&p.writer, NULL, &rescue);
    assert_int_equal(rescue.steps, 0);
    assert_non_null(strstr(rescue.text, "no checkpoint could be written (/proc/none"));
    p.writer.folder = NULL;
    rescue = (sh_rescue){0};
    sh_checkpoint_writer_rescue(&p.writer, NULL, &rescue);
    assert_string_equal(rescue.text, "");
    close_place(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stands_is_written_once_in_haste),
        cmocka_unit_test(a_rescue_says_what_it_could_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
