// A simulated cluster in a process of its own, which goes on while berthd is killed.
//
//     metering_cluster SPEED
//
// Prints its URL, and ends with its standard input. A line `drop` there breaks all watches off.
#include "reconcilers/embedded/cluster.h"

#include <exception>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  try {
    berth::embedded::Options options;
    options.timing = berth::embedded::Timing().sped_up(argc > 1 ? std::stoi(argv[1]) : 1);
    options.remembers = false;
    berth::embedded::Cluster cluster(options);
    std::cout << cluster.url() << std::endl;
    for (std::string line; std::getline(std::cin, line);)
      if (line == "drop") cluster.drop_watches();
    return 0;
  } catch (const std::exception& failure) {
    std::cerr << "metering_cluster: " << failure.what() << "\n";
    return 1;
  }
}
