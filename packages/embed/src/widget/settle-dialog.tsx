import type { EmbedKey } from '../types.ts'
import type { At } from './at.ts'
import { ChangeDialog } from './change-dialog.tsx'
import { prefixOf } from './key-words.ts'
import { withName } from './with-name.tsx'

interface SettleDialogProps {
  readonly at: At
  readonly of: EmbedKey
  readonly change: 'pause' | 'resume' | 'revoke'
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Asks before the service accepts a key no longer, or again. */
export function SettleDialog({ at, of: key, change, onClose, onDone }: SettleDialogProps) {
  const { words, keyring } = at
  return (
    <ChangeDialog
      at={at}
      of={key}
      title={withName(change === 'revoke' ? 'revokeAsk' : `${change}Named`, key, words)}
      action={withName(`${change}Named`, key, words)}
      kind={change === 'revoke' ? 'danger' : 'primary'}
      make={() => keyring[change](key).then(onDone)}
      onClose={onClose}
    >
      <p>{words.text(`${change}Lead`, { prefix: prefixOf(key) })}</p>
    </ChangeDialog>
  )
}
