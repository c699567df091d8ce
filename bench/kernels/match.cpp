// SPDX-License-Identifier: MIT
// Drives RE2: counts the matches of regular expressions in the lines of a file.
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <re2/re2.h>

int main(int argc, char **argv)
{
    static const char *const patterns[] = {
        "(\\w+)@(\\w+)\\.(com|org|net)", "\\b(\\d{1,3})\\.(\\d{1,3})\\.(\\d{1,3})\\.(\\d{1,3})\\b",
        "(?i)error|warning|fatal", "([a-z]+)ing ([a-z]+)ed", "\"(GET|POST) ([^\"]*)\" (\\d+)"};
    std::ifstream file(argc > 1 ? argv[1] : "");
    std::stringstream buffer;
    buffer << file.rdbuf();
    const std::string text = buffer.str();
    for (const char *pattern : patterns) {
        re2::RE2 expression(pattern);
        re2::StringPiece rest(text);
        std::string group;
        std::map<std::string, long> seen;
        long matches = 0;
        if (expression.NumberOfCapturingGroups() == 0) {
            while (re2::RE2::FindAndConsume(&rest, expression))
                matches++;
        } else {
            while (re2::RE2::FindAndConsume(&rest, expression, &group)) {
                matches++;
                seen[group]++;
            }
        }
        std::printf("%ld %zu\n", matches, seen.size());
    }
    return text.empty();
}
