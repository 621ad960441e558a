/* device.c - the devices of a loaded plugin: counted, described, opened,
 * closed. What a plugin says of a device is checked here, once, so that the
 * rooms above can rely on it. */
#include "set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dev *device_new(dev_plugin *p, uint32_t index) {
  dev *d = calloc(1, sizeof *d);
  if (!d) return NULL;
  d->plugin = p;
  d->index = index;
  /* There is one cpu on most machines, and its name is typed all day. */
  d->name = p->query && index == 0 ? dev_text("%s", p->scheme)
                                   : dev_text("%s:%" PRIu32, p->scheme, index);
  if (d->name) return d;
  free(d);
  return NULL;
}

static tsh_status grow(dev_plugin *p, uint32_t count, tsh_err *err) {
  dev **more;
  if (count <= p->ndev) return TSH_OK;
  more = realloc(p->dev, count * sizeof *more);
  if (more) p->dev = more;
  while (more && p->ndev < count) {
    dev *d = device_new(p, p->ndev);
    if (!d) break;
    p->dev[p->ndev++] = d;
  }
  if (p->ndev == count) return TSH_OK;
  return dev_fail(err, TSH_ENOMEM, "no memory for the devices of %s",
                  p->scheme);
}

tsh_status dev_count(dev_plugin *p, tsh_err *err) {
  tsh_err said;
  uint32_t count = p->table.count(dev_call_begin(&said, &said));
  tsh_status rc;
  dev_clean(said.text, sizeof said.text);
  memcpy(p->none, said.text, sizeof p->none);
  if (count > DEV_MOST) count = DEV_MOST;
  rc = grow(p, count, err);
  if (rc != TSH_OK) snprintf(p->none, sizeof p->none, "out of memory");
  p->count = count < p->ndev ? count : p->ndev;
  p->counted = 1;
  return rc;
}

/* ---- what it says of itself --------------------------------------------- */
static void at_most32(uint32_t *limit, uint32_t most) {
  if (*limit == 0 || *limit > most) *limit = most;
}

static void at_most64(uint64_t *limit) {
  if (*limit == 0 || *limit > INT64_MAX) *limit = INT64_MAX;
}

/* 0 means that the device has no limit. What is left is what the kernel form
 * itself can hold: 16-bit numbers of arguments and instructions, 64-bit signed
 * extents. */
static void fill_limits(tsh_props *p) {
  at_most32(&p->max_args, UINT16_MAX);
  at_most32(&p->max_insts, UINT16_MAX);
  at_most32(&p->max_phases, UINT16_MAX);
  if (p->max_rank == 0) p->max_rank = TSH_MAX_RANK;
  at_most64(&p->max_loop);
  at_most64(&p->max_phase_inner);
  at_most64(&p->max_alloc);
  if (p->nops > TSH_NOPS) p->nops = TSH_NOPS; /* ops of a later table */
  p->pad = 0;
}

/* What is wrong with props, into why; 0: nothing. */
static int absurd(const tsh_props *p, char *why, size_t size) {
  const uint32_t must = TSH_BIT(TSH_bool) | TSH_BIT(TSH_i32) |
                        TSH_BIT(TSH_i64) | TSH_BIT(TSH_f32);
  if (p->align < 64 || (p->align & (p->align - 1)) != 0)
    return snprintf(why, size,
                    "its align is %" PRIu32 ", not a power of two from 64 on",
                    p->align);
  if (p->max_rank < 8 || p->max_rank > TSH_MAX_RANK)
    return snprintf(why, size, "its max_rank is %" PRIu32 ", not 8 to %d",
                    p->max_rank, TSH_MAX_RANK);
  if ((p->storage & must) != must)
    return snprintf(why, size, "it cannot store all of bool, i32, i64, f32");
  if (p->nops == 0 || !p->op_types)
    return snprintf(why, size, "it has no op_types");
  /* where has three operands and a result: four LOADs and STOREs, one op. */
  if (p->max_args < 4 || p->max_insts < 5)
    return snprintf(why, size,
                    "its limits of %" PRIu32 " arguments and %" PRIu32
                    " instructions are too low for one op",
                    p->max_args, p->max_insts);
  return 0;
}

int dev_probe(dev *d) {
  tsh_props props;
  tsh_err err;
  tsh_status rc;
  if (d->handle) return 1; /* what was lent out does not change any more */
  memset(&props, 0, sizeof props);
  props.size = sizeof props;
  rc = d->plugin->table.props(d->index, &props, dev_call_begin(&err, &err));
  d->reason[0] = '\0';
  if (dev_call_end(d->name, "props", rc, &err) != TSH_OK) {
    memcpy(d->reason, err.text, sizeof d->reason);
    return 0;
  }
  props.size = sizeof props;
  dev_clean(props.name, sizeof props.name);
  fill_limits(&props);
  if (absurd(&props, d->reason, sizeof d->reason)) return 0;
  d->props = props;
  return 1;
}

/* ---- opening ------------------------------------------------------------ */
tsh_status dev_open(dev *d, tsh_err *err) {
  dev_set *set = d->plugin->set;
  tsh_dev *handle = NULL;
  tsh_status rc;
  tsh_err spare;
  if (d->handle) return TSH_OK;
  if (!dev_probe(d))
    return dev_fail(err, TSH_ENODEV, "device '%s' cannot be used: %s", d->name,
                    d->reason);
  err = dev_call_begin(err, &spare);
  rc = d->plugin->table.open(d->index, &set->host, &handle, err);
  rc = dev_call_end(d->name, "open", rc, err);
  if (rc != TSH_OK) return rc;
  if (!handle)
    return dev_fail(err, TSH_EDEVICE, "%s: open gave no device", d->name);
  d->handle = handle;
  d->id = set->nopen++;
  d->before = set->last;
  set->last = d;
  return TSH_OK;
}

void dev_close(dev *d) {
  d->plugin->table.close(d->handle);
  d->handle = NULL;
}
