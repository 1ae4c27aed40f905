import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import type { QueryClient } from '@tanstack/react-query'
import { enableKeys } from '../api/keys.ts'
import type { Many } from './many-dialog.tsx'
import { sayDone } from './many-words.ts'
import { textOf } from './trouble.tsx'
import type { useOnce } from './use-once.ts'

const shownMs = 20_000

/**
 * Says in a corner that keys are paused, and offers to resume them. Before the pause, none of them was paused.
 * @param count how many were paused: if others have paused or resumed some since, the service refuses.
 */
export function offerToResume(
  client: QueryClient,
  once: ReturnType<typeof useOnce>,
  { ids, filter }: Many,
  count: number,
): void {
  const resume = async () => {
    notifications.hide(id)
    try {
      const body = filter === undefined ? { ids: [...ids] } : { filter, expect: count }
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
