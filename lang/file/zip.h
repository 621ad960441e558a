/* zip.h - what reading and writing of zip archives share. */
#ifndef FILE_ZIP_H
#define FILE_ZIP_H

#include <stdint.h>

enum {
  ZIP_LOCAL = 0x04034b50,
  ZIP_CENTRAL = 0x02014b50,
  ZIP_DATA = 0x08074b50,
  ZIP_END = 0x06054b50,
  ZIP_END64 = 0x06064b50,
  ZIP_LOCATOR64 = 0x07064b50,
  ZIP_EXTRA64 = 1,
  ZIP_STORED = 0,
  ZIP_DEFLATED = 8,
  ZIP_FLAG_SECRET = 1,
  ZIP_FLAG_DATA = 8, /* sizes and checksum follow the data */
  ZIP_FLAG_UTF8 = 1 << 11
};

static inline uint16_t zip_u16(const unsigned char *p) {
  return (uint16_t)(p[0] | p[1] << 8);
}
static inline uint32_t zip_u32(const unsigned char *p) {
  return zip_u16(p) | (uint32_t)zip_u16(p + 2) << 16;
}
static inline uint64_t zip_u64(const unsigned char *p) {
  return zip_u32(p) | (uint64_t)zip_u32(p + 4) << 32;
}

#endif
