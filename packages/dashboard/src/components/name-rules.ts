import { nameFault } from '@keyrail/contract/names'

/** The rules of the service for names, for `validate` of a form. Null: the text is right. */

const faultOf = (text: string, what: string): string | null => {
  const fault = text.trim() === '' ? null : nameFault(text.trim())
  return fault === null ? null : `${what} ${fault}.`
}

export const faultOfName = (text: string): string | null =>
  text.trim() === '' ? 'Enter a name.' : faultOfOptionalName(text)

/** For a field that may stay empty. */
export const faultOfOptionalName = (text: string): string | null => faultOf(text, 'A name')

export const faultOfLogoText = (text: string): string | null => faultOf(text, 'The text')

/** A stored name may be older than the rule. An unchanged name is not judged. */
export const unlessStored =
  (stored: string, rule: (text: string) => string | null) =>
  (text: string): string | null =>
    text === stored ? null : rule(text)
