/* team.h - threads that share the parts of one job. Knows nothing of launches;
 * a team belongs to one device, and one thread at a time calls it. */
#ifndef CPU_TEAM_H
#define CPU_TEAM_H

#include "kit.h"

typedef struct cpu_team cpu_team;

/* Part number `part` of a job, on worker 0 (the caller of cpu_team_run) to
 * cpu_team_size - 1. May not run a job itself. */
typedef void cpu_part_fn(void *job, int64_t part, int worker);

enum { CPU_TEAM_MOST = 256 };

/* threads 0: as many as the affinity of the calling thread allows. No thread is
 * started before the first job that is shared; those that cannot be created are
 * done without. Owned: cpu_team_close. TSH_ENOMEM. */
tsh_status cpu_team_open(int threads, cpu_team **out, tsh_err *err);
/* Waits for the workers' end. Takes NULL, and a team of before a fork. */
void cpu_team_close(cpu_team *team);
/* Workers, the caller among them. Takes NULL. */
int cpu_team_size(const cpu_team *team);

/* From now on workers from n on take no part. */
void cpu_team_limit(cpu_team *team, int n);

/* Runs fn on parts 0 to parts - 1, in any order and at once; returns when all
 * are done. A worker that is not scheduled holds up nothing but the part that
 * it is at. All that the caller wrote before is seen by the parts, and all that
 * they wrote by the caller after. */
void cpu_team_run(cpu_team *team, cpu_part_fn *fn, void *job, int64_t parts);

/* Is a job that takes one thread about `ns` worth sharing? While the workers
 * sleep, or are not there yet, work must add up first. */
int cpu_team_worth(cpu_team *team, double ns);

/* Nanoseconds until every worker takes part in a job, and its end is known; 0
 * before there are workers. */
double cpu_team_lag(const cpu_team *team);

#endif
