/** What the SDK says about something wrong: an error, a notice or a warning of the process. */
export interface Said {
  readonly message: string
  /** Absent on a `TypeError`, which says itself what to give. */
  readonly code?: string | undefined
}

/** Where it says so, its words with `…` for what varies, and how that comes about. */
export type Situation = readonly [name: string, says: string, say: () => Said | Promise<Said>]

export const nothing: Said = { message: 'nothing was said' }

export const patternOf = (says: string): RegExp =>
  new RegExp(`^${says.replaceAll(/[.*+?^$()|[\]\\{}]/g, '\\$&').replaceAll('…', '.+')}$`, 's')

export async function thrownBy(work: () => unknown): Promise<Said> {
  try {
    await work()
  } catch (error) {
    return error as Error
  }
  return nothing
}
