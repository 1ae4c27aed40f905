import { deviceStorage } from './storage.ts'

/**
 * Names this device to the account that signed in here last, so that wrong passwords of others in the same network do not keep
 * its person out. It grants nothing else, and so stays when the person signs out.
 */
const storageKey = 'keyrail.device'

export const deviceToken = (): string | undefined => deviceStorage.getItem(storageKey) ?? undefined

export const keepDeviceToken = (token: string): void => deviceStorage.setItem(storageKey, token)
