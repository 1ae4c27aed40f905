/**
 * The CPU time of a request decides whether a goal is met: other work on the machine hardly changes it, but halves a
 * rate. On one core that is used up, both are the same.
 */

/** CPU time so far, in seconds, of a process or of a store with all its processes. */
type CpuUser = { cpuSeconds(): number }

/** Who works for an arm, by what they are: the process that answers is `service`, also in a control. */
export type CpuUsers = Readonly<Record<string, CpuUser>>

export type Metered<T> = {
  result: T
  /** How many a second of CPU time gives, and the microseconds of one: together, and of each user. */
  values: Record<string, number>
}

/**
 * Measures the CPU time of some work, and divides it by what was done.
 *
 * @param unit what is counted, in the singular and the plural: `['request', 'requests']`
 */
export async function meterCpu<T>(
  users: CpuUsers,
  [one, many]: readonly [one: string, many: string],
  work: () => Promise<T>,
  countOf: (result: T) => number,
): Promise<Metered<T>> {
  const names = Object.keys(users)
  const read = () => names.map(name => users[name]?.cpuSeconds() ?? 0)
  const before = read()
  const result = await work()
  const count = countOf(result)
  const spent = read().map((seconds, i) => seconds - (before[i] ?? 0))
  const all = spent.reduce((sum, seconds) => sum + seconds, 0)
  const microsOf = (seconds: number) => (seconds * 1e6) / count
  return {
    result,
    values: {
      [`${many}/CPU s`]: count / all,
      [`CPU us a ${one}`]: microsOf(all),
      ...Object.fromEntries(names.map((name, i) => [`CPU us a ${one}, ${name}`, microsOf(spent[i] ?? 0)])),
    },
  }
}
