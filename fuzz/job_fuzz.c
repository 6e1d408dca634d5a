/* SPDX-License-Identifier: Apache-2.0 */
/* A job as text, as in a welcome: an accepted one is the same after being written and read again.
 */
#include <stdlib.h>
#include <string.h>

#include "train/job_json.h"
#include "train/job_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void there_and_back(const sh_job *job)
{
    char *text;
    sh_job again;
    if (sh_job_to_text(&text, job) != SH_OK || sh_job_from_text(&again, text) != SH_OK ||
        !sh_job_same(job, &again))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sh_job job;
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (sh_job_from_text(&job, text) == SH_OK) {
        there_and_back(&job);
        (void)!sh_job_complete(&job);
    } else if (sh_message()[0] == '\0') {
        abort(); /* a failure without a message */
    }
    free(text);
    return 0;
}
