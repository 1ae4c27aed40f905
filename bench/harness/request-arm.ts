import type { Arm } from './bench.ts'
import { type CpuUsers, meterCpu } from './cpu.ts'
import { closedLoop, type Load, type LoadResult } from './load.ts'

type Unit = readonly [one: string, many: string]

/**
 * As many requests as a server will take, with the CPU time of one. Those cut off at the end are not counted.
 *
 * @param inOne how many units one request has
 */
export async function meteredLoop(
  users: CpuUsers,
  load: Load,
  unit: Unit = ['request', 'requests'],
  inOne = 1,
): Promise<LoadResult & { values: Record<string, number> }> {
  const { result, values } = await meterCpu(
    users,
    unit,
    () => closedLoop(load),
    ({ answered }) => answered * inOne,
  )
  return { ...result, values: { ...values, [`${unit[1]}/s`]: result.perSecond * inOne } }
}

/** An arm of a bench of one kind of request. @param answer what every answer says. */
export const requestArm = (
  name: string,
  role: Arm['role'],
  users: CpuUsers,
  load: Omit<Load, 'seconds'>,
  answer: string,
): Arm => ({
  name,
  role,
  async measure({ seconds }) {
    const { values, doubt } = await meteredLoop(users, { ...load, seconds })
    return { values, answer, doubt }
  },
})
