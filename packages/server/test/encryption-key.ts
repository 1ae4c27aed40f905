import { hash } from 'node:crypto'
import { readEncryptionKeys } from '../src/platform/crypto/encryption-keys.ts'

/** As SERVICE_ENCRYPTION_KEY has it: a key of tests, benches and drills, whose databases nobody else reads. */
export const encryptionKey = hash('sha256', 'an encryption key that everybody knows', 'base64')

export const { keys: encryptionKeys } = readEncryptionKeys(encryptionKey)
