import type { BulkOperation } from '@keyrail/contract/vendor/bulk'
import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import type { QueryClient } from '@tanstack/react-query'
import { ApiError } from '../api/api-error.ts'
import { enableKeys, getBulk, getKey } from '../api/keys.ts'
import { counted, countedAre } from './figures.ts'
import type { Many } from './many-dialog.tsx'
import { askedMs } from './many-progress.tsx'
import { sayDone } from './many-words.ts'
import { textOf } from './trouble.tsx'
import type { useOnce } from './use-once.ts'

const shownMs = 20_000

/** More keys are not read one by one. */
const namedMost = 50

/** What was paused before somebody paused many keys: their tenants, say, have reasons that last. */
export interface PausedBefore {
  /** How many keys a filter matched. */
  readonly count: number
  /** Those of named keys that were paused, or could not be read. */
  readonly ids: readonly string[]
}

/** Whether a pause can be taken back. A filter by hygiene leaves out paused keys, so it finds none of them afterwards. */
export const canResume = ({ ids, filter }: Many, { count }: PausedBefore): boolean =>
  filter === undefined ? ids.length <= namedMost : count === 0 && filter.hygiene === undefined

/** Read before the pause: a vendor's pause of a key that its tenant has paused looks like any other afterwards. */
export async function findPaused(ids: readonly string[]): Promise<string[]> {
  if (ids.length > namedMost) return []
  const isPaused = (id: string) =>
    getKey({ id }).then(
      ({ disabled_at }) => disabled_at !== null,
      () => true,
    )
  const paused = await Promise.all(ids.map(isPaused))
  return ids.filter((_, at) => paused[at])
}

/** Of named keys, those that this pause has paused. */
async function pausedBy(
  { created_at }: BulkOperation,
  ids: readonly string[],
  before: PausedBefore,
): Promise<string[]> {
  const there = new Set(before.ids)
  const keys = await Promise.all(ids.filter(id => !there.has(id)).map(id => getKey({ id })))
  return keys
    .filter(({ disabled_at }) => disabled_at !== null && disabled_at >= created_at)
    .map(({ id }) => id)
}

/** A change of many keys after its last batch. It goes on while the service cannot be asked, so the page asks on. */
export async function finished(operation: BulkOperation): Promise<BulkOperation> {
  let now = operation
  let waitMs = askedMs
  while (now.status === 'running') {
    await new Promise(resolve => setTimeout(resolve, waitMs))
    waitMs = askedMs
    now = await getBulk({ id: now.id }).catch(error => {
      if (!(error instanceof ApiError && error.isTemporary)) throw error
      waitMs = Math.max(askedMs, (error.retryAfterSeconds ?? 0) * 1_000)
      return now
    })
  }
  return now
}

/** Says in a corner that keys are being resumed, and after the last batch how many are. */
async function followResume(begun: BulkOperation, readAgain: () => Promise<void>): Promise<void> {
  const id = notifications.show({
    message: `${countedAre(begun.matched, 'key')} being resumed.`,
    loading: true,
    autoClose: false,
  })
  if (begun.status === 'running') void readAgain()
  try {
    const { done, failed } = await finished(begun)
    const rest = failed === 0 ? '' : ` ${counted(failed, 'key')} could not be.`
    const message = sayDone('enable', done) + rest
    notifications.update({ id, message, loading: false, autoClose: failed === 0 || shownMs })
  } catch (error) {
    notifications.hide(id)
    throw error
  }
}

/** Says in a corner that keys are paused, and offers to resume them. If others have changed some since, the service refuses a filter. */
export function offerToResume(
  client: QueryClient,
  once: ReturnType<typeof useOnce>,
  { ids, filter }: Many,
  operation: BulkOperation,
  before: PausedBefore,
): void {
  const { done: count } = operation
  const readAgain = async () => {
    await client.invalidateQueries({ queryKey: ['keys'] })
    await client.invalidateQueries({ queryKey: ['audit_logs'] })
  }
  const resume = async () => {
    notifications.hide(id)
    try {
      const named = filter === undefined ? await pausedBy(operation, ids, before) : []
      if (filter === undefined && named.length === 0) {
        notifications.show({ message: 'Every one of the keys was paused before.' })
        return
      }
      const body = filter === undefined ? { ids: named } : { filter, expect: count }
      await followResume(await once(enableKeys, body, () => ({ body })), readAgain)
    } catch (error) {
      notifications.show({ color: 'red', title: 'That did not work', message: textOf(error) })
    }
    await readAgain()
  }
  const id = notifications.show({
    autoClose: shownMs,
    message: (
      <Group justify="space-between" gap="xs">
        {sayDone('disable', count)}
        <Button size="compact-sm" variant="default" onClick={() => void resume()}>
          Resume them
        </Button>
      </Group>
    ),
  })
}
