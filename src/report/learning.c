/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database has the job as it is now. So this goes from the last point to the first and undoes
 * each change of the job that is later than the point.
 */
#include "report/learning.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/quality.h"
#include "store/run.h"
#include "train/job_json.h"
#include "train/rate.h"

typedef struct course {
    const sh_run_digest *digest;
    json_t *json;          /* of the current point */
    const json_t *changes; /* `left` are not undone */
    size_t left;
    sh_rate rate;
    sh_schedule schedule;
    double lr;
    bool known;
} course;

static void settle(course *c)
{
    sh_job job;
    c->known = sh_job_from_json(&job, c->json) == SH_OK && sh_job_local_steps(&job) == 0 &&
               sh_rate_parse(&c->rate, job.schedule, (double)job.warmup) == SH_OK &&
               c->digest->epoch_steps > 0;
    if (!c->known)
        return;
    const uint64_t epoch_steps = c->digest->epoch_steps;
    c->lr = (double)job.lr;
    c->schedule = (sh_schedule){
        .epoch_steps = epoch_steps,
        .total_steps = job.steps != 0 ? job.steps : job.epochs * epoch_steps,
    };
}

static void take_back(course *c, uint64_t steps)
{
    bool changed = false;
    while (c->left > 0) {
        json_t *change = json_array_get(c->changes, c->left - 1), *value;
        const json_int_t at = json_integer_value(json_object_get(change, "step"));
        const char *key;
        if (at <= 0 || (uint64_t)at <= steps)
            break;
        json_object_foreach(change, key, value)
        {
            if (json_is_array(value) && json_object_get(c->json, key) != NULL)
                changed |= json_object_set(c->json, key, json_array_get(value, 0)) == 0;
        }
        c->left--;
    }
    if (changed)
        settle(c);
}

sh_status sh_learning_rates(sh_run_digest *digest, const char *path)
{
    json_t *now;
    course c = {.digest = digest, .json = json_loads(digest->job, 0, NULL)};
    const sh_status status = sh_quality_file(&now, path, SH_RUN_JOB);
    if (status == SH_NO_MEMORY) {
        json_decref(c.json);
        return status;
    }
    if (status != SH_OK)
        now = NULL; /* a damaged job.json has no changes */
    c.changes = json_object_get(now, "changes");
    c.left = json_array_size(c.changes);
    if (json_is_object(c.json)) {
        (void)json_object_del(c.json, "changes");
        settle(&c);
    }
    for (size_t i = digest->point_count; json_is_object(c.json) && i > 0; i--) {
        sh_digest_point *point = &digest->points[i - 1];
        if (!(point->step >= 1)) /* or NaN */
            continue;
        const uint64_t before = (uint64_t)point->step - 1;
        take_back(&c, before);
        if (c.known)
            point->learning_rate = sh_rate_at(&c.rate, c.lr, &c.schedule, before);
    }
    json_decref(now);
    json_decref(c.json);
    return SH_OK;
}
