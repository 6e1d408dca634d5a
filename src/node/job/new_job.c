/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/new_job.h"

#include <stdio.h>
#include <string.h>

#include "node/job/resume.h"
#include "node/job/unfold.h"
#include "onnx/model_cache.h"
#include "onnx/unfolded.h"
#include "train/pretrained.h"

static void add_note(void *context, const char *text)
{
    char *note = context;
    const size_t used = strlen(note);
    snprintf(note + used, SH_MESSAGE_BYTES - used, "%s%s", used == 0 ? "" : "; ", text);
}

static sh_status tell_model(const sh_session *session, char note[SH_MESSAGE_BYTES])
{
    const sh_problem problem = sh_lanes_problem(sh_pipeline_about(session->pipeline));
    sh_model_options options = sh_replica_model(&session->job, &problem, session->network);
    sh_graph *graph;
    options.note = add_note;
    options.context = note;
    SH_TRY(sh_model_build(&graph, &options, 1, SH_MODEL_EVALUATE));
    sh_graph_free(graph);
    return SH_OK;
}

static sh_status load_pretrained(sh_session *session, const char *path, char note[SH_MESSAGE_BYTES])
{
    char own[SH_MESSAGE_BYTES] = "";
    sh_safetensors *file;
    sh_status status;
    SH_TRY(sh_weights_open(&file, path));
    SH_TRY_DONE(sh_safetensors_hash(session->job.pretrained, file));
    SH_TRY_DONE(sh_pretrained_load(own, session->replica, file, SH_PRETRAINED_BUT_LAST));
    if (own[0] != '\0')
        add_note(note, own);
done:
    sh_safetensors_close(file);
    return status;
}

static sh_status restore_norms(sh_session *session, const sh_onnx *file,
                               char note[SH_MESSAGE_BYTES])
{
    char text[64];
    size_t restored;
    if (session->job.unfold == 0)
        return SH_OK;
    SH_TRY(sh_onnx_unfold_check(file, session->job.model));
    SH_TRY(sh_unfold(session, file, &restored));
    snprintf(text, sizeof text, "%zu batch norms were restored", restored);
    add_note(note, text);
    return SH_OK;
}

sh_status sh_new_job_open(sh_session **session, const sh_job *job, const sh_session_data *data,
                          const char *pretrained, char note[SH_MESSAGE_BYTES])
{
    sh_job own = *job;
    sh_session_data from = *data;
    sh_onnx *file;
    sh_status status;
    own.pretrained[0] = note[0] = '\0';
    SH_TRY(sh_model_cache_open(&from.network, &file, own.model));
    if (from.network != NULL)
        snprintf(own.model, sizeof own.model, "%s", from.network->spec);
    SH_TRY_DONE(sh_session_open(session, &own, &from));
    const bool has_weights = file != NULL && !sh_onnx_is_skeleton(file);
    if (file != NULL)
        SH_TRY_DONE(tell_model(*session, note));
    if (has_weights)
        SH_TRY_DONE(sh_pretrained_load_onnx((*session)->replica, file, SH_PRETRAINED_BUT_LAST));
    SH_TRY_DONE(restore_norms(*session, file, note));
    if (pretrained != NULL)
        SH_TRY_DONE(sh_fail_in(load_pretrained(*session, pretrained, note), "--pretrained"));
    if (has_weights)
        SH_TRY_DONE(sh_replica_hash((*session)->replica, (*session)->job.pretrained));
done:
    sh_onnx_close(file);
    sh_network_unref(from.network);
    return status;
}
