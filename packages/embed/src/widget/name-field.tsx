import type { Faults } from './use-faults.tsx'
import type { Words } from './words/words.ts'

interface NameFieldProps {
  readonly words: Words
  readonly name: string
  readonly faults: Faults
  readonly onName: (name: string) => void
}

const nameMax = 200

/** The name of a key. */
export function NameField({ words, name, faults, onName }: NameFieldProps) {
  return (
    <>
      <label>
        <span part="label">{words.text('name')}</span>
        <input
          part="input"
          value={name}
          maxLength={nameMax}
          autocomplete="off"
          onInput={event => {
            faults.forgive()
            onName(event.currentTarget.value)
          }}
          {...faults.marksOf('name')}
        />
      </label>
      {faults.faultOf('name')}
    </>
  )
}
