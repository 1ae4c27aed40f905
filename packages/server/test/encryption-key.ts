import { hash } from 'node:crypto'
import { readEncryptionKeys } from '../src/platform/crypto/encryption-keys.ts'

/** A SERVICE_ENCRYPTION_KEY for tests, benches and drills. It is public and protects no real data. */
export const encryptionKey = hash('sha256', 'an encryption key that everybody knows', 'base64')

export const { keys: encryptionKeys } = readEncryptionKeys(encryptionKey)
