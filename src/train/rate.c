/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A form is a row of the table below. The formulas are those of PyTorch's torch.optim.lr_scheduler.
 * Sources: cosine annealing by Loshchilov and Hutter ("SGDR", ICLR 2017), one-cycle by Smith and
 * Topin ("Super-convergence", 2018), warm-up by Goyal et al. ("Accurate, large minibatch SGD",
 * 2017).
 */
#include "train/rate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/real.h"

#define MAX_DIGITS 15   /* a double represents every such integer exactly */
#define MAX_EXPONENT 22 /* and every such power of ten */
#define MAX_EPOCHS 1000000000.0

typedef struct reader {
    const char *at, *whole;
    const struct sh_rate_form *form;
} reader;

typedef struct sh_rate_form {
    const char *name, *usage, *example;
    bool follows_end;
    sh_status (*parse)(sh_rate *rate, reader *in); /* text after the colon; NULL: none */
    double (*factor)(const sh_rate *rate, const sh_schedule *schedule, uint64_t step); /* NULL: 1 */
} sh_rate_form;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* *behind is the number of digits after the point. Leading zeros do not count as digits. */
static bool read_digits(const char **text, double *value, int *behind)
{
    int digits = 0, count = 0;
    bool point = false;
    *value = 0;
    *behind = 0;
    for (;; ++*text) {
        if (**text == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(**text))
            return count > 0 && digits <= MAX_DIGITS && *behind <= MAX_EXPONENT;
        count++;
        digits += digits > 0 || **text != '0';
        if (digits > MAX_DIGITS || *behind > MAX_EXPONENT)
            return false;
        *value = *value * 10 + (**text - '0');
        *behind += point;
    }
}

/* Reads a number that is not negative and moves *text after it. */
static bool read_number(const char **text, double *number)
{
    double value;
    int behind, exponent = 0;
    if (!read_digits(text, &value, &behind))
        return false;
    if (**text == 'e' || **text == 'E') {
        ++*text;
        const bool negative = **text == '-';
        if (**text == '-' || **text == '+')
            ++*text;
        if (!is_digit(**text))
            return false;
        for (; is_digit(**text) && exponent <= 100; ++*text)
            exponent = exponent * 10 + (**text - '0');
        exponent = negative ? -exponent : exponent;
    }
    exponent -= behind;
    if (exponent < -MAX_EXPONENT || exponent > MAX_EXPONENT || is_digit(**text))
        return false;
    *number = exponent < 0 ? value / sh_real_power(10, (uint64_t)-exponent)
                           : value * sh_real_power(10, (uint64_t)exponent);
    return true;
}

static sh_status refuse(const reader *in, const char *what, const char *range)
{
    return sh_fail(SH_INVALID, "--schedule %s: %s must be %s; write %s, such as %s", in->whole,
                   what, range, in->form->usage, in->form->example);
}

static bool is_over(const reader *in)
{
    return *in->at == '\0' || *in->at == ',';
}

/* Reads the next parameter, within [least, most]. At the end of the text it is `fallback`; NAN: an
 * error. */
static sh_status read_parameter(double *number, reader *in, const char *what, double least,
                                double most, double fallback, const char *range)
{
    double value;
    if (*in->at == '\0' && !isnan(fallback)) {
        *number = fallback;
        return SH_OK;
    }
    if (!read_number(&in->at, &value) || !is_over(in) || !(value >= least && value <= most))
        return refuse(in, what, range);
    if (*in->at == ',' && in->at[1] != '\0')
        in->at++;
    *number = value;
    return SH_OK;
}

static sh_status read_gamma(double *gamma, reader *in, double fallback)
{
    return read_parameter(gamma, in, "GAMMA", 0x1p-1022, 1, fallback, "above 0 and at most 1");
}

static sh_status read_epochs(double *epochs, reader *in, const char *what, double fallback)
{
    static const char range[] = "a whole number of at least 1";
    double value;
    SH_TRY(read_parameter(&value, in, what, 1, MAX_EPOCHS, fallback, range));
    if (value != (double)(uint32_t)value)
        return refuse(in, what, range);
    *epochs = value;
    return SH_OK;
}

static sh_status parse_step(sh_rate *rate, reader *in)
{
    SH_TRY(read_epochs(&rate->number[0], in, "EPOCHS", NAN));
    return read_gamma(&rate->number[1], in, 0.1);
}

static double step_factor(const sh_rate *rate, const sh_schedule *schedule, uint64_t step)
{
    const uint64_t epoch = step / schedule->epoch_steps;
    return sh_real_power(rate->number[1], epoch / (uint64_t)rate->number[0]);
}

static sh_status parse_multistep(sh_rate *rate, reader *in)
{
    static const char range[] = "whole numbers of at least 1, in increasing order";
    do {
        double epochs;
        if (rate->milestones > 0)
            in->at++;
        if (rate->milestones == SH_RATE_MAX_MILESTONES)
            return sh_fail(SH_LIMIT, "--schedule %s: at most %d epochs are allowed", in->whole,
                           SH_RATE_MAX_MILESTONES);
        if (!read_number(&in->at, &epochs) || !(is_over(in) || *in->at == '/') ||
            !(epochs >= 1 && epochs <= MAX_EPOCHS) || epochs != (double)(uint32_t)epochs)
            return refuse(in, "E1/E2/...", range);
        if (rate->milestones > 0 && (uint32_t)epochs <= rate->milestone[rate->milestones - 1])
            return refuse(in, "E1/E2/...", range);
        rate->milestone[rate->milestones++] = (uint32_t)epochs;
    } while (*in->at == '/');
    if (*in->at == ',' && in->at[1] != '\0')
        in->at++;
    return read_gamma(&rate->number[0], in, 0.1);
}

static double multistep_factor(const sh_rate *rate, const sh_schedule *schedule, uint64_t step)
{
    const uint64_t epoch = step / schedule->epoch_steps;
    uint32_t passed = 0;
    while (passed < rate->milestones && rate->milestone[passed] <= epoch)
        passed++;
    return sh_real_power(rate->number[0], passed);
}

static sh_status parse_exponential(sh_rate *rate, reader *in)
{
    SH_TRY(read_gamma(&rate->number[0], in, NAN));
    return read_epochs(&rate->number[1], in, "FROM_EPOCH", 1);
}

static double exponential_factor(const sh_rate *rate, const sh_schedule *schedule, uint64_t step)
{
    const uint64_t epoch = step / schedule->epoch_steps, from = (uint64_t)rate->number[1];
    return epoch < from ? 1 : sh_real_power(rate->number[0], epoch - from + 1);
}

/* From `start` to `end` along half a cosine; `progress` is in [0, 1]. */
static double anneal(double start, double end, double progress)
{
    return end + (start - end) / 2 * (1 + sh_real_cos_pi(progress));
}

static sh_status parse_cosine(sh_rate *rate, reader *in)
{
    return read_parameter(&rate->number[0], in, "FLOOR", 0, 1, 0, "at least 0 and at most 1");
}

static double cosine_factor(const sh_rate *rate, const sh_schedule *schedule, uint64_t step)
{
    return anneal(1, rate->number[0], (double)step / (double)schedule->total_steps);
}

static sh_status parse_one_cycle(sh_rate *rate, reader *in)
{
    SH_TRY(read_parameter(&rate->number[0], in, "PEAK", 0, 1, 0.3, "a fraction, 0 to 1"));
    SH_TRY(read_parameter(&rate->number[1], in, "DIV", 1, 1e15, 25, "1 or more"));
    return read_parameter(&rate->number[2], in, "FINAL_DIV", 1, 1e15, 1e4, "1 or more");
}

/* With T total steps, the peak is in step PEAK * T - 1, which may be fractional, and the end in
 * step T - 1. */
static double one_cycle_factor(const sh_rate *rate, const sh_schedule *schedule, uint64_t step)
{
    const double start = 1 / rate->number[1], end = start / rate->number[2];
    const double total = (double)schedule->total_steps, at = (double)step;
    const double peak = rate->number[0] * total - 1, last = total - 1;
    if (at < peak)
        return anneal(start, 1, at / peak);
    if (at >= last)
        return peak >= last ? 1 : end;
    return anneal(1, end, (at - peak) / (last - peak));
}

static sh_status parse_range_test(sh_rate *rate, reader *in)
{
    return read_parameter(&rate->number[0], in, "SPAN", 1, 1e15, NAN, "1 or more");
}

static double range_test_factor(const sh_rate *rate, const sh_schedule *schedule, uint64_t step)
{
    const double last = (double)schedule->total_steps - 1;
    const double left = last > 0 ? 1 - (double)step / last : 0;
    return sh_real_exp(-sh_real_log(rate->number[0]) * left);
}

static const sh_rate_form forms[] = {
    {"constant", "constant", "constant", false, NULL, NULL},
    {"step", "step:EPOCHS[,GAMMA]", "step:30,0.1", false, parse_step, step_factor},
    {"multistep", "multistep:E1/E2/...[,GAMMA]", "multistep:60/90,0.1", false, parse_multistep,
     multistep_factor},
    {"exponential", "exponential:GAMMA[,FROM_EPOCH]", "exponential:0.95,10", false,
     parse_exponential, exponential_factor},
    {"cosine", "cosine[:FLOOR]", "cosine:0.01", true, parse_cosine, cosine_factor},
    {"one-cycle", "one-cycle[:PEAK[,DIV[,FINAL_DIV]]]", "one-cycle:0.3,25,1e4", true,
     parse_one_cycle, one_cycle_factor},
    {"range-test", "range-test:SPAN", "range-test:1e8", true, parse_range_test, range_test_factor},
};

#define FORMS (sizeof forms / sizeof *forms)

sh_status sh_rate_parse(sh_rate *rate, const char *schedule, double warmup)
{
    const size_t length = strcspn(schedule, ":");
    const sh_rate_form *form = NULL;
    char all[320] = "";
    for (size_t i = 0; i < FORMS; i++) {
        const size_t used = strlen(all);
        if (strlen(forms[i].name) == length && memcmp(forms[i].name, schedule, length) == 0)
            form = &forms[i];
        snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", forms[i].usage);
    }
    if (form == NULL)
        return sh_fail(SH_NOT_FOUND, "--schedule %s: no such schedule; known are: %s", schedule,
                       all);
    if (!(warmup >= 0 && warmup <= MAX_EPOCHS))
        return sh_fail(SH_INVALID, "--warmup %g: must be a number of epochs, at least 0", warmup);
    sh_rate fresh = {.form = form, .warmup = warmup};
    reader in = {schedule + strlen(form->name), schedule, form};
    const bool has_parameters = *in.at == ':';
    in.at += has_parameters;
    if (has_parameters && (form->parse == NULL || *in.at == '\0'))
        return sh_fail(SH_INVALID, "--schedule %s: write %s, such as %s", schedule, form->usage,
                       form->example);
    if (form->parse != NULL)
        SH_TRY(form->parse(&fresh, &in));
    if (*in.at != '\0')
        return sh_fail(SH_INVALID, "--schedule %s: '%s' is superfluous; write %s, such as %s",
                       schedule, in.at, form->usage, form->example);
    *rate = fresh;
    return SH_OK;
}

double sh_rate_at(const sh_rate *rate, double lr, const sh_schedule *schedule, uint64_t step)
{
    const double warm_steps = rate->warmup * (double)schedule->epoch_steps;
    const double warmth = (double)step + 1 < warm_steps ? ((double)step + 1) / warm_steps : 1;
    const sh_rate_form *form = rate->form;
    return lr * (form->factor == NULL ? 1 : form->factor(rate, schedule, step)) * warmth;
}

bool sh_rate_is_test(const sh_rate *rate)
{
    return rate->form->factor == range_test_factor;
}

bool sh_rate_follows_end(const sh_rate *rate)
{
    return rate->form->follows_end;
}
