import type { BulkOperation } from '@keyrail/contract/vendor/bulk'
import { Loader, Progress } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { getBulk } from '../api/keys.ts'
import { shownWorkspaceId } from '../session/workspace.ts'
import classes from './many-progress.module.css'
import { failureWords, sayDone, sayProgress } from './many-words.ts'
import { Trouble } from './trouble.tsx'

/** How often a page asks how far a change of many keys has come. */
export const askedMs = 1_000

interface ManyProgressProps {
  readonly of: BulkOperation
  /** The last batch of an operation that was running is done. */
  readonly onDone: (operation: BulkOperation) => void
}

/** How far a change of many keys has come, asked again each second while it runs. */
export function ManyProgress({ of: begun, onDone }: ManyProgressProps) {
  const query = useQuery({
    queryKey: ['bulk', shownWorkspaceId(), begun.id],
    queryFn: ({ signal }) => getBulk({ id: begun.id }, { signal }),
    initialData: begun,
    staleTime: 0,
    enabled: begun.status === 'running',
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? askedMs : false),
  })
  const { action, status, matched, done, failed, failures } = query.data
  const isRunning = status === 'running'
  const said = useRef(begun.status === 'done')
  const { data: operation } = query
  useEffect(() => {
    if (isRunning || said.current) return
    said.current = true
    onDone(operation)
  }, [isRunning, operation, onDone])
  return (
    <>
      <div role="status">
        <p className={classes.line}>
          {isRunning ? <Loader size={14} aria-hidden /> : null}
          {isRunning ? sayProgress(action, done, matched) : sayDone(action, done)}
        </p>
        {isRunning ? (
          <>
            <Progress
              mt="xs"
              value={(100 * done) / Math.max(matched, 1)}
              aria-label="Keys that are changed"
            />
            <p>It goes on when you close this.</p>
          </>
        ) : null}
      </div>
      {query.error === null ? null : <Trouble error={query.error} onRetry={() => void query.refetch()} />}
      {failed === 0 ? null : (
        <>
          <p>Not changed:</p>
          <ul className={classes.failures}>
            {failures.map(({ key_id, code }) => (
              <li key={key_id}>
                <code>{key_id}</code> {failureWords[code]}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}
