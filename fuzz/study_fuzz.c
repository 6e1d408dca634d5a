/* SPDX-License-Identifier: Apache-2.0 */
/* An accepted study has trials, each with a name, a model and data. */
#include "sweep/study_file.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sh_study *study;
    if (sh_study_parse(&study, "s.yaml", (const char *)data, size) != SH_OK)
        return 0;
    if (study->trial_count == 0 || study->trial_count > SH_STUDY_TRIALS_MAX)
        abort();
    for (size_t i = 0; i < study->trial_count; i++) {
        const sh_study_trial *trial = &study->trials[i];
        if (trial->id[0] == '\0' || trial->block == NULL ||
            trial->settings[SH_SETTING_model] == NULL || trial->settings[SH_SETTING_data] == NULL)
            abort();
    }
    sh_study_free(study);
    return 0;
}
