/** One thing the doctor has looked at. */
export interface Check {
  name: string
  status: Status
  /** What was found. */
  message: string
  /** What the person should do about it. */
  todo?: string
}

type Status = 'ok' | 'warning' | 'fault'

export function worst(checks: readonly Check[]): Status {
  const order: Status[] = ['fault', 'warning', 'ok']
  return order.find(status => checks.some(check => check.status === status)) ?? 'ok'
}
