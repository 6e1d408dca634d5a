/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One device of an all-reduce with the engine and the encrypted links of a training.
 * bench/strategies/all_reduce.py starts one in each namespace of a lab and controls them by lines:
 *
 *     bench_all_reduce ring|servers BITS WORDS SPAN_WORDS PORT RANK HOST...
 *
 *     <- listening
 *     -> link
 *     <- linked
 *     -> round NANOSECONDS          when to begin, by the monotonic clock
 *     <- done NANOSECONDS CPU_NANOSECONDS SENT_BYTES
 *
 * until standard input ends. There is one HOST per rank. Outside the measured time, it fills the
 * inputs before a round and checks all words of the sum afterwards; a wrong word ends the program
 * with 1.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "net/listener.h"
#include "reduce/engines.h"

#define RANKS_MOST 64
#define WORDS_MOST (UINT64_C(1) << 28)

typedef struct device {
    uint32_t rank, ranks;
    char **hosts;  /* by rank */
    uint16_t port; /* of all */
    bool rings;    /* else servers */
    bool serves[RANKS_MOST];
    sh_loop *loop;
    sh_listener *listener;
    const sh_engine_kind *kind;
    sh_engine *engine;
    sh_span spans[SH_ENGINE_MAX_SPANS];
    uint32_t span_count;
    size_t words;
    sh_word word;
    void *own, *total;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    bool linked;
} device;

static const unsigned char key[SH_KEY_BYTES] = {5, 7, 7, 2}; /* of a short-lived lab */

static void need(sh_status status, const char *what)
{
    if (status == SH_OK)
        return;
    fprintf(stderr, "bench_all_reduce: %s: %s\n", what, sh_message());
    exit(1);
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- links ----------------------------------------------------------------------------------- */

static void note_linked(void *context)
{
    device *self = context;
    pthread_mutex_lock(&self->lock);
    self->linked = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static void accept_link(void *context, sh_channel *channel, const char *identity)
{
    device *self = context;
    const uint32_t from = (uint32_t)strtoul(identity, NULL, 10);
    need(self->engine->ops->take(self->engine, from, channel), "taking a link");
}

static void open_door(void *context)
{
    device *self = context;
    char identity[16];
    const sh_listener_options options = {.host = self->hosts[self->rank],
                                         .port = self->port,
                                         .on_accept = accept_link,
                                         .context = self};
    need(sh_listener_open(&self->listener, self->loop, &options), "listening");
    for (uint32_t i = 0; i < self->ranks; i++) {
        snprintf(identity, sizeof identity, "%u", (unsigned)i);
        need(sh_listener_allow(self->listener, identity, key), "listening");
    }
}

static void link_up(void *context)
{
    device *self = context;
    char identity[16];
    snprintf(identity, sizeof identity, "%u", (unsigned)self->rank);
    sh_channel_target target = {.port = self->port, .identity = identity, .key = key};
    for (uint32_t i = 0; i < self->ranks; i++) {
        if (i == self->rank || !self->kind->links(self->serves, self->ranks, self->rank, i))
            continue;
        target.host = self->hosts[i];
        need(self->engine->ops->connect(self->engine, i, &target), "linking");
    }
}

static void make_engine(device *self)
{
    for (uint32_t i = 0; i < self->ranks; i++)
        self->serves[i] = !self->rings;
    self->kind = sh_engine_kind_of(self->serves, self->ranks);
    need(self->kind->make(&self->engine, &(sh_engine_options){.loop = self->loop,
                                                              .rank = self->rank,
                                                              .devices = self->ranks,
                                                              .serves = self->serves,
                                                              .on_linked = note_linked,
                                                              .context = self}),
         "an engine");
}

static uint64_t sent_bytes(const device *self)
{
    return self->engine->ops->stats(self->engine).sent_bytes;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Word `i` of a rank's input in a round; the writer truncates it to its width. */
static uint32_t word_of(uint32_t rank, uint32_t round, size_t i)
{
    return (rank + 1) * 0x9e3779b1u + (round + 1) * 0x85ebca6bu + (uint32_t)i * 0xc2b2ae35u;
}

static void fill(const device *self, uint32_t round)
{
    for (size_t i = 0; i < self->words; i++) {
        const uint32_t word = word_of(self->rank, round, i);
        if (self->word == SH_WORD_I32)
            ((uint32_t *)self->own)[i] = word;
        else if (self->word == SH_WORD_I16)
            ((uint16_t *)self->own)[i] = (uint16_t)word;
        else
            ((uint8_t *)self->own)[i] = (uint8_t)word;
    }
}

static void check(const device *self, uint32_t round)
{
    for (size_t i = 0; i < self->words; i++) {
        uint32_t sum = 0;
        for (uint32_t r = 0; r < self->ranks; r++)
            sum += word_of(r, round, i);
        const bool right = self->word == SH_WORD_I32 ? ((const uint32_t *)self->total)[i] == sum
                           : self->word == SH_WORD_I16
                               ? ((const uint16_t *)self->total)[i] == (uint16_t)sum
                               : ((const uint8_t *)self->total)[i] == (uint8_t)sum;
        if (!right) {
            fprintf(stderr, "bench_all_reduce: round %u: word %zu is wrong\n", (unsigned)round, i);
            exit(1);
        }
    }
}

static void cut_spans(device *self, size_t span_words)
{
    const size_t bytes = sh_words_bytes(self->word);
    for (size_t first = 0; first < self->words; first += span_words) {
        const size_t left = self->words - first;
        if (self->span_count == SH_ENGINE_MAX_SPANS) {
            fprintf(stderr, "bench_all_reduce: more than %d spans\n", SH_ENGINE_MAX_SPANS);
            exit(2);
        }
        self->spans[self->span_count++] = (sh_span){
            .own = (unsigned char *)self->own + first * bytes,
            .total = (unsigned char *)self->total + first * bytes,
            .count = left < span_words ? left : span_words,
            .word = self->word,
        };
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void run_round(const device *self, uint32_t round, uint64_t begin_ns)
{
    const struct timespec begin = {.tv_sec = (time_t)(begin_ns / 1000000000u),
                                   .tv_nsec = (long)(begin_ns % 1000000000u)};
    const uint64_t sent = sent_bytes(self);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &begin, NULL) != 0)
        continue;
    const uint64_t cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    need(sh_engine_begin(self->engine, self->spans, self->span_count), "a round");
    for (uint32_t i = 0; i < self->span_count; i++)
        sh_engine_ready(self->engine, i);
    need(sh_engine_wait(self->engine), "a round");
    const uint64_t end_ns = now_ns(CLOCK_MONOTONIC);
    const uint64_t used_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
    const uint64_t sent_now = sent_bytes(self) - sent;
    check(self, round);
    memset(self->total, 0, self->words * sh_words_bytes(self->word));
    fill(self, round + 1);
    printf("done %llu %llu %llu\n", (unsigned long long)end_ns, (unsigned long long)used_ns,
           (unsigned long long)sent_now);
}

static void obey(device *self)
{
    char line[128];
    uint32_t round = 0;
    while (fgets(line, sizeof line, stdin) != NULL) {
        unsigned long long begin_ns;
        if (strcmp(line, "link\n") == 0) {
            sh_loop_call(self->loop, link_up, self);
            pthread_mutex_lock(&self->lock);
            while (!self->linked)
                pthread_cond_wait(&self->changed, &self->lock);
            pthread_mutex_unlock(&self->lock);
            puts("linked");
        } else if (sscanf(line, "round %llu", &begin_ns) == 1) {
            run_round(self, round++, begin_ns);
        }
    }
}

static void shut_door(void *context)
{
    device *self = context;
    sh_listener_close(self->listener);
}

int main(int argc, char **argv)
{
    static device self;
    if (argc < 9 || argc - 7 > RANKS_MOST) {
        fputs("usage: bench_all_reduce ring|servers BITS WORDS SPAN_WORDS PORT RANK HOST HOST...\n",
              stderr);
        return 2;
    }
    self.rings = strcmp(argv[1], "ring") == 0;
    self.word = strcmp(argv[2], "8") == 0    ? SH_WORD_I8
                : strcmp(argv[2], "16") == 0 ? SH_WORD_I16
                                             : SH_WORD_I32;
    self.words = strtoull(argv[3], NULL, 10);
    const size_t span_words = strtoull(argv[4], NULL, 10);
    self.port = (uint16_t)strtoul(argv[5], NULL, 10);
    self.rank = (uint32_t)strtoul(argv[6], NULL, 10);
    self.hosts = argv + 7;
    self.ranks = (uint32_t)(argc - 7);
    if (self.words == 0 || self.words > WORDS_MOST || span_words == 0 || self.rank >= self.ranks)
        return 2;
    self.own = calloc(self.words, sh_words_bytes(self.word));
    self.total = calloc(self.words, sh_words_bytes(self.word));
    if (self.own == NULL || self.total == NULL)
        return 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    pthread_mutex_init(&self.lock, NULL);
    pthread_cond_init(&self.changed, NULL);
    cut_spans(&self, span_words);
    need(sh_loop_start(&self.loop), "the loop");
    make_engine(&self);
    sh_loop_call(self.loop, open_door, &self);
    fill(&self, 0);
    puts("listening");
    obey(&self);
    sh_loop_call(self.loop, shut_door, &self);
    sh_engine_close(self.engine);
    sh_loop_stop(self.loop);
    free(self.own);
    free(self.total);
    return 0;
}
