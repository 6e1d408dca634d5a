/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/beginning.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "node/job/resume.h"
#include "onnx/model_shelf.h"
#include "train/pretrained.h"

/* Adds to a line for people. */
static void add_note(void *context, const char *text)
{
    char *note = context;
    const size_t used = strlen(note);
    snprintf(note + used, SH_MESSAGE_BYTES - used, "%s%s", used == 0 ? "" : "; ", text);
}

static bool is_file(const char *model)
{
    const size_t length = strlen(model), end = sizeof ".onnx" - 1;
    return length > end && strcmp(model + length - end, ".onnx") == 0;
}

/* Opens the file that the job names as its model and lets it name the model on the shelf. `*file`
 * is NULL where the model is no file. */
static sh_status open_file(sh_onnx **file, sh_job *job)
{
    char spec[SH_MODEL_SPEC];
    sh_onnx *fresh;
    *file = NULL;
    if (!is_file(job->model))
        return SH_OK;
    SH_TRY(sh_onnx_open(&fresh, job->model));
    const sh_status status = sh_model_shelf_put(spec, fresh, job->model);
    if (status != SH_OK) {
        sh_onnx_close(fresh);
        return status;
    }
    snprintf(job->model, sizeof job->model, "%s", spec);
    *file = fresh;
    return SH_OK;
}

/* What whoever trains it should know of the model. */
static sh_status tell_model(const sh_workbench *bench, char note[SH_MESSAGE_BYTES])
{
    const sh_problem problem = sh_lanes_problem(sh_pipeline_about(bench->pipeline));
    sh_model_options options = sh_replica_model(&bench->job, &problem);
    sh_graph *graph;
    options.note = add_note;
    options.context = note;
    SH_TRY(sh_model_build(&graph, &options, 1, SH_MODEL_EVALUATE));
    sh_graph_free(graph);
    return SH_OK;
}

/* The file's weights; those of a last layer that was replaced have other shapes and stay. */
static sh_status load(sh_replica *replica, const sh_onnx *file)
{
    for (uint32_t t = 0; t < replica->tensors; t++) {
        const char *name = sh_replica_tensor_name(replica, t);
        const sh_shape *shape = &sh_replica_tensor_type(replica, t)->shape;
        const Sh__Onnx__TensorProto *stored = sh_onnx_initializer(file, name);
        sh_onnx_tensor tensor;
        if (stored == NULL) /* a constant that a node makes */
            continue;
        SH_TRY(sh_onnx_tensor_of(&tensor, file, stored));
        bool same = tensor.rank == shape->rank;
        for (size_t i = 0; same && i < shape->rank; i++)
            same = tensor.dim[i] == shape->dim[i];
        if (!same)
            continue;
        SH_TRY(sh_onnx_floats(file, &tensor, replica->parameters[t]));
        for (size_t i = 0; i < tensor.count; i++)
            if (!isfinite(replica->parameters[t][i]))
                return sh_fail(SH_CORRUPT, "%.256s: tensor %.128s has values that are not finite",
                               sh_onnx_path(file), name);
    }
    return SH_OK;
}

static sh_status load_pretrained(sh_workbench *bench, const char *path, char note[SH_MESSAGE_BYTES])
{
    char own[SH_MESSAGE_BYTES] = "";
    sh_safetensors *file;
    sh_status status;
    SH_TRY(sh_weights_open(&file, path));
    SH_TRY_DONE(sh_safetensors_hash(bench->job.pretrained, file));
    SH_TRY_DONE(sh_pretrained_load(own, bench->replica, file, SH_PRETRAINED_BUT_LAST));
    if (own[0] != '\0')
        add_note(note, own);
done:
    sh_safetensors_close(file);
    return status;
}

sh_status sh_beginning_open(sh_workbench **bench, const sh_job *job, const sh_workbench_data *data,
                            const char *pretrained, char note[SH_MESSAGE_BYTES])
{
    sh_job own = *job;
    sh_onnx *file;
    sh_status status;
    own.pretrained[0] = note[0] = '\0';
    SH_TRY(open_file(&file, &own));
    SH_TRY_DONE(sh_workbench_open(bench, &own, data));
    if (file != NULL) {
        SH_TRY_DONE(tell_model(*bench, note));
        SH_TRY_DONE(load((*bench)->replica, file));
    }
    if (pretrained != NULL)
        SH_TRY_DONE(sh_fail_in(load_pretrained(*bench, pretrained, note), "--pretrained"));
    if (file != NULL)
        SH_TRY_DONE(sh_replica_hash((*bench)->replica, (*bench)->job.pretrained));
done:
    sh_onnx_close(file);
    return status;
}
