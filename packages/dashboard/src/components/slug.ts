/** The rule of the service for slugs. Null: the text is right. */
export const faultOfSlug = (text: string): string | null =>
  /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/.test(text)
    ? null
    : 'A slug has 3 to 63 small letters, digits and hyphens, with no hyphen at its ends.'

/** A slug made from a name: what the service accepts, or an empty text. */
export const slugOf = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '')
