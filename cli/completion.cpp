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

// What the server is asked for to complete the command's arguments; empty if nothing.
std::string names_of_arguments(const CommandInfo& command) {
  for (const FlagInfo& flag : command.flags)
    if (flag.positional && !flag.names_of.empty()) return flag.names_of;
  return "";
}

// The two tables that the scripts for bash and zsh use.
std::string tables(const CommandInfo& root) {
  std::string paths, words, values;
  for (const CommandInfo* command : flattened(root)) {
    paths += (paths.empty() ? "" : "|") + shell_quoted(command->path);
    words += "    " + shell_quoted(command->path) +
             ") offered=" + shell_quoted(words_of(*command, root)) +
             " names=" + shell_quoted(names_of_arguments(*command)) + " ;;\n";
    for (const FlagInfo& flag : all_flags(*command)) {
      if (flag.positional || !flag.takes_value) continue;
      std::string choices;
      for (const std::string& choice : flag.choices)
        choices += (choices.empty() ? "" : " ") + choice;
      values += "    " + patterns_of(*command, root, flag) + ") offered=" + shell_quoted(choices) +
                " names=" + shell_quoted(flag.names_of) + (flag.takes_file ? " files=1" : "") +
                " ;;\n";
    }
  }
  return "  for ((i = first + 1; i < current; i++)); do\n"
         "    case \"$at ${line[i]}\" in\n      " +
         paths +
         ") at=\"$at ${line[i]}\" ;;\n"
         "    esac\n  done\n"
         "  case \"$at\" in\n" +
         words +
         "  esac\n"
         "  case \"$at ${line[current - 1]}\" in\n" +
         values + "  esac\n";
}

std::string bash(const CommandInfo& root) {
  return "# berth completion bash > /etc/bash_completion.d/berth, or: . <(berth completion bash)\n"
         "_berth() {\n"
         "  local at=berth offered='' names='' files='' i name first=0 current=$COMP_CWORD\n"
         "  local line=(\"${COMP_WORDS[@]}\")\n" +
         tables(root) +
         "  if [ -n \"$files\" ]; then\n"
         "    COMPREPLY=($(compgen -f -- \"${line[current]}\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -W \"$offered\" -- \"${line[current]}\"))\n"
         "  fi\n"
         "  if [ -n \"$names\" ] && [[ \"${line[current]}\" != -* ]]; then\n"
         "    while IFS= read -r name; do\n"
         "      [[ \"$name\" == \"${line[current]}\"* ]] && COMPREPLY+=(\"$(printf %q "
         "\"$name\")\")\n"
         "    done < <(\"${line[0]}\" __names \"$names\" 2>/dev/null)\n"
         "  fi\n"
         "}\n"
         "complete -F _berth berth\n";
}

std::string zsh(const CommandInfo& root) {
  return "#compdef berth\n"
         "# berth completion zsh > a directory of $fpath/_berth, or: . <(berth completion zsh)\n"
         "_berth() {\n"
         "  local at=berth offered='' names='' files='' i first=1 current=$CURRENT\n"
         "  local -a line; line=(\"${(@)words}\")\n" +
         tables(root) +
         "  if [[ -n $files ]]; then _files; else compadd -- ${=offered}; fi\n"
         "  if [[ -n $names && ${line[current]} != -* ]]; then\n"
         "    local -a found; found=(${(f)\"$(\"${line[1]}\" __names $names 2>/dev/null)\"})\n"
         "    compadd -a found\n"
         "  fi\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _berth ]; then _berth; else compdef _berth berth; fi\n";
}

std::string fish_condition(const CommandInfo& command) {
  return "__berth_at " + shell_quoted(command.path);
}

std::string fish_names(const std::string& kind) {
  return shell_quoted("(berth __names " + kind + " 2>/dev/null)");
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
    if (const std::string names = names_of_arguments(*command); !names.empty())
      lines += "complete -c berth -n " + shell_quoted(fish_condition(*command)) + " -a " +
               fish_names(names) + "\n";
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
         "function __berth_at\n"
         "  set -l at berth\n"
         "  for word in (commandline -opc)[2..-1]\n"
         "    contains -- \"$at $word\"" +
         paths +
         "; and set at \"$at $word\"\n"
         "  end\n"
         "  test \"$at\" = $argv[1]\n"
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
