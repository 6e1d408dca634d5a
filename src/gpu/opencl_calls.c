/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/opencl_calls.h"

#include "base/library.h"

sh_status sh_opencl_load(opencl_calls *calls)
{
    static const sh_library_name names[] = {
#define CALL_NAME(type, name, parameters) SH_LIBRARY_NAME(opencl_calls, name),
        SH_OPENCL_CALLS(CALL_NAME)
#undef CALL_NAME
    };
    static sh_library library = SH_LIBRARY("libOpenCL.so.1", "ocl-icd-libopencl1", names);
    return sh_library_load(calls, &library);
}

const char *sh_opencl_error(cl_int error, sh_status *status)
{
    switch (error) {
#define ERROR_CASE(number, name, its_status)                                                       \
    case number:                                                                                   \
        *status = SH_##its_status;                                                                 \
        return #name;
        SH_OPENCL_ERRORS(ERROR_CASE)
#undef ERROR_CASE
    default:
        *status = SH_IO;
        return "";
    }
}
