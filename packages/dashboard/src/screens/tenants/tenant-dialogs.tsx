import type { Tenant } from '@keyrail/contract/vendor/tenants'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { deleteTenant, endEmbedSessions } from '../../api/tenants.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { DeleteDialog } from '../../components/delete-dialog.tsx'
import { shownWorkspaceId } from '../../session/workspace.ts'

export const nameOf = ({ name, external_id }: Tenant) => name ?? external_id

export interface TenantDialogProps {
  readonly of: Tenant
  readonly isOpen: boolean
  readonly onClose: () => void
}

export const EndSessionsDialog = ({ of: tenant, isOpen, onClose }: TenantDialogProps) => (
  <ConfirmDialog
    isOpen={isOpen}
    title={`End all embed sessions of ${nameOf(tenant)}`}
    action="End sessions"
    onClose={onClose}
    onConfirm={async () => {
      await endEmbedSessions({ id: tenant.id })
      notifications.show({ message: `The embed sessions of ${nameOf(tenant)} have ended.` })
    }}
  >
    Every embed token of this tenant fails on its next request. Keys go on working, and your backend can issue
    new tokens at once.
  </ConfirmDialog>
)

interface DeleteTenantProps extends TenantDialogProps {
  /** Leaves the page of the tenant, before it is read again. */
  readonly onDeleted?: () => Promise<void>
}

export function DeleteTenantDialog({ of: tenant, isOpen, onClose, onDeleted }: DeleteTenantProps) {
  const client = useQueryClient()
  return (
    <DeleteDialog
      isOpen={isOpen}
      noun="tenant"
      id={tenant.id}
      name={nameOf(tenant)}
      onClose={onClose}
      onConfirm={async () => {
        await deleteTenant({ id: tenant.id })
        await onDeleted?.()
        client.removeQueries({ queryKey: ['tenants', 'one', shownWorkspaceId(), tenant.id] })
        await client.invalidateQueries({ queryKey: ['tenants'] })
        await client.invalidateQueries({ queryKey: ['keys'] })
      }}
    >
      <p>Its embed sessions end too. This cannot be undone. Its id in your system is free again.</p>
    </DeleteDialog>
  )
}
