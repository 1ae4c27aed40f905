import type { EmbedKey, EmbedSession } from '../types.ts'
import type { At } from './at.ts'
import { CreateDialog } from './create-dialog.tsx'
import { EditDialog } from './edit-dialog.tsx'
import type { NewSecret } from './keyring.ts'
import { NetworksDialog } from './networks-dialog.tsx'
import { RotateDialog } from './rotate-dialog.tsx'
import { SecretDialog } from './secret-dialog.tsx'
import { SettleDialog } from './settle-dialog.tsx'

export type Open =
  | { readonly kind: 'create' | 'restrict' }
  | { readonly kind: 'edit' | 'rotate' | 'pause' | 'resume' | 'revoke'; readonly key: EmbedKey }
  | { readonly kind: 'secret'; readonly secret: NewSecret }

/** What is said after a change. */
export type Said = 'saidSaved' | 'saidNetworks' | 'saidRevoked'

interface OpenDialogProps {
  readonly at: At
  readonly of: Open
  readonly session: EmbedSession | null
  readonly onClose: () => void
  readonly onMade: (secret: NewSecret) => void
  readonly onDone: (said: Said) => void
}

/** The dialog that is open. */
export function OpenDialog({ at, of: open, session, onClose, onMade, onDone }: OpenDialogProps) {
  switch (open.kind) {
    case 'create':
      return (
        <CreateDialog
          at={at}
          scopes={session?.known_scopes ?? session?.can.key_scopes ?? []}
          onClose={onClose}
          onMade={onMade}
        />
      )
    case 'restrict':
      return (
        <NetworksDialog
          at={at}
          of={session?.tenant.allowed_cidrs ?? []}
          onClose={onClose}
          onDone={() => onDone('saidNetworks')}
        />
      )
    case 'edit':
      return (
        <EditDialog
          at={at}
          of={open.key}
          canRestrict={session?.can.network === true}
          onClose={onClose}
          onDone={() => onDone('saidSaved')}
        />
      )
    case 'rotate':
      return <RotateDialog at={at} of={open.key} onClose={onClose} onMade={onMade} />
    case 'secret':
      return <SecretDialog at={at} secret={open.secret} onClose={onClose} />
    default:
      return (
        <SettleDialog
          at={at}
          of={open.key}
          change={open.kind}
          onClose={onClose}
          onDone={() => onDone(open.kind === 'revoke' ? 'saidRevoked' : 'saidSaved')}
        />
      )
  }
}
