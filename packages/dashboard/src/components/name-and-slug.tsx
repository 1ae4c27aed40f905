import { TextInput } from '@mantine/core'
import { slugOf } from './slug.ts'

interface Fields {
  readonly name: string
  readonly slug: string
}

/** The part of a controlled form with a name and a slug. */
interface NamedForm {
  readonly values: Fields
  getInputProps(field: keyof Fields): object
  setFieldValue(field: keyof Fields, value: string): void
}

interface NameAndSlugProps {
  readonly form: NamedForm
  readonly example: string
  /** What the browser may fill in for the name. */
  readonly autoComplete: 'off' | 'organization'
  /** What the slug is for. */
  readonly hint: string
}

/** The fields of a new thing with a name. Its slug follows the name until the person writes another one. */
export const NameAndSlug = ({ form, example, autoComplete, hint }: NameAndSlugProps) => (
  <>
    <TextInput
      data-autofocus
      label="Name"
      placeholder={example}
      autoComplete={autoComplete}
      maxLength={200}
      {...form.getInputProps('name')}
      onChange={event => {
        const next = event.currentTarget.value
        if (form.values.slug === slugOf(form.values.name)) form.setFieldValue('slug', slugOf(next))
        form.setFieldValue('name', next)
      }}
    />
    <TextInput
      label="Slug"
      description={hint}
      autoCapitalize="none"
      autoComplete="off"
      spellCheck={false}
      {...form.getInputProps('slug')}
    />
  </>
)
