// Gives a fuzzer's kept inputs to its function again, under any compiler: what has been found once stays found.
//   replay_NAME FILE-OR-FOLDER...

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

void replay(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int count, char** words) {
  int files = 0;
  for (int index = 1; index < count; ++index) {
    if (!std::filesystem::is_directory(words[index])) {
      replay(words[index]);
      ++files;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(words[index])) {
      replay(entry.path());
      ++files;
    }
  }
  std::printf("%d inputs\n", files);
  return files > 0 ? 0 : 1;
}
