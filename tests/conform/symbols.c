/* symbols.c - what does the file export? The names that a shared library
 * offers to others stand in its .dynsym; the header allows one. */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cf.h"

typedef struct {
  const uint8_t *at;
  uint64_t size;
} image;

/* Names that old linkers add to every library. */
static int is_linkers(const char *name) {
  static const char *const own[] = {"_init",  "_fini", "__bss_start",
                                    "_edata", "_end",  NULL};
  for (int i = 0; own[i]; i++)
    if (strcmp(own[i], name) == 0) return 1;
  return 0;
}

static int within(const image *m, uint64_t at, uint64_t bytes) {
  return at <= m->size && bytes <= m->size - at;
}

/* Section i, or NULL when it lies outside of the file. */
static const Elf64_Shdr *section(const image *m, uint32_t i) {
  const Elf64_Ehdr *head = (const void *)m->at;
  const Elf64_Shdr *s;
  uint64_t at = head->e_shoff + (uint64_t)i * sizeof *s;
  if (i >= head->e_shnum || !within(m, at, sizeof *s)) return NULL;
  s = (const void *)(m->at + at);
  return within(m, s->sh_offset, s->sh_type == SHT_NOBITS ? 0 : s->sh_size)
             ? s
             : NULL;
}

static int is_exported(const Elf64_Sym *s) {
  int bind = ELF64_ST_BIND(s->st_info), seen = ELF64_ST_VISIBILITY(s->st_other);
  return s->st_shndx != SHN_UNDEF && bind != STB_LOCAL &&
         (seen == STV_DEFAULT || seen == STV_PROTECTED);
}

/* Exported names of one table; other: one that is not the entry, or NULL. */
static int count_table(const image *m, const Elf64_Shdr *table,
                       const char **other) {
  const Elf64_Shdr *text = section(m, table->sh_link);
  const Elf64_Sym *s = (const void *)(m->at + table->sh_offset);
  int n = 0;
  if (!text) return -1;
  for (uint64_t i = 0; i < table->sh_size / sizeof *s; i++) {
    const char *name = (const char *)m->at + text->sh_offset + s[i].st_name;
    uint64_t room =
        s[i].st_name < text->sh_size ? text->sh_size - s[i].st_name : 0;
    if (!memchr(name, '\0', room)) return -1;
    if (!is_exported(&s[i]) || is_linkers(name)) continue;
    n++;
    if (strcmp(name, "tsh_plugin_query") != 0) *other = name;
  }
  return n;
}

static int count_image(const image *m, const char **other) {
  const Elf64_Ehdr *head = (const void *)m->at;
  if (m->size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
      head->e_ident[EI_CLASS] != ELFCLASS64 ||
      head->e_shentsize != sizeof(Elf64_Shdr))
    return -1;
  for (uint32_t i = 0; i < head->e_shnum; i++) {
    const Elf64_Shdr *s = section(m, i);
    if (s && s->sh_type == SHT_DYNSYM) return count_table(m, s, other);
  }
  return -1;
}

int cf_symbols(const char *path, char *other, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC), n = -1;
  const char *name = NULL;
  struct stat st;
  *other = '\0';
  if (fd < 0) return -1;
  if (fstat(fd, &st) == 0 && st.st_size > 0) {
    image m = {.size = (uint64_t)st.st_size};
    void *at = mmap(NULL, m.size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at != MAP_FAILED) {
      m.at = at;
      n = count_image(&m, &name);
      if (name) {
        strncpy(other, name, size - 1);
        other[size - 1] = '\0';
      }
      munmap(at, m.size);
    }
  }
  close(fd);
  return n;
}
