import type { Key, Propagation } from '@keyrail/contract/vendor/keys'
import type { FleetNode } from '@keyrail/contract/vendor/nodes'
import { Modal, Stack } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { disableKey, getKey, revokeKey } from '../../api/keys.ts'
import { listProjectNodes } from '../../api/projects.ts'
import { getTenant } from '../../api/tenants.ts'
import { Facts } from '../../components/facts.tsx'
import { DialogForm } from '../../components/form-frames.tsx'
import { ReasonField } from '../../components/reason-field.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { StopEnd } from '../../components/stop-end.tsx'
import { StopProgress } from '../../components/stop-progress.tsx'
import type { KeyDialogProps } from './edit-key.tsx'
import { stateOf, titleOf } from './key-words.ts'

/** What a person can do so that nodes refuse a key, in words. */
const stops = {
  revoke: {
    call: revokeKey,
    ask: 'Revoke',
    isDone: 'is revoked',
    done: 'The service has revoked the key.',
    submit: 'Revoke for good',
    lead: 'This cannot be undone. Requests with the key are refused as soon as your nodes hear of it.',
    isFinal: true,
  },
  pause: {
    call: disableKey,
    ask: 'Pause',
    isDone: 'is paused',
    done: 'The service has paused the key.',
    submit: 'Pause key',
    lead: 'Requests with the key are refused as soon as your nodes hear of it. Resume it at any time: it is then what it was.',
    isFinal: false,
  },
} as const

type Stop = keyof typeof stops

/** Where a stop is. The key is dead for the service as soon as it answers; its nodes hear it next. */
interface Progress {
  readonly isStopped: boolean
  readonly isWaiting: boolean
  readonly propagation: Propagation | null
  readonly error: unknown
}
const before: Progress = { isStopped: false, isWaiting: false, propagation: null, error: null }

interface StopKeyDialogProps extends KeyDialogProps {
  readonly stop: Stop
}

export function StopKeyDialog({ of: key, stop, isOpen, onClose }: StopKeyDialogProps) {
  const { ask, isDone } = stops[stop]
  const isStopped = key.revoked_at !== null || (stop === 'pause' && stateOf(key) === 'Paused')
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={isStopped ? `${titleOf(key)} ${isDone}` : `${ask} ${titleOf(key)}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <StopForm of={key} stop={stop} onClose={onClose} />
    </Modal>
  )
}

const progressMs = 1_000
const nodesMax = 200

/** The live nodes that hold keys of this environment. */
const holds =
  ({ env }: Key) =>
  (node: FleetNode): boolean =>
    node.live && (node.env === 'both' || node.env === env)

/**
 * The nodes that hold the key, asked again each second while a person waits for them.
 * @param stoppedAt when the key was stopped; what nodes reported before says nothing about it.
 */
function useHolders(key: Key, isWaiting: boolean, stoppedAt: number | null) {
  const nodes = useQuery({
    queryKey: ['nodes', 'holders', key.project_id],
    queryFn: ({ signal }) => listProjectNodes({ id: key.project_id, query: { limit: nodesMax } }, { signal }),
    staleTime: 0,
    refetchInterval: isWaiting ? progressMs : false,
  })
  const isCurrent = stoppedAt === null || nodes.dataUpdatedAt >= stoppedAt
  return {
    holders: isCurrent ? nodes.data?.data.filter(holds(key)) : undefined,
    // The fleet may have more nodes than one page has.
    isPart: nodes.data != null && nodes.data.next_cursor !== null,
    askAgain: () => void nodes.refetch(),
  }
}

function StopForm({ of: key, stop, onClose }: Omit<StopKeyDialogProps, 'isOpen'>) {
  const { call, done, submit, lead, isFinal } = stops[stop]
  const client = useQueryClient()
  const [reason, setReason] = useState('')
  const [{ isStopped, isWaiting, propagation, error }, setProgress] = useState(before)
  const [isSending, setSending] = useState(false)
  const since = useRef(0)
  const [stoppedAt, setStoppedAt] = useState<number | null>(null)
  const { holders, isPart, askAgain } = useHolders(key, isWaiting, stoppedAt)

  async function wait() {
    setProgress({ ...before, isStopped: true, isWaiting: true })
    try {
      // To wait is to repeat the change, and somebody may have resumed the key.
      if (stop === 'pause' && (await getKey({ id: key.id })).disabled_at === null) return onClose()
      const { propagation = null } = await call({ id: key.id, query: { wait: 'true' }, body: {} })
      // The service counts from this request; people count from the change.
      const waited_ms = performance.now() - since.current
      setProgress({
        ...before,
        isStopped: true,
        propagation: propagation && { ...propagation, waited_ms },
      })
    } catch (failure) {
      setProgress({ ...before, isStopped: true, error: failure })
    }
  }

  const stopNow = async (event: FormEvent) => {
    event.preventDefault()
    if (isSending) return
    setSending(true)
    setProgress(before)
    try {
      const given = reason.trim()
      await call({ id: key.id, body: given === '' ? {} : { reason: given } })
    } catch (failure) {
      return setProgress({ ...before, error: failure })
    } finally {
      setSending(false)
    }
    since.current = performance.now()
    setStoppedAt(Date.now())
    askAgain()
    void client.invalidateQueries({ queryKey: ['keys'] })
    void client.invalidateQueries({ queryKey: ['audit_logs'] })
    await wait()
  }

  if (isStopped) {
    return (
      <Stack gap="md">
        <StopProgress
          done={done}
          holders={holders}
          isPart={isPart}
          isWaiting={isWaiting}
          propagation={propagation}
        />
        <StopEnd
          error={error}
          isUnfinished={propagation?.acknowledged === false}
          onWait={() => void wait()}
          onClose={onClose}
        />
      </Stack>
    )
  }
  return (
    <DialogForm
      onSubmit={stopNow}
      isBusy={isSending}
      trouble={error}
      submit={submit}
      isFinal={isFinal}
      onCancel={onClose}
    >
      <p>{lead}</p>
      <WhatEnds of={key} holders={holders?.length} isPart={isPart} />
      <ReasonField value={reason} onChange={setReason} />
    </DialogForm>
  )
}

interface WhatEndsProps {
  readonly of: Key
  /** How many nodes hold the key; undefined while it is not known. */
  readonly holders: number | undefined
  /** There may be more nodes. */
  readonly isPart: boolean
}

function WhatEnds({ of: key, holders, isPart }: WhatEndsProps) {
  const tenant = useQuery({
    queryKey: ['tenants', 'one', key.tenant_id],
    queryFn: ({ signal }) => getTenant({ id: key.tenant_id }, { signal }),
  })
  // The page may be old, and a key in use is what a person must not stop by mistake.
  const { data: newest, isFetching } = useQuery({
    queryKey: ['keys', 'one', key.id],
    queryFn: ({ signal }) => getKey({ id: key.id }, { signal }),
    refetchOnMount: 'always',
  })
  return (
    <Facts
      facts={[
        { label: 'Key', value: <code>{key.display_prefix}…</code> },
        { label: 'Tenant', value: tenant.data?.name ?? tenant.data?.external_id ?? key.tenant_id },
        {
          label: 'Last used',
          value: isFetching ? 'Asking' : <RelativeTime at={(newest ?? key).last_used_at} />,
        },
        { label: 'Held by', value: holders === undefined ? 'Counting' : sayNodes(holders, isPart) },
      ]}
    />
  )
}

function sayNodes(count: number, isPart: boolean): string {
  if (isPart) return `${count}+ live nodes`
  return count === 1 ? '1 live node' : `${count} live nodes`
}
