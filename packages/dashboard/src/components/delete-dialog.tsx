import { Skeleton, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { listKeys } from '../api/keys.ts'
import { shownWorkspaceId } from '../session/workspace.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'
import { Loaded } from './loaded.tsx'

interface DeleteDialogProps {
  readonly isOpen: boolean
  readonly noun: 'project' | 'tenant'
  readonly id: string
  /** What the person types first. */
  readonly name: string
  /** What else happens. */
  readonly children: ReactNode
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

/** Deletes a tenant or project, after the dialog has shown how many keys end with it. */
export function DeleteDialog({ isOpen, noun, id, name, children, onConfirm, onClose }: DeleteDialogProps) {
  const count = useQuery({
    queryKey: ['keys', 'ending', shownWorkspaceId(), noun, id],
    queryFn: async ({ signal }) => {
      const [live, test] = await Promise.all([
        countKeys(noun, id, 'live', signal),
        countKeys(noun, id, 'test', signal),
      ])
      return { live, test }
    },
    enabled: isOpen,
    // A key may have been made since the last look.
    staleTime: 0,
    gcTime: 0,
  })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      title={`Delete ${name}`}
      action={`Delete ${noun}`}
      typedName={name}
      isFinal
      isReady={count.data !== undefined && !count.isFetching}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <Stack gap="xs">
        <Loaded query={count} skeleton={<Skeleton h={24} />}>
          {({ live, test }) => (
            <p>
              <strong>{endingInWords(live, test)}</strong>
            </p>
          )}
        </Loaded>
        {children}
      </Stack>
    </ConfirmDialog>
  )
}

const pagesMax = 5

interface Counted {
  readonly count: number
  readonly isMore: boolean
}

/** Counts the active keys, up to a thousand. */
async function countKeys(
  noun: 'project' | 'tenant',
  id: string,
  env: 'live' | 'test',
  signal: AbortSignal,
): Promise<Counted> {
  const filter = noun === 'project' ? { project_id: id } : { tenant_id: id }
  let count = 0
  let cursor: string | null = null
  for (let pages = 0; pages < pagesMax; pages++) {
    const page: Awaited<ReturnType<typeof listKeys>> = await listKeys(
      { query: { ...filter, env, status: 'active', limit: 200, ...(cursor !== null && { cursor }) } },
      { signal },
    )
    count += page.data.length
    cursor = page.next_cursor
    if (cursor === null) return { count, isMore: false }
  }
  return { count, isMore: true }
}

const number = new Intl.NumberFormat('en')
const keysInWords = ({ count, isMore }: Counted, env: 'live' | 'test') =>
  `${isMore ? 'more than ' : ''}${number.format(count)} ${env} ${count === 1 ? 'key' : 'keys'}`

/** "12 live keys and 1 test key stop working at once." */
function endingInWords(live: Counted, test: Counted): string {
  const parts = [
    live.count > 0 && keysInWords(live, 'live'),
    test.count > 0 && keysInWords(test, 'test'),
  ].filter(part => part !== false)
  if (parts.length === 0) return 'No key works at present, so none stops.'
  const text = parts.join(' and ')
  const isOne = live.count + test.count === 1
  return `${text.charAt(0).toUpperCase()}${text.slice(1)} ${isOne ? 'stops' : 'stop'} working at once.`
}
