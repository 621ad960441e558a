/* device.c - an open device and the memory that launches work in: slots, the
 * register table, places of arguments. It grows while compiling, so running
 * asks for none. */
#include <string.h>
#include <unistd.h>

#include "device.h"

static void *get(tsh_dev *dev, uint64_t bytes) {
  return dev->pool.source->get((bytes + 63) / 64 * 64, 64);
}

static void put(tsh_dev *dev, void *p, uint64_t bytes) {
  if (p) dev->pool.source->put(p, (bytes + 63) / 64 * 64);
}

static uint64_t slot_bytes(uint32_t units) {
  return (uint64_t)units * CPU_UNIT;
}

static uint64_t table_bytes(uint32_t units) {
  return (CPU_LINKS + (uint64_t)units) * sizeof(void *);
}

enum {
  PLACES = (CPU_MAX_ARGS + 1) * sizeof(cpu_place),
  PORTS = CPU_LINKS * sizeof(cpu_lanes),
  KINDS = CPU_LINKS
};

tsh_status cpu_scratch_grow(tsh_dev *dev, uint32_t units, tsh_err *err) {
  cpu_run *run = &dev->run;
  if (run->reg && units <= run->nunit) return TSH_OK;
  units = units < 16 ? 16 : units + units / 2;
  void **reg = get(dev, table_bytes(units));
  char *slots = get(dev, slot_bytes(units));
  if (!reg || !slots) {
    put(dev, reg, table_bytes(units));
    put(dev, slots, slot_bytes(units));
    return kit_fail(err, TSH_ENOMEM, "no memory for %u slots", units);
  }
  put(dev, run->reg, table_bytes(run->nunit));
  put(dev, run->slots, slot_bytes(run->nunit));
  memset(reg, 0, table_bytes(units));
  memset(slots, 0, slot_bytes(units));
  for (uint32_t i = 0; i < units; i++)
    reg[CPU_LINKS + i] = slots + slot_bytes(i);
  run->reg = reg;
  run->slots = slots;
  run->nunit = units;
  return TSH_OK;
}

/* A core's own cache, the second level. */
static uint64_t near_cache(void) {
  long bytes = -1;
#ifdef _SC_LEVEL2_CACHE_SIZE
  bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  if (bytes < 128 << 10) return 512 << 10;
  return bytes > 8 << 20 ? 8 << 20 : (uint64_t)bytes;
}

static tsh_status scratch_init(tsh_dev *dev, tsh_err *err) {
  cpu_run *run = &dev->run;
  run->bad_lane = run->bad_at = -1;
  run->cancel = &dev->never;
  run->near_cache = near_cache();
  run->place = get(dev, PLACES);
  run->tail_place = get(dev, PLACES);
  run->lanes = get(dev, PORTS);
  run->kind = get(dev, KINDS);
  if (!run->place || !run->tail_place || !run->lanes || !run->kind)
    return kit_fail(err, TSH_ENOMEM, "no memory to open the cpu");
  memset(run->place, 0, PLACES);
  memset(run->tail_place, 0, PLACES);
  return cpu_scratch_grow(dev, 64, err);
}

tsh_status cpu_scratch_more(tsh_dev *dev, char **memory, uint64_t bytes,
                            tsh_err *err) {
  if (!*memory) *memory = get(dev, bytes);
  if (*memory) return TSH_OK;
  return kit_fail(err, TSH_ENOMEM, "no memory of %llu bytes to work in",
                  (unsigned long long)bytes);
}

static void scratch_fini(tsh_dev *dev) {
  cpu_run *run = &dev->run;
  put(dev, run->place, PLACES);
  put(dev, run->tail_place, PLACES);
  put(dev, run->lanes, PORTS);
  put(dev, run->kind, KINDS);
  put(dev, run->reg, table_bytes(run->nunit));
  put(dev, run->slots, slot_bytes(run->nunit));
  put(dev, run->gemm, CPU_GEMM_BYTES);
  put(dev, run->spill, CPU_SPILL_BYTES);
  memset(run, 0, sizeof *run);
}

/* ---- the device --------------------------------------------------------- */
tsh_status cpu_device_open(const cpu_isa *isa, const cpu_source *source,
                           const tsh_host *host, tsh_dev **out, tsh_err *err) {
  uint64_t bytes = (sizeof(tsh_dev) + 63) / 64 * 64;
  *out = NULL;
  tsh_dev *dev = source->get(bytes, 64);
  if (!dev) return kit_fail(err, TSH_ENOMEM, "no memory to open the cpu");
  memset(dev, 0, sizeof *dev);
  dev->isa = isa;
  dev->cancel = host && host->cancel ? host->cancel : &dev->never;
  cpu_pool_init(&dev->pool, source);
  tsh_status rc = scratch_init(dev, err);
  if (rc == TSH_OK)
    *out = dev;
  else
    cpu_device_close(dev);
  return rc;
}

void cpu_device_close(tsh_dev *dev) {
  if (!dev) return;
  scratch_fini(dev);
  cpu_pool_fini(&dev->pool);
  put(dev, dev, sizeof *dev);
}
