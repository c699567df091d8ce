// SPDX-License-Identifier: MIT
#include "distance/distance.h"
