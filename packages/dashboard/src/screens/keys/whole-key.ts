/**
 * A key shows its prefix and 4 characters. Text that has more of one may be a secret, and must not get into an address, also not
 * with something around it, such as "Bearer".
 */
const longerThanShown = /[a-z][a-z0-9]{1,15}_(?:(?:live|test)_[A-Za-z0-9]{5,}|[A-Za-z0-9]{20,})/
const whole = /[a-z][a-z0-9]{1,15}_(?:(?:live|test)_)?[A-Za-z0-9]{30,}/

/** The key in a text; null when there is none as a whole. */
export const wholeKeyIn = (text: string): string | null => whole.exec(text)?.[0] ?? null

/** Whether a text shows more of a key than its display prefix. */
export const mayBeSecret = (text: string): boolean => longerThanShown.test(text)
