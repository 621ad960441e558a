/* whole.c - is a shared library complete? Mapping one that was cut short, in
 * the middle of being copied say, ends the process with SIGBUS inside dlopen;
 * what the program headers promise must lie in the file. */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "set.h"

static int segments_fit(int fd, const Elf64_Ehdr *head, uint64_t size) {
  for (uint32_t i = 0; i < head->e_phnum; i++) {
    Elf64_Phdr p;
    off_t at = (off_t)(head->e_phoff + (uint64_t)i * sizeof p);
    if (pread(fd, &p, sizeof p, at) != (ssize_t)sizeof p) return 0;
    if (p.p_type == PT_LOAD &&
        (p.p_filesz > size || p.p_offset > size - p.p_filesz))
      return 0;
  }
  return 1;
}

/* 1 also for what is no 64-bit ELF file: dlopen says why it is refused. */
int dev_file_whole(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC), whole = 1;
  Elf64_Ehdr head;
  struct stat s;
  if (fd < 0) return 1;
  if (fstat(fd, &s) == 0 && pread(fd, &head, sizeof head, 0) == sizeof head &&
      memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
      head.e_ident[EI_CLASS] == ELFCLASS64 &&
      head.e_phentsize == sizeof(Elf64_Phdr))
    whole = segments_fit(fd, &head, (uint64_t)s.st_size);
  close(fd);
  return whole;
}
