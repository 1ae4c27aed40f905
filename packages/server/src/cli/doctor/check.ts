import { explain } from '../failure.ts'

/** One check of the doctor. */
export interface Check {
  name: string
  status: Status
  /** The finding. */
  message: string
  /** What to do about it. */
  todo?: string
}

type Status = 'ok' | 'warning' | 'fault'

export function worst(checks: readonly Check[]): Status {
  const order: Status[] = ['fault', 'warning', 'ok']
  return order.find(status => checks.some(check => check.status === status)) ?? 'ok'
}

/** A check that fails by itself is a fault too, and does not end the other checks. */
export const orFault = (name: string, check: () => Promise<Check>): Promise<Check> =>
  check().catch(error => ({ name, status: 'fault', message: explain(error) }))
