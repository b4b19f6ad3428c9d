// bin/framefs of the tarball: starts lib/framefs/framefs with the loader that lies next to it.
//
// The kernel starts a program with the loader whose absolute path is in the program.  A tarball is
// unpacked anywhere, on systems that have another glibc or none.  This launcher thus does what the
// kernel does: it maps the program and the loader into its own process, enters them in the auxiliary
// vector, and jumps to the loader.  The process remains that of bin/framefs: its arguments, its name
// in ps(1), and /proc/self/exe, which the daemon starts again as its watchdog.
//
// The launcher uses no library and has no relocations.  Source: kernel, fs/binfmt_elf.c.
#include <asm/unistd.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>

namespace {

using Word = unsigned long;

#if defined(__x86_64__)
constexpr char kLoader[] = "lib/framefs/ld-linux-x86-64.so.2";
constexpr Elf64_Half kMachine = EM_X86_64;

asm(R"(
  .globl _start
_start:
  mov %rsp, %rbx
  mov %rsp, %rdi
  and $-16, %rsp
  xor %ebp, %ebp
  call launch
  mov %rbx, %rsp
  xor %edx, %edx
  jmp *%rax
)");

Word system_call(Word number, Word a, Word b = 0, Word c = 0, Word d = 0, Word e = 0, Word f = 0) {
  register Word fourth asm("r10") = d;
  register Word fifth asm("r8") = e;
  register Word sixth asm("r9") = f;
  asm volatile("syscall"
               : "+a"(number)
               : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  return number;
}
#elif defined(__aarch64__)
constexpr char kLoader[] = "lib/framefs/ld-linux-aarch64.so.1";
constexpr Elf64_Half kMachine = EM_AARCH64;

asm(R"(
  .globl _start
_start:
  mov x19, sp
  mov x0, sp
  mov x29, #0
  mov x30, #0
  bl launch
  mov x16, x0
  mov x0, #0
  mov sp, x19
  br x16
)");

Word system_call(Word number, Word a, Word b = 0, Word c = 0, Word d = 0, Word e = 0, Word f = 0) {
  register Word call asm("x8") = number;
  register Word first asm("x0") = a;
  register Word second asm("x1") = b;
  register Word third asm("x2") = c;
  register Word fourth asm("x3") = d;
  register Word fifth asm("x4") = e;
  register Word sixth asm("x5") = f;
  asm volatile("svc #0"
               : "+r"(first)
               : "r"(call), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
               : "memory");
  return first;
}
#else
#error "the launcher does not know this processor"
#endif

constexpr char kProgram[] = "lib/framefs/framefs";
constexpr Word kMaxPath = 4096;
constexpr Word kMaxSegments = 32;

Word address_of(const void* pointer) { return reinterpret_cast<Word>(pointer); }

Word length_of(const char* text) {
  Word length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

void say(const char* text) { system_call(__NR_write, 2, address_of(text), length_of(text)); }

[[noreturn]] void fail(const char* reason, const char* path = "") {
  constexpr Word kExitCannotStart = 126;  // as shells have it
  say("framefs: ");
  say(reason);
  say(path);
  say("\n");
  for (;;) system_call(__NR_exit_group, kExitCannotStart);
}

bool is_error(Word result) { return result > -Word{4096}; }

struct Path {
  char text[kMaxPath];
};

// The folder that contains bin, with a slash at its end.  Symbolic links to the launcher do not
// matter: the kernel has resolved them.
Word find_bundle(Path& path) {
  const Word length = system_call(__NR_readlinkat, static_cast<Word>(AT_FDCWD),
                                  address_of("/proc/self/exe"), address_of(path.text), kMaxPath);
  if (is_error(length)) fail("cannot read /proc/self/exe: /proc must be mounted");
  constexpr int kSlashes = 2;
  Word end = length;
  for (int seen = 0; end > 0; --end) {
    if (path.text[end - 1] == '/' && ++seen == kSlashes) return end;
  }
  fail("must lie in a folder bin of its own");
}

void append(Path& path, Word end, const char* name) {
  const Word length = length_of(name) + 1;
  if (end + length > kMaxPath) fail("the path of the folder is too long");
  for (Word i = 0; i < length; ++i) path.text[end + i] = name[i];
}

// A program or library in memory.
struct Image {
  Word shift;  // what is added to the addresses in the file
  Word entry;
  Word headers;  // the address of the program headers
  Word header_count;
};

class Mapper {
 public:
  Mapper(const char* path, Word page) : path_(path), page_(page) {
    file_ = system_call(__NR_openat, static_cast<Word>(AT_FDCWD), address_of(path),
                        O_RDONLY | O_CLOEXEC);
    if (is_error(file_)) fail("the folders bin and lib belong together: cannot open ", path);
    read(&header_, sizeof(header_), 0);
    const bool is_right = header_.e_ident[EI_MAG0] == ELFMAG0 && header_.e_ident[EI_MAG1] == 'E' &&
                          header_.e_type == ET_DYN && header_.e_machine == kMachine &&
                          header_.e_phentsize == sizeof(Elf64_Phdr) &&
                          header_.e_phnum <= kMaxSegments;
    if (!is_right) fail("not a program for this machine: ", path);
    read(segments_, header_.e_phnum * sizeof(Elf64_Phdr), header_.e_phoff);
  }

  Image map() {
    const Word shift = reserve();
    Image image{.shift = shift,
                .entry = shift + header_.e_entry,
                .headers = 0,
                .header_count = header_.e_phnum};
    for (Word i = 0; i < header_.e_phnum; ++i) {
      const auto& segment = segments_[i];
      if (segment.p_type != PT_LOAD) continue;
      map_segment(segment, shift);
      if (segment.p_offset <= header_.e_phoff &&
          header_.e_phoff < segment.p_offset + segment.p_filesz) {
        image.headers = shift + segment.p_vaddr + (header_.e_phoff - segment.p_offset);
      }
    }
    system_call(__NR_close, file_);
    return image;
  }

 private:
  void read(void* into, Word size, Word offset) {
    if (system_call(__NR_pread64, file_, address_of(into), size, offset) != size) {
      fail("cannot read ", path_);
    }
  }

  Word page_of(Word address) const { return address & ~(page_ - 1); }
  Word page_after(Word address) const { return page_of(address + page_ - 1); }

  Word map_pages(Word start, Word size, Word protection, Word flags, Word file, Word offset) const {
    const Word result = system_call(__NR_mmap, start, size, protection, flags, file, offset);
    if (is_error(result)) fail("no memory for, or no permission to execute, ", path_);
    return result;
  }

  // Reserves addresses for all segments.  Returns the shift.
  Word reserve() const {
    Word first = ~Word{0};
    Word last = 0;
    Word alignment = page_;
    for (Word i = 0; i < header_.e_phnum; ++i) {
      const auto& segment = segments_[i];
      if (segment.p_type != PT_LOAD) continue;
      if (segment.p_vaddr < first) first = segment.p_vaddr;
      if (segment.p_vaddr + segment.p_memsz > last) last = segment.p_vaddr + segment.p_memsz;
      if (segment.p_align > alignment) alignment = segment.p_align;
    }
    if (last == 0) fail("nothing to load in ", path_);
    first = page_of(first);
    const Word size = page_after(last) - first;
    const Word all = map_pages(0, size + alignment, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~Word{0}, 0);
    const Word shift = (all - first + alignment - 1) & ~(alignment - 1);
    const Word start = first + shift;
    if (start > all) system_call(__NR_munmap, all, start - all);
    const Word rest = all + size + alignment - (start + size);
    if (rest > 0) system_call(__NR_munmap, start + size, rest);
    return shift;
  }

  void map_segment(const Elf64_Phdr& segment, Word shift) const {
    Word protection = 0;
    if ((segment.p_flags & PF_R) != 0) protection |= PROT_READ;
    if ((segment.p_flags & PF_W) != 0) protection |= PROT_WRITE;
    if ((segment.p_flags & PF_X) != 0) protection |= PROT_EXEC;
    const Word start = page_of(shift + segment.p_vaddr);
    const Word before = shift + segment.p_vaddr - start;
    const Word file_end = start + before + segment.p_filesz;
    const Word memory_end = start + before + segment.p_memsz;
    Word mapped_end = start;
    if (segment.p_filesz > 0) {
      mapped_end = page_after(file_end);
      map_pages(start, mapped_end - start, protection, MAP_PRIVATE | MAP_FIXED, file_,
                segment.p_offset - before);
    }
    if (segment.p_memsz <= segment.p_filesz) return;
    // Variables without a value in the file are zero, and so is the rest of their last page, where the
    // loader allocates.
    for (Word at = file_end; at < mapped_end; ++at) *reinterpret_cast<volatile char*>(at) = 0;
    if (memory_end > mapped_end) {
      map_pages(mapped_end, page_after(memory_end) - mapped_end, protection,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, ~Word{0}, 0);
    }
  }

  const char* path_;
  Word page_;
  Word file_ = 0;
  Elf64_Ehdr header_;
  Elf64_Phdr segments_[kMaxSegments];
};

// The auxiliary vector stands on the stack behind the arguments and the environment.
Elf64_auxv_t* auxiliary_vector(Word* stack) {
  Word* at = stack + 1 + stack[0] + 1;
  while (*at != 0) ++at;
  return reinterpret_cast<Elf64_auxv_t*>(at + 1);
}

Word page_size(const Elf64_auxv_t* vector) {
  for (; vector->a_type != AT_NULL; ++vector) {
    if (vector->a_type == AT_PAGESZ) return vector->a_un.a_val;
  }
  fail("the kernel names no page size");
}

// Says what the kernel says of a program and its loader.
void enter(Elf64_auxv_t* vector, const Image& program, const Image& loader) {
  for (; vector->a_type != AT_NULL; ++vector) {
    auto& value = vector->a_un.a_val;
    if (vector->a_type == AT_PHDR) value = program.headers;
    if (vector->a_type == AT_PHNUM) value = program.header_count;
    if (vector->a_type == AT_ENTRY) value = program.entry;
    if (vector->a_type == AT_BASE) value = loader.shift;
  }
}

}  // namespace

// Called by _start with the stack as the kernel made it.  Returns the address to jump to.
extern "C" [[gnu::used]] Word launch(Word* stack) {
  auto* const vector = auxiliary_vector(stack);
  const Word page = page_size(vector);
  Path path;
  const Word end = find_bundle(path);
  append(path, end, kProgram);
  const auto program = Mapper(path.text, page).map();
  append(path, end, kLoader);
  const auto loader = Mapper(path.text, page).map();
  enter(vector, program, loader);
  return loader.entry;
}
