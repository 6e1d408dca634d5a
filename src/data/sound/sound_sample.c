/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sound/sound_sample.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "data/sound/recording.h"
#include "data/sound/resampler.h"
#include "data/sound/spectrogram.h"

#define RESAMPLERS_MOST 8 /* recordings of further rates make their own */

struct sh_sound_sampler {
    sh_sound_form form;
    sh_spectrogram *spectrogram; /* owned */
    pthread_mutex_t lock;        /* guards what follows; entries in `kept` do not change */
    size_t count;
    struct {
        uint32_t rate;
        sh_resampler *resampler; /* owned */
    } kept[RESAMPLERS_MOST];
};

sh_status sh_sound_sampler_new(sh_sound_sampler **sampler, const sh_sound_form *form)
{
    sh_sound_sampler *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a reader of recordings");
    const sh_status status = sh_spectrogram_new(&fresh->spectrogram, form->rate, form->mels);
    if (status != SH_OK) {
        free(fresh);
        return status;
    }
    fresh->form = *form;
    pthread_mutex_init(&fresh->lock, NULL);
    *sampler = fresh;
    return SH_OK;
}

/* If *own, the caller must free it. */
static sh_status find_resampler(sh_sound_sampler *s, sh_resampler **found, bool *own, uint32_t rate)
{
    sh_status status = SH_OK;
    *found = NULL;
    *own = false;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->count && *found == NULL; i++)
        if (s->kept[i].rate == rate)
            *found = s->kept[i].resampler;
    if (*found == NULL) {
        status = sh_resampler_new(found, rate, s->form.rate);
        *own = s->count == RESAMPLERS_MOST;
        if (status == SH_OK && !*own) {
            s->kept[s->count].rate = rate;
            s->kept[s->count++].resampler = *found;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* `first` and `count` are samples at the form's rate. */
static sh_status resample(sh_sound_sampler *s, float *sound, sh_recording *recording,
                          uint64_t first, size_t count)
{
    sh_resampler *resampler;
    bool own;
    int64_t from;
    size_t inputs;
    SH_TRY(find_resampler(s, &resampler, &own, sh_recording_about(recording)->rate));
    sh_resampler_needs(resampler, first, count, &from, &inputs);
    float *input = calloc(inputs, sizeof *input);
    sh_status status = input == NULL ? sh_fail_memory(inputs * sizeof *input, "a recording")
                                     : sh_recording_read(recording, input, from, inputs);
    if (status == SH_OK)
        sh_resampler_run(resampler, sound, first, count, input, from, inputs);
    free(input);
    if (own)
        sh_resampler_free(resampler);
    return status;
}

/* Takes the middle, at the form's rate. */
static sh_status take_middle(sh_sound_sampler *s, float *sound, sh_recording *recording,
                             size_t wanted)
{
    const sh_recording_info *info = sh_recording_about(recording);
    const uint64_t all = sh_resampler_outputs(info->rate, s->form.rate, info->samples);
    if (info->rate == s->form.rate) {
        const int64_t first =
            all > wanted ? (int64_t)((all - wanted) / 2) : -(int64_t)((wanted - all) / 2);
        return sh_recording_read(recording, sound, first, wanted);
    }
    if (all >= wanted)
        return resample(s, sound, recording, (all - wanted) / 2, wanted);
    return resample(s, sound + (wanted - all) / 2, recording, 0, (size_t)all);
}

sh_status sh_sound_sampler_run(sh_sound_sampler *sampler, float *values, int fd, const char *name)
{
    const sh_sound_form *form = &sampler->form;
    const size_t wanted = sh_spectrogram_samples(form->rate, form->frames);
    sh_recording *recording;
    SH_TRY(sh_recording_open(&recording, fd, name));
    float *sound = calloc(wanted, sizeof *sound);
    sh_status status = sound == NULL ? sh_fail_memory(wanted * sizeof *sound, "a recording")
                                     : take_middle(sampler, sound, recording, wanted);
    if (status == SH_OK)
        status = sh_spectrogram_run(sampler->spectrogram, values, sound, form->frames);
    free(sound);
    sh_recording_close(recording);
    return status;
}

void sh_sound_sampler_free(sh_sound_sampler *sampler)
{
    if (sampler == NULL)
        return;
    for (size_t i = 0; i < sampler->count; i++)
        sh_resampler_free(sampler->kept[i].resampler);
    sh_spectrogram_free(sampler->spectrogram);
    pthread_mutex_destroy(&sampler->lock);
    free(sampler);
}
