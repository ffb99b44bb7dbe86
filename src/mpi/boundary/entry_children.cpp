// Children of MPI_Comm_spawn under Open MPI: its run-time system starts them with the environment of its daemons, so
// that what was preloaded into their parents (mpiexec -x, env(1)) would be missing. Hydra's children inherit what -genv
// said.

#include "mpi/boundary/entry.hpp"

#if defined(OPEN_MPI)

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::mpi {
namespace {

/// This library, if it was preloaded, with all that was beside it, and its settings: children that are set otherwise
/// would leave the communicators with their parents to native. Empty where it was not preloaded.
std::vector<std::string> find_heritage() {
  std::vector<std::string> words;
  const char* const preload = std::getenv("LD_PRELOAD");
  if (preload == nullptr || std::strstr(preload, "libespalier") == nullptr) return words;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view word = *variable;
    if (word.starts_with("LD_PRELOAD=") || word.starts_with("ESPALIER_")) words.emplace_back(word);
  }
  return words;
}

/// Where a command is found: Open MPI looks in the working folder first, env(1) only on the PATH. Empty: nowhere here,
/// so that MPI had better say so itself.
std::string find_program(const std::string& command) {
  if (command.find('/') != std::string::npos) return access(command.c_str(), X_OK) == 0 ? command : "";
  const std::filesystem::path here = std::filesystem::current_path() / command;
  if (access(here.c_str(), X_OK) == 0) return here;
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    if (access((std::string(folder) + "/" + command).c_str(), X_OK) == 0) return command;
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
  }
  return "";
}

/// A command with its arguments, behind env(1) and the heritage. (There is an info key for variables, "env", but Open
/// MPI 5 warns of it, and what an info holds is at most 255 characters.)
class Command {
 public:
  Command(const char* command, char** arguments, const std::vector<std::string>& heritage) {
    const std::string program = heritage.empty() ? "" : find_program(command);
    program_ = program.empty() ? command : "/usr/bin/env";
    if (!program.empty()) {
      words_ = heritage;
      words_.push_back(program);
    }
    for (; arguments != MPI_ARGV_NULL && *arguments != nullptr; ++arguments) words_.emplace_back(*arguments);
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }
  Command(Command&&) = default;
  Command(const Command&) = delete;

  char* program() { return program_.data(); }
  char** arguments() { return pointers_.data(); }

 private:
  std::string program_;
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

/// What the root says counts; elsewhere the arguments may be anything.
bool is_root(int root, MPI_Comm comm) {
  int rank = -1;
  return native().Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

template <class Function>
Function find_function(const char* name) {
  return find_native() == nullptr ? nullptr : reinterpret_cast<Function>(find_symbol(name));
}

}  // namespace
}  // namespace espalier::mpi

using namespace espalier::mpi;

ESPALIER_EXPORT int MPI_Comm_spawn(const char* command, char* arguments[], int most, MPI_Info info, int root,
                                   MPI_Comm comm, MPI_Comm* children, int codes[]) {
  const auto spawn = find_function<decltype(&PMPI_Comm_spawn)>("PMPI_Comm_spawn");
  if (spawn == nullptr) return MPI_ERR_INTERN;
  try {
    const std::vector<std::string> heritage = find_heritage();
    if (heritage.empty() || !is_root(root, comm) || command == nullptr)
      return spawn(command, arguments, most, info, root, comm, children, codes);
    Command whole(command, arguments, heritage);
    return spawn(whole.program(), whole.arguments(), most, info, root, comm, children, codes);
  } catch (const std::exception&) {  // out of memory, or no working folder: nothing has begun
    return spawn(command, arguments, most, info, root, comm, children, codes);
  }
}

ESPALIER_EXPORT int MPI_Comm_spawn_multiple(int count, char* commands[], char** arguments[], const int most[],
                                            const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm* children,
                                            int codes[]) {
  const auto spawn = find_function<decltype(&PMPI_Comm_spawn_multiple)>("PMPI_Comm_spawn_multiple");
  if (spawn == nullptr) return MPI_ERR_INTERN;
  std::vector<Command> whole;
  std::vector<char*> programs;
  std::vector<char**> words;
  try {
    const std::vector<std::string> heritage = find_heritage();
    if (!heritage.empty() && is_root(root, comm))
      for (int i = 0; i < count; ++i)
        whole.emplace_back(commands[i], arguments == MPI_ARGVS_NULL ? MPI_ARGV_NULL : arguments[i], heritage);
    for (Command& command : whole) {
      programs.push_back(command.program());
      words.push_back(command.arguments());
    }
  } catch (const std::exception&) {
    whole.clear();
  }
  if (whole.empty()) return spawn(count, commands, arguments, most, infos, root, comm, children, codes);
  return spawn(count, programs.data(), words.data(), most, infos, root, comm, children, codes);
}

#endif
