/**
 * Names this device to the account that signed in here last, so that wrong passwords of others in the same network do not keep
 * its person out. It grants nothing else, and so stays when the person signs out.
 */
const storageKey = 'keyrail.device'

export const deviceToken = (): string | undefined => localStorage.getItem(storageKey) ?? undefined

export const keepDeviceToken = (token: string): void => localStorage.setItem(storageKey, token)
