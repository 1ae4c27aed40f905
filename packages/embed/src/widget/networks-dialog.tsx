import { useState } from 'preact/hooks'
import type { At } from './at.ts'
import { ChangeDialog } from './change-dialog.tsx'
import { NetworksField, rangesOf, textOf } from './networks-field.tsx'
import { useFaults } from './use-faults.tsx'

interface NetworksDialogProps {
  readonly at: At
  readonly of: readonly string[]
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Changes from where all those keys work that have no networks of their own. */
export function NetworksDialog({ at, of: networks, onClose, onDone }: NetworksDialogProps) {
  const { words, keyring } = at
  const [text, setText] = useState(textOf(networks))
  const faults = useFaults(words)
  const make = async () => {
    await faults.learnFrom(keyring.restrict(rangesOf(text)))
    onDone()
  }
  return (
    <ChangeDialog
      at={at}
      title={words.text('networksAll')}
      action={words.text('save')}
      kind="primary"
      make={make}
      onClose={onClose}
    >
      <NetworksField words={words} text={text} faults={faults} empty="networksAny" onText={setText} />
    </ChangeDialog>
  )
}
