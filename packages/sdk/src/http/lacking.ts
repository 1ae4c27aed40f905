import { KeyrailError } from '../runtime/errors.ts'

const code = 'insufficient_permission'

/** Whether the service refused a call because the secret key lacks a permission. That says nothing about a customer. */
export const isLacking = (error: unknown): error is KeyrailError =>
  error instanceof KeyrailError && error.code === code

/** The consequence for requests, and the remedy; added to the message of the service. */
const outcomes = {
  limiter: 'Requests pass without limits: give it the preset node, or say limiter: false',
  usage: 'Requests are not counted: give it the preset node, or say usage: false',
} as const

/** Says in the error what a lacking permission means for requests. Another error stays as it is. */
export function explainLacking(error: KeyrailError, part: keyof typeof outcomes): KeyrailError {
  const outcome = outcomes[part]
  if (isLacking(error) && !error.message.endsWith(outcome)) {
    error.message = `${error.message.replace(/\.$/, '')}. ${outcome}`
  }
  return error
}
