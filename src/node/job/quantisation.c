/* SPDX-License-Identifier: Apache-2.0 */
/* Each model is packed, imported, and opened on its own session, to measure what the file
 * contains. */
#include "node/job/quantisation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/job/calibration.h"
#include "onnx/from_graph.h"
#include "onnx/value_range.h"
#include "onnx/wire.h"
#include "train/job_options.h"
#include "train/pretrained.h"

typedef struct bench_model {
    sh_onnx *file;
    sh_network *network;
    sh_session *session;
} bench_model;

static void close_session(bench_model *b)
{
    sh_session_close(b->session);
    sh_network_unref(b->network);
    sh_onnx_close(b->file);
}

static sh_status reopen(sh_onnx **file, const Sh__Onnx__ModelProto *model)
{
    const size_t count = sh__onnx__model_proto__get_packed_size(model);
    if (count > SH_WIRE_FILE_MOST)
        return sh_fail(SH_LIMIT, "--int8: the model has %zu bytes, at most %zu are supported",
                       count, (size_t)SH_WIRE_FILE_MOST);
    uint8_t *bytes = malloc(count + 1);
    if (bytes == NULL)
        return sh_fail_memory(count, "a model");
    sh__onnx__model_proto__pack(model, bytes);
    return sh_onnx_open_owned(file, "model.onnx", bytes, count);
}

/* `*b` is owned, also on failure: close_session. */
static sh_status open_session(bench_model *b, const sh_job *from, const Sh__Onnx__ModelProto *model)
{
    sh_job job;
    sh_job_init(&job);
    job.momentum = 0; /* saves its memory */
    for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++)
        if (sh_option_reads(each))
            sh_option_copy(each, &job, from);
    memcpy(job.data, from->data, sizeof job.data);
    SH_TRY(reopen(&b->file, model));
    SH_TRY(sh_network_of_model(&b->network, b->file, "model.onnx"));
    snprintf(job.model, sizeof job.model, "%s", b->network->spec);
    SH_TRY(sh_job_complete(&job));
    SH_TRY(sh_fail_in(sh_session_open(&b->session, &job, &(sh_session_data){.network = b->network}),
                      "--int8 needs the training's data"));
    return sh_pretrained_load_onnx(b->session->replica, b->file, SH_PRETRAINED_WHOLE);
}

/* ---- calibration ----------------------------------------------------------------------------- */

typedef struct ranges {
    sh_value_range *of; /* by node, then for the samples; owned */
    size_t nodes;
} ranges;

static sh_status take(void *context, size_t node, const sh_shape *shape, const float *values)
{
    const ranges *r = context;
    return sh_value_range_add(&r->of[node == SH_CALIBRATION_SAMPLES ? r->nodes : node], values,
                              sh_shape_count(shape));
}

/* The nodes of the plain model follow the normalisation, whose result is the plain model's
 * input. */
static sh_status find_grids(sh_onnx_grids *grids, const sh_quantisation *asked,
                            const bench_model *b, sh_arena *arena)
{
    ranges r = {.nodes = asked->plain->graph->n_node};
    const size_t before = asked->file->graph->n_node - r.nodes;
    sh_onnx_grid *of = sh_arena_take(arena, asked->file->graph->n_node + 1, sizeof *of);
    r.of = calloc(r.nodes + 1, sizeof *r.of);
    sh_status status = SH_OK;
    if (of == NULL || r.of == NULL)
        SH_TRY_DONE(sh_fail_memory(r.nodes * sizeof *r.of, "calibration"));
    const sh_calibration calibration = {.session = b->session,
                                        .model = b->file,
                                        .samples = asked->samples,
                                        .take = take,
                                        .context = &r};
    SH_TRY_DONE(sh_calibrate(&calibration));
    for (size_t i = 0; i < r.nodes; i++)
        of[before + i] = sh_value_range_grid(&r.of[i]);
    const sh_onnx_grid input = sh_value_range_grid(&r.of[r.nodes]);
    if (before > 0)
        of[before - 1] = input;
    *grids = (sh_onnx_grids){.of = of, .input = before > 0 ? (sh_onnx_grid){0} : input};
done:
    for (size_t i = 0; r.of != NULL && i <= r.nodes; i++)
        sh_value_range_release(&r.of[i]);
    free(r.of);
    return status;
}

/* ---- figures --------------------------------------------------------------------------------- */

static sh_status measure(sh_model_figures *figures, uint64_t *samples, sh_session *session)
{
    const sh_part part = {.share = {0, 1}, .of = 1, .engine = sh_engine_solo()};
    sh_sum_totals totals;
    session->evaluate_only = true;
    SH_TRY(sh_session_start(session, 0, 0));
    SH_TRY(sh_trainer_evaluate(session->trainer, &part, &totals));
    const sh_figures found =
        sh_figures_of(&session->scale, totals.loss, totals.score, totals.samples);
    *figures = (sh_model_figures){found.loss, found.accuracy, found.mae};
    *samples = totals.samples;
    return SH_OK;
}

sh_status sh_quantise(Sh__Onnx__ModelProto **made, sh_model_quantised *found,
                      const sh_quantisation *asked, sh_arena *arena)
{
    bench_model real = {0}, simulated = {0};
    Sh__Onnx__ModelProto *model, *plain;
    sh_model_quantised fresh = {0};
    sh_onnx_grids grids;
    sh_status status;
    SH_TRY_DONE(open_session(&real, asked->job, asked->plain));
    SH_TRY_DONE(find_grids(&grids, asked, &real, arena));
    SH_TRY_DONE(sh_onnx_quantise(&model, asked->file, &grids, SH_ONNX_QUANTISED, arena));
    SH_TRY_DONE(measure(&fresh.before, &fresh.samples, real.session));
    const size_t before = asked->file->graph->n_node - asked->plain->graph->n_node;
    const sh_onnx_grids inner = {.of = grids.of + before,
                                 .input = before > 0 ? grids.of[before - 1] : grids.input};
    SH_TRY_DONE(sh_onnx_quantise(&plain, asked->plain, &inner, SH_ONNX_SIMULATED, arena));
    SH_TRY_DONE(open_session(&simulated, asked->job, plain));
    SH_TRY_DONE(measure(&fresh.after, &fresh.samples, simulated.session));
    *made = model;
    *found = fresh;
done:
    close_session(&real);
    close_session(&simulated);
    return status;
}
