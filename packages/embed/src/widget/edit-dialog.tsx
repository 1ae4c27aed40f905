import { useState } from 'preact/hooks'
import type { EmbedKey } from '../types.ts'
import type { At } from './at.ts'
import { ChangeDialog } from './change-dialog.tsx'
import { NameField } from './name-field.tsx'
import { NetworksField, rangesOf, textOf } from './networks-field.tsx'
import { useFaults } from './use-faults.tsx'
import { withName } from './with-name.tsx'

interface EditDialogProps {
  readonly at: At
  readonly of: EmbedKey
  readonly canRestrict: boolean
  readonly onClose: () => void
  readonly onDone: () => void
}

/** The day of a moment in the person's time zone, in the form of a date field. */
function dayAt(moment: number): string {
  const minutesBehind = new Date(moment).getTimezoneOffset()
  return new Date(moment - minutesBehind * 60_000).toISOString().slice(0, 10)
}

/** Sends only the fields that the person has changed: an unchanged expiry keeps its time of day. */
export function EditDialog({ at, of: key, canRestrict, onClose, onDone }: EditDialogProps) {
  const { words, keyring } = at
  const oldName = key.name ?? ''
  const oldEnd = key.expires_at === null ? '' : dayAt(Date.parse(key.expires_at))
  const [name, setName] = useState(oldName)
  const [end, setEnd] = useState(oldEnd)
  const oldNetworks = textOf(key.allowed_cidrs)
  const [networks, setNetworks] = useState(oldNetworks)
  const faults = useFaults(words)
  const make = async () => {
    const changes = {
      ...(name !== oldName && { name: name.trim() || null }),
      // A field that a newer session has taken away is not sent.
      ...(canRestrict &&
        networks !== oldNetworks && { allowed_cidrs: networks.trim() === '' ? null : rangesOf(networks) }),
      // At the end of that day in the person's time zone.
      ...(end !== oldEnd && { expires_at: new Date(`${end}T23:59:59.999`).toISOString() }),
    }
    if (Object.keys(changes).length === 0) return onClose()
    await faults.learnFrom(keyring.update(key, changes))
    onDone()
  }
  return (
    <ChangeDialog
      at={at}
      of={key}
      title={withName('editNamed', key, words)}
      action={words.text('save')}
      kind="primary"
      make={make}
      onClose={onClose}
    >
      <NameField words={words} name={name} faults={faults} onName={setName} />
      <label>
        <span part="label">{words.text('expiresOn')}</span>
        <input
          type="date"
          part="input"
          value={end}
          min={dayAt(keyring.now())}
          max={oldEnd || '9999-12-30'}
          required={oldEnd !== ''}
          onInput={event => {
            faults.forgive()
            setEnd(event.currentTarget.value)
          }}
          {...faults.marksOf('expires_at')}
          aria-describedby="expires_at lead"
        />
      </label>
      {faults.faultOf('expires_at')}
      <p id="lead" class="quiet">
        {words.text('expiresLead')}
      </p>
      {canRestrict && (
        <NetworksField
          words={words}
          text={networks}
          faults={faults}
          empty={key.allowed_cidrs?.length === 0 ? 'networksAny' : 'networksAsAll'}
          onText={setNetworks}
        />
      )}
    </ChangeDialog>
  )
}
