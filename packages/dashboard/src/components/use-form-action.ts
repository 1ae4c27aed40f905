import type { UseFormReturnType } from '@mantine/form'
import type { FormEvent } from 'react'
import { ApiError } from '../api/api-error.ts'
import { sentence } from './trouble.tsx'
import { type Sending, useSending } from './use-sending.ts'

interface FormAction extends Sending {
  readonly onSubmit: (event?: FormEvent<HTMLFormElement>) => void
}

/**
 * Sends a form. A fault that the service finds in a field appears at that field, under its path in the body; everything else
 * becomes `trouble`. What was typed stays.
 *
 * @param explain a message for a field from the code of a refusal, such as `slug_taken`
 */
export function useFormAction<Values extends Record<string, unknown>>(
  form: UseFormReturnType<Values>,
  action: (values: Values) => Promise<void>,
  explain: (error: ApiError) => Partial<Record<keyof Values & string, string>> = () => ({}),
): FormAction {
  /** Returns the part of the failure that no field shows. */
  function show(error: unknown): unknown {
    if (!(error instanceof ApiError)) return error
    const names = Object.keys(form.getValues())
    const faults = error.faults
      .map(({ path, message }) => [path.split('.')[0] ?? '', sentence(message)] as const)
      .filter(([name]) => names.includes(name))
    const explained = Object.entries(explain(error))
    const shown = [...faults, ...explained]
    if (shown.length === 0) return error
    for (const [name, message] of shown) form.setFieldError(name, message)
    form.getInputNode(shown[0]?.[0] ?? '')?.focus()
    return null
  }

  const [sending, send] = useSending(show)
  const onSubmit = form.onSubmit(
    values => void send(() => action(values)),
    errors => form.getInputNode(Object.keys(errors)[0] ?? '')?.focus(),
  )
  return { ...sending, onSubmit }
}
