import type { Env } from '@keyrail/contract/shared'
import { listTenantUsage } from '../../api/usage.ts'

const pageRows = 200

interface MonthQuery {
  /** The first day of the month. */
  readonly month: string
  readonly env: Env
  readonly cursor?: string | undefined
}
/** Reads the rows of one month. The query names the month, so that the clock of the browser decides nothing. */
export const listMonth = (
  { query }: { query?: { [Name in keyof MonthQuery]?: MonthQuery[Name] | undefined } },
  options: { signal?: AbortSignal } = {},
) => listTenantUsage({ query: { ...query, months: 1, limit: pageRows } }, options)
