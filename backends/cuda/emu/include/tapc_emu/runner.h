// The main program of a compiled kernel file: it follows a script of buffers, launches and outputs.
//
// The script is a text of lines, one statement each, with names and numbers separated by blanks:
//   seed N | stack N | poison N | exited_pass_barriers N
//   buffer NAME BYTES poison | byte N | file PATH      (PATH to the end of the line)
//   launch KERNEL GX GY GZ BX BY BZ SHARED COUNT ARGUMENT...
//       ARGUMENT: b NAME OFFSET | i|u|f|x SIZE HEX     (a buffer, or a scalar of SIZE bytes)
//   output NAME PATH
//   report PATH                  (milliseconds of each launch go there)
// Exit status: 0 done, 1 a kernel did something wrong, 2 the script is at fault, 3 the program died.
#ifndef TAPC_EMU_RUNNER_H
#define TAPC_EMU_RUNNER_H

#include "launch.h"
#include "math.h"

#include <errno.h>
#include <ucontext.h>

namespace tapc_emu {

constexpr unsigned char canary = 0xa5;

// A buffer of device memory. Outside the address sanitizer, which has its own guards, it ends just
// before a page that faults, and the bytes between are watched.
struct Buffer {
  std::string name;
  size_t bytes = 0;
  char* data = nullptr;
  char* begin = nullptr;  // of the watched room
  char* end = nullptr;    // of the watched room; a faulting page lies on either side
};

struct Runner {
  std::vector<Buffer> buffers;
  FILE* report = nullptr;
  int line = 0;
};
inline Runner runner;

[[noreturn]] inline void die(int status, const std::string& message) {
  fflush(stdout);
  fprintf(stderr, "tapc-emu: %s\n", message.c_str());
  exit(status);
}

[[noreturn]] inline void bad_script(const std::string& message) {
  die(2, format("script line %d: ", runner.line) + message);
}

inline void allocate(Buffer& b) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
#if defined(TAPC_EMU_ASAN)
  void* p = nullptr;
  if (posix_memalign(&p, 256, b.bytes) != 0) bad_script(format("no memory for %zu bytes", b.bytes));
  b.data = b.begin = static_cast<char*>(p), b.end = b.data + b.bytes;
  (void)page;
#else
  const size_t aligned = (b.bytes + 255) / 256 * 256, room = (aligned + page - 1) / page * page;
  void* p = mmap(nullptr, room + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) bad_script(format("no memory for %zu bytes", b.bytes));
  b.begin = static_cast<char*>(p) + page, b.end = b.begin + room;
  mprotect(p, page, PROT_NONE);
  mprotect(b.end, page, PROT_NONE);
  b.data = b.end - aligned;
  memset(b.begin, canary, static_cast<size_t>(b.data - b.begin));
  memset(b.data + b.bytes, canary, static_cast<size_t>(b.end - b.data) - b.bytes);
#endif
}

inline bool untouched(const char* begin, const char* end) {
  return std::all_of(begin, end, [](char c) { return static_cast<unsigned char>(c) == canary; });
}

inline void check_canaries(const char* kernel) {
  for (const Buffer& b : runner.buffers) {
    if (!untouched(b.begin, b.data)) die(1, format("kernel %s wrote before the begin of buffer %s", kernel, b.name.c_str()));
    if (!untouched(b.data + b.bytes, b.end)) {
      die(1, format("kernel %s wrote past the end of buffer %s (%zu bytes)", kernel, b.name.c_str(), b.bytes));
    }
  }
}

// Words of one line of the script.
struct Words {
  char* rest;
  const char* word(const char* what) {
    char* w = strtok_r(nullptr, " \n", &rest);
    if (w == nullptr) bad_script(format("%s is missing", what));
    return w;
  }
  unsigned long long number(const char* what, int base = 10) {
    const char* w = word(what);
    char* end = nullptr;
    errno = 0;
    const unsigned long long n = strtoull(w, &end, base);
    if (errno != 0 || *end != 0 || end == w) bad_script(format("%s is %s, expected a number", what, w));
    return n;
  }
  std::string path() {
    std::string p = rest == nullptr ? "" : rest;
    while (!p.empty() && p.back() == '\n') p.pop_back();
    if (p.empty()) bad_script("the path is missing");
    return p;
  }
};

inline Buffer& buffer_named(const char* name) {
  for (Buffer& b : runner.buffers) {
    if (b.name == name) return b;
  }
  bad_script(format("no buffer %s", name));
}

inline void read_file(const Buffer& b, const std::string& path) {
  FILE* f = fopen(path.c_str(), "rb");
  if (f == nullptr) bad_script(path + ": " + strerror(errno));
  const size_t got = fread(b.data, 1, b.bytes, f);
  const bool more = fgetc(f) != EOF;
  fclose(f);
  if (got != b.bytes || more) bad_script(format("%s: expected %zu bytes, found %s", path.c_str(), b.bytes, more ? "more" : "fewer"));
}

inline void add_buffer(Words w) {
  Buffer b;
  b.name = w.word("the buffer's name");
  b.bytes = w.number("the buffer's size");
  allocate(b);
  const std::string fill = w.word("the buffer's content");
  if (fill == "file") {
    read_file(b, w.path());
  } else if (fill == "poison" || fill == "byte") {
    const int value = fill == "byte" ? static_cast<int>(w.number("the byte")) : state.settings.poison;
    if (b.bytes > 0) memset(b.data, value, b.bytes);
  } else {
    bad_script("unknown content " + fill);
  }
  runner.buffers.push_back(b);
}

// Reads one argument into slot and checks it against the parameter.
inline void take_argument(Words& w, const Entry& e, size_t i, uint64_t& slot) {
  const char kind = *w.word("the argument's kind");
  const char expected = e.parameters[i];
  const size_t size = e.sizes[i];
  if (kind == 'b') {
    const Buffer& b = buffer_named(w.word("the argument's buffer"));
    const size_t offset = w.number("the argument's offset");
    if (offset > b.bytes) bad_script(format("offset %zu lies outside buffer %s", offset, b.name.c_str()));
    if (expected != 'p') bad_script(format("kernel %s, parameter %zu: a buffer given, expected a scalar of %zu bytes", e.name, i, size));
    slot = reinterpret_cast<uint64_t>(b.data + offset);
    return;
  }
  const size_t given = w.number("the argument's size");
  slot = w.number("the argument's value", 16);
  const bool same_kind = kind == expected || expected == 'b' || (kind != 'f' && (expected == 'i' || expected == 'u'));
  if (expected == 'p' || !same_kind || given != size) {
    bad_script(format("kernel %s, parameter %zu: a scalar of kind %c and %zu bytes given, expected kind %c and %zu bytes", e.name, i, kind,
                      given, expected, size));
  }
}

inline double milliseconds() { return static_cast<double>(clock64()) / 1e6; }

inline void run_launch(Words w) {
  const char* name = w.word("the kernel's name");
  const Entry* e = find(name);
  if (e == nullptr) bad_script(format("no kernel %s", name));
  unsigned long long n[7];
  for (unsigned long long& v : n) v = w.number("a launch dimension");
  const size_t count = w.number("the number of arguments"), wanted = strlen(e->parameters);
  if (count != wanted) bad_script(format("kernel %s takes %zu arguments, %zu given", name, wanted, count));
  std::vector<uint64_t> values(count);
  std::vector<void*> slots(count);
  for (size_t i = 0; i < count; i++) take_argument(w, *e, i, values[i]), slots[i] = &values[i];
  auto dims = [&](int at) { return dim3(static_cast<unsigned>(n[at]), static_cast<unsigned>(n[at + 1]), static_cast<unsigned>(n[at + 2])); };
  const double before = milliseconds();
  const std::string error = launch_entry(*e, dims(0), dims(3), n[6], slots.data());
  const double after = milliseconds();
  if (!error.empty()) die(1, error);
  check_canaries(name);
  if (runner.report != nullptr) fprintf(runner.report, "%.6f\n", after - before);
}

inline void write_output(Words w) {
  const Buffer& b = buffer_named(w.word("the output's buffer"));
  const std::string path = w.path();
  FILE* f = fopen(path.c_str(), "wb");
  if (f == nullptr) bad_script(path + ": " + strerror(errno));
  const bool written = fwrite(b.data, 1, b.bytes, f) == b.bytes;
  if (fclose(f) != 0 || !written) bad_script(path + ": " + strerror(errno));
}

inline void follow(char* text) {
  Words w{nullptr};
  const char* first = strtok_r(text, " \n", &w.rest);
  const std::string verb = first == nullptr ? "" : first;
  if (verb == "buffer") return add_buffer(w);
  if (verb == "launch") return run_launch(w);
  if (verb == "output") return write_output(w);
  if (verb == "report") {
    runner.report = fopen(w.path().c_str(), "w");
    if (runner.report == nullptr) bad_script(strerror(errno));
    return;
  }
  const unsigned long long n = w.number("the setting");
  if (verb == "seed") state.settings.seed = n;
  else if (verb == "stack") state.settings.stack = n;
  else if (verb == "poison") state.settings.poison = static_cast<unsigned char>(n);
  else if (verb == "exited_pass_barriers") state.settings.exited_pass_barriers = n != 0;
  else bad_script("unknown statement " + verb);
}

// Says what lies near an address that faulted.
inline std::string describe_address(const char* address) {
  if (state.stacks.guards(address)) return "the thread's stack is full; it has very large local arrays or unbounded recursion";
  for (const Buffer& b : runner.buffers) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    if (address >= b.end && address < b.end + page) {
      return format("%zu bytes past the end of buffer %s (%zu bytes)", static_cast<size_t>(address - b.data) - b.bytes, b.name.c_str(), b.bytes);
    }
    if (address < b.begin && address >= b.begin - page) {
      return format("%zu bytes before the begin of buffer %s", static_cast<size_t>(b.data - address), b.name.c_str());
    }
  }
  return format("address %p, which lies in no buffer", static_cast<const void*>(address));
}

inline const char* access_of(void* context) {
#if defined(__x86_64__) && defined(REG_ERR)
  return static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2 ? "write" : "read";
#else
  (void)context;
  return "access";
#endif
}

inline void on_signal(int number, siginfo_t* info, void* context) {
  std::string text = state.kernel[0] == 0 ? "outside any kernel" : place();
  if (number == SIGSEGV && info->si_addr == nullptr && info->si_code > 0x7f) {
    text += ": a vector access is not aligned to its size, or an address is far out of range";  // the kernel knows no more
  } else if (number == SIGSEGV || number == SIGBUS) {
    text += format(": invalid %s at ", access_of(context)) + describe_address(static_cast<char*>(info->si_addr));
  } else if (number == SIGILL) {
    text += ": trap: a vector access is not aligned to its size";
  } else if (number == SIGFPE) {
    text += ": integer division by zero, or of the smallest number by -1";
  } else if (number == SIGABRT) {
    text += ": an assertion failed";
  } else {
    text += ": stopped here from outside; this thread may never end";
  }
  text = "tapc-emu: " + text + "\n";
  fflush(stdout);
  if (write(2, text.data(), text.size()) < 0) _exit(4);
  _exit(number == SIGTERM ? 3 : 1);
}

inline void watch_signals() {
  alignas(16) static char stack[64 << 10];
  stack_t alternative{};
  alternative.ss_sp = stack, alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  for (int number : {SIGILL, SIGFPE, SIGABRT, SIGTERM}) sigaction(number, &action, nullptr);
#if defined(TAPC_EMU_ASAN)
  __asan_set_error_report_callback([](const char*) { fprintf(stderr, "tapc-emu: %s: see the sanitizer's report\n", place().c_str()); });
#else
  for (int number : {SIGSEGV, SIGBUS}) sigaction(number, &action, nullptr);
#endif
}

inline int run(int count, char** arguments) {
  if (count != 2) die(2, "usage: program SCRIPT");
  watch_signals();
  FILE* script = fopen(arguments[1], "r");
  if (script == nullptr) die(2, format("%s: %s", arguments[1], strerror(errno)));
  char* text = nullptr;
  size_t size = 0;
  while (getline(&text, &size, script) >= 0) {
    runner.line++;
    follow(text);
  }
  free(text);
  fclose(script);
  const bool reported = runner.report == nullptr || fclose(runner.report) == 0;
  if (fflush(stdout) != 0 || !reported) die(2, "cannot write the results");
  return 0;
}

}  // namespace tapc_emu

#endif
