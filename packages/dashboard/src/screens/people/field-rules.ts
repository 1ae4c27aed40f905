import { passwordLengthMin } from '../../service-facts.ts'

const passwordLengthMax = 256

/** Counts characters in the same way as the service. Null: the length is right. */
export function faultOfNewPassword(text: string): string | null {
  const length = [...text].length
  if (length === 0) return 'Enter a password.'
  if (length < passwordLengthMin)
    return `A password needs at least ${passwordLengthMin} characters. This one has ${length}.`
  return length > passwordLengthMax
    ? `A password has at most ${passwordLengthMax} characters. This one has ${length}.`
    : null
}

export const passwordHint = `At least ${passwordLengthMin} characters. A few words are easier to remember than symbols.`

export function faultOfAddress(text: string): string | null {
  if (text.trim() === '') return 'Enter your e-mail address.'
  return /^[^@\s]+@[^@\s]+$/.test(text.trim()) ? null : 'An e-mail address looks like ann@example.com.'
}
