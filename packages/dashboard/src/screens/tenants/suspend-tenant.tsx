import type { Propagation } from '@keyrail/contract/vendor/keys'
import { Modal, Stack } from '@mantine/core'
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type RefObject, useState } from 'react'
import { getTenant, resumeTenant, suspendTenant } from '../../api/tenants.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { DialogForm } from '../../components/form-frames.tsx'
import { ReasonField } from '../../components/reason-field.tsx'
import { StopEnd } from '../../components/stop-end.tsx'
import { StopProgress } from '../../components/stop-progress.tsx'
import { useSending } from '../../components/use-sending.ts'
import { nameOf, type TenantDialogProps } from './tenant-dialogs.tsx'

/** Reads again what a suspension has changed. */
const readAgain = (client: QueryClient) =>
  Promise.all([
    client.invalidateQueries({ queryKey: ['tenants'] }),
    client.invalidateQueries({ queryKey: ['audit_logs'] }),
  ])

interface SuspendDialogProps extends TenantDialogProps {
  /** What gets the focus, and comes into view, once the tenant is suspended. */
  readonly notice?: RefObject<HTMLElement | null>
}

export function SuspendDialog({ of: tenant, isOpen, onClose, notice }: SuspendDialogProps) {
  const isSuspended = Boolean(tenant.suspended_at)
  const close = () => {
    onClose()
    if (isSuspended) notice?.current?.focus()
  }
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      returnFocus={notice === undefined || !isSuspended}
      title={isSuspended ? `${nameOf(tenant)} is suspended` : `Suspend ${nameOf(tenant)}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <SuspendForm of={tenant} onClose={close} />
    </Modal>
  )
}

type FormProps = Omit<TenantDialogProps, 'isOpen'>

function SuspendForm({ of: tenant, onClose }: FormProps) {
  const client = useQueryClient()
  const [reason, setReason] = useState('')
  const [isDone, setDone] = useState(false)
  const [sending, send] = useSending()
  const [waiting, sendWait] = useSending()
  const [propagation, setPropagation] = useState<Propagation | null>(null)
  const wait = () =>
    sendWait(async () => {
      // To wait is to repeat the change, and somebody may have resumed the tenant.
      if (!(await getTenant({ id: tenant.id })).suspended_at) return onClose()
      const answer = await suspendTenant({ id: tenant.id, query: { wait: 'true' }, body: {} })
      setPropagation(answer.propagation ?? null)
    })
  const suspend = (event: FormEvent) => {
    event.preventDefault()
    const given = reason.trim()
    void send(async () => {
      await suspendTenant({ id: tenant.id, body: given === '' ? {} : { reason: given } })
      setDone(true)
      void wait()
      void readAgain(client)
    })
  }
  if (isDone) {
    return (
      <Stack gap="md">
        <StopProgress
          done="The service has suspended the tenant."
          what="its keys"
          isWaiting={waiting.isBusy}
          propagation={propagation}
        />
        <StopEnd
          error={waiting.trouble}
          isUnfinished={propagation?.acknowledged === false}
          onWait={() => void wait()}
          onClose={onClose}
        />
      </Stack>
    )
  }
  return (
    <DialogForm {...sending} onSubmit={suspend} submit="Suspend tenant" onCancel={onClose}>
      <p>
        Requests with any key of this tenant, live and test, are refused as soon as your nodes hear of it. No
        key changes: resume the tenant at any time, and they are what they were. Inside your page its people
        see their keys, and cannot change them.
      </p>
      <ReasonField value={reason} onChange={setReason} />
    </DialogForm>
  )
}

export function ResumeDialog({ of: tenant, isOpen, onClose }: TenantDialogProps) {
  const client = useQueryClient()
  return (
    <ConfirmDialog
      isOpen={isOpen}
      title={`Resume ${nameOf(tenant)}`}
      action="Resume tenant"
      onClose={onClose}
      onConfirm={async () => {
        await resumeTenant({ id: tenant.id })
        await readAgain(client)
      }}
    >
      <p>
        Your nodes accept its keys again as soon as they hear of it. Keys that are paused, expired or revoked
        stay so.
      </p>
    </ConfirmDialog>
  )
}
