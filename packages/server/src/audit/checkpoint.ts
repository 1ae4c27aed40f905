import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'
import type { ChainHead } from './chain.ts'

/**
 * The head of a chain as a signed note (C2SP signed-note). With an old note, a client can prove that the chain was different
 * later. The text has the three lines of a checkpoint: the name of the chain, its number of rows and its hash. The hash
 * is the head of a linear chain and not the root of a tree, so only the form of the note is C2SP's.
 */

/** A public key and its name, in the form that verifiers of notes take: `name+keyid+key`. */
export interface CheckpointKey {
  readonly name: string
  readonly publicKey: Uint8Array
}

const ed25519 = 1
const keyBytes = 32
/** The DER bytes before the 32 bytes of a key (RFC 8410). */
const privatePrefix = Buffer.from('302e020100300506032b657004220420', 'hex')
const publicPrefix = Buffer.from('302a300506032b6570032100', 'hex')

const privateKeyOf = (seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([privatePrefix, seed]), format: 'der', type: 'pkcs8' })
const publicKeyOf = (bytes: Uint8Array): KeyObject =>
  createPublicKey({ key: Buffer.concat([publicPrefix, bytes]), format: 'der', type: 'spki' })

/** @param seed 32 bytes. */
export function checkpointKeyOf(name: string, seed: Uint8Array): CheckpointKey {
  const spki = createPublicKey(privateKeyOf(seed)).export({ format: 'der', type: 'spki' })
  return { name, publicKey: spki.subarray(-keyBytes) }
}

const typedKey = (key: CheckpointKey) => Buffer.concat([Buffer.from([ed25519]), key.publicKey])

/** The first four bytes of SHA-256(name ‖ line feed ‖ type ‖ key). */
const keyIdOf = (key: CheckpointKey): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from(`${key.name}\n`), typedKey(key)]), 'buffer').subarray(0, 4)

/** `<name>+<key id in hex>+<base64 of type and key>`. */
export const writeVerifierKey = (key: CheckpointKey): string =>
  `${key.name}+${keyIdOf(key).toString('hex')}+${typedKey(key).toString('base64')}`

/** @returns null for anything but an Ed25519 key with its correct id. */
export function readVerifierKey(text: string): CheckpointKey | null {
  const [, name = '', id = '', encoded = ''] =
    /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text) ?? []
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded || bytes.length !== keyBytes + 1 || bytes[0] !== ed25519)
    return null
  const key = { name, publicKey: bytes.subarray(1) }
  return keyIdOf(key).toString('hex') === id ? key : null
}

/** The name of a workspace's chain: the name of the service, and the workspace. */
const originOf = (name: string, workspaceId: string): string => `${name}/${workspaceId}`

/** Signs a head. The name of the key is the first part of the chain's name. */
export function writeCheckpoint(
  name: string,
  seed: Uint8Array,
  workspaceId: string,
  head: ChainHead,
): string {
  const text = `${originOf(name, workspaceId)}\n${head.seq}\n${head.hash.toString('base64')}\n`
  const signature = sign(null, Buffer.from(text), privateKeyOf(seed))
  const signed = Buffer.concat([keyIdOf(checkpointKeyOf(name, seed)), signature]).toString('base64')
  return `${text}\n— ${name} ${signed}\n`
}

export interface Checkpoint extends ChainHead {
  readonly workspaceId: string
}

/** @returns the checkpoint that the key has signed, or null. Signatures of other keys are ignored. */
export function readCheckpoint(note: string, key: CheckpointKey): Checkpoint | null {
  const text = openNote(note, key)
  const [, origin = '', size = '', root = ''] =
    /^(\S+)\n(0|[1-9]\d{0,15})\n([A-Za-z0-9+/]{43}=)\n/.exec(text ?? '') ?? []
  if (!origin.startsWith(`${key.name}/`)) return null
  return {
    workspaceId: origin.slice(key.name.length + 1),
    seq: Number(size),
    hash: Buffer.from(root, 'base64'),
  }
}

/** The text of a note, with its final line feed; null unless the key has signed it. */
export function openNote(note: string, key: CheckpointKey): string | null {
  const end = note.lastIndexOf('\n\n')
  if (end === -1) return null
  const text = note.slice(0, end + 1)
  const id = keyIdOf(key)
  const isSigned = note
    .slice(end + 2)
    .split('\n')
    .some(line => {
      const [, name, encoded = ''] = /^— (\S+) ([A-Za-z0-9+/=]+)$/.exec(line) ?? []
      const bytes = Buffer.from(encoded, 'base64')
      return (
        name === key.name &&
        bytes.length === 4 + 64 &&
        bytes.subarray(0, 4).equals(id) &&
        verify(null, Buffer.from(text), publicKeyOf(key.publicKey), bytes.subarray(4))
      )
    })
  return isSigned ? text : null
}
