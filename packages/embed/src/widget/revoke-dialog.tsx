import type { EmbedKey } from '../types.ts'
import type { At } from './at.ts'
import { ChangeDialog } from './change-dialog.tsx'
import { prefixOf } from './key-words.ts'
import { withName } from './with-name.tsx'

interface RevokeDialogProps {
  readonly at: At
  readonly of: EmbedKey
  readonly onClose: () => void
  readonly onDone: () => void
}

export function RevokeDialog({ at, of: key, onClose, onDone }: RevokeDialogProps) {
  const { words, keyring } = at
  return (
    <ChangeDialog
      at={at}
      title={withName('revokeAsk', key, words)}
      action={withName('revokeNamed', key, words)}
      kind="danger"
      make={() => keyring.revoke(key).then(onDone)}
      onClose={onClose}
    >
      <p>{words.text('revokeLead', { prefix: prefixOf(key) })}</p>
    </ChangeDialog>
  )
}
