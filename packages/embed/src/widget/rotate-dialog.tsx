import { useState } from 'preact/hooks'
import type { EmbedKey } from '../types.ts'
import type { At } from './at.ts'
import { ChangeDialog } from './change-dialog.tsx'
import { oldEndsOf, prefixOf } from './key-words.ts'
import type { NewSecret } from './keyring.ts'
import { withName } from './with-name.tsx'

interface RotateDialogProps {
  readonly at: At
  readonly of: EmbedKey
  readonly onClose: () => void
  readonly onMade: (secret: NewSecret) => void
}

const dayH = 24
const choices = [0, 1, dayH, 7 * dayH]

export function RotateDialog({ at, of: key, onClose, onMade }: RotateDialogProps) {
  const { words, keyring } = at
  const [hours, setHours] = useState(dayH)
  const wording = (choice: number) =>
    choice === 0
      ? words.text('overlapNone')
      : choice <= dayH
        ? words.span(choice, 'hour')
        : words.span(choice / dayH, 'day')
  // An overlap never extends a life.
  const end = Math.min(
    keyring.now() + hours * 3_600_000,
    key.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at),
  )
  return (
    <ChangeDialog
      at={at}
      of={key}
      title={withName('rotateNamed', key, words)}
      action={words.text('rotate')}
      kind="primary"
      make={() => keyring.rotate(key, hours).then(onMade)}
      onClose={onClose}
    >
      <code part="key-prefix" dir="ltr">
        {prefixOf(key)}
      </code>
      <label>
        <span part="label">{words.text('overlap')}</span>
        <select part="input" onChange={event => setHours(Number(event.currentTarget.value))}>
          {choices.map(choice => (
            <option key={choice} value={choice} selected={choice === hours}>
              {wording(choice)}
            </option>
          ))}
        </select>
      </label>
      <p role="status">{oldEndsOf(end, at)}</p>
    </ChangeDialog>
  )
}
