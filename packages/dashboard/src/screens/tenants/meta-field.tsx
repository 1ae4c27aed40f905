import { Textarea, type TextareaProps } from '@mantine/core'
import classes from './meta-field.module.css'

/** A field for a JSON object. */
export const MetaField = (props: TextareaProps) => (
  <Textarea
    w="100%"
    label="Metadata"
    description="A JSON object of your own. Keyrail stores it and gives it back."
    rows={5}
    classNames={{ input: classes.text ?? '' }}
    spellCheck={false}
    autoComplete="off"
    {...props}
  />
)
