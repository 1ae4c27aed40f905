import { useState } from 'preact/hooks'
import type { FieldFault } from '../errors.ts'
import type { At } from './at.ts'
import { ChangeDialog } from './change-dialog.tsx'
import type { NewSecret } from './keyring.ts'

interface CreateDialogProps {
  readonly at: At
  /** The scopes to offer. */
  readonly scopes: readonly string[]
  readonly onClose: () => void
  readonly onMade: (secret: NewSecret) => void
}

const nameMax = 200

export function CreateDialog({ at, scopes, onClose, onMade }: CreateDialogProps) {
  const { words, keyring } = at
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [faults, setFaults] = useState<readonly FieldFault[]>([])
  const toggle = (scope: string, isOn: boolean) => {
    setFaults([])
    setChosen(isOn ? [...chosen, scope] : chosen.filter(one => one !== scope))
  }
  // A scope that a newer token no longer gives is not asked for.
  const granted = chosen.filter(one => scopes.includes(one))
  const isRefused = (path: string) => faults.some(one => one.path === path)
  const marksOf = (path: string) => isRefused(path) && { 'aria-invalid': true, 'aria-describedby': path }
  const faultOf = (path: string) =>
    isRefused(path) && (
      <p id={path} part="fault">
        {words.text('refused')}
      </p>
    )
  const make = async () => {
    const trimmed = name.trim()
    setFaults([])
    const asked = keyring.create({ ...(trimmed !== '' && { name: trimmed }), scopes: granted })
    asked.catch(error => setFaults(error.faults ?? []))
    onMade(await asked)
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
      <label>
        <span part="label">{words.text('name')}</span>
        <input
          part="input"
          value={name}
          maxLength={nameMax}
          autocomplete="off"
          onInput={event => {
            setFaults([])
            setName(event.currentTarget.value)
          }}
          {...marksOf('name')}
        />
      </label>
      {faultOf('name')}
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
                    {...marksOf(path)}
                  />
                  <bdi>{scope}</bdi>
                </label>
                {faultOf(path)}
              </div>
            )
          })}
        </fieldset>
      )}
    </ChangeDialog>
  )
}
