import { Button } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ApiError } from '../api/api-error.ts'
import { Empty } from './empty.tsx'
import { Trouble } from './trouble.tsx'

interface LoadedProps<Data> {
  readonly query: UseQueryResult<Data, Error>
  /** Skeletons with the size of the content to come. */
  readonly skeleton: ReactNode
  /** The noun for the page of something that does not exist: "key". */
  readonly noun?: string
  readonly children: (data: Data) => ReactNode
}

/** Shows the answer of one read, or the state that it is in. */
export function Loaded<Data>({ query, skeleton, noun, children }: LoadedProps<Data>) {
  const { data, error, fetchStatus, refetch } = query
  const retry = () => void refetch()
  if (data !== undefined) {
    return (
      <>
        {error === null ? null : <Trouble error={error} onRetry={retry} />}
        {children(data)}
      </>
    )
  }
  if (fetchStatus === 'paused') return <Offline onRetry={retry} />
  if (error === null) return <div aria-busy="true">{skeleton}</div>
  if (noun !== undefined && error instanceof ApiError && error.code === 'not_found') {
    return (
      <Empty title={`No such ${noun}`}>
        It does not exist in this workspace and environment, or it was deleted.
      </Empty>
    )
  }
  return isRefused(error) ? <Refused error={error} /> : <Trouble error={error} onRetry={retry} />
}

export const isRefused = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status === 403

/** The role of the person does not allow to see this. */
export const Refused = ({ error }: { error: ApiError }) => (
  <Empty title="You may not see this">
    <Trouble error={error} />
  </Empty>
)

export const Offline = ({ onRetry }: { onRetry: () => void }) => (
  <Empty title="You are offline">
    <p>The page loads as soon as there is a connection.</p>
    <Button variant="default" onClick={onRetry}>
      Try again
    </Button>
  </Empty>
)
