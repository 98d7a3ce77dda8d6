// How much processor time control groups grant.
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

// Whether a list such as "cpu,cpuacct" or "rw,cpu" has the word cpu.
static int has_cpu(const char *list) {
  for (const char *at = list; (at = strstr(at, "cpu")); at++)
    if ((at == list || at[-1] == ',') && (at[3] == ',' || !at[3])) return 1;
  return 0;
}

// The first two numbers of a file; how many there are.
static int numbers(const char *folder, const char *name, long long *a, long long *b) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return 0;
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  int read = fscanf(file, "%lld %lld", a, b);
  fclose(file);
  return read;
}

// What one group grants, in processors and rounded up: by "QUOTA PERIOD" of version 2 ("max 100000" is no limit), or by the two
// files of version 1 (a quota of -1 is none).
static int grant(const char *folder) {
  long long quota, period, none;
  if (numbers(folder, "cpu.max", &quota, &period) != 2 && !(numbers(folder, "cpu.cfs_quota_us", &quota, &none) == 1 && numbers(folder, "cpu.cfs_period_us", &period, &none) == 1))
    return TAPC_MAX_THREADS;
  if (quota <= 0 || period <= 0 || quota / period >= TAPC_MAX_THREADS) return TAPC_MAX_THREADS;
  return (int)((quota + period - 1) / period);
}

// The least that a group and those around it grant; it ends at the folder that the hierarchy is mounted at, which is so many characters
// long. Folders that are not there, as in a container that sees another part of the hierarchy, grant everything.
static int least(char *folder, size_t mount) {
  int most = grant(folder);
  for (char *slash; (slash = strrchr(folder, '/')) && (size_t)(slash - folder) >= mount;) {
    *slash = 0;
    int here = grant(folder);
    if (here < most) most = here;
  }
  return most;
}

// The path of the process's group in a hierarchy, from lines such as "4:cpu,cpuacct:/a/b", or "0::/a/b" for version 2.
static int group_path(const char *groups, int version, char *path, size_t room) {
  FILE *file = fopen(groups, "r");
  char *line = NULL;
  size_t size = 0;
  int found = 0;
  while (file && !found && getline(&line, &size, file) > 0) {
    char *controllers = strchr(line, ':'), *at = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!at) continue;
    *at++ = 0;
    at[strcspn(at, "\n")] = 0;
    found = (version == 2 ? !strncmp(line, "0:", 2) && !controllers[1] : has_cpu(controllers + 1)) && snprintf(path, room, "%s", at) < (int)room;
  }
  free(line);
  if (file) fclose(file);
  return found;
}

// What the hierarchy grants that a line of the mount table tells of, if it is one of processors: "31 23 0:28 ROOT MOUNT OPTIONS ... - TYPE SOURCE
// OPTIONS", ROOT being the group that is seen at MOUNT.
static int mounted(const char *line, const char *groups) {
  char root[PATH_MAX], mount[PATH_MAX], type[16], options[256], path[PATH_MAX], folder[2 * PATH_MAX];
  const char *behind = strstr(line, " - ");
  if (strlen(line) >= PATH_MAX || !behind || sscanf(line, "%*s %*s %*s %s %s", root, mount) != 2 || sscanf(behind, " - %15s %*s %255s", type, options) != 2)
    return TAPC_MAX_THREADS;
  int version = !strcmp(type, "cgroup2") ? 2 : !strcmp(type, "cgroup") && has_cpu(options) ? 1 : 0;
  if (!version || !group_path(groups, version, path, sizeof path)) return TAPC_MAX_THREADS;
  const char *within = path;
  size_t n = strcmp(root, "/") ? strlen(root) : 0;
  if (n && !strncmp(path, root, n) && (path[n] == '/' || !path[n])) within += n;
  snprintf(folder, sizeof folder, "%s%s%s", mount, *within == '/' ? "" : "/", within);
  return least(folder, strlen(mount));
}

int tapc_group_limit(const char *groups, const char *mounts) {
  FILE *file = fopen(mounts, "r");
  char *line = NULL;
  size_t size = 0;
  int most = TAPC_MAX_THREADS;
  while (file && getline(&line, &size, file) > 0) {
    int here = mounted(line, groups);
    if (here < most) most = here;
  }
  free(line);
  if (file) fclose(file);
  return most;
}
