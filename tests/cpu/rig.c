/* rig.c - see rig.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kit_half.h"
#include "rig.h"

const tsh_plugin *tsh_cpu_query(uint32_t major, uint32_t minor);

uint32_t rig_random(uint32_t *seed) {
  uint32_t x = *seed;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return *seed = x;
}

int rig_below(uint32_t *seed, int n) {
  return (int)(rig_random(seed) >> 8) % n;
}

void rig_init(rig *r, int rank, int nfold) {
  memset(r, 0, sizeof *r);
  r->bytes = 1 << 16;
  r->k.size = sizeof r->k;
  r->k.rank = (uint16_t)rank;
  r->k.nfold = (uint16_t)nfold;
  r->k.inst_size = sizeof *r->inst;
}

void rig_fini(rig *r) {
  for (int i = 0; i < RIG_ARGS; i++) free(r->image[i]);
}

int rig_arg(rig *r, int dtype) {
  int i = r->k.narg++;
  r->dtype[i] = (uint8_t)dtype;
  r->rank[i] = (uint8_t)r->k.rank;
  r->alias[i] = -1;
  return i;
}

/* Numbers that meet the edges of every op now and then. */
static double number(uint32_t *seed) {
  static const double odd[] = {0,     -0.0,      1,      -1,   NAN, INFINITY,
                               1e-40, -INFINITY, 1e30,   -3e9, 0.5, 2.5,
                               -2.5,  88.5,      -104.0, 1e18, 3,   7};
  if (rig_below(seed, 8) == 0)
    return odd[rig_below(seed, (int)(sizeof odd / sizeof *odd))];
  return rig_below(seed, 2000) / 100.0 - 10;
}

static int64_t whole(uint32_t *seed) {
  static const int64_t odd[] = {0, -1, 1, INT32_MIN, INT32_MAX, 31, 32, 64};
  if (rig_below(seed, 8) == 0) return odd[rig_below(seed, 8)];
  return rig_below(seed, 200) - 100;
}

static void put(uint8_t *p, uint32_t i, int dtype, uint32_t *seed) {
  switch (dtype) {
  case TSH_f16:
    ((uint16_t *)p)[i] = kit_f64_to_f16(number(seed));
    return;
  case TSH_bf16:
    ((uint16_t *)p)[i] = kit_f64_to_bf16(number(seed));
    return;
  case TSH_f32:
    ((float *)p)[i] = (float)number(seed);
    return;
  case TSH_f64:
    ((double *)p)[i] = number(seed);
    return;
  case TSH_bool:
    p[i] = (uint8_t)rig_below(seed, 2);
    return;
  default:
    break;
  }
  int64_t v = whole(seed);
  switch (kit_dtype_bytes(dtype)) {
  case 1:
    p[i] = (uint8_t)v;
    return;
  case 2:
    ((uint16_t *)p)[i] = (uint16_t)v;
    return;
  case 4:
    ((uint32_t *)p)[i] = (uint32_t)v;
    return;
  default:
    ((int64_t *)p)[i] = v;
  }
}

void rig_image(rig *r, int arg, uint32_t *seed) {
  uint8_t *p = calloc(1, r->bytes);
  r->image[arg] = p;
  for (uint32_t i = 0; p && i < r->bytes / 8; i++)
    put(p, i, r->dtype[arg], seed);
}

void rig_image_tame(rig *r, int arg, uint32_t *seed) {
  rig_image(r, arg, seed);
  float *f = (float *)r->image[arg];
  double *d = (double *)r->image[arg];
  for (uint32_t i = 0; r->dtype[arg] == TSH_f32 && i < r->bytes / 4; i++)
    f[i] = (float)(rig_below(seed, 2000) / 999.0 - 1);
  for (uint32_t i = 0; r->dtype[arg] == TSH_f64 && i < r->bytes / 8; i++)
    d[i] = rig_below(seed, 2000) / 999.0 - 1;
}

int rig_inst(rig *r, int op, int dtype, int a, int b, int c, uint64_t imm,
             int flags) {
  int i = r->k.ninst++;
  r->inst[i] = (tsh_inst){.op = (uint16_t)op,
                          .dtype = (uint8_t)dtype,
                          .flags = (uint8_t)flags,
                          .a = (uint16_t)a,
                          .b = (uint16_t)b,
                          .c = (uint16_t)c,
                          .imm = imm};
  return i;
}

static void one_nan(uint8_t *p, int dtype) {
  float *f = (float *)p;
  double *d = (double *)p;
  uint16_t *h = (uint16_t *)p;
  int half = dtype == TSH_f16 ? 0x7c00 : dtype == TSH_bf16 ? 0x7f80 : 0x7fff;
  for (uint32_t i = 0; i < RIG_BYTES / sizeof *h && half != 0x7fff; i++)
    if ((h[i] & 0x7fff) > half) h[i] = 0x7fff;
  for (uint32_t i = 0; dtype == TSH_f32 && i < RIG_BYTES / sizeof *f; i++)
    if (f[i] != f[i]) f[i] = NAN;
  for (uint32_t i = 0; dtype == TSH_f64 && i < RIG_BYTES / sizeof *d; i++)
    if (d[i] != d[i]) d[i] = NAN;
}

static tsh_status submit(const rig *r, const tsh_plugin *p, tsh_dev *dev,
                         tsh_prog *prog, tsh_buf *const *buf, int64_t *at) {
  tsh_view view[RIG_ARGS];
  tsh_err err = {.size = sizeof err, .at = -1};
  uint64_t ticket;
  for (int i = 0; i < r->k.narg; i++)
    view[i] = (tsh_view){buf[i], r->offset[i], NULL, r->stride[i]};
  tsh_launch launch = {.size = sizeof launch,
                       .prog = prog,
                       .extent = r->ext,
                       .arg = view,
                       .scalar = r->scalar};
  tsh_batch batch = {.size = sizeof batch,
                     .nlaunch = 1,
                     .launch_size = sizeof launch,
                     .launch = &launch};
  tsh_status rc = p->submit(dev, &batch, &ticket, &err);
  *at = err.at;
  return rc;
}

tsh_status rig_run(const rig *r, rig_way way, int arg, uint8_t *out,
                   int64_t *at) {
  const tsh_plugin *p = tsh_cpu_query(TSH_ABI_MAJOR, TSH_ABI_MINOR);
  tsh_kernel k = r->k;
  tsh_err err = {.size = sizeof err};
  tsh_dev *dev = NULL;
  tsh_prog *prog = NULL;
  tsh_buf *buf[RIG_ARGS] = {NULL};
  tsh_status rc = TSH_ENOMEM;
  k.inst = r->inst;
  k.arg_dtype = r->dtype;
  k.arg_class = r->class_;
  k.arg_rank = r->rank;
  *at = -1;
  if (!cpu_isa_get(way.isa)) way.isa = "base";
  rc = cpu_device_open(cpu_isa_get(way.isa), &cpu_system, NULL, &dev, &err);
  if (rc != TSH_OK) return rc;
  dev->run.force = way.force;
  if ((rc = p->compile(dev, &k, &prog, &err)) != TSH_OK) goto out;
  for (int i = 0; i < k.narg; i++) {
    if (!r->image[i]) continue;
    buf[i] = r->alias[i] >= 0 ? buf[r->alias[i]] : NULL;
    if (buf[i]) continue;
    if ((rc = p->alloc(dev, r->bytes, &buf[i], &err)) != TSH_OK) goto out;
    memcpy(buf[i]->mem, r->image[i], r->bytes);
  }
  rc = submit(r, p, dev, prog, buf, at);
  memset(out, 0, RIG_BYTES);
  memcpy(out, buf[arg]->mem, r->bytes);
  one_nan(out, r->dtype[arg]);
out:
  for (int i = 0; i < k.narg; i++)
    if (r->alias[i] < 0) p->free(dev, buf[i]);
  p->drop(dev, prog);
  p->close(dev);
  return rc;
}
