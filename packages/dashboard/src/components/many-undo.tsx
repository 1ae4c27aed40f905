import type { BulkOperation } from '@keyrail/contract/vendor/bulk'
import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import type { QueryClient } from '@tanstack/react-query'
import { enableKeys, getKey } from '../api/keys.ts'
import type { Many } from './many-dialog.tsx'
import { sayDone } from './many-words.ts'
import { textOf } from './trouble.tsx'
import type { useOnce } from './use-once.ts'

const shownMs = 20_000

/** More keys are not read one by one. */
const namedMost = 50

/**
 * Whether a pause can be taken back. A filter by hygiene leaves out paused keys, so it finds none of them afterwards.
 * @param hadPaused whether the filter matched keys that were paused before, which would be resumed too
 */
export const canResume = ({ ids, filter }: Many, hadPaused: boolean): boolean =>
  filter === undefined ? ids.length <= namedMost : !hadPaused && filter.hygiene === undefined

/** Of named keys, those that this pause has paused: somebody else may have paused one before, for a reason that lasts. */
async function pausedBy({ created_at }: BulkOperation, ids: readonly string[]): Promise<string[]> {
  const keys = await Promise.all(ids.map(id => getKey({ id })))
  return keys
    .filter(({ disabled_at }) => disabled_at !== null && disabled_at >= created_at)
    .map(({ id }) => id)
}

/** Says in a corner that keys are paused, and offers to resume them. If others have changed some since, the service refuses a filter. */
export function offerToResume(
  client: QueryClient,
  once: ReturnType<typeof useOnce>,
  { ids, filter }: Many,
  operation: BulkOperation,
): void {
  const { done: count } = operation
  const resume = async () => {
    notifications.hide(id)
    try {
      const named = filter === undefined ? await pausedBy(operation, ids) : []
      if (filter === undefined && named.length === 0) {
        notifications.show({ message: 'Every one of the keys was paused before.' })
        return
      }
      const body = filter === undefined ? { ids: named } : { filter, expect: count }
      const { done } = await once(enableKeys, body, () => ({ body }))
      notifications.show({ message: done === 0 ? 'The keys are being resumed.' : sayDone('enable', done) })
    } catch (error) {
      notifications.show({ color: 'red', title: 'That did not work', message: textOf(error) })
    }
    await client.invalidateQueries({ queryKey: ['keys'] })
    await client.invalidateQueries({ queryKey: ['audit_logs'] })
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
