/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sorted list has the names of initialisers, and of outputs of Identity nodes that read them;
 * each leads to an initialiser. Nodes are walked twice: first uses are counted, then each use of a
 * merged initialiser gets its copy. An Identity is removed if a copy takes the name of its output.
 */
#include "onnx/untie.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE SIZE_MAX

typedef struct known_name {
    const char *name;
    size_t leads; /* to the initialiser with this index, or NOWHERE */
    size_t maker; /* the node that makes it, or NOWHERE */
    bool is_free; /* a copy can take the name: output of an Identity, not of the graph */
} known_name;

typedef struct untying {
    Sh__Onnx__GraphProto *graph;
    sh_arena *arena;
    known_name *names;
    size_t name_count;
    struct tensor_use {
        size_t count;
        bool is_statistic, is_kept; /* is_kept: a use keeps the initialiser itself */
        size_t number;              /* of the last numbered copy */
    } * uses;                       /* by initialiser */
    size_t statistics;              /* uses of initialisers that must be copied */
} untying;

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const known_name *)a)->name, ((const known_name *)b)->name);
}

static known_name *find_name(const untying *u, const char *name)
{
    const known_name key = {.name = name};
    return bsearch(&key, u->names, u->name_count, sizeof *u->names, compare_names);
}

static bool is_identity(const Sh__Onnx__NodeProto *node)
{
    return strcmp(node->op_type, "Identity") == 0 && node->domain[0] == '\0' &&
           node->n_input == 1 && node->n_output == 1;
}

static sh_status list_names(untying *u)
{
    const Sh__Onnx__GraphProto *graph = u->graph;
    size_t most = graph->n_initializer + graph->n_input, used = 0;
    for (size_t i = 0; i < graph->n_node; i++)
        most += graph->node[i]->n_output;
    u->names = sh_arena_take(u->arena, most + 1, sizeof *u->names);
    u->uses = sh_arena_take(u->arena, graph->n_initializer + 1, sizeof *u->uses);
    if (u->names == NULL || u->uses == NULL)
        return sh_fail_memory(most * sizeof *u->names, "the names of a model");
    for (size_t i = 0; i < graph->n_initializer; i++)
        u->names[used++] = (known_name){graph->initializer[i]->name, i, NOWHERE, false};
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            u->names[used++] = (known_name){graph->node[i]->output[k], NOWHERE, i, false};
    u->name_count = used;
    qsort(u->names, used, sizeof *u->names, compare_names);
    return SH_OK;
}

static void follow_identities(const untying *u)
{
    for (size_t i = 0; i < u->graph->n_node; i++) {
        const Sh__Onnx__NodeProto *node = u->graph->node[i];
        const known_name *from = is_identity(node) ? find_name(u, node->input[0]) : NULL;
        known_name *to = from == NULL ? NULL : find_name(u, node->output[0]);
        if (to == NULL || from->leads == NOWHERE || to->name[0] == '\0')
            continue;
        to->leads = from->leads;
        to->is_free = true;
    }
    for (size_t i = 0; i < u->graph->n_output; i++) {
        known_name *name = find_name(u, u->graph->output[i]->name);
        if (name != NULL)
            name->is_free = false;
    }
}

/* NULL unless the input leads to an initialiser. Identity nodes do not count as users. */
static known_name *used_name(const untying *u, const Sh__Onnx__NodeProto *node, size_t input)
{
    known_name *name = is_identity(node) ? NULL : find_name(u, node->input[input]);
    return name == NULL || name->leads == NOWHERE ? NULL : name;
}

static void count_uses(untying *u)
{
    for (size_t i = 0; i < u->graph->n_node; i++) {
        const Sh__Onnx__NodeProto *node = u->graph->node[i];
        const bool normalises =
            strcmp(node->op_type, "BatchNormalization") == 0 && node->domain[0] == '\0';
        for (size_t k = 0; k < node->n_input; k++) {
            const known_name *name = used_name(u, node, k);
            if (name == NULL)
                continue;
            u->uses[name->leads].count++;
            u->uses[name->leads].is_statistic |= normalises && (k == 3 || k == 4);
        }
    }
    for (size_t i = 0; i < u->graph->n_initializer; i++)
        if (u->uses[i].is_statistic && u->uses[i].count > 1)
            u->statistics += u->uses[i].count;
}

static bool is_taken(const untying *u, const char *name)
{
    for (size_t i = 0; i < u->graph->n_input; i++)
        if (strcmp(u->graph->input[i]->name, name) == 0)
            return true;
    return find_name(u, name) != NULL;
}

static sh_status make_name(char **made, const untying *u, const char *name, size_t *number)
{
    const size_t bytes = strlen(name) + 24;
    char *text = sh_arena_take(u->arena, bytes, 1);
    if (text == NULL)
        return sh_fail_memory(bytes, "the name of a tensor");
    do
        snprintf(text, bytes, "%s.%zu", name, ++*number + 1);
    while (is_taken(u, text));
    *made = text;
    return SH_OK;
}

/* The first direct use keeps the initialiser. */
static sh_status copy_for(const untying *u, char **input, known_name *through)
{
    Sh__Onnx__GraphProto *graph = u->graph;
    struct tensor_use *use = &u->uses[through->leads];
    Sh__Onnx__TensorProto *of = graph->initializer[through->leads];
    if (through->maker == NOWHERE && !use->is_kept) {
        use->is_kept = true;
        return SH_OK;
    }
    Sh__Onnx__TensorProto *copy = sh_arena_take(u->arena, 1, sizeof *copy);
    if (copy == NULL)
        return sh_fail_memory(sizeof *copy, "a tensor of a model");
    *copy = *of;
    if (through->is_free)
        copy->name = *input;
    else
        SH_TRY(make_name(&copy->name, u, of->name, &use->number));
    through->is_free = false;
    *input = copy->name;
    graph->initializer[graph->n_initializer++] = copy;
    return SH_OK;
}

static sh_status copy_all(const untying *u)
{
    Sh__Onnx__GraphProto *graph = u->graph;
    Sh__Onnx__TensorProto **longer =
        sh_arena_take(u->arena, graph->n_initializer + u->statistics + 1, sizeof(void *));
    if (longer == NULL)
        return sh_fail_memory(u->statistics * sizeof(void *), "the tensors of a model");
    memcpy(longer, graph->initializer, graph->n_initializer * sizeof(void *));
    graph->initializer = longer;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_input; k++) {
            known_name *name = used_name(u, graph->node[i], k);
            if (name != NULL && u->uses[name->leads].is_statistic && u->uses[name->leads].count > 1)
                SH_TRY(copy_for(u, &graph->node[i]->input[k], name));
        }
    return SH_OK;
}

/* Removes the Identity nodes whose outputs became initialisers. */
static sh_status drop_identities(const untying *u, size_t first_copy)
{
    Sh__Onnx__GraphProto *graph = u->graph;
    bool *left_out = sh_arena_take(u->arena, graph->n_node + 1, sizeof *left_out);
    size_t kept = 0;
    if (left_out == NULL)
        return sh_fail_memory(graph->n_node, "the nodes of a model");
    for (size_t i = first_copy; i < graph->n_initializer; i++) {
        const known_name *name = find_name(u, graph->initializer[i]->name);
        if (name != NULL)
            left_out[name->maker] = true;
    }
    for (size_t i = 0; i < graph->n_node; i++)
        if (!left_out[i])
            graph->node[kept++] = graph->node[i];
    graph->n_node = kept;
    return SH_OK;
}

sh_status sh_onnx_untie(Sh__Onnx__GraphProto *graph, sh_arena *arena)
{
    untying u = {.graph = graph, .arena = arena};
    const size_t before = graph->n_initializer;
    SH_TRY(list_names(&u));
    follow_identities(&u);
    count_uses(&u);
    if (u.statistics == 0)
        return SH_OK;
    SH_TRY(copy_all(&u));
    return drop_identities(&u, before);
}
