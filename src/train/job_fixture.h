/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: jobs with only the members that every job needs. */
#ifndef SHOAL_TRAIN_JOB_FIXTURE_H
#define SHOAL_TRAIN_JOB_FIXTURE_H

#include <stdio.h>

#include "base/test.h"
#include "shoal/job.h"

static inline sh_job some_job(void)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "lenet");
    snprintf(job.data, sizeof job.data, "digits");
    return job;
}

static inline sh_job local_job(const char *strategy)
{
    sh_job job = some_job();
    snprintf(job.strategy, sizeof job.strategy, "%s", strategy);
    return job;
}

#endif
