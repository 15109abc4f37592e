#include "cli/completion.h"

#include "cli/tree.h"

namespace berth::cli {
namespace {

// Quotes a word with single quotes, for shells and for fish.
std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::vector<FlagInfo> all_flags(const CommandInfo& command) {
  std::vector<FlagInfo> flags = command.flags;
  flags.insert(flags.end(), command.inherited.begin(), command.inherited.end());
  return flags;
}

std::string words_of(const CommandInfo& command, const CommandInfo& root) {
  std::string words;
  for (const CommandInfo& below : command.commands) words += below.name + " ";
  for (const FlagInfo& flag : command.flags) {
    if (flag.positional)
      for (const std::string& choice : flag.choices) words += choice + " ";
    else
      words += flag.names[0] + " ";
  }
  for (const FlagInfo& flag : command.inherited) words += flag.names[0] + " ";
  // The flags of the root are accepted everywhere.
  if (&command != &root)
    for (const FlagInfo& flag : root.flags)
      if (flag.names[0] != "--help" && flag.names[0] != "--version") words += flag.names[0] + " ";
  if (!words.empty()) words.pop_back();
  return words;
}

std::string patterns_of(const CommandInfo& command, const CommandInfo& root, const FlagInfo& flag) {
  std::string patterns;
  for (const std::string& name : flag.names)
    patterns += (patterns.empty() ? "" : "|") +
                (&command == &root ? "*" : shell_quoted(command.path)) + shell_quoted(" " + name);
  return patterns;
}

// Returns what completes each of the command's arguments, by their positions: "-" for nothing, and
// with a + after that of an argument that may be given several times. Returns an empty text if
// there is nothing to look up.
std::string names_of_arguments(const CommandInfo& command) {
  std::string names;
  bool has_any = false;
  for (const FlagInfo& flag : command.flags) {
    if (!flag.positional) continue;
    has_any = has_any || !flag.names_of.empty();
    names += (names.empty() ? "" : " ") + (flag.names_of.empty() ? "-" : flag.names_of) +
             (flag.takes_many ? "+" : "");
  }
  return has_any ? names : "";
}

// The part that the scripts for bash and zsh share. It finds the command (`at`), the number of
// arguments before the one that is completed (`position`) and the first of them (`operand`), and
// derives from these what is offered: words, names to look up, or files. `nth` is the expression
// for the entry of the array `kinds` at the position, and `last` for its last one.
std::string tables(const CommandInfo& root, const std::string& nth, const std::string& last) {
  std::string paths, others, words, values, with_value;
  for (const CommandInfo* command : flattened(root)) {
    paths += (paths.empty() ? "" : "|") + shell_quoted(command->path);
    const std::string group = command->path.substr(0, command->path.size() - command->name.size());
    for (const std::string& alias : command->aliases)
      others += "      " + shell_quoted(group + alias) + ") at=" + shell_quoted(command->path) +
                "; continue ;;\n";
    words += "    " + shell_quoted(command->path) +
             ") offered=" + shell_quoted(words_of(*command, root)) +
             " names=" + shell_quoted(names_of_arguments(*command)) + " ;;\n";
    for (const FlagInfo& flag : all_flags(*command)) {
      if (flag.positional || !flag.takes_value) continue;
      std::string choices;
      for (const std::string& choice : flag.choices)
        choices += (choices.empty() ? "" : " ") + choice;
      const std::string patterns = patterns_of(*command, root, flag);
      with_value += (with_value.empty() ? "" : "|") + patterns;
      values += "    " + patterns + ") offered=" + shell_quoted(choices) +
                " kind=" + shell_quoted(flag.names_of) + (flag.takes_file ? " files=1" : "") +
                " ;;\n";
    }
  }
  return "  for ((i = first + 1; i < current; i++)); do\n"
         "    case \"$at ${line[i]}\" in\n      " +
         paths + ") at=\"$at ${line[i]}\"; continue ;;\n" + others + "      " + with_value +
         ") ((i++)); continue ;;\n"
         "    esac\n"
         "    case \"${line[i]}\" in -*) continue ;; esac\n"
         "    [ -n \"$operand\" ] || operand=${line[i]}\n"
         "    position=$((position + 1))\n"
         "  done\n"
         "  case \"$at\" in\n" +
         words + "  esac\n" + nth +
         "  case \"$kind\" in\n"
         "    '') kind=" +
         last +
         "; case \"$kind\" in *+) ;; *) kind='' ;; esac ;;\n"
         "  esac\n"
         "  kind=${kind%+}\n"
         "  case \"$kind\" in -) kind='' ;; esac\n"
         "  case \"$at ${line[current - 1]}\" in\n" +
         values + "  esac\n";
}

std::string bash(const CommandInfo& root) {
  return "# berth completion bash > /etc/bash_completion.d/berth, or: . <(berth completion bash)\n"
         "_berth() {\n"
         "  local at=berth offered='' names='' kind='' files='' operand='' i name first=0 "
         "position=0\n"
         "  local current=$COMP_CWORD kinds\n"
         "  local line=(\"${COMP_WORDS[@]}\")\n" +
         tables(root,
                "  kinds=($names)\n"
                "  kind=${kinds[position]:-}\n",
                "${names##* }") +
         "  if [ -n \"$files\" ]; then\n"
         "    COMPREPLY=($(compgen -f -- \"${line[current]}\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -W \"$offered\" -- \"${line[current]}\"))\n"
         "  fi\n"
         "  if [ -n \"$kind\" ] && [[ \"${line[current]}\" != -* ]]; then\n"
         "    while IFS= read -r name; do\n"
         "      [[ \"$name\" == \"${line[current]}\"* ]] && COMPREPLY+=(\"$(printf %q "
         "\"$name\")\")\n"
         "    done < <(\"${line[0]}\" __names \"$kind\" ${operand:+\"$operand\"} 2>/dev/null)\n"
         "  fi\n"
         "}\n"
         "complete -F _berth berth\n";
}

std::string zsh(const CommandInfo& root) {
  return "#compdef berth\n"
         "# berth completion zsh > a directory of $fpath/_berth, or: . <(berth completion zsh)\n"
         "_berth() {\n"
         "  local at=berth offered='' names='' kind='' files='' operand='' i first=1 position=0\n"
         "  local current=$CURRENT\n"
         "  local -a line kinds; line=(\"${(@)words}\")\n" +
         tables(root,
                "  kinds=(${=names})\n"
                "  kind=${kinds[position + 1]:-}\n",
                "${names##* }") +
         "  if [[ -n $files ]]; then _files; else compadd -- ${=offered}; fi\n"
         "  if [[ -n $kind && ${line[current]} != -* ]]; then\n"
         "    local -a found; found=(${(f)\"$(\"${line[1]}\" __names $kind "
         "${operand:+\"$operand\"} 2>/dev/null)\"})\n"
         "    compadd -a found\n"
         "  fi\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _berth ]; then _berth; else compdef _berth berth; fi\n";
}

std::string fish_condition(const CommandInfo& command) {
  return "__berth_at " + shell_quoted(command.path);
}

std::string fish_names(const std::string& kind) {
  return shell_quoted("(berth __names " + kind + " (__berth_operand) 2>/dev/null)");
}

// One line for each argument whose names are looked up, for its position alone.
std::string fish_arguments(const CommandInfo& command) {
  std::string lines;
  size_t position = 0;
  for (const FlagInfo& flag : command.flags) {
    if (!flag.positional) continue;
    const std::string at = fish_condition(command) + " " + std::to_string(position++) +
                           (flag.takes_many ? " or more" : "");
    if (!flag.names_of.empty())
      lines +=
          "complete -c berth -n " + shell_quoted(at) + " -a " + fish_names(flag.names_of) + "\n";
  }
  return lines;
}

std::string fish_flag(const CommandInfo& command, const CommandInfo& root, const FlagInfo& flag) {
  std::string line = "complete -c berth";
  if (&command != &root) line += " -n " + shell_quoted(fish_condition(command));
  for (const std::string& name : flag.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (flag.takes_value) line += flag.takes_file ? " -r -F" : " -x";
  std::string choices;
  for (const std::string& choice : flag.choices) choices += (choices.empty() ? "" : " ") + choice;
  if (!choices.empty()) line += " -a " + shell_quoted(choices);
  if (!flag.names_of.empty()) line += " -a " + fish_names(flag.names_of);
  return line + " -d " + shell_quoted(flag.description) + "\n";
}

std::string fish(const CommandInfo& root) {
  std::string paths, lines;
  for (const CommandInfo* command : flattened(root)) {
    paths += " " + shell_quoted(command->path);
    for (const CommandInfo& below : command->commands)
      lines += "complete -c berth -n " + shell_quoted(fish_condition(*command)) + " -a " +
               below.name + " -d " + shell_quoted(below.description) + "\n";
    lines += fish_arguments(*command);
    for (const FlagInfo& flag : all_flags(*command)) {
      if (!flag.positional) lines += fish_flag(*command, root, flag);
      if (!flag.positional || flag.choices.empty()) continue;
      std::string choices;
      for (const std::string& choice : flag.choices)
        choices += (choices.empty() ? "" : " ") + choice;
      lines += "complete -c berth -n " + shell_quoted(fish_condition(*command)) + " -a " +
               shell_quoted(choices) + "\n";
    }
  }
  return "# berth completion fish > ~/.config/fish/completions/berth.fish\n"
         "# Sets __berth_path, and __berth_operands to the arguments behind it.\n"
         "function __berth_read\n"
         "  set -g __berth_path berth\n"
         "  set -g __berth_operands\n"
         "  for word in (commandline -opc)[2..-1]\n"
         "    if contains -- \"$__berth_path $word\"" +
         paths +
         "\n"
         "      set __berth_path \"$__berth_path $word\"\n"
         "    else if not string match -q -- '-*' $word\n"
         "      set -a __berth_operands $word\n"
         "    end\n"
         "  end\n"
         "end\n"
         "# __berth_at PATH [POSITION [or more]]\n"
         "function __berth_at\n"
         "  __berth_read\n"
         "  test \"$__berth_path\" = $argv[1]; or return 1\n"
         "  set -q argv[2]; or return 0\n"
         "  test (count $__berth_operands) -eq $argv[2]; and return 0\n"
         "  set -q argv[3]; and test (count $__berth_operands) -gt $argv[2]\n"
         "end\n"
         "function __berth_operand\n"
         "  __berth_read\n"
         "  set -q __berth_operands[1]; and echo $__berth_operands[1]\n"
         "end\n"
         "complete -c berth -f\n" +
         lines;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  const CommandInfo root = tree_of(app);
  if (shell == "zsh") return zsh(root);
  return shell == "fish" ? fish(root) : bash(root);
}

}  // namespace berth::cli
