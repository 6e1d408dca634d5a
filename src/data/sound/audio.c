/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format `audio:DIR`: recordings with one class each (sound_list.h), as log-mel spectrograms of
 * one length (sound_sample.h). The length covers 95 % of the training recordings, by their headers.
 *
 * A damaged header does not affect the length; packing reports it when decoding fails.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "data/file_reader.h"
#include "data/packed.h"
#include "data/sound/recording.h"
#include "data/sound/resampler.h"
#include "data/sound/sound_list.h"
#include "data/sound/sound_sample.h"
#include "data/sound/spectrogram.h"

#define COVERED 95   /* percent of the training recordings that fit into a sample */
#define VERSION 1    /* must change if the samples change */
#define PEEK_MOST 64 /* entries of a folder, to recognise it */

typedef struct audio_source {
    sh_source base;
    sh_sound_list list;
    sh_sound_form form;
    sh_sound_sampler *sampler;
} audio_source;

typedef struct survey {
    uint64_t *lengths; /* of the training recordings, in samples at the form's rate; owned */
    size_t count, damaged, many_channels, other_rates;
    uint32_t lowest, highest; /* sample rates */
} survey;

static const sh_sound_item *item_at(const audio_source *audio, sh_split split, uint32_t index)
{
    return &audio->list
                .items[(split == SH_SPLIT_TRAIN ? 0 : audio->list.in[SH_SPLIT_TRAIN]) + index];
}

static const char *path_of(const audio_source *audio, const sh_sound_item *item)
{
    return audio->list.folder.files[item->file].path;
}

static sh_status open_file(int *fd, const audio_source *audio, const char *path)
{
    /* Must not block if a pipe replaced the file. */
    *fd = openat(audio->list.folder.fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0)
        return sh_fail_errno(errno, "%s: cannot open it", path);
    return SH_OK;
}

/* --- looking into the data --- */

static sh_status survey_file(survey *s, const audio_source *audio, const sh_sound_item *item)
{
    sh_recording *recording;
    int fd;
    SH_TRY(open_file(&fd, audio, path_of(audio, item)));
    const sh_status status = sh_recording_open(&recording, fd, path_of(audio, item));
    if (status == SH_OK) {
        const sh_recording_info *info = sh_recording_about(recording);
        s->many_channels += info->channels > 1;
        s->other_rates += info->rate != audio->form.rate;
        s->lowest = s->lowest == 0 || info->rate < s->lowest ? info->rate : s->lowest;
        s->highest = info->rate > s->highest ? info->rate : s->highest;
        if (item->split == SH_SPLIT_TRAIN)
            s->lengths[s->count++] =
                sh_resampler_outputs(info->rate, audio->form.rate, info->samples);
        sh_recording_close(recording);
    }
    close(fd);
    if (status != SH_CORRUPT && status != SH_FORMAT)
        return status;
    s->damaged++;
    return SH_OK;
}

static int by_length(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* s->lengths must be sorted. */
static size_t choose_frames(const survey *s, uint32_t rate)
{
    const uint64_t longest = s->lengths[(s->count * COVERED + 99) / 100 - 1];
    const size_t hop = sh_spectrogram_hop(rate);
    /* Rounded up, to cover the last samples. */
    const uint64_t frames = sh_spectrogram_frames(rate, longest + hop - 1);
    return frames < SH_SOUND_FRAMES_MOST ? (size_t)frames : SH_SOUND_FRAMES_MOST;
}

static sh_status note_survey(const audio_source *audio, const survey *s, json_t *notes)
{
    const sh_sound_form *form = &audio->form;
    const uint64_t samples = sh_spectrogram_samples(form->rate, form->frames);
    size_t longer = 0;
    while (longer < s->count && s->lengths[s->count - 1 - longer] > samples)
        longer++;
    SH_TRY(sh_sound_note(notes,
                         "a sample is %" PRIu64
                         " ms long: %zu longer training recordings are cut to their middle, "
                         "shorter ones are padded with silence",
                         samples * 1000 / form->rate, longer));
    if (s->other_rates > 0)
        SH_TRY(sh_sound_note(notes,
                             "%zu recordings of %u to %u samples a second are resampled to %u",
                             s->other_rates, s->lowest, s->highest, form->rate));
    if (s->highest > 0 && s->highest < form->rate)
        SH_TRY(sh_sound_note(notes, "no recording has %u samples a second: --rate %u loses nothing",
                             form->rate, s->highest));
    if (s->many_channels > 0)
        SH_TRY(
            sh_sound_note(notes, "the channels of %zu recordings are averaged", s->many_channels));
    if (s->damaged > 0)
        SH_TRY(sh_sound_note(notes, "%zu recordings have a damaged header", s->damaged));
    return SH_OK;
}

static sh_status survey_all(audio_source *audio, json_t *notes)
{
    survey s = {0};
    sh_status status = SH_OK;
    s.lengths = calloc(audio->list.count, sizeof *s.lengths);
    if (s.lengths == NULL)
        return sh_fail_memory(audio->list.count * sizeof *s.lengths, "lengths of recordings");
    for (size_t i = 0; i < audio->list.count; i++)
        SH_TRY_DONE(survey_file(&s, audio, &audio->list.items[i]));
    if (s.count == 0) {
        status = sh_fail_in(SH_CORRUPT, "%s: no training recording can be read: the last one",
                            audio->list.folder.place);
        goto done;
    }
    qsort(s.lengths, s.count, sizeof *s.lengths, by_length);
    audio->form.frames = choose_frames(&s, audio->form.rate);
    status = note_survey(audio, &s, notes);
done:
    free(s.lengths);
    return status;
}

static sh_status describe(audio_source *audio)
{
    const sh_sound_form *form = &audio->form;
    json_t *classes = json_array(), *notes = json_array();
    audio->base.about = json_pack("{s:o,s:o}", "classes", classes, "notes", notes);
    if (audio->base.about == NULL)
        return sh_fail_memory(1024, "the description of the data");
    for (uint32_t i = 0; i < audio->list.class_count; i++)
        SH_TRY(sh_sound_note(classes, "%s", audio->list.classes[i]));
    SH_TRY(survey_all(audio, notes));
    SH_TRY(sh_sound_list_note(&audio->list, notes));
    json_t *inputs =
        json_pack("{s:s,s:i,s:i,s:i,s:i,s:i}", "kind", "audio", "rate", (int)form->rate, "mels",
                  (int)form->mels, "frame", (int)sh_spectrogram_frame(form->rate), "hop",
                  (int)sh_spectrogram_hop(form->rate), "frames", (int)form->frames);
    if (json_object_set_new(audio->base.about, "inputs", inputs) != 0)
        return sh_fail_memory(1024, "the description of the data");
    return SH_OK;
}

static sh_status digest(audio_source *audio, const sh_read_options *options)
{
    char text[SH_MESSAGE_BYTES];
    uint32_t part;
    memcpy(&part, &options->val_split, sizeof part);
    snprintf(text, sizeof text, "audio %d rate %u mels %zu part %08x from %s", VERSION,
             audio->form.rate, audio->form.mels, part,
             options->label_from == NULL ? "" : options->label_from);
    return sh_sound_folder_digest(audio->base.digest, &audio->list.folder, text);
}

static sh_status look_through(audio_source *audio, const sh_read_options *options)
{
    const uint32_t rate = audio->form.rate;
    if (options->task != NULL && options->task[0] != '\0' &&
        strcmp(options->task, sh_target_name(SH_TARGET_CLASS)) != 0)
        return sh_fail(SH_INVALID, "--task %s: only classes can be learned from recordings",
                       options->task);
    if (rate < SH_SPECTROGRAM_RATE_LEAST || rate > SH_SPECTROGRAM_RATE_MOST)
        return sh_fail(SH_INVALID, "--rate %u: must be %d to %d samples a second", rate,
                       SH_SPECTROGRAM_RATE_LEAST, SH_SPECTROGRAM_RATE_MOST);
    SH_TRY(describe(audio));
    SH_TRY(digest(audio, options));
    audio->base.info = (sh_dataset_info){
        .name = "audio",
        .channels = 1,
        .height = audio->form.frames,
        .width = audio->form.mels,
        .element = SH_ELEMENT_FLOAT,
        .target = SH_TARGET_CLASS,
        .outputs = audio->list.class_count,
        .count = {audio->list.in[SH_SPLIT_TRAIN], audio->list.in[SH_SPLIT_VALIDATION]},
    };
    return sh_sound_sampler_new(&audio->sampler, &audio->form);
}

/* --- the source --- */

static sh_status audio_read(const sh_source *source, sh_split split, uint32_t index, void *sample,
                            void *target)
{
    const audio_source *audio = (const audio_source *)source;
    const sh_sound_item *item = item_at(audio, split, index);
    const int32_t class = (int32_t)item->class;
    int fd;
    SH_TRY(open_file(&fd, audio, path_of(audio, item)));
    const sh_status status = sh_sound_sampler_run(audio->sampler, sample, fd, path_of(audio, item));
    close(fd);
    if (status == SH_OK)
        memcpy(target, &class, sizeof class);
    return status;
}

static sh_status audio_unchanged(const sh_source *source)
{
    return sh_sound_folder_unchanged(&((const audio_source *)source)->list.folder);
}

static void audio_name(const sh_source *source, sh_split split, uint32_t index, char *text,
                       size_t bytes)
{
    const audio_source *audio = (const audio_source *)source;
    sh_utf8_clean(text, bytes, path_of(audio, item_at(audio, split, index)));
}

static void audio_close(sh_source *source)
{
    audio_source *audio = (audio_source *)source;
    sh_sound_sampler_free(audio->sampler);
    json_decref(audio->base.about);
    sh_sound_list_release(&audio->list);
    free(audio);
}

static sh_status audio_look(sh_source **source, const sh_format *format, const char *argument,
                            const sh_read_options *options)
{
    static const sh_source_ops ops = {audio_read, audio_unchanged, audio_name, audio_close};
    (void)format;
    audio_source *audio = calloc(1, sizeof *audio);
    if (audio == NULL)
        return sh_fail_memory(sizeof *audio, "a reader of recordings");
    sh_status status = sh_sound_list_make(&audio->list, argument, options);
    if (status != SH_OK) {
        free(audio);
        return status;
    }
    audio->base.ops = &ops;
    audio->base.place = audio->list.folder.place;
    audio->form = (sh_sound_form){.rate = options->rate > 0 ? options->rate : SH_SOUND_RATE,
                                  .mels = SH_SOUND_MELS};
    status = look_through(audio, options);
    if (status != SH_OK) {
        sh_source_close(&audio->base);
        return status;
    }
    *source = &audio->base;
    return SH_OK;
}

/* Looks at the first entries of the folder and of its folders, `depth` levels deep. */
static bool holds_recordings(int parent, const char *name, int depth)
{
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (entries == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    bool found = false;
    const struct dirent *each;
    for (int i = 0; !found && i < PEEK_MOST && (each = readdir(entries)) != NULL; i++)
        found = each->d_name[0] != '.' &&
                (sh_recording_is_named(each->d_name) ||
                 (depth > 0 && holds_recordings(dirfd(entries), each->d_name, depth - 1)));
    closedir(entries);
    return found;
}

static bool audio_recognises(const sh_format *format, const char *path)
{
    (void)format;
    return holds_recordings(AT_FDCWD, path, 2);
}

const sh_format sh_audio_format = {
    .name = "audio",
    .usage = "audio:DIR",
    .summary = "recordings (WAV, FLAC, AIFF, OGG), labelled by folders or names",
    .files = "recordings (.wav, .flac, .aiff, .ogg) in a folder for each class",
    .recognises = audio_recognises,
    .open = sh_packed_dataset,
    .file_reader = sh_sound_reader,
    .look = audio_look,
};
