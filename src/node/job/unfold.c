/* SPDX-License-Identifier: Apache-2.0 */
/* Sums are doubles in a fixed order of values with the same bits on every processor, so the batch
 * norms have the same bits too. */
#include "node/job/unfold.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/job/calibration.h"
#include "onnx/model_cache.h"
#include "onnx/unfolded.h"

/* The result of a convolution. */
typedef struct measured {
    const Sh__Onnx__NodeProto *node;
    size_t channels;
    double *sums, *squares; /* by channel; NULL: not computed; owned */
    double count;
} measured;

typedef struct unfolding {
    sh_session *session;
    const sh_onnx *model;
    bool *chosen;
    measured *all;
    size_t count;
} unfolding;

static sh_status add(void *context, size_t node, const sh_shape *shape, const float *values)
{
    const unfolding *u = context;
    if (node == SH_CALIBRATION_SAMPLES)
        return SH_OK;
    measured *m = u->all;
    while (m->node != sh_onnx_graph(u->model)->node[node])
        m++;
    if (m->sums == NULL) {
        m->channels = shape->dim[1];
        m->sums = calloc(m->channels, sizeof *m->sums);
        m->squares = calloc(m->channels, sizeof *m->squares);
        if (m->sums == NULL || m->squares == NULL)
            return sh_fail_memory(m->channels * sizeof *m->sums, "batch norms");
    }
    const size_t each = sh_shape_count(shape) / shape->dim[0] / m->channels;
    for (size_t n = 0; n < shape->dim[0]; n++)
        for (size_t c = 0; c < m->channels; c++)
            for (size_t i = 0; i < each; i++) {
                const double value = (double)*values++;
                m->sums[c] += value;
                m->squares[c] += value * value;
            }
    m->count += (double)(shape->dim[0] * each);
    return SH_OK;
}

/* False: the tensor is not a batch norm's. */
static bool fill_norm(const unfolding *u, const char *name, float *values)
{
    static const char *const parts[] = {"weight", "bias", "mean", "var"};
    char own[SH_UNFOLDED_NAME];
    for (size_t i = 0; i < u->count; i++)
        for (size_t part = 0; part < 4; part++) {
            const measured *m = &u->all[i];
            sh_unfolded_name(own, m->node, parts[part]);
            if (m->sums == NULL || strcmp(own, name) != 0)
                continue;
            for (size_t c = 0; c < m->channels; c++) {
                const double mean = m->sums[c] / m->count;
                const double found = m->squares[c] / m->count - mean * mean;
                const float variance = found > 0 ? (float)found : 0.0f;
                const float figures[] = {sqrtf(variance + SH_UNFOLDED_EPSILON), (float)mean,
                                         (float)mean, variance};
                values[c] = figures[part];
            }
            return true;
        }
    return false;
}

static sh_status fill(const unfolding *u, sh_replica *to, const sh_replica *from)
{
    for (uint32_t t = 0; t < to->tensors; t++) {
        const char *name = sh_replica_tensor_name(to, t);
        const size_t bytes = sh_type_bytes(sh_replica_tensor_type(to, t));
        uint32_t other = 0;
        while (other < from->tensors && strcmp(sh_replica_tensor_name(from, other), name) != 0)
            other++;
        if (other < from->tensors)
            memcpy(to->parameters[t], from->parameters[other], bytes);
        else if (!fill_norm(u, name, to->parameters[t]))
            return sh_fail(SH_INTERNAL, "--unfold: nothing fills '%.128s'", name);
    }
    return SH_OK;
}

static sh_status replace(unfolding *u)
{
    sh_session *session = u->session;
    const sh_problem problem = sh_lanes_problem(sh_pipeline_about(session->pipeline));
    sh_network *network;
    sh_replica *replica;
    sh_job job = session->job;
    SH_TRY(sh_onnx_unfold(&network, u->model, u->chosen, sh_onnx_path(u->model)));
    snprintf(job.model, sizeof job.model, "%s", network->spec);
    sh_status status = sh_replica_new_with(&replica, &job, &problem, network);
    if (status == SH_OK && (status = fill(u, replica, session->replica)) != SH_OK)
        sh_replica_free(replica);
    if (status != SH_OK) {
        sh_network_unref(network);
        return status;
    }
    /* Only a checkpoint outside its run's folder needs the cache. */
    if (sh_model_cache_put(network) != SH_OK)
        sh_log(SH_LOG_WARN, "network.uncached", "reason=\"%s\"", sh_message());
    sh_replica_free(session->replica);
    sh_network_unref(session->network);
    session->replica = replica;
    session->network = network;
    session->job = job;
    return SH_OK;
}

static sh_status unfold(unfolding *u)
{
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(u->model);
    u->chosen = calloc(graph->n_node + 1, sizeof *u->chosen);
    u->all = calloc(graph->n_node + 1, sizeof *u->all);
    if (u->chosen == NULL || u->all == NULL)
        return sh_fail_memory(graph->n_node * sizeof *u->all, "batch norms");
    SH_TRY(sh_onnx_unfoldable(u->chosen, u->model));
    for (size_t i = 0; i < graph->n_node; i++)
        if (u->chosen[i])
            u->all[u->count++] = (measured){.node = graph->node[i]};
    const sh_calibration asked = {.session = u->session,
                                  .model = u->model,
                                  .chosen = u->chosen,
                                  .samples = SH_UNFOLD_SAMPLES,
                                  .take = add,
                                  .context = u};
    SH_TRY(sh_calibrate(&asked));
    return replace(u);
}

sh_status sh_unfold(sh_session *session, const sh_onnx *file, size_t *restored)
{
    unfolding u = {.session = session, .model = file};
    const sh_status status = unfold(&u);
    if (status == SH_OK)
        *restored = u.count;
    for (size_t i = 0; i < u.count; i++) {
        free(u.all[i].sums);
        free(u.all[i].squares);
    }
    free(u.all);
    free(u.chosen);
    return status;
}
