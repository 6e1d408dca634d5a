/* SPDX-License-Identifier: Apache-2.0 */
/* The whole public interface. */
#ifndef SHOAL_SHOAL_H
#define SHOAL_SHOAL_H

#include "shoal/about.h"
#include "shoal/bench.h"
#include "shoal/builder.h"
#include "shoal/data.h"
#include "shoal/describe.h"
#include "shoal/device_info.h"
#include "shoal/eval.h"
#include "shoal/export.h"
#include "shoal/hand_over.h"
#include "shoal/job.h"
#include "shoal/join.h"
#include "shoal/launch.h"
#include "shoal/options.h"
#include "shoal/plan.h"
#include "shoal/predict.h"
#include "shoal/profile.h"
#include "shoal/report.h"
#include "shoal/runs.h"
#include "shoal/status.h"
#include "shoal/sweep.h"
#include "shoal/train.h"

#endif
