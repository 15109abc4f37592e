#include "reconcilers/embedded/node/containerfile.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>

#include "controller/base/ascii.h"
#include "controller/base/text.h"

namespace berth::embedded {
namespace {

constexpr std::size_t max_instructions = 500;
constexpr std::size_t max_stages = 20;
// Builders read lines of at most 64 KiB.
constexpr std::size_t max_line_bytes = 60'000;

constexpr std::array known = std::to_array<std::string_view>(
    {"FROM", "RUN", "CMD", "LABEL", "MAINTAINER", "EXPOSE", "ENV", "ADD", "COPY", "ENTRYPOINT",
     "VOLUME", "USER", "WORKDIR", "ARG", "STOPSIGNAL", "HEALTHCHECK", "SHELL"});
constexpr std::array copy_flags =
    std::to_array<std::string_view>({"--from=", "--chown=", "--chmod="});

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (!is_blank(c)) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

// What FROM says: the words after its flags.
struct Base {
  std::string image;
  std::string stage;  // the name that it gives, in lower case
  std::string flags;
  bool is_well_formed = false;
};
Base base_of(const Instruction& from) {
  Base base;
  auto words = words_of(from.text);
  while (!words.empty() && words.front().starts_with("--")) {
    base.flags += words.front() + " ";
    words.erase(words.begin());
  }
  base.is_well_formed = words.size() == 1 || (words.size() == 3 && lower_case(words[1]) == "as");
  if (!words.empty()) base.image = words[0];
  if (words.size() == 3) base.stage = lower_case(words[2]);
  return base;
}

// A name of an image or stage that means what it says: no variables, quotes or escapes.
bool is_plain(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || std::string_view("._-/:@").contains(char(c)));
  });
}

// Whether a here-document may begin in the text. Not all builders know them, and those that do
// would take the instructions that follow for its text, up to a line with its name. The name may be
// quoted or escaped; one that begins with a digit isn't the beginning of any line.
bool has_here_document(std::string_view text) {
  for (std::size_t at = text.find("<<"); at != std::string_view::npos;
       at = text.find("<<", at + 1)) {
    std::string_view rest = text.substr(at + 2);
    if (rest.starts_with('-')) rest.remove_prefix(1);
    const bool is_operator = rest.empty() || is_blank(rest.front()) || rest.front() == '<' ||
                             rest.front() == '=' ||
                             std::isdigit(static_cast<unsigned char>(rest.front())) != 0;
    if (!is_operator) return true;
  }
  return false;
}

// Reads the instructions in order and remembers the stages.
class Checker {
 public:
  explicit Checker(std::span<const std::string> registries) : registries_(registries) {}

  std::string refusal(const Instruction& step) {
    if (std::ranges::find(known, step.name) == known.end())
      return step.name == "ONBUILD" ? "ONBUILD isn't supported: nothing is built on this image"
                                    : "there is no instruction " + cut(step.name, 40);
    if (step.name.size() + step.text.size() > max_line_bytes)
      return "an instruction " + step.name + " has more than " + std::to_string(max_line_bytes) +
             " bytes";
    if (step.text.ends_with('\\'))
      return "the last instruction, " + step.name + ", ends with a backslash, and no line follows";
    if (step.name == "FROM") return of_base(step);
    if (stages_ == 0 && step.name != "ARG") return "the first instruction has to be FROM";
    if ((step.name == "RUN" || step.name == "COPY" || step.name == "ADD") &&
        has_here_document(step.text))
      return "here-documents (<<) aren't supported; put the text into a file of the source";
    if (step.name == "RUN" && step.text.starts_with("--"))
      return "flags of RUN, such as --mount and --network, aren't supported";
    if (step.name == "COPY" || step.name == "ADD") return of_copy(step);
    return "";
  }
  std::size_t stages() const { return stages_; }

 private:
  std::string of_base(const Instruction& step) {
    if (++stages_ > max_stages)
      return "there are more than " + std::to_string(max_stages) + " stages";
    const Base base = base_of(step);
    if (!base.is_well_formed || !is_plain(base.image) ||
        (!base.stage.empty() && !is_plain(base.stage)))
      return "FROM " + cut(step.text, 100) +
             ": it has to name an image by its words, without variables";
    if (base.flags.find('$') != std::string::npos ||
        (!base.flags.empty() && !base.flags.starts_with("--platform=")))
      return "FROM takes no flag but --platform here";
    if (base.image != "scratch" && !names_.contains(lower_case(base.image))) {
      const std::string image = with_registry(base.image);
      const bool is_allowed = std::ranges::any_of(
          registries_, [&](const std::string& prefix) { return image.starts_with(prefix + "/"); });
      if (!is_allowed || image.starts_with("localhost/"))
        return "FROM " + base.image + ": the registry of a base image has to be an allowed one";
    }
    if (!base.stage.empty()) names_.insert(base.stage);
    return "";
  }

  std::string of_copy(const Instruction& step) const {
    const auto words = words_of(step.text);
    for (const std::string& word : words) {
      if (!word.starts_with("--")) break;
      const auto flag = std::ranges::find_if(
          copy_flags, [&](std::string_view each) { return word.starts_with(each); });
      if (flag == copy_flags.end()) return step.name + " takes no flag " + cut(word, 40) + " here";
      if (*flag != "--from=") continue;
      const std::string from = lower_case(word.substr(flag->size()));
      const auto number = parse_number<std::size_t>(from);
      if (!names_.contains(from) && !(number && *number + 1 < stages_))
        return step.name + " " + cut(word, 60) + ": it has to name an earlier stage";
    }
    if (step.name == "ADD")
      for (const char* remote : {"://", "git@", "github.com/", "$", "\\"})
        if (step.text.find(remote) != std::string::npos)
          return "ADD downloads nothing here and takes no variables; use RUN with curl or wget, or "
                 "COPY";
    return "";
  }

  std::span<const std::string> registries_;
  std::set<std::string> names_;  // of stages
  std::size_t stages_ = 0;
};

}  // namespace

Containerfile Containerfile::parse(std::string_view text) {
  Containerfile file;
  std::string whole;
  bool goes_on = false;
  const auto complete = [&] {
    const std::string_view line = trimmed(whole);
    if (!line.empty()) {
      const std::size_t blank = std::size_t(std::ranges::find_if(line, is_blank) - line.begin());
      std::string name(line.substr(0, blank));
      std::ranges::transform(name, name.begin(), [](unsigned char c) {
        return c < 0x80 ? char(std::toupper(c)) : char(c);
      });
      file.instructions.push_back(
          {.name = std::move(name), .text = std::string(trimmed(line.substr(blank)))});
    }
    whole.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view shown = trimmed(line);
    // Comments and empty lines don't end an instruction that goes on.
    if (shown.empty() || shown.starts_with('#')) continue;
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    goes_on = line.ends_with('\\');
    if (goes_on) line.remove_suffix(1);
    whole += line;
    if (!goes_on) complete();
  }
  complete();
  return file;
}

std::string Containerfile::refusal(std::span<const std::string> registries) const {
  if (instructions.size() > max_instructions)
    return "there are more than " + std::to_string(max_instructions) + " instructions";
  Checker checker(registries);
  for (const Instruction& step : instructions)
    if (std::string wrong = checker.refusal(step); !wrong.empty()) return wrong;
  return checker.stages() == 0 ? "there is no instruction FROM" : "";
}

std::vector<std::string> Containerfile::bases() const {
  std::vector<std::string> images;
  std::set<std::string> stages;
  for (const Instruction& step : instructions) {
    if (step.name != "FROM") continue;
    const Base base = base_of(step);
    if (base.image != "scratch" && !stages.contains(lower_case(base.image)) &&
        std::ranges::find(images, with_registry(base.image)) == images.end())
      images.push_back(with_registry(base.image));
    if (!base.stage.empty()) stages.insert(base.stage);
  }
  return images;
}

std::string Containerfile::to_text(std::string_view app) const {
  std::string text;
  std::set<std::string> stages;
  for (const Instruction& step : instructions) {
    if (step.name != "FROM") {
      text += step.name + " " + step.text + "\n";
      continue;
    }
    const Base base = base_of(step);
    const bool is_image = base.image != "scratch" && !stages.contains(lower_case(base.image));
    text += "FROM " + (is_image ? with_registry(base.image) : base.image) +
            (base.stage.empty() ? "" : " AS " + base.stage) +
            "\nARG BERTH_APP=" + std::string(app) + "\n";
    if (!base.stage.empty()) stages.insert(base.stage);
  }
  return text;
}

std::string with_registry(const std::string& image) {
  const std::size_t slash = image.find('/');
  if (slash == std::string::npos) return "docker.io/library/" + image;
  const std::string host = image.substr(0, slash);
  const bool is_host = host.find_first_of(".:") != std::string::npos || host == "localhost";
  return is_host ? image : "docker.io/" + image;
}

}  // namespace berth::embedded
