import type { ApiError } from '../../api/api-error.ts'

/** The rules of the service for fields that only a project has. Null: the text is right. */

/** Prefixes that other credentials have, of Keyrail or of well-known services. */
const reserved = ['krsk', 'krses', 'sk', 'pk', 'rk', 'ghp']

export function faultOfPrefix(text: string): string | null {
  if (reserved.includes(text)) return 'Other credentials have this prefix. Choose another one.'
  return /^[a-z][a-z0-9]{1,15}$/.test(text)
    ? null
    : 'A prefix has 2 to 16 small letters and digits, and begins with a letter.'
}

export const slugTaken = (error: ApiError): { slug?: string } =>
  error.code === 'slug_taken' ? { slug: 'Another project has this slug.' } : {}
