/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files through which drivers reach GPUs. A driver that may not open them says that there is no
 * GPU, or that something failed; what its user has to do is in their permissions.
 *
 *     static const char *const files[] = {"/dev/nvidiactl", "/dev/nvidia0", NULL};
 *     const char *forbidden = sh_gpu_forbidden_file(files);
 *
 * Threads: any.
 */
#ifndef SHOAL_GPU_DEVICE_FILES_H
#define SHOAL_GPU_DEVICE_FILES_H

/* The first of these files that is there and that this process may not read and write; NULL: none.
 * The list ends with NULL. */
const char *sh_gpu_forbidden_file(const char *const *files);

#endif
