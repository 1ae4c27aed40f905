import type { Faults } from './use-faults.tsx'
import type { Words } from './words/words.ts'

interface NetworksFieldProps {
  readonly words: Words
  /** As the person has typed it. */
  readonly text: string
  readonly faults: Faults
  /** What an empty field stands for. */
  readonly empty: 'networksAny' | 'networksAsAll'
  readonly onText: (text: string) => void
}

/** One range on each line, or with commas between. */
export const rangesOf = (text: string): string[] => text.split(/[\s,;]+/).filter(one => one !== '')

export const textOf = (ranges: readonly string[] | null | undefined): string => (ranges ?? []).join('\n')

/** From which addresses keys may be used. */
export function NetworksField({ words, text, faults, empty, onText }: NetworksFieldProps) {
  const field = 'allowed_cidrs'
  return (
    <>
      <label>
        <span part="label">{words.text('networks')}</span>
        <textarea
          part="input"
          rows={3}
          dir="ltr"
          spellcheck={false}
          autocomplete="off"
          placeholder="203.0.113.0/24"
          value={text}
          onInput={event => {
            faults.forgive()
            onText(event.currentTarget.value)
          }}
          {...faults.marksOf(field)}
          aria-describedby={`${field} networks`}
        />
      </label>
      {faults.faultOf(field, rangesOf(text))}
      <p id="networks" class="quiet">
        {words.text('networksLead')} {words.text(empty)}
      </p>
    </>
  )
}
