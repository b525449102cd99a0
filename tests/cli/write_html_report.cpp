#include <iostream>
#include <vector>

#include "cli/html_report.hpp"
#include "core/file.hpp"

/// Writes the page of some reports, for the test that opens it in a browser.
/// Usage: write_html_report PAGE REPORT…
int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    std::vector<paceline::core::Report> reports;
    for (std::size_t i = 1; i < words.size(); ++i) {
      reports.push_back(paceline::core::read_report(words[i]));
    }
    paceline::core::write_file_atomically(words.at(0), paceline::cli::html_report(reports));
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
