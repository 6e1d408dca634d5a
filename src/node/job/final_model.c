/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/final_model.h"

#include <stdio.h>

static sh_status write_file(const sh_run *run, const char *name, sh_model_format format,
                            const sh_model_source *source)
{
    char path[SH_PATH_BYTES];
    SH_TRY(sh_run_path(run, name, path));
    if (source->trained_text == NULL)
        return sh_fail(SH_UNSUPPORTED, "the model's description of the data is too long");
    return sh_model_file_write(NULL, path, format, source);
}

sh_status sh_final_model_write(const sh_run *run, const sh_model_source *source)
{
    static const struct {
        const char *name;
        sh_model_format format;
    } files[] = {
        {SH_RUN_ONNX, SH_MODEL_AS_ONNX},
        {SH_RUN_WEIGHTS, SH_MODEL_AS_SAFETENSORS},
    };
    char why[SH_MESSAGE_BYTES] = "";
    sh_status worst = SH_OK;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const sh_status status = write_file(run, files[i].name, files[i].format, source);
        if (status == SH_OK)
            sh_log(SH_LOG_INFO, "model.written", "file=%s", files[i].name);
        else
            sh_log(status == SH_UNSUPPORTED ? SH_LOG_INFO : SH_LOG_WARN, "model.skipped",
                   "file=%s reason=\"%s\"", files[i].name, sh_message());
        if (worst == SH_OK && status != SH_OK && status != SH_UNSUPPORTED) {
            worst = status;
            snprintf(why, sizeof why, "%s", sh_message());
        }
    }
    return worst == SH_OK ? SH_OK : sh_fail(worst, "%s; make one with shoal export", why);
}
