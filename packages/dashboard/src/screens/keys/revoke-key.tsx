import type { Key, Propagation } from '@keyrail/contract/vendor/keys'
import type { FleetNode } from '@keyrail/contract/vendor/nodes'
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { getKey, revokeKey } from '../../api/keys.ts'
import { listProjectNodes } from '../../api/projects.ts'
import { getTenant } from '../../api/tenants.ts'
import { Facts } from '../../components/facts.tsx'
import { DialogForm } from '../../components/form-frames.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Trouble } from '../../components/trouble.tsx'
import type { KeyDialogProps } from './edit-key.tsx'
import { titleOf } from './key-words.ts'
import { RevokeProgress } from './revoke-progress.tsx'

/** Where a revocation is. The key is dead for the service as soon as it answers; its nodes hear it next. */
interface Revocation {
  readonly isRevoked: boolean
  readonly isWaiting: boolean
  readonly propagation: Propagation | null
  readonly error: unknown
}
const before: Revocation = { isRevoked: false, isWaiting: false, propagation: null, error: null }

export function RevokeKeyDialog({ of: key, isOpen, onClose }: KeyDialogProps) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={key.revoked_at === null ? `Revoke ${titleOf(key)}` : `${titleOf(key)} is revoked`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Revoke of={key} onClose={onClose} />
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

function Revoke({ of: key, onClose }: Omit<KeyDialogProps, 'isOpen'>) {
  const client = useQueryClient()
  const [reason, setReason] = useState('')
  const [{ isRevoked, isWaiting, propagation, error }, setRevocation] = useState(before)
  const [isSending, setSending] = useState(false)
  const since = useRef(0)
  const [revokedAt, setRevokedAt] = useState<number | null>(null)
  const nodes = useQuery({
    queryKey: ['nodes', 'holders', key.project_id],
    queryFn: ({ signal }) => listProjectNodes({ id: key.project_id, query: { limit: nodesMax } }, { signal }),
    staleTime: 0,
    refetchInterval: isWaiting ? progressMs : false,
  })
  // What nodes reported before the revocation says nothing about it.
  const isCurrent = revokedAt === null || nodes.dataUpdatedAt >= revokedAt
  const holders = isCurrent ? nodes.data?.data.filter(holds(key)) : undefined
  // The fleet may have more nodes than one page has.
  const isPart = nodes.data != null && nodes.data.next_cursor !== null

  async function wait() {
    setRevocation({ ...before, isRevoked: true, isWaiting: true })
    try {
      const { propagation = null } = await revokeKey({ id: key.id, query: { wait: 'true' }, body: {} })
      // The service counts from this request; people count from the revocation.
      const waited_ms = performance.now() - since.current
      setRevocation({
        ...before,
        isRevoked: true,
        propagation: propagation && { ...propagation, waited_ms },
      })
    } catch (failure) {
      setRevocation({ ...before, isRevoked: true, error: failure })
    }
  }

  const revoke = async (event: FormEvent) => {
    event.preventDefault()
    if (isSending) return
    setSending(true)
    setRevocation(before)
    try {
      const given = reason.trim()
      await revokeKey({ id: key.id, body: given === '' ? {} : { reason: given } })
    } catch (failure) {
      return setRevocation({ ...before, error: failure })
    } finally {
      setSending(false)
    }
    since.current = performance.now()
    setRevokedAt(Date.now())
    void nodes.refetch()
    void client.invalidateQueries({ queryKey: ['keys'] })
    void client.invalidateQueries({ queryKey: ['audit_logs'] })
    await wait()
  }

  if (isRevoked) {
    return (
      <Stack gap="md">
        <RevokeProgress holders={holders} isPart={isPart} isWaiting={isWaiting} propagation={propagation} />
        {error === null ? null : <Trouble error={error} onRetry={() => void wait()} />}
        <Group justify="flex-end" gap="xs">
          {propagation !== null && !propagation.acknowledged ? (
            <Button variant="default" onClick={() => void wait()}>
              Wait again
            </Button>
          ) : null}
          <Button variant="default" onClick={onClose}>
            Done
          </Button>
        </Group>
      </Stack>
    )
  }
  return (
    <DialogForm
      onSubmit={revoke}
      isBusy={isSending}
      trouble={error}
      submit="Revoke for good"
      isFinal
      onCancel={onClose}
    >
      <p>This cannot be undone. Requests with the key are refused as soon as your nodes hear of it.</p>
      <WhatEnds of={key} holders={holders?.length} isPart={isPart} />
      <TextInput
        data-autofocus
        label="Reason (optional)"
        maxLength={500}
        autoComplete="off"
        value={reason}
        onChange={event => setReason(event.currentTarget.value)}
      />
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
  // The page may be old, and a key in use is what a person must not revoke by mistake.
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
