import { statusModes } from '../../../packages/sdk/test/hostile/status-modes.ts'
import type { Case } from '../case.ts'
import { casesOf } from './modes.ts'

/** The longest `Retry-After` that is honoured is half a minute; the least is the usual delay. */
const AT_MOST = [1_000, 30_000]
const A_SECOND = [1_000, 1_000]

export const statuses: readonly Case[] = casesOf(
  statusModes.map(mode =>
    mode.name === '500 with a megabyte'
      ? { ...mode, answer: () => ({ status: 500, body: 'x'.repeat(1_000) }), name: '500 with a long text' }
      : mode,
  ),
  'status modes',
  {
    // A library may take it for a failed proxy.
    '407 of a proxy': { codes: ['http_407'] },
    '429 with a Retry-After of a second': { starting: A_SECOND, serving: A_SECOND },
    '429 with a Retry-After of thirty years': { starting: AT_MOST, serving: AT_MOST },
    '503 until the year 9999': { starting: AT_MOST, serving: AT_MOST },
  },
)
