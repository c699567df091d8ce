// SPDX-License-Identifier: MIT
#include "shadow/shadow.h"
