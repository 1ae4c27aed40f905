/**
 * The form in which addresses are compared: NFC and lower case. Only this function makes it. Mail never goes to this
 * form, only to the address as its owner entered it.
 */
export const addressKey = (email: string): string => email.normalize('NFC').toLowerCase()
