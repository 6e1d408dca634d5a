/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "data/file_reader.h"
#include "data/sound/recording.h"
#include "data/sound/sound_sample.h"
#include "data/sound/spectrogram.h"

typedef struct sound_reader {
    sh_file_reader base;
    sh_sound_sampler *sampler; /* owned */
} sound_reader;

static sh_status sound_load(const sh_file_reader *reader, const char *path, void *sample)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return sh_fail_errno(errno, "%s: cannot open it", path);
    const sh_status status =
        sh_sound_sampler_run(((const sound_reader *)reader)->sampler, sample, fd, path);
    close(fd);
    return status;
}

static void sound_free(sh_file_reader *reader)
{
    sh_sound_sampler_free(((sound_reader *)reader)->sampler);
    free(reader);
}

sh_status sh_sound_reader(sh_file_reader **reader, const sh_trained *trained,
                          const sh_read_options *options)
{
    static const sh_file_reader_ops ops = {.files = "recordings",
                                           .is_named = sh_recording_is_named,
                                           .load = sound_load,
                                           .free = sound_free};
    const sh_dataset_info *info = &trained->info;
    const json_t *inputs = sh_file_reader_inputs(trained, "audio");
    const sh_sound_form form = {
        .rate = (uint32_t)sh_file_reader_number(inputs, "rate", SH_SPECTROGRAM_RATE_MOST),
        .mels = sh_file_reader_number(inputs, "mels", SH_SPECTROGRAM_MELS_MOST),
        .frames = sh_file_reader_number(inputs, "frames", SH_SOUND_FRAMES_MOST)};
    (void)options;
    if (form.rate < SH_SPECTROGRAM_RATE_LEAST || info->element != SH_ELEMENT_FLOAT ||
        info->channels != 1 || form.frames != info->height || form.mels != info->width)
        return sh_file_reader_malformed();
    sound_reader *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a reader of recordings");
    fresh->base.ops = &ops;
    const sh_status status = sh_sound_sampler_new(&fresh->sampler, &form);
    if (status != SH_OK) {
        free(fresh);
        return status;
    }
    *reader = &fresh->base;
    return SH_OK;
}
