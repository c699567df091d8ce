// SPDX-License-Identifier: MIT
// RE2's tables of Unicode, cut down to ASCII.
#include "re2/unicode_casefold.h"
#include "re2/unicode_groups.h"

namespace re2
{
const CaseFold unicode_casefold[] = {{'A', 'Z', 'a' - 'A'}, {'a', 'z', 'A' - 'a'}};
const int num_unicode_casefold = 2;
const CaseFold unicode_tolower[] = {{'A', 'Z', 'a' - 'A'}};
const int num_unicode_tolower = 1;
static const URange16 letters[] = {{'A', 'Z'}, {'a', 'z'}};
const UGroup unicode_groups[] = {{"L", +1, letters, 2, nullptr, 0}};
const int num_unicode_groups = 1;
} // namespace re2
