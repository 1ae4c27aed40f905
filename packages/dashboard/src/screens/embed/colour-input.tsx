import { TextInput, type TextInputProps } from '@mantine/core'
import classes from './colour-input.module.css'

interface ColourInputProps extends Omit<TextInputProps, 'value' | 'onChange' | 'label'> {
  readonly label: string
  /** As typed; empty where none is set. */
  readonly value?: string
  /** What the picker shows while none is set. */
  readonly unset: string
  readonly onChange: (value: string) => void
}

export const isColour = (text: string) => /^#[0-9A-Fa-f]{6}$/.test(text)

/** A colour, typed or picked. */
export const ColourInput = ({ label, value = '', unset, onChange, ...more }: ColourInputProps) => (
  <TextInput
    {...more}
    label={label}
    placeholder={unset}
    autoComplete="off"
    spellCheck={false}
    maxLength={7}
    value={value}
    onChange={event => onChange(event.currentTarget.value)}
    rightSection={
      <input
        type="color"
        className={classes.picker}
        aria-label={`Pick: ${label}`}
        value={isColour(value) ? value : unset}
        onChange={event => onChange(event.currentTarget.value)}
      />
    }
  />
)
