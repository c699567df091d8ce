// SPDX-License-Identifier: MIT
// Drives pugixml: reads a document, queries it, changes it and writes it to standard output.
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "pugixml.hpp"

int main(int argc, char **argv)
{
    pugi::xml_document document;
    if (argc < 2 || !document.load_file(argv[1]))
        return 1;
    std::map<std::string, double> totals;
    std::vector<pugi::xml_node> removed;
    for (pugi::xml_node item : document.child("catalogue").children("item")) {
        double price = item.child("price").text().as_double();
        totals[item.attribute("kind").value()] += price;
        if (price < 10)
            removed.push_back(item);
        else
            item.append_attribute("double").set_value(2 * price);
    }
    for (pugi::xml_node item : removed)
        document.child("catalogue").remove_child(item);
    for (const auto &entry : totals)
        std::printf("%s %.2f\n", entry.first.c_str(), entry.second);
    pugi::xpath_node_set found =
        document.select_nodes("/catalogue/item[price > 90]/note[@lang='en']");
    std::printf("%zu\n", found.size());
    std::ostringstream text;
    document.save(text, " ");
    std::printf("%zu\n%s", text.str().size(), text.str().substr(0, 200).c_str());
    return 0;
}
