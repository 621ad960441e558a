/* device.c - an open device and the memory that launches work in: slots, the
 * register table, places of arguments. It grows while compiling, so running
 * asks for none but that of other workers, which can be done without. */
#include <string.h>
#include <unistd.h>

#include "device.h"

static void *get(const cpu_source *source, uint64_t bytes) {
  return source->get((bytes + 63) / 64 * 64, 64);
}

static void put(const cpu_source *source, void *p, uint64_t bytes) {
  if (p) source->put(p, (bytes + 63) / 64 * 64);
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

/* ---- a run -------------------------------------------------------------- */
static int grow(cpu_run *run, uint32_t units) {
  const cpu_source *source = run->source;
  if (run->reg && units <= run->nunit) return 1;
  void **reg = get(source, table_bytes(units));
  char *slots = get(source, slot_bytes(units));
  if (!reg || !slots) {
    put(source, reg, table_bytes(units));
    put(source, slots, slot_bytes(units));
    return 0;
  }
  put(source, run->reg, table_bytes(run->nunit));
  put(source, run->slots, slot_bytes(run->nunit));
  memset(reg, 0, table_bytes(units));
  memset(slots, 0, slot_bytes(units));
  for (uint32_t i = 0; i < units; i++)
    reg[CPU_LINKS + i] = slots + slot_bytes(i);
  run->reg = reg;
  run->slots = slots;
  run->nunit = units;
  return 1;
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

static int more(cpu_run *run, char **memory, uint64_t bytes) {
  if (!*memory) *memory = get(run->source, bytes);
  return *memory != NULL;
}

static int run_init(cpu_run *run, const cpu_source *source, uint32_t units) {
  memset(run, 0, sizeof *run);
  run->source = source;
  run->bad_lane = run->bad_at = -1;
  run->near_cache = near_cache();
  run->place = get(source, PLACES);
  run->tail_place = get(source, PLACES);
  run->lanes = get(source, PORTS);
  run->kind = get(source, KINDS);
  if (!run->place || !run->tail_place || !run->lanes || !run->kind) return 0;
  memset(run->place, 0, PLACES);
  memset(run->tail_place, 0, PLACES);
  return grow(run, units);
}

static void run_fini(cpu_run *run) {
  const cpu_source *source = run->source;
  put(source, run->place, PLACES);
  put(source, run->tail_place, PLACES);
  put(source, run->lanes, PORTS);
  put(source, run->kind, KINDS);
  put(source, run->reg, table_bytes(run->nunit));
  put(source, run->slots, slot_bytes(run->nunit));
  put(source, run->gemm, CPU_GEMM_BYTES);
  put(source, run->spill, CPU_SPILL_BYTES);
  memset(run, 0, sizeof *run);
}

tsh_status cpu_scratch_grow(tsh_dev *dev, uint32_t units, tsh_err *err) {
  if (units <= dev->run.nunit) return TSH_OK;
  units = units < 16 ? 16 : units + units / 2;
  if (grow(&dev->run, units)) return TSH_OK;
  return kit_fail(err, TSH_ENOMEM, "no memory for %u slots", units);
}

tsh_status cpu_scratch_more(tsh_dev *dev, char **memory, uint64_t bytes,
                            tsh_err *err) {
  if (more(&dev->run, memory, bytes)) return TSH_OK;
  return kit_fail(err, TSH_ENOMEM, "no memory of %llu bytes to work in",
                  (unsigned long long)bytes);
}

/* ---- the runs of the other workers -------------------------------------- */
enum { PEERS = CPU_TEAM_MOST * sizeof(cpu_run *) };

static void peer_free(cpu_run *peer) {
  const cpu_source *source = peer->source;
  run_fini(peer);
  put(source, peer, sizeof *peer);
}

/* A peer like run, NULL when there is no memory. */
static cpu_run *peer_new(const cpu_run *run) {
  cpu_run *peer = get(run->source, sizeof *peer);
  if (!peer) return NULL;
  if (run_init(peer, run->source, run->nunit)) return peer;
  peer_free(peer);
  return NULL;
}

static int peer_fits(const cpu_run *run, cpu_run *peer) {
  return grow(peer, run->nunit) &&
         (!run->spill || more(peer, &peer->spill, CPU_SPILL_BYTES)) &&
         (!run->gemm || more(peer, &peer->gemm, CPU_GEMM_BYTES));
}

int cpu_run_peers(cpu_run *run) {
  int n = 1, size = cpu_team_size(run->team);
  if (size < 2) return 1;
  if (!run->peer) {
    run->peer = get(run->source, PEERS);
    if (run->peer) memset(run->peer, 0, PEERS);
  }
  for (; run->peer && n < size; n++) {
    cpu_run **peer = &run->peer[n];
    if (!*peer) *peer = peer_new(run);
    if (!*peer || !peer_fits(run, *peer)) break;
  }
  cpu_team_limit(run->team, n);
  return n;
}

void cpu_run_trim(cpu_run *run) {
  for (int i = 1; run->peer && i < CPU_TEAM_MOST; i++)
    if (run->peer[i]) peer_free(run->peer[i]);
  put(run->source, run->peer, PEERS);
  run->peer = NULL;
}

int cpu_run_begins(const cpu_run *run, cpu_run *mine, int narg) {
  if (run == mine || mine->job == run->job) return 0;
  mine->job = run->job;
  mine->bad_lane = mine->bad_at = -1;
  mine->cancel = run->cancel;
  mine->force = run->force;
  memcpy(mine->place, run->place, (size_t)narg * sizeof *run->place);
  return 1;
}

void cpu_run_share(cpu_run *run, cpu_part_fn *fn, void *job, int64_t parts) {
  run->job++;
  cpu_team_run(run->team, fn, job, parts);
  int n = cpu_team_size(run->team);
  for (int i = 1; i < n && run->peer[i]; i++) {
    const cpu_run *peer = run->peer[i];
    if (peer->job == run->job && peer->bad_at >= 0)
      cpu_note_bad(run, peer->bad_at);
  }
}

/* ---- the device --------------------------------------------------------- */
tsh_status cpu_device_open(const cpu_isa *isa, const cpu_source *source,
                           const tsh_host *host, tsh_dev **out, tsh_err *err) {
  uint64_t bytes = (sizeof(tsh_dev) + 63) / 64 * 64;
  *out = NULL;
  int threads = 0;
  tsh_dev *dev = source->get(bytes, 64);
  if (!dev) return kit_fail(err, TSH_ENOMEM, "no memory to open the cpu");
  memset(dev, 0, sizeof *dev);
  dev->isa = isa;
  dev->cancel = host && host->cancel ? host->cancel : &dev->never;
  if (host && host->size >= offsetof(tsh_host, threads) + sizeof host->threads)
    threads =
        host->threads < CPU_TEAM_MOST ? (int)host->threads : CPU_TEAM_MOST;
  cpu_pool_init(&dev->pool, source);
  tsh_status rc = TSH_OK;
  if (!run_init(&dev->run, source, 64))
    rc = kit_fail(err, TSH_ENOMEM, "no memory to open the cpu");
  dev->run.cancel = &dev->never;
  if (rc == TSH_OK) rc = cpu_team_open(threads, &dev->run.team, err);
  if (rc == TSH_OK)
    *out = dev;
  else
    cpu_device_close(dev);
  return rc;
}

void cpu_device_close(tsh_dev *dev) {
  if (!dev) return;
  const cpu_source *source = dev->pool.source;
  cpu_team_close(dev->run.team);
  cpu_run_trim(&dev->run);
  run_fini(&dev->run);
  cpu_pool_fini(&dev->pool);
  put(source, dev, sizeof *dev);
}
