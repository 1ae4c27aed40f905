/**
 * How addresses are compared: NFC and lower case, once and nowhere else. Mail never goes to this form, only to the
 * address as its owner gave it.
 */
export const addressKey = (email: string): string => email.normalize('NFC').toLowerCase()
