import { useState } from 'preact/hooks'
import type { At } from './at.ts'
import { ChangeDialog } from './change-dialog.tsx'
import type { NewSecret } from './keyring.ts'
import { NameField } from './name-field.tsx'
import { useFaults } from './use-faults.tsx'

interface CreateDialogProps {
  readonly at: At
  /** The scopes to offer. */
  readonly scopes: readonly string[]
  readonly onClose: () => void
  readonly onMade: (secret: NewSecret) => void
}

export function CreateDialog({ at, scopes, onClose, onMade }: CreateDialogProps) {
  const { words, keyring } = at
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<readonly string[]>([])
  const faults = useFaults(words)
  const toggle = (scope: string, isOn: boolean) => {
    faults.forgive()
    setChosen(isOn ? [...chosen, scope] : chosen.filter(one => one !== scope))
  }
  // A scope that a newer token no longer gives is not asked for.
  const granted = chosen.filter(one => scopes.includes(one))
  const make = async () => {
    const trimmed = name.trim()
    onMade(
      await faults.learnFrom(keyring.create({ ...(trimmed !== '' && { name: trimmed }), scopes: granted })),
    )
  }
  return (
    <ChangeDialog
      at={at}
      title={words.text('create')}
      action={words.text('create')}
      kind="primary"
      make={make}
      onClose={onClose}
    >
      <NameField words={words} name={name} faults={faults} onName={setName} />
      {scopes.length === 0 ? null : (
        <fieldset>
          <legend part="label">{words.text('scopes')}</legend>
          {scopes.map(scope => {
            const path = `scopes.${granted.indexOf(scope)}`
            return (
              <div key={scope}>
                <label class="box">
                  <input
                    type="checkbox"
                    part="checkbox"
                    checked={chosen.includes(scope)}
                    onChange={event => toggle(scope, event.currentTarget.checked)}
                    {...faults.marksOf(path)}
                  />
                  <bdi>{scope}</bdi>
                </label>
                {faults.faultOf(path)}
              </div>
            )
          })}
        </fieldset>
      )}
    </ChangeDialog>
  )
}
